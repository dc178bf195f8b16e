"""How the site, the pictures and the checks of a release are made."""
