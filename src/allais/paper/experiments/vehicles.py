"""Section VI on simulated traffic: which route each policy ends on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allais.linear import OFUL, WOFUL
from allais.paper.findings import Done, ExperimentResult, Figure, Finding, ResultTable
from allais.paper.report import BLUE, INK, ORANGE, drawing
from allais.simulation.rollout import Rollout
from allais.traffic.analysis import PAPER_ETA, objectives, residual_noise
from allais.traffic.play import BETA, DELTA, LAMBDA, PEOPLE
from allais.traffic.report import TAIL, draw_map, policies_table, routes_table, two_that_matter
from allais.traffic.study import BLOCKS, Scale, Study, study

# what the paper says about these, on its own simulator
SAID = {
    "the fastest route is not the preferred one": "routes 7 and 8 of its table",
    "OFUL ends on the fastest": "OFUL prefers the shorter route",
    "W-OFUL that knows the residuals ends on the preferred": "W-OFUL finds the longer one",
}


GOOD = 0.2  # of the length of theta: what we take for a good accuracy


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
        findings=(*findings, _theta(found, size.scale, seed)),
        tables=(
            ResultTable(
                "Routes: excess delays in seconds, standard errors by bootstrap over blocks",
                *routes_table(recording, table),
            ),
            ResultTable("Policies", *policies_table(found.measured)),
        ),
        figures=(_map(found), _delays(found)),
        notes=(
            f"With the paper's eta = {PAPER_ETA:g}, {table.names[fastest]} is the best in {shares[fastest]:.0%} of the "
            f"resampled recordings, and of the others {safest}: which of them is best rests on single, longest delays.",
            "Routes do not determine the roads: "
            f"ridge regression on {len(found.measured.fit.roads)} roads has rank {found.measured.fit.fit.rank} and "
            f"misses a route's mean by {misfit.mean():.1f} s on average, {misfit.max():.1f} s at most. "
            "The paper prints delays of its own simulator and network; they are in the section on the route table.",
        ),
        facts={
            "fastest": found.measured.fastest,
            "preferred": found.measured.preferred,
            "longer": float(np.ptp(table.excess[table.columns.index("mean")][[fastest, table.best(PEOPLE)]])),
            "OFUL": found.measured.of("OFUL", f"delta {DELTA:g}")[0].route,
            "W-OFUL": found.measured.of("W-OFUL 0.61", f"residuals, delta {DELTA:g}")[0].route,
        },
    )


def _theta(found: Study, scale: Scale, seed: int) -> Finding:
    """What OFUL and W-OFUL have learned at the end, beside the ridge regression on all probes."""
    measured = found.measured
    recording, fit = measured.recording, measured.fit
    problem, noise, people = recording.problem(), residual_noise(recording), objectives(recording.baseline)
    means = np.array([recording.samples(k).mean() for k in range(problem.n_arms)])
    settings: dict[str, Any] = {"delta": DELTA, "beta": BETA, "regularisation": LAMBDA}
    words, off = [], []
    for policy in (
        OFUL(noise, reference=recording.baseline, costs=True, **settings), WOFUL(people[PEOPLE], noise, **settings)
    ):  # fmt: skip
        missed = []
        for run_seed in np.random.SeedSequence(seed).spawn(scale.runs):
            rollout = Rollout(policy, problem, run_seed)
            rollout.run(scale.rounds)
            theta, pulls = rollout.state.theta, rollout.state.memory.pulls
            route = int(np.argmax(pulls))
            missed.append(
                (np.linalg.norm(theta - fit.fit.theta) / np.linalg.norm(fit.fit.theta),
                 abs(float(problem.features[route] @ theta) / means[route] - 1.0))
            )  # fmt: skip
        whole, played = np.mean(missed, axis=0)
        off.append(whole)
        words.append(f"{policy.name}'s is {whole:.0%} away, and right to {played:.1%} on the route it plays most")
    return Finding(
        "both learn theta to a good accuracy",
        "a good accuracy",
        "; ".join(words),
        max(off) < GOOD,
        why=f"good: within {GOOD:.0%} of theta by ridge regression on all probes, of which the routes determine "
        f"{fit.fit.rank} of {len(fit.roads)} directions",
    )


def _map(found: Study) -> Figure:
    recording = found.measured.recording
    with drawing("map", "All routes side by side; the two that matter in front. The fastest on average passes a level "
                 "crossing that is sometimes closed.", 4.1) as picture:  # fmt: skip
        draw_map(picture.axes, found.network, recording, two_that_matter(recording, found.measured.table, PEOPLE), INK)
    return picture.figure


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


SIZES = {"quick": Size(BLOCKS, Scale.quick()), "full": Size(60, Scale(rounds=50_000))}
