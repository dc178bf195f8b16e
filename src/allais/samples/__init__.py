"""Samples: what was seen of each arm, in bounded memory, and what that is worth."""
