"""Figures of the report: SVG with text as text, one pair of axes each, in colours that a page replaces by its own."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allais._system.extras import extra
from allais.paper.findings import Figure

# Two colours that no curve uses: a page that shows a figure replaces them by its own text and background.
INK, GROUND = "#0a0b0c", "#fdfcfb"
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#3b82c4", "#d9822b", "#3f9b57", "#cc4b4b", "#8e6bbf", "#8a8a8a"
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, GREY)

STYLE: dict[str, Any] = {
    "font.size": 11,
    "font.family": "sans-serif",
    "svg.fonttype": "none",  # text stays text: small, searchable, in the reader's own font
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "lines.linewidth": 2,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": GROUND,
    "axes.facecolor": "none",
}


class Drawing:
    """Axes to draw on; the figure is there when the drawing is done."""

    axes: Any
    figure: Figure


@contextmanager
def drawing(name: str, caption: str, height: float = 3.6) -> Iterator[Drawing]:
    """One pair of axes, narrow enough for a phone.

    >>> with drawing("line", "a line") as picture:
    ...     _ = picture.axes.plot([0, 1], [0, 1])
    >>> picture.figure.svg.startswith("<svg")
    True
    """
    with extra("plot", "a figure"):
        import matplotlib
        from cycler import cycler
        from matplotlib.figure import Figure as Canvas

    style: Any = {**STYLE, "axes.prop_cycle": cycler(color=COLOURS), "svg.hashsalt": name}
    with matplotlib.rc_context(style):
        canvas = Canvas(figsize=(5.2, height), layout="constrained")
        picture = Drawing()
        picture.axes = canvas.add_subplot()
        yield picture
        picture.figure = Figure(name, caption, as_svg(canvas))


def as_svg(canvas: Any) -> str:
    """The SVG element of a matplotlib figure, with no date in it."""
    text = io.StringIO()
    canvas.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    whole = text.getvalue()
    return whole[whole.index("<svg") :].strip()


def coloured(svg: str, ink: str, ground: str) -> str:
    """The figure in a page's own colours.

    >>> coloured(f'<path fill="{INK}"/>', "currentColor", "none")
    '<path fill="currentColor"/>'
    """
    return svg.replace(INK, ink).replace(GROUND, ground)
