"""The intervals of an answer as a picture."""

from __future__ import annotations

import io
import math
from collections.abc import Hashable
from typing import TYPE_CHECKING

from allais.simulation import BestArm

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEST, OTHER = "#1f6f8b", "#9aa5ab"


def plot_intervals(answer: BestArm, ax: Axes | None = None) -> Axes:
    """Every arm's value with its interval, the best on top; arms without one show the value alone."""
    import matplotlib.pyplot as plt

    names = sorted(answer.intervals, key=lambda name: _height(answer, name))
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    for row, name in enumerate(names):
        low, value, high = answer.intervals[name]
        colour = BEST if name == answer.arm else OTHER
        if not answer.pulls[name]:
            ax.text(0.01, row, "no run yet", transform=ax.get_yaxis_transform(), va="center", color=OTHER)
            continue
        if math.isfinite(low) and math.isfinite(high):
            ax.plot([low, high], [row, row], color=colour, linewidth=5, alpha=0.35, solid_capstyle="butt")
        ax.plot(value, row, "o", color=colour, markersize=7)
        ax.annotate(f"{value:.3g}", (value, row), (0, 7), textcoords="offset points", ha="center", fontsize=8)
    best = answer.intervals[answer.arm]
    if math.isfinite(best.low):
        ax.axvline(best.low, color=BEST, linewidth=0.8, linestyle=":")
    ax.set_yticks(range(len(names)), [f"{name}  ({answer.pulls[name]:,} runs)" for name in names])
    ax.set_ylim(-0.6, len(names) - 0.2)
    ax.set_xlabel("value, as felt")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _height(answer: BestArm, name: Hashable) -> tuple[bool, bool, float]:
    seen = bool(answer.pulls[name])
    return name == answer.arm, seen, answer.intervals[name].value if seen else 0.0


def intervals_as_svg(answer: BestArm) -> str:
    """The picture as SVG that stands in a page."""
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": "allais"}):  # the same answer gives the same file
        figure, axes = plt.subplots(figsize=(7.5, 1.2 + 0.36 * len(answer.intervals)), layout="constrained")
        plot_intervals(answer, axes)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        plt.close(figure)
    return text.getvalue()[text.getvalue().index("<svg") :]
