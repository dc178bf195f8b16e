"""How the tables of older versions become those of this one; run at every start."""
