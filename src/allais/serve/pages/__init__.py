"""The dashboard: pages that the server writes, pictures in SVG, and a script of a few lines that keeps them fresh."""
