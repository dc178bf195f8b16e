"""Figures within a page: in its colours, and with names of their own."""

from __future__ import annotations

import re
from html import escape

from allais.paper.drawing import coloured
from allais.paper.findings import Figure


def html_figure(figure: Figure, caption: str, place: str = "") -> str:
    """A figure and its caption, which is HTML; `place` tells two of the same figure on one page apart."""
    words = escape(re.sub(r"<[^>]*>", "", caption), quote=True)
    return (
        f'<figure role="img" aria-label="{words}">{_named(figure.svg, f"{place}{figure.name}-")}'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _named(svg: str, prefix: str) -> str:
    """The drawing library calls parts of every figure alike; on one page each name may be there once only."""
    svg = re.sub(r'\bid="', f'id="{prefix}', coloured(svg, "currentColor", "var(--ground)"))
    return svg.replace("url(#", f"url(#{prefix}").replace('href="#', f'href="#{prefix}')
