"""Families of preferences, their parameters, and the likelihood of choices."""
