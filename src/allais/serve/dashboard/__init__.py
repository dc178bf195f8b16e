"""The dashboard: pages, pictures and sessions."""
