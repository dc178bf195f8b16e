"""What every page is wrapped in: one file that needs no other."""

from __future__ import annotations

from html import escape


def html_page(title: str, style: str, body: str) -> str:
    """A whole HTML page, for screens of any width."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'  # or a browser asks for one
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
