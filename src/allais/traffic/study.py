"""The experiment of Section VI as one call, `study`: recorded, analysed, played, and judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allais._system.extras import extra
from allais.report.markup import markdown_table
from allais.traffic.analysis import PAPER_ETA, PRINTED, require_blocks
from allais.traffic.network import RoadNetwork
from allais.traffic.play import MODEL_FREE, PEOPLE, Measurements, PolicySummary, Scale, run
from allais.traffic.problem import grid_network, grid_problem
from allais.traffic.recording import Recording, Watch, record
from allais.traffic.report import COLUMNS, HIGH, WIDE, draw_delays, draw_map, report, two_that_matter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PEOPLE", "Judgement", "Measurements", "PolicySummary", "Scale", "Study", "judged", "run", "study"]

BLOCKS = 15  # of six hours with one closure each: enough for leads of three standard errors
CLEAR = 3.0  # standard errors
DPI = 110


class Judgement(NamedTuple):
    """An expectation of the study, the measurement, and whether it is met."""

    claim: str
    measured: str
    holds: bool


@dataclass(frozen=True, eq=False)
class Study:
    """All that a report needs: numbers, words, pictures."""

    measured: Measurements
    network: RoadNetwork
    judgements: tuple[Judgement, ...]

    @property
    def holds(self) -> bool:
        """Whether everything shows that should."""
        return all(one.holds for one in self.judgements)

    @property
    def text(self) -> str:
        """Markdown: what was recorded, tables of routes and policies, the judgements."""
        rows = [(one.claim, one.measured, "yes" if one.holds else "NO") for one in self.judgements]
        table = markdown_table(("claim", "measured", "holds"), rows)
        return f"{report(self.measured)}\nWhat it should show, and whether it does:\n\n{table}\n"

    def draw_maps(self, figure: Figure) -> None:
        """Routes on the map: the fastest on average and the preferred one in front."""
        recording = self.measured.recording
        draw_map(figure.subplots(), self.network, recording, two_that_matter(recording, self.measured.table, PEOPLE))

    def draw_delays(self, figure: Figure) -> None:
        """A histogram of each route's delays, the tail marked."""
        draw_delays(figure, self.measured.recording)

    def save(self, folder: Path) -> None:
        """Write the text and both pictures into a folder that exists."""
        (folder / "traffic.md").write_text(self.text, encoding="utf-8")
        with extra("plot", "a picture"):
            from matplotlib.figure import Figure

        rows = -(-len(self.measured.recording.routes) // COLUMNS)
        for name, draw, size in (
            ("map", self.draw_maps, (WIDE, HIGH)),
            ("delays", self.draw_delays, (14.0, 2.4 * rows)),
        ):
            figure = Figure(figsize=size, layout="constrained")
            draw(figure)
            figure.savefig(folder / f"traffic-{name}.png", dpi=DPI)


def study(
    seed: int = 1,
    scale: Scale | None = None,
    n_jobs: int = -1,
    recording: Recording | None = None,
    blocks: int = BLOCKS,
    watch: Watch = lambda share: None,
) -> Study:
    """Record the paper's network, unless a recording of it is given, and study it.

    The same seed gives the same numbers for any `n_jobs`, with the same version of SUMO.
    """
    network = grid_network()
    require_blocks(blocks if recording is None else recording.n_blocks)  # before minutes are spent
    if recording is None:
        # recording and playing take about as long
        recording = record(
            grid_problem("stream"), blocks, seed, n_jobs=n_jobs, stratified=True, watch=lambda share: watch(share / 2.0)
        )
    strange = [route.name for route in recording.routes if not set(route.edges) <= network.edges.keys()]
    if strange:
        raise ValueError(
            f"this study is about the paper's network; the recording's {strange[0]} leaves it. "
            "Use allais.traffic.play.run for a network of your own."
        )
    found = run(recording, scale, seed, n_jobs, lambda share: watch(0.5 + share / 2.0))
    return Study(found, network, tuple(judged(found)))


def judged(found: Measurements) -> Iterator[Judgement]:
    """Compare the measurements with the expectations."""
    table, fastest, preferred = found.table, found.fastest, found.preferred
    yield Judgement("the fastest route is not the preferred one", f"{fastest}, {preferred}", fastest != preferred)
    fast, liked = table.best("mean"), table.best(PEOPLE)
    if fast != liked:
        for column, better, other in (("mean", fast, liked), (PEOPLE, liked, fast)):
            gap = table.gap(column, better, other)
            claim = f"{table.names[better]} leads by more than {CLEAR:g} standard errors ({column})"
            yield Judgement(claim, f"{gap.difference:.1f} s, {gap.errors:.1f} errors", gap.errors > CLEAR)
    free = [one for name in MODEL_FREE for one in found.of(name)]
    groups: dict[str, tuple[str, list[PolicySummary]]] = {
        "OFUL ends on the fastest": (fastest, found.of("OFUL")),
        "W-OFUL that knows the residuals ends on the preferred": (preferred, found.of("W-OFUL 0.61", "residuals")),
        "W-OFUL that takes noise for normal cannot see the tail": (fastest, found.of("W-OFUL 0.61", "normal")),
        "UCB1, without a model, ends on the fastest": (fastest, found.of("UCB1")),
        "policies without a model end on the preferred": (preferred, free),
    }
    for claim, (route, found_by) in groups.items():
        measured = "; ".join(
            f"{one.policy} ({one.knows}) {one.route} in {one.agreement:.0%} of runs" for one in found_by
        )
        yield Judgement(claim, measured, all((one.route, one.agreement) == (route, 1.0) for one in found_by))
    share = float(table.shares(f"TK {PAPER_ETA}")[fast])
    yield Judgement(
        f"with the paper's eta = {PAPER_ETA:g} the fastest route is avoided",
        f"best in {share:.0%} of resampled recordings",
        share < 0.05,
    )
    lead = PRINTED[7][1] - PRINTED[8][1]
    error = float(np.hypot(found.scheme_errors[7], found.scheme_errors[8]))
    yield Judgement(
        "the paper's own detour leads by less than its scheme errs", f"{lead:.2f} against {error:.2f}", lead < error
    )
