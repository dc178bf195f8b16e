"""Many different preferences on one memory: what ask and tell cost when every person has one of her own."""

from __future__ import annotations

from itertools import cycle, islice
from time import process_time

import numpy as np

from allais import NPTS, WUCB, Bounded, Preference, SubGaussian, TverskyKahneman, expected_value
from allais.bands import DKW, Envelope, Holder
from allais.policies import Policy
from allais.preferences import PowerUtility
from benchmarks.tables import Table

ARMS = 2
PEOPLE = (200, 300, 10_000)
DISTINCT = (1_000, 15_000)  # outcomes per arm
CALLS, MOST_SECONDS = 400, 3.0  # that are timed, after everybody has come once; fewer where they take long
OWN = expected_value(reference=30.0)


def weights(k: int) -> Preference:
    """Somebody whose weights are her own."""
    return Preference(TverskyKahneman(0.4 + 0.00005 * k))


def both(k: int) -> Preference:
    """Somebody whose weights, utility and loss aversion are her own, as after an interview."""
    return Preference(TverskyKahneman(0.4 + 0.00005 * k), utility=PowerUtility(0.5 + 0.00004 * k, 1.0 + 0.0001 * k))


HERS = {weights: "weights", both: "weights and utility"}


REWARDS = Bounded(0, 60)
POLICIES: list[Policy] = [
    NPTS(OWN, REWARDS),
    WUCB(OWN, REWARDS, name="W-UCB, KL"),
    WUCB(OWN, REWARDS, band=Holder(), name="W-UCB, Holder"),
    WUCB(OWN, REWARDS, band=DKW(), name="W-UCB, DKW"),
    WUCB(OWN, SubGaussian(20.0, 60.0), band=Envelope(), name="W-UCB, Envelope"),
]


def run(policies: list[Policy] = POLICIES) -> str:
    heads = *(f"{many:,} people" for many in PEOPLE), "a new one, at most"
    table = Table("policy", "her own", "outcomes per arm", *heads)
    for policy in policies:
        # unbounded rewards need a linear utility
        for kind in (weights, both) if policy.rewards == REWARDS else (weights,):
            for distinct in DISTINCT:
                each = [_measured(policy, [kind(k) for k in range(many)], distinct) for many in PEOPLE]
                times = [f"{1e3 * usual:.2f} ms" for usual, _ in each]
                table.add(policy.name, HERS[kind], f"{distinct:,}", *times, f"{1e3 * each[-1][1]:.1f} ms")
    return (
        "## Many different preferences on one memory\n\n"
        f"CPU time of ask + tell with {ARMS} arms and distinct outcomes, everybody in turn; and of the dearest of the "
        "first choices for people whom the learner never saw, of which as many are made as fit into "
        f"{MOST_SECONDS:.0f} seconds.\n\n{table}\n"
    )


def _measured(policy: Policy, people: list[Preference], distinct: int) -> tuple[float, float]:
    """Seconds per ask and tell when everybody has come before, and of the dearest choice for somebody new."""
    rng = np.random.default_rng(1)
    learner = policy.start(ARMS, seed=1)
    for arm in range(ARMS):
        learner.observe(arm, rng.uniform(0.0, 60.0, distinct))
    learner.tell(learner.ask(preference=Preference(TverskyKahneman(0.3))), 30.0)  # compiled code is loaded by now
    began, dearest = process_time(), 0.0
    for person in people:
        before = process_time()
        choice = learner.ask(preference=person)
        dearest = max(dearest, process_time() - before)
        learner.tell(choice, float(rng.uniform(0.0, 60.0)))
        if process_time() - began > MOST_SECONDS:
            break
    began, calls = process_time(), 0
    for person in islice(cycle(people), CALLS):
        learner.tell(learner.ask(preference=person), float(rng.uniform(0.0, 60.0)))
        calls += 1
        if process_time() - began > MOST_SECONDS:
            break
    return (process_time() - began) / calls, dearest


if __name__ == "__main__":
    print(run())
