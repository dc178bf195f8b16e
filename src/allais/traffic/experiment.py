"""The experiment of Section VI as one call, `study`: recorded, analysed, played, and its findings judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from allais.traffic import figures
from allais.traffic.analysis import PAPER_ETA, PRINTED, require_blocks
from allais.traffic.grid import grid_network
from allais.traffic.network import RoadNetwork
from allais.traffic.play import MODEL_FREE, PEOPLE, Experiment, Outcome, Scale, run
from allais.traffic.problem import grid_problem
from allais.traffic.recording import Recording, Watch, record
from allais.traffic.text import markdown_table, report

__all__ = ["PEOPLE", "Experiment", "Finding", "Outcome", "Scale", "Study", "findings", "run", "study"]

BLOCKS = 15  # of six hours with one closure each: enough for leads of three standard errors
CLEAR = 3.0  # standard errors
DPI = 110


class Finding(NamedTuple):
    """Something that the experiment should show, what was measured, and whether that shows it."""

    claim: str
    measured: str
    holds: bool


@dataclass(frozen=True, eq=False)
class Study:
    """All that a report needs: numbers, words, pictures."""

    experiment: Experiment
    network: RoadNetwork
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether every finding does."""
        return all(finding.holds for finding in self.findings)

    @property
    def text(self) -> str:
        """Markdown: what was recorded, tables of routes and policies, the findings."""
        rows = [(one.claim, one.measured, "yes" if one.holds else "NO") for one in self.findings]
        table = markdown_table(("finding", "measured", "holds"), rows)
        return f"{report(self.experiment)}\nWhat it should show, and whether it does:\n\n{table}\n"

    def draw_maps(self, figure: Figure) -> None:
        """Routes on the map, by mean and by distorted excess delay."""
        figures.draw_maps(figure, self.network, self.experiment.recording, self.experiment.table, PEOPLE)

    def draw_delays(self, figure: Figure) -> None:
        """A histogram of each route's delays, the tail marked."""
        figures.draw_delays(figure, self.experiment.recording)

    def save(self, folder: Path) -> None:
        """Write the text and both pictures into a folder that exists."""
        (folder / "traffic.md").write_text(self.text, encoding="utf-8")
        rows = -(-len(self.experiment.recording.routes) // figures.COLUMNS)
        for name, draw, height in (("map", self.draw_maps, 6.4), ("delays", self.draw_delays, 2.4 * rows)):
            figure = Figure(figsize=(figures.WIDE, height), layout="constrained")
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
    """Record the paper's network, unless a recording of it is given, and run the experiment on it.

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
            f"this experiment is about the paper's network; the recording's {strange[0]} leaves it. "
            "Use allais.traffic.play.run for a network of your own."
        )
    found = run(recording, scale, seed, n_jobs, lambda share: watch(0.5 + share / 2.0))
    return Study(found, network, tuple(findings(found)))


def findings(found: Experiment) -> Iterator[Finding]:
    """Judge what was measured."""
    table, fastest, preferred = found.table, found.fastest, found.preferred
    yield Finding("the fastest route is not the preferred one", f"{fastest}, {preferred}", fastest != preferred)
    fast, liked = table.best("mean"), table.best(PEOPLE)
    if fast != liked:
        for column, better, other in (("mean", fast, liked), (PEOPLE, liked, fast)):
            gap = table.gap(column, better, other)
            claim = f"{table.names[better]} leads by more than {CLEAR:g} standard errors ({column})"
            yield Finding(claim, f"{gap.difference:.1f} s, {gap.errors:.1f} errors", gap.errors > CLEAR)
    free = [one for name in MODEL_FREE for one in found.of(name)]
    groups: dict[str, tuple[str, list[Outcome]]] = {
        "OFUL settles on the fastest": (fastest, found.of("OFUL")),
        "W-OFUL that knows the residuals settles on the preferred": (preferred, found.of("W-OFUL 0.61", "residuals")),
        "W-OFUL that takes noise for normal cannot see the tail": (fastest, found.of("W-OFUL 0.61", "normal")),
        "UCB1, without a model, settles on the fastest": (fastest, found.of("UCB1")),
        "policies without a model settle on the preferred": (preferred, free),
    }
    for claim, (route, outcomes) in groups.items():
        measured = "; ".join(
            f"{one.policy} ({one.knows}) {one.route} in {one.agreement:.0%} of runs" for one in outcomes
        )
        yield Finding(claim, measured, all((one.route, one.agreement) == (route, 1.0) for one in outcomes))
    share = float(table.shares(f"TK {PAPER_ETA}")[fast])
    yield Finding(
        f"with the paper's eta = {PAPER_ETA:g} the fastest route is avoided",
        f"best in {share:.0%} of resampled recordings",
        share < 0.05,
    )
    lead = PRINTED[7][1] - PRINTED[8][1]
    error = float(np.hypot(found.scheme_errors[7], found.scheme_errors[8]))
    yield Finding(
        "the paper's own detour leads by less than its scheme errs", f"{lead:.2f} against {error:.2f}", lead < error
    )
