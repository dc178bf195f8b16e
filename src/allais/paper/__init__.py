"""The paper's experiments: what it printed, beside what comes out."""
