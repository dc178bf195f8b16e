"""Fits: maximum likelihood, posteriors, populations and types."""
