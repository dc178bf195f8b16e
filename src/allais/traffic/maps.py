"""Pictures of traffic: routes on the map, coloured by what they cost, and the delays of each with their tails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allais._checks import FloatArray
from allais._system.extras import extra
from allais.traffic.analysis import RouteTable
from allais.traffic.network import RoadNetwork
from allais.traffic.recording import Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = "viridis"
APART = 6.0  # metres between routes that share a street
TAIL = 0.99  # the level at which a tail begins
WIDE = 14.0  # inches: a good width of both figures
COLUMNS = 4  # of histograms


def draw_map(
    ax: Axes, network: RoadNetwork, recording: Recording, seconds: FloatArray, highlighted: int, title: str
) -> None:
    """The streets, and every route beside them in the colour of its excess delay; one of them thick."""
    with extra("plot", "a picture"):
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

    for edge in network.edges.values():
        (x0, y0), (x1, y1) = network.places[edge.start], network.places[edge.end]
        ax.plot([x0, x1], [y0, y1], color="0.92", linewidth=10.0 + 7.0 * edge.lanes, solid_capstyle="round", zorder=1)
    for name, (x, y) in network.places.items():
        ax.text(x, y, name, ha="center", va="center", fontsize=7, zorder=5, bbox={"boxstyle": "round", "fc": "w"})
    colour = ScalarMappable(Normalize(float(seconds.min()), float(seconds.max())), COLOURS)
    n_routes = len(recording.routes)
    for k in np.argsort(-seconds).tolist():  # the best on top
        shift = APART * (k - (n_routes - 1) / 2.0)
        spots = np.array([network.places[node] for node in recording.routes[k].nodes]) + np.array([shift, -shift])
        best = k == highlighted
        ax.plot(
            *spots.T, color=colour.to_rgba(seconds[k]), linewidth=4.5 if best else 1.3, zorder=4 if best else 3,
            label=f"{recording.routes[k].name}: {seconds[k]:+.0f} s" if best else None,
        )  # fmt: skip
    assert ax.figure is not None
    ax.figure.colorbar(colour, ax=ax, shrink=0.7, label="excess delay, s")
    ax.set_title(title, fontsize=10)
    ax.legend(loc="lower right", frameon=False, fontsize=9)
    ax.set_aspect("equal")
    ax.axis("off")


def draw_maps(
    figure: Figure, network: RoadNetwork, recording: Recording, table: RouteTable, column: str = "TK 0.61"
) -> None:
    """Two maps: by mean and by distorted excess delay, the best route of each thick."""
    axes = figure.subplots(1, 2)
    for ax, (name, words) in zip(axes, (("mean", "mean"), (column, f"distorted ({column})")), strict=True):
        seconds = table.excess[table.columns.index(name)]
        draw_map(ax, network, recording, seconds, table.best(name), f"{words} excess delay; thick: the best")


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
