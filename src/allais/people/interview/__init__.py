"""Interviews: questions chosen one by one, and the preference that they show."""
