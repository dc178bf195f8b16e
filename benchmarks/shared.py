"""Many people on one memory: each preference's regret beside that of learners alone, and of one average preference."""

from __future__ import annotations

import time

import numpy as np

from allais import NPTS, WUCB, Bandit, Bounded, Discrete, Mixture, Preference, TverskyKahneman, Uniform, simulate
from allais.policies import Policy
from allais.preferences import PowerUtility
from allais.report.markup import markdown_table
from allais.weights import Identity
from benchmarks.tables import Table, with_error

NEUTRAL = 9.0  # below it, everybody feels a loss
PREFERENCES = {
    "the mean": Preference(Identity(), reference=NEUTRAL),
    "Tversky and Kahneman's weights": Preference(TverskyKahneman(0.61), reference=NEUTRAL),
    "strong weights": Preference(TverskyKahneman(0.45), reference=NEUTRAL),
    "averse to losses": Preference.tversky_kahneman(reference=NEUTRAL),
    "very averse to losses": Preference(Identity(), Identity(), PowerUtility(1.0, 4.0), NEUTRAL),
}
# The mean of each parameter over the five preferences: what one would use who knows no better.
AVERAGE = Preference(TverskyKahneman(0.734), TverskyKahneman(0.75), PowerUtility(0.976, 1.85), NEUTRAL)
REWARDS = Bounded(0, 120)
PROBLEM = Bandit(
    [
        Discrete({9: 1.0}),
        Discrete({50: 0.15, 0: 0.85}),
        Discrete({120: 0.03, 4: 0.97}),
        Mixture([Uniform(12, 14), Uniform(0, 1)], [0.8, 0.2]),
        Uniform(0, 19),
    ],
    arms=["sure", "often nothing", "rare prize", "mostly good", "even"],
)
EACH, VISITS, RUNS = 20, 200, 20  # people per preference, rounds per person on average, runs


def run() -> str:
    return (
        "## Many people on one memory\n\n"
        + _preface()
        + "".join(_table(kind(PREFERENCES["the mean"], REWARDS)) for kind in (NPTS, WUCB))
    )


def _preface() -> str:
    best = {name: PROBLEM.arms[int(np.argmax(PROBLEM.true_values(one)))] for name, one in PREFERENCES.items()}
    rows = [(name, repr(best[name])) for name in PREFERENCES]
    return (
        f"Five arms, {EACH * len(PREFERENCES)} people with five preferences, "
        f"{EACH * len(PREFERENCES) * VISITS:,} rounds, {RUNS} runs, seed 1.\n\n"
        + markdown_table(("preference", "its best arm"), rows)
        + "\n\n"
    )


def _table(policy: Policy) -> str:
    people = {f"{name}, {k}": preference for k in range(EACH) for name, preference in PREFERENCES.items()}
    rounds = len(people) * VISITS
    begin = time.perf_counter()
    shared = simulate(policy, PROBLEM, rounds, RUNS, seed=1, checkpoints=[rounds], progress=False, people=people)
    each = (time.perf_counter() - begin) / (rounds * RUNS) * 1e6
    of_run = shared.regret[:, :, -1]
    table = Table(f"{policy.name}: regret per person, by her own value", "one memory", "learners of their own",
                  "one per preference", "one average preference")  # fmt: skip
    for name, preference in PREFERENCES.items():
        members = [k for k, person in enumerate(shared.people) if str(person).startswith(f"{name},")]
        ours = of_run[:, members].mean(axis=1)
        alone = simulate(policy.but(preference=preference), PROBLEM, VISITS, 20 * RUNS, seed=2, checkpoints=[VISITS])
        group = simulate(
            policy.but(preference=preference), PROBLEM, EACH * VISITS, RUNS, seed=3, checkpoints=[EACH * VISITS]
        )
        average = simulate(
            policy.but(preference=AVERAGE), PROBLEM, rounds, RUNS, seed=4, checkpoints=[rounds], judge=preference
        )
        others = alone.regret[:, -1], group.regret[:, -1] / EACH, average.regret[:, -1] / len(people)
        table.add(name, *(with_error(one, ".1f") for one in (ours, *others)))
    return f"{policy.name}, {each:.0f} us per round of the shared memory:\n\n{table}\n\n"
