"""Policies on recorded traffic: which route each ends on, how soon, at what regret."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allais._system.extras import extra
from allais.learner import Learner
from allais.linear import OFUL, WOFUL, LinGapE, LinTS
from allais.linear.noise import ArmNoise
from allais.policies import NPTS, UCB1, WLUCB, WSR, WUCB
from allais.policies.core.base import Policy
from allais.preferences import Preference
from allais.problems import Problem
from allais.rewards import Bounded
from allais.simulation import simulate
from allais.traffic.analysis import (
    PRINTED,
    RoadFit,
    RouteTable,
    normal_noise,
    objectives,
    residual_noise,
    road_fit,
    road_noise,
    route_table,
    scheme_error,
)
from allais.traffic.problem import PAPER_DETOUR, PAPER_SHORT
from allais.traffic.recording import Recording, Watch
from allais.weights import TverskyKahneman

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


LAMBDA, BETA = 1.0, 400.0  # Section VI
PAPER_DELTA, DELTA = 0.99, 0.05  # the paper's, which is no confidence, and a sensible one
PEOPLE = "TK 0.61"
SHORTER = "W-LUCB 0.61"  # plays a quarter of the rounds
MODEL_FREE = ("W-UCB 0.61", "NPTS 0.61", SHORTER, "W-SR 0.61")  # these know bounds or nothing about the delays


@dataclass(frozen=True)
class Scale:
    """How much is played."""

    rounds: int = 200_000
    runs: int = 10
    resamples: int = 400

    @classmethod
    def quick(cls) -> Scale:
        """Enough to see which route each policy ends on."""
        return cls(rounds=20_000, runs=4, resamples=200)


@dataclass(frozen=True)
class PolicySummary:
    """What the runs of one policy came to."""

    policy: str
    knows: str  # about the noise
    route: str  # recommended at the end, by most runs
    agreement: float  # the share of runs that recommend it
    unchanged_since: float  # the median round after which the recommendation did not change any more
    stopped: str  # of policies that stop by themselves: after how many samples
    distorted_regret: float  # mean, seconds
    mean_regret: float


@dataclass(frozen=True, eq=False)
class Measurements:
    """All that was measured on one recording."""

    recording: Recording
    table: RouteTable
    fit: RoadFit
    policies: tuple[PolicySummary, ...]
    preferred_under: dict[str, dict[str, str]]  # by model of noise and objective: the route best at theta_off
    scheme_errors: dict[int, float]  # of the paper's estimate, by route of its table
    scale: Scale

    @property
    def fastest(self) -> str:
        """The route of the lowest mean delay."""
        return self.table.names[self.table.best("mean")]

    @property
    def preferred(self) -> str:
        """The route of the lowest distorted delay."""
        return self.table.names[self.table.best(PEOPLE)]

    def of(self, policy: str, knows: str = "") -> list[PolicySummary]:
        """The plays of a policy: all, or those whose knowledge begins like this."""
        return [one for one in self.policies if one.policy == policy and one.knows.startswith(knows)]


def noise_models(recording: Recording) -> dict[str, ArmNoise]:
    """Models of the noise that W-OFUL may be given."""
    return {
        "residuals": residual_noise(recording),
        "roads": road_noise(recording),
        "normal": normal_noise(recording),
    }


def entrants(recording: Recording, noises: dict[str, ArmNoise], budget: int) -> Iterator[tuple[str, Policy]]:
    """Every policy that is compared, and what it knows about the noise."""
    people, baseline = objectives(recording.baseline), recording.baseline
    utility, bounds = people[PEOPLE], Bounded(0.0, math.ceil(recording.delay.max()))
    residuals, same = noises["residuals"], dict[str, Any](beta=BETA, regularisation=LAMBDA)
    for delta in (PAPER_DELTA, DELTA):
        yield f"delta {delta:g}", OFUL(residuals, delta=delta, reference=baseline, costs=True, **same)
        for name in ("TK 0.61", "TK 0.69"):
            policy = WOFUL(people[name], residuals, delta=delta, name=f"W-OFUL {name[3:]}", **same)
            yield f"residuals, delta {delta:g}", policy
    for model in ("roads", "normal"):
        yield f"{model}, delta {DELTA:g}", WOFUL(utility, noises[model], delta=DELTA, name="W-OFUL 0.61", **same)
    yield "residuals", LinTS(utility, residuals, regularisation=LAMBDA, name="LinTS 0.61")
    yield f"residuals, delta {DELTA:g}", LinGapE(utility, residuals, delta=DELTA, name="LinGapE 0.61", **same)
    yield "bounds", UCB1(bounds, reference=baseline, costs=True)
    yield "bounds", WUCB.as_printed(utility, bounds, name="W-UCB 0.61")
    yield "bounds", NPTS(utility, bounds, name="NPTS 0.61")
    # intervals of many outcomes cost more than all other policies together: it gets the budget of W-SR
    yield f"bounds, delta {DELTA:g}, {budget:,} rounds", WLUCB(utility, bounds, delta=DELTA, name=SHORTER)
    yield f"budget {budget}", WSR(utility, budget=budget, name="W-SR 0.61")


def play(policy: Policy, knows: str, recording: Recording, scale: Scale, seed: int, n_jobs: int = 1) -> PolicySummary:
    """Run one policy on the recorded delays."""
    problem = recording.problem()
    people = objectives(recording.baseline)
    results = simulate(
        policy, problem, scale.rounds, scale.runs, seed=seed, n_jobs=n_jobs, judge=people[PEOPLE], progress=False
    )
    means = problem.true_values(people["mean"])
    final = results.recommended[:, -1]
    route = int(np.bincount(final, minlength=problem.n_arms).argmax())
    changed = results.recommended != final[:, None]
    # the first checkpoint after the last one that recommends another route
    after = np.where(changed.any(axis=1), changed.shape[1] - np.argmax(changed[:, ::-1], axis=1), 0)
    stopped = "" if policy.goal == "regret" else "not within the rounds"
    if results.stopped.all() and policy.goal != "regret":
        stopped = f"after {np.median(results.samples):,.0f}"
    return PolicySummary(
        policy.name,
        knows,
        str(problem.arms[route]),
        float(np.mean(final == route)),
        float(np.median(results.checkpoints[after])),
        stopped,
        float(results.mean_regret[-1]),
        float(np.mean(results.pulls[:, -1] @ (means.max() - means))),
    )


def best_at_fit(recording: Recording, fit: RoadFit, noises: dict[str, ArmNoise]) -> dict[str, dict[str, str]]:
    """The route that each objective prefers under each model of the noise, at theta_off itself."""
    features = recording.problem().features
    places = features @ fit.fit.theta
    people = {name: p for name, p in objectives(recording.baseline).items() if name != "TK 0.1"}
    found: dict[str, dict[str, str]] = {}
    for model, noise in noises.items():
        arms = noise.of(features)
        distributions = [arms.lottery(k, place) for k, place in enumerate(places.tolist())]
        values = {
            name: [preference.value(distribution) for distribution in distributions]
            for name, preference in people.items()
        }
        found[model] = {name: recording.routes[int(np.argmax(row))].name for name, row in values.items()}
    return found


def run(
    recording: Recording,
    scale: Scale | None = None,
    seed: int = 1,
    n_jobs: int = 1,
    watch: Watch = lambda share: None,
) -> Measurements:
    """Measure everything on one recording."""
    scale = scale or Scale()
    table = route_table(recording, scale.resamples)
    fit, noises = road_fit(recording, LAMBDA), noise_models(recording)
    compared = list(entrants(recording, noises, scale.rounds // 4))
    summaries = []
    for knows, policy in compared:
        length = replace(scale, rounds=scale.rounds // 4) if policy.name == SHORTER else scale
        summaries.append(play(policy, knows, recording, length, seed, n_jobs))
        watch(len(summaries) / len(compared))
    lengths = {7: len(PAPER_SHORT) - 1, 8: len(PAPER_DETOUR) - 1}
    return Measurements(
        recording,
        table,
        fit,
        tuple(summaries),
        best_at_fit(recording, fit, noises),
        {route: scheme_error(PRINTED[route][0], roads) for route, roads in lengths.items()},
        scale,
    )


USUAL, LONGEST = 250.0, 7200.0  # seconds: what a traveller expects, and what no trip takes
EAGER = 1e-4  # of the paper's exploration, whose widths are very careful: here something should happen soon


def watch(
    problem: Problem, days: int, seed: int, pause: float = 0.0, console: Console | None = None, usual: float = USUAL
) -> Learner:
    """Advise for some days, by the live simulator or a recording, and show it; the learner at the end."""
    with extra("cli", "a live view"):
        from rich.live import Live

    preference = Preference(TverskyKahneman(0.61), reference=usual, costs=True)
    policy: Policy = WUCB.as_printed(preference, Bounded(0.0, LONGEST), exploration=EAGER)
    chooser, traveller = np.random.SeedSequence(seed).spawn(2)
    learner = policy.start(problem.arms, np.random.default_rng(chooser))
    rng = np.random.default_rng(traveller)
    with Live(console=console, auto_refresh=False) as live:
        for day in range(1, days + 1):
            choice = learner.ask()
            delay = float(problem.draw(problem.arms.index(choice.arm), rng, 1)[0])
            learner.tell(choice, delay)
            live.update(view(learner, day, f"{choice.arm}", delay, usual), refresh=True)
            time.sleep(pause)
    return learner


def view(learner: Learner, day: int, route: str, delay: float, usual: float = USUAL) -> Table:
    """What the learner believes after a day."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(f"day {day}: advised {route}, it took {delay:.0f} s", "table.title"))
    for heading in ("route", "days", "mean, s", "longest, s", "feels like, s"):
        table.add_column(heading, justify="left" if heading == "route" else "right")
    best = learner.recommend().arm
    values = learner.value()
    for name, pulls in learner.pulls.items():
        if pulls == 0:
            table.add_row(Text(str(name)), "0", "", "", "")
            continue
        outcomes, counts = learner.outcomes(name)
        row = [f"{np.average(outcomes, weights=counts):.0f}", f"{outcomes.max():.0f}", f"{usual - values[name]:.0f}"]
        shown = Text(f"{name} *" if name == best else str(name))
        table.add_row(shown, str(pulls), *row, style="bold" if name == best else "")
    return table
