"""Files: written whole, read with suspicion, kept by one process at a time."""
