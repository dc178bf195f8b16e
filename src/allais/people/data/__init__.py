"""Choice data: what was chosen, in any table that holds it."""
