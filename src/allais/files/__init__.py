"""Files: written whole or line by line, read with suspicion, kept by one process at a time."""
