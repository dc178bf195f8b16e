"""The two corollaries that know no gap: what W-UCB's regret is at most, and what some problem costs any policy."""

from __future__ import annotations

import numpy as np

from allais import theory
from allais.lotteries import Bernoulli
from allais.paper.drawing import GREY, RED, drawing
from allais.paper.findings import Figure, Finding
from allais.paper.measure import colour_of
from allais.policies import NPTS, WUCB
from allais.policies.core.base import Policy
from allais.preferences import Preference
from allais.problems import Bandit
from allais.rewards import Bounded
from allais.simulation import simulate
from allais.weights import HolderPair, SteepMiddle

ALPHA = 0.5
PEOPLE, RANGE, PAIR = Preference(SteepMiddle(ALPHA)), Bounded(0, 1), HolderPair(1.0, ALPHA)  # the weight of erratum 13
ROUNDS = (100, 1_000, 10_000)
STEPS = np.geomspace(1e-3, 0.3, 6)  # p of the better arm above 1/2: the hardest is about n^(-1/2)


def gap_independent(runs: int, seed: int) -> tuple[tuple[Finding, Finding], Figure]:
    """Both corollaries beside two policies, each on the gap that is worst for it."""
    policies: dict[str, Policy] = {"W-UCB": WUCB.as_printed(PEOPLE, RANGE), "NPTS": NPTS(PEOPLE, RANGE)}
    worst = {name: _worst(policy, runs, seed) for name, policy in policies.items()}
    rounds = np.array(ROUNDS, dtype=float)
    most = np.array([theory.wucb_regret_any_gap(PAIR, 1.0, 2, n) for n in ROUNDS])
    least = np.array([forced_regret(n) for n in ROUNDS])
    power = 1.0 - ALPHA / 2.0
    growths = {
        name: float(np.log(regret[-1] / regret[0]) / np.log(rounds[-1] / rounds[0])) for name, regret in worst.items()
    }
    with drawing(
        "corollaries",
        "Regret at the gap that is worst for each policy and n, between what Corollary 1 allows "
        f"W-UCB and what two problems force on any policy; both grow like n^{power:g} or a little more.",
    ) as one:
        one.axes.plot(rounds, most, "s--", color=GREY, label="Corollary 1, at most")
        for name, regret in worst.items():
            one.axes.plot(rounds, regret, "o-", label=name, color=colour_of(name))
        one.axes.plot(rounds, least, "s:", color=RED, label="Corollary 2, at least")
        one.axes.set(xscale="log", yscale="log", xlabel="rounds", ylabel="regret")
        one.axes.legend()
    shown = ", ".join(f"{regret:,.0f}" for regret in worst["W-UCB"])
    ahead = ", ".join(f"{name} n^{exponent:.2f}" for name, exponent in growths.items())
    return (
        Finding(
            "Corollary 1: whatever the gaps, W-UCB's regret is at most M K^(a/2) (3/2 (2L)^(2/a) log n + c)^(a/2) "
            "n^(1-a/2)",
            ", ".join(f"{bound:,.0f}" for bound in most) + f" at n = {', '.join(f'{n:,}' for n in ROUNDS)}",
            f"{shown} at the worst of {STEPS.size} gaps", bool((worst["W-UCB"] <= most).all()),
            why="with c = 1 + 2 pi^2 / 3, from the proof",
        ),
        Finding(
            "Corollary 2: every policy has a problem with regret of at least c L n^(1-a/2) K^(a/2)",
            f"growth like n^{power:g}",
            f"two problems force {least[-1] / rounds[-1]**power:.3f} n^{power:g}; the worst regret grows like {ahead}",
            bool(all((regret >= least).all() for regret in worst.values())), 13,
            "for a weight as steep as its Hölder pair allows, not for every weight that has it", as_corrected=True,
        ),
    ), one.figure  # fmt: skip


def _worst(policy: Policy, runs: int, seed: int) -> np.ndarray:
    """The mean regret at each number of rounds, of the gap that makes it largest."""
    found = [
        simulate(
            policy, Bandit([Bernoulli(0.5 + step), Bernoulli(0.5)]), ROUNDS[-1], runs, seed=seed, judge=PEOPLE,
            progress=False, checkpoints=ROUNDS,
        ).mean_regret
        for step in STEPS.tolist()
    ]  # fmt: skip
    return np.max(found, axis=0)


def forced_regret(rounds: int) -> float:
    """What any policy's regret is on one of two problems, which differ by which arm is the better one.

    The chances of playing the wrong arm in half of the rounds sum to exp(-n KL) / 2 at least (Bretagnolle and Huber),
    so one of the two regrets is n Delta exp(-n KL) / 8 or more, here at the step that makes it largest.
    """
    steps = np.geomspace(1e-5, 0.4, 2_000)
    gaps = np.asarray(PEOPLE.gains(0.5 + steps)) - 0.5
    high, low = 0.5 + steps, 0.5
    forth = high * np.log(high / low) + (1.0 - high) * np.log((1.0 - high) / low)
    back = low * np.log(low / high) + low * np.log(low / (1.0 - high))
    apart = np.maximum(forth, back)
    return float(np.max(rounds * gaps * np.exp(-rounds * apart) / 8.0))
