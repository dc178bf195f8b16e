"""Everything that a policy, a band, a weight or a problem of one's own needs."""
