"""The report on a recording: words, tables and pictures of routes, delays and preferences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais._system.extras import extra
from allais.preferences import Preference, expected_value
from allais.report.markup import markdown_table, with_error
from allais.traffic.analysis import PAPER_SAMPLES, PRINTED, RouteTable, route_table
from allais.traffic.network import RoadNetwork
from allais.traffic.play import PEOPLE, Measurements
from allais.traffic.recording import Recording
from allais.weights import Weight

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table


LANE, GAP = 0.035, 0.075  # of a block: between faint routes that share a street, and beside the two in front
STREETS, FAINT = "#8a8a8a", "#8a8a8a"  # greys that suit a light and a dark page
FASTEST, PREFERRED, INCIDENT = "#d9822b", "#3b82c4", "#c0392b"
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
    # the map ends where the routes do
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


class Rows(NamedTuple):
    """A table of text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def delays_of(recording: Recording, route: int) -> tuple[str, str]:
    """The mean delay of a route, and the delay that 99 % of its probes stay below."""
    delays = recording.samples(route)
    return f"{delays.mean():.1f}", f"{np.quantile(delays, TAIL):.0f}"


def routes_table(recording: Recording, table: RouteTable) -> Rows:
    """One row per route: its delays, and its excess delay under each objective with the standard error."""
    rows = []
    for k, route in enumerate(recording.routes):
        pairs = zip(table.excess[:, k].tolist(), table.errors[:, k].tolist(), strict=True)
        excess = [with_error(seconds, error) for seconds, error in pairs]
        rows.append((route.name, "-".join(route.nodes), *delays_of(recording, k), *excess))
    header = ("route", "nodes", "mean delay, s", "99 % below", *(f"excess, {name}" for name in table.columns))
    return Rows(header, tuple(rows))


def policies_table(measured: Measurements) -> Rows:
    """One row per policy: its route, how soon it was found, and what it cost."""
    header = ("policy", "knows", "route", "runs that agree", "the same since round", "stopped", f"regret, {PEOPLE}",
              "regret, mean")  # fmt: skip
    rows = [
        (
            one.policy, one.knows, one.route, f"{one.agreement:.0%}", f"{one.unchanged_since:,.0f}", one.stopped,
            f"{one.distorted_regret:,.0f}", f"{one.mean_regret:,.0f}",
        )
        for one in measured.policies
    ]  # fmt: skip
    return Rows(header, tuple(rows))


def report(measured: Measurements) -> str:
    """Markdown: what was recorded, the table of routes, the fit, the policies."""
    return "\n\n".join(_sections(measured)) + "\n"


def _sections(measured: Measurements) -> Iterator[str]:
    recording, table = measured.recording, measured.table
    about = recording.about
    yield (
        f"{recording.delay.size:,} probes on {len(recording.routes)} routes in {about['blocks']} blocks of "
        f"{about['hours']:g} hours (seed {about['seed']}, {about['closures']} closures, SUMO {about['sumo']}); "
        f"{recording.teleported} teleported and {recording.lost} lost, left out. The baseline, the mean delay of a "
        f"random router, is {recording.baseline:.1f} s. The policies below learn from these recorded delays, drawn "
        "with replacement."
    )
    yield (
        markdown_table(*routes_table(recording, table))
        + "\n\nSeconds, with standard errors by bootstrap over blocks. Lower is better."
    )
    yield _verdict(measured)
    misfit = measured.fit.misfit
    yield (
        f"Ridge regression on {measured.fit.fit.theta.size} roads: the features have rank "
        f"{measured.fit.fit.rank}, the fit misses a route's mean by {np.abs(misfit).mean():.1f} s on average and "
        f"{np.abs(misfit).max():.1f} s at most ({recording.routes[int(np.abs(misfit).argmax())].name}); "
        f"|theta| = {np.linalg.norm(measured.fit.fit.theta):.0f}."
    )
    models = measured.preferred_under
    names = list(next(iter(models.values())))
    yield "The best route at that fit, by model of the noise:\n\n" + markdown_table(
        ["noise", *names], [[model, *(found[name] for name in names)] for model, found in models.items()]
    )
    scale = measured.scale
    yield f"Policies, {scale.runs} runs of {scale.rounds:,} rounds each:\n\n" + markdown_table(
        *policies_table(measured)
    )


def _verdict(measured: Measurements) -> str:
    table = measured.table
    fast, liked = table.best("mean"), table.best(PEOPLE)
    lines = [f"Fastest on average: {table.names[fast]}. Preferred ({PEOPLE}): {table.names[liked]}."]
    if fast != liked:
        for column, better, other in (("mean", fast, liked), (PEOPLE, liked, fast), ("TK 0.69", liked, fast)):
            gap = table.gap(column, better, other)
            lines.append(
                f"{column}: {table.names[better]} beats {table.names[other]} by {gap.difference:.1f} s, "
                f"{gap.errors:.1f} standard errors."
            )
    shares = table.shares("TK 0.1")
    winners = ", ".join(f"{table.names[k]} {100 * shares[k]:.0f} %" for k in np.argsort(-shares) if shares[k] > 0.0)
    lines.append(
        f"With the paper's eta = 0.1, {table.names[fast]} is the best in {shares[fast]:.0%} of resampled recordings. "
        f"The best are {winners}: the single longest delays decide that."
    )
    errors = measured.scheme_errors
    printed, error = PRINTED[7][1] - PRINTED[8][1], float(np.hypot(errors[7], errors[8]))
    lines.append(
        f"The paper's table has its detour ahead by {printed:.2f}; one estimate of its scheme ({PAPER_SAMPLES:,} "
        f"normal samples) has a standard deviation of {errors[7]:.2f} for the one, {errors[8]:.2f} for the other: "
        f"{printed / error:.1f} standard errors."
    )
    return "\n".join(f"- {line}" for line in lines)


