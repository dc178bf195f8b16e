"""Vehicular routing on Eclipse SUMO (Section VI)."""
