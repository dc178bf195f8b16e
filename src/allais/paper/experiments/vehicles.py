"""Section VI on simulated traffic: which route each policy ends on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais.paper.drawing import BLUE, GREY, GROUND, ORANGE, RED, drawing
from allais.paper.experiment import Done, Experiment
from allais.paper.findings import ExperimentResult, Figure, Finding, ResultTable
from allais.traffic import sumo
from allais.traffic.analysis import PAPER_ETA
from allais.traffic.maps import TAIL, draw_map
from allais.traffic.play import PEOPLE
from allais.traffic.study import BLOCKS, Scale, Study, study
from allais.traffic.tables import policies_table, routes_table

# what the paper says about these, on its own simulator
SAID = {
    "the fastest route is not the preferred one": "routes 7 and 8 of its table",
    "OFUL ends on the fastest": "OFUL prefers the shorter route",
    "W-OFUL that knows the residuals ends on the preferred": "W-OFUL finds the longer one",
}


class Size(NamedTuple):
    """How much is recorded and played."""

    blocks: int
    scale: Scale


def run(size: Size, seed: int, done: Done) -> ExperimentResult:
    """Record all routes, and let policies learn from the recording."""
    found = study(seed, size.scale, n_jobs=1, blocks=size.blocks, watch=done)
    recording, table = found.measured.recording, found.measured.table
    about, misfit = recording.about, np.abs(found.measured.fit.misfit)
    shares = table.shares(f"TK {PAPER_ETA:g}")
    safest = ", ".join(f"{table.names[k]} {shares[k]:.0%}" for k in np.argsort(-shares) if shares[k] > 0.0)
    fastest = table.names.index(found.measured.fastest)
    findings = [
        Finding(
            one.claim, SAID.get(one.claim, "(beyond the paper)"), one.measured, one.holds, of_paper=one.claim in SAID
        )
        for one in found.judgements
    ]
    return ExperimentResult(
        setting=(
            ("simulator", f"Eclipse SUMO {about['sumo']}, in place of Green Light District"),
            (
                "recorded",
                f"{recording.delay.size:,} probes on {len(recording.routes)} routes from node 12 to node 4, in "
                f"{about['blocks']} blocks of {about['hours']:g} hours with {about['closures']} closures of a level "
                f"crossing; {recording.teleported} teleported and {recording.lost} lost, left out",
            ),
            ("played", f"{size.scale.runs} runs of {size.scale.rounds:,} rounds on the recorded delays"),
            ("baseline", f"{recording.baseline:.1f} s, the mean delay of a random router"),
        ),
        findings=tuple(findings),
        tables=(
            ResultTable(
                "Routes: excess delays in seconds, standard errors by bootstrap over blocks",
                *routes_table(recording, table),
            ),
            ResultTable("Policies", *policies_table(found.measured)),
        ),
        figures=(*_maps(found), _delays(found)),
        notes=(
            f"With the paper's eta = {PAPER_ETA:g}, {table.names[fastest]} is the best in {shares[fastest]:.0%} of the "
            f"resampled recordings, and of the others {safest}: which of them is best rests on single, longest delays.",
            "The paper says that both policies learn theta to a good accuracy. Routes do not determine the roads: "
            f"ridge regression on {len(found.measured.fit.roads)} roads has rank {found.measured.fit.fit.rank} and "
            f"misses a route's mean by {misfit.mean():.1f} s on average, {misfit.max():.1f} s at most.",
        ),
    )


def _maps(found: Study) -> tuple[Figure, ...]:
    table, drawn = found.measured.table, []
    for name, column, words in (("map-mean", "mean", "mean"), ("map-distorted", PEOPLE, f"distorted ({PEOPLE})")):
        with drawing(name, f"Routes by {words} excess delay; the best is thick and red.", 4.2) as picture:
            seconds = table.excess[table.columns.index(column)]
            draw_map(picture.axes, found.network, found.measured.recording, seconds, table.best(column), "")
            for line in picture.axes.lines:
                if line.get_zorder() == 1:  # streets, in a grey that suits any page
                    line.set(color=GREY, alpha=0.25)
                elif line.get_zorder() == 4:  # the best route, in a colour that shows on any page
                    line.set_color(RED)
            picture.axes.legend(loc="lower right")
            for text in picture.axes.texts:
                text.get_bbox_patch().set(facecolor=GROUND, edgecolor=GREY)
        drawn.append(picture.figure)
    return tuple(drawn)


def _delays(found: Study) -> Figure:
    recording, table = found.measured.recording, found.measured.table
    edges = np.linspace(float(recording.delay.min()), float(recording.delay.max()), 60)
    with drawing("delays", "Delays of the fastest and the preferred route; dotted: where the worst 1 % begin.") as one:
        for column, colour in (("mean", ORANGE), (PEOPLE, BLUE)):
            k = table.best(column)
            delays = recording.samples(k)
            share = np.full(delays.size, 1.0 / delays.size)
            words = "fastest on average" if column == "mean" else "preferred"
            one.axes.hist(delays, edges, weights=share, color=colour, alpha=0.55, label=f"{table.names[k]}, {words}")
            one.axes.axvline(float(np.quantile(delays, TAIL)), color=colour, linestyle=":", linewidth=1.5)
        one.axes.set(yscale="log", xlabel="delay, s", ylabel="share of probes")
        one.axes.legend()
    return one.figure


def missing() -> str | None:
    """What has to be installed first, in a sentence, or None."""
    return None if sumo.is_installed() else sumo.MISSING


EXPERIMENT = Experiment(
    "vehicles",
    "Vehicular routing on a traffic simulator",
    "Section VI",
    {"quick": Size(BLOCKS, Scale.quick()), "full": Size(60, Scale(rounds=50_000))},
    run,
    100.0,
    missing,
)