MEAN, VALUE = "mean", "value"
SURE = 3.0  # standard errors that a lead needs


@dataclass(frozen=True, eq=False)
class Preferred:
    """The routes of a recording under a weight, with delays in seconds from a reference."""

    recording: Recording
    table: RouteTable
    reference: float

    @property
    def route(self) -> str:
        """The route that people prefer."""
        return self.table.names[self.table.best(VALUE)]

    @property
    def fastest(self) -> str:
        """The route with the lowest mean delay."""
        return self.table.names[self.table.best(MEAN)]

    @property
    def sentence(self) -> str:
        """The answer, and how sure it is."""
        kept = self.recording
        failed = kept.teleported + kept.lost
        words = self._lead(VALUE, f"People prefer {self.route}")
        words += " " + self._lead(MEAN, f"{self.fastest} is the fastest on average")
        if failed:
            words += f" {failed} of {kept.delay.size + failed} probes did not arrive and are left out."
        return words

    def _lead(self, column: str, claim: str) -> str:
        row, best = self.table.columns.index(column), self.table.best(column)
        second = int(np.argsort(self.table.excess[row], kind="stable")[1])
        gap = self.table.gap(column, best, second)
        if gap.error == 0.0:
            return f"{claim}, {gap.difference:.1f} s before {self.table.names[second]}."
        doubt = "" if gap.errors > SURE else ": too few to be sure, record more blocks"
        return (
            f"{claim}, {gap.difference:.1f} s before {self.table.names[second]} "
            f"({gap.errors:.1f} standard errors{doubt})."
        )

    def view(self) -> Table:
        """A table for the terminal; the preferred route is bold."""
        with extra("cli", "a table on the terminal"):
            from rich.table import Table
            from rich.text import Text

        table = Table(
            title=f"feels like: the sure delay that is worth as much, around a reference of {self.reference:.0f} s"
        )
        for heading in ("route", "probes", "mean, s", "99 % below, s", "feels like, s", "error"):
            table.add_column(heading, justify="left" if heading == "route" else "right")
        row = self.table.columns.index(VALUE)
        for k, name in enumerate(self.table.names):
            table.add_row(
                Text(name),
                f"{self.recording.samples(k).size:,}",
                *delays_of(self.recording, k),
                f"{self.reference + self.table.excess[row, k]:.1f}",
                f"{self.table.errors[row, k]:.1f}",
                style="bold" if name == self.route else "",
            )
        return table


def preferred(recording: Recording, weight: Weight, reference: float | None = None) -> Preferred:
    """Compare the routes of a recording; delays are costs around a reference, else around the mean over all routes."""
    if len(recording.routes) < 2:
        raise ValueError(f"there must be two routes to choose from; got {len(recording.routes)}. Record more routes.")
    reference = recording.baseline if reference is None else reference
    people = {
        MEAN: expected_value(reference=reference, costs=True),
        VALUE: Preference(weight, reference=reference, costs=True),
    }
    return Preferred(recording, route_table(recording, people=people), reference)


def require_recorded(network: RoadNetwork, recording: Recording) -> None:
    """Refuse a network that is not the one of a recording."""
    missing = sorted({edge for route in recording.routes for edge in route.edges} - network.edges.keys())
    if missing:
        raise ValueError(
            f"a map is of the network that was recorded; {network.name} has no edge {missing[0]!r}. "
            "Give that one: --network NET.net.xml."
        )


def draw_preferred(ax: Axes, network: RoadNetwork, found: Preferred) -> None:
    """The map of an answer: all routes, the fastest and the preferred one in front, and a cross where incidents are."""
    kept = found.recording
    require_recorded(network, kept)
    fast, liked = two_that_matter(kept, found.table, VALUE)
    both = Shown(liked.route, PREFERRED, liked.words.replace("preferred:", "preferred, and fastest on average:"))
    draw_map(ax, network, kept, (both,) if fast.route == liked.route else (fast, liked))
    for place, per_day, shortest, longest in kept.about.get("incidents", []):
        edge = network.edges.get(place)
        ends = [network.places[one] for one in ((place,) if edge is None else (edge.start, edge.end))]
        x, y = np.mean(ends, axis=0)
        ax.plot([x], [y], "X", color=INCIDENT, markeredgecolor="white", ms=13, zorder=7)
        ax.annotate(
            f"{per_day:g} a day,\n{shortest:g} to {longest:g} min", (x, y), (0, -24), textcoords="offset points",
            ha="center", va="top", color=INCIDENT, fontsize=9, zorder=7,
        )  # fmt: skip
