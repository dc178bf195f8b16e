"""Contract checks that anyone can run on their own weight, policy or problem."""
