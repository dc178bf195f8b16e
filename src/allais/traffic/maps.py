"""Pictures of traffic: routes on the map, the two that matter in front, and the delays of each with their tails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais.traffic.analysis import RouteTable
from allais.traffic.network import RoadNetwork
from allais.traffic.recording import Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LANE, GAP = 0.035, 0.075  # of a block: between faint routes that share a street, and beside the two in front
STREETS, FAINT = "#8a8a8a", "#8a8a8a"  # greys that suit a light and a dark page
FASTEST, PREFERRED = "#d9822b", "#3b82c4"
TAIL = 0.99  # the level at which a tail begins
WIDE, HIGH = 7.0, 6.4  # inches: a good size of the map
COLUMNS = 4  # of histograms


class Shown(NamedTuple):
    """A route in front of the others."""

    route: int
    colour: str
    words: str


def draw_map(ax: Axes, network: RoadNetwork, recording: Recording, shown: Sequence[Shown], ink: str = "0.2") -> None:
    """The streets, all routes side by side on them, faint, and those that matter thick and with their names."""
    for edge in network.edges.values():
        (x0, y0), (x1, y1) = network.places[edge.start], network.places[edge.end]
        ax.plot([x0, x1], [y0, y1], color=STREETS, alpha=0.16, linewidth=9.0, solid_capstyle="round", zorder=1)
    lines = [np.array([network.places[node] for node in route.nodes]) for route in recording.routes]
    block = float(np.median([np.linalg.norm(np.diff(line, axis=0), axis=1).max() for line in lines]))
    front = [one.route for one in shown]
    faint = [k for k in range(len(lines)) if k not in front]
    for place, k in enumerate(faint):
        side = 1.0 if place % 2 else -1.0
        shift = side * (2.0 * GAP + LANE * (place // 2)) * block
        ax.plot(*beside(lines[k], shift).T, color=FAINT, alpha=0.55, linewidth=0.9, zorder=2)
    for place, one in enumerate(shown):
        shift = GAP * block * (place - (len(shown) - 1) / 2.0) * 1.2
        line = beside(lines[one.route], shift)
        ax.plot(*line.T, color=one.colour, linewidth=5.0, zorder=4, label=one.words, solid_joinstyle="round")
        spot = _own_stretch(line, [lines[k] for k in front if k != one.route], block)
        ax.annotate(
            recording.routes[one.route].name, spot, (0, 9), textcoords="offset points", ha="center", fontsize=14,
            fontweight="bold", color=one.colour, zorder=6,
        )  # fmt: skip
    ends = {recording.routes[0].nodes[0]: "from", recording.routes[0].nodes[-1]: "to"}
    for name, (x, y) in network.places.items():
        if name in ends:
            ax.plot([x], [y], "o", color=ink, ms=9, zorder=5)
            side = -1 if ends[name] == "from" else 1
            ax.annotate(
                f"{ends[name]}\n{name}", (x, y), (13 * side, 0), textcoords="offset points", color=ink, va="center",
                ha="right" if side < 0 else "left",
            )  # fmt: skip
    # what lies farther out than any route says nothing
    low, high = np.vstack(lines).min(axis=0) - 0.45 * block, np.vstack(lines).max(axis=0) + 0.45 * block
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), frameon=False, fontsize=11, handlelength=1.5)
    ax.set_aspect("equal")
    ax.axis("off")


def beside(line: FloatArray, shift: float) -> FloatArray:
    """The line moved to its right by a distance, corners and all, so that lines of one street run side by side.

    >>> beside(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]]), 0.5).tolist()
    [[0.0, -0.5], [2.5, -0.5], [2.5, 2.0]]
    """
    steps = np.diff(line, axis=0)
    steps = steps / np.linalg.norm(steps, axis=1)[:, None]
    right = np.stack([steps[:, 1], -steps[:, 0]], axis=1)
    before, after = np.vstack([right[:1], right]), np.vstack([right, right[-1:]])
    together = 1.0 + (before * after).sum(axis=1, keepdims=True)
    return line + shift * (before + after) / np.maximum(together, 0.2)  # a hairpin would have its corner far away


def _own_stretch(line: FloatArray, others: Sequence[FloatArray], block: float) -> tuple[float, float]:
    """The middle of a stretch where no other line is near."""
    middles = 0.5 * (line[1:] + line[:-1])
    taken = [0.5 * (other[1:] + other[:-1]) for other in others]
    far = [
        min((float(np.linalg.norm(spots - middle, axis=1).min()) for spots in taken), default=block)
        for middle in middles
    ]
    x, y = middles[int(np.argmax(far))]
    return float(x), float(y)


def two_that_matter(recording: Recording, table: RouteTable, column: str) -> tuple[Shown, Shown]:
    """The fastest route on average and the one that people prefer, in words with their delays."""
    fast, liked = table.best("mean"), table.best(column)
    words = []
    for k, what in ((fast, "fastest on average"), (liked, "preferred")):
        delays = recording.samples(k)
        words.append(
            f"{table.names[k]}, {what}: {delays.mean():.0f} s, one in 100 above {np.quantile(delays, TAIL):.0f} s"
        )
    return Shown(fast, FASTEST, words[0]), Shown(liked, PREFERRED, words[1])


def draw_delays(figure: Figure, recording: Recording) -> None:
    """The delays of every route, with the mean, and what lies beyond the 99th percentile marked."""
    n_routes = len(recording.routes)
    rows = -(-n_routes // COLUMNS)
    axes = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False)
    edges = np.linspace(0.0, float(recording.delay.max()), 90)
    for k, ax in enumerate(axes.flat):
        if k >= n_routes:
            ax.axis("off")
            continue
        delays = recording.samples(k)
        begins = float(np.quantile(delays, TAIL))
        for part, colour in ((delays < begins, "#2a5da8"), (delays >= begins, "#b5452c")):
            ax.hist(delays[part], edges, color=colour, weights=np.full(part.sum(), 1.0 / delays.size))
        ax.axvline(delays.mean(), color="0.2", linestyle=":", linewidth=1.2)
        ax.axvline(begins, color="#b5452c", linewidth=0.8)
        ax.set_yscale("log")
        ax.set_title(f"{recording.routes[k].name}: mean {delays.mean():.0f} s, 99 % below {begins:.0f} s", fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("delay, s (dotted: mean; red: the worst 1 %)")
    figure.supylabel("share of probes, log scale")
