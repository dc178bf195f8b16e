"""Processes, their ends, and locks of objects."""
