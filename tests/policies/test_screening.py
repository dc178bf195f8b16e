"""Pairwise screening: by hand, by a plain reading, many arms, ties, common random numbers, and how often it errs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from allais import (
    Bandit,
    Discrete,
    Normal,
    PairwiseScreening,
    Preference,
    TverskyKahneman,
    best_arm,
    cvar,
    expected_value,
    simulate,
)
from allais._kernels import loop
from allais.learner import Learner, NotNow
from allais.policies.common_runs import common_difference, no_runs

MEAN = expected_value()
BOTH = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))


def test_sure_arms_part_as_soon_as_they_may_be_judged() -> None:
    # (1 - 0.5)^n <= 0.1 / 4 after 6 samples, and no arm is judged before 10
    learner = PairwiseScreening(MEAN, delta=0.1, rarest=0.5).start(list("AB"), seed=1)
    chosen = ""
    while not learner.recommend().settled:
        choice = learner.ask()
        chosen += str(choice.arm)
        learner.tell(choice, {"A": 1.0, "B": 2.0}[str(choice.arm)])
    assert chosen == "AB" * 10
    assert learner.recommend().arm == "B"


def test_a_pair_is_judged_as_the_formulas_say() -> None:
    # after every tell of two normal arms, a plain reading of the stopping rule must agree with the policy
    policy = PairwiseScreening(MEAN, delta=0.1, rarest=0.1, tolerance=0.05)
    learner, rng = policy.start(2, seed=1), np.random.default_rng(2)
    first = math.ceil(math.log(4 / 0.1) / -math.log(0.9))
    a = _root(0.1)
    seen: list[list[float]] = [[], []]
    looked = [0, 0]
    moments = [(0.0, 0.0), (0.0, 0.0)]
    while True:
        try:
            choice = learner.ask()
        except NotNow:
            break
        arm = int(str(choice.arm))
        seen[arm].append(float(rng.normal((0.0, 0.4)[arm])))
        learner.tell(choice, seen[arm][-1])
        n = len(seen[arm])
        if n < first or n < looked[arm]:
            continue
        looked[arm] = n + max(n // 32, 1)
        x = np.array(seen[arm])
        moments[arm] = float(x.var(ddof=1)), float(((x - x.mean()) ** 3).mean())
        if min(looked) == 0:
            continue
        assert learner.recommend().settled == (_excess(seen, moments, a, first) <= 0.05)
    assert learner.recommend().arm == 1


def _root(chance: float) -> float:
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        crossing = 2 * (stats.norm.sf(middle) + middle * stats.norm.pdf(middle))
        low, high = (middle, high) if crossing > chance else (low, middle)
    return high


def _excess(seen: list[list[float]], moments: list[tuple[float, float]], a: float, first: int) -> float:
    means, sizes = [np.mean(x) for x in seen], [len(x) for x in seen]
    best, other = (0, 1) if means[0] > means[1] else (1, 0)
    parts = [moments[k][0] / sizes[k] for k in (best, other)]
    variance = sum(parts)
    freedom = variance**2 / (parts[0] ** 2 / (sizes[best] - 1) + parts[1] ** 2 / (sizes[other] - 1))
    third = moments[other][1] / sizes[other] ** 2 - moments[best][1] / sizes[best] ** 2
    clock = (moments[0][0] + moments[1][0]) / (first * variance)
    squared = a * a + max(math.log(clock), 0.0)
    half = math.sqrt(squared * variance) * (1 + (squared + 1) / (4 * freedom))
    return float(means[other] - means[best] + half + max(third * (1 + 2 * squared) / (6 * variance), 0.0))


@pytest.mark.slow
def test_errors_stay_within_delta() -> None:
    # 300 runs; at an error rate of 0.1 more than 57 are wrong with probability below 1e-6
    assert stats.binom.sf(57, 300, 0.1) < 1e-6
    same = [Normal(m, 1.0) for m in (0.3, 0.0, 0.0, 0.0)]
    for best, arms in ((0, same), (0, [Discrete({20: 0.05, 0: 0.95}), Normal(0.2, 0.5)])):
        policy = PairwiseScreening(MEAN, delta=0.1, rarest=0.05)
        results = simulate(policy, Bandit(arms), 10**5, 300, seed=5, checkpoints=[10**5], progress=False)
        # where the best arm is lost to one of several that are alike, it does not end: that is an error, too
        assert ((results.recommended[:, -1] != best) | ~results.stopped).sum() <= 57


def test_equal_arms_end_with_a_tolerance_and_not_without() -> None:
    problem = Bandit([Normal(0.0, 1.0), Normal(0.0, 1.0)])
    policy = PairwiseScreening(BOTH, delta=0.001, rarest=0.1)
    assert not best_arm(policy, problem, seed=1, max_samples=20_000).settled
    close = best_arm(policy.but(tolerance=0.3), problem, seed=1, max_samples=20_000)
    assert close.settled
    assert close.samples < 2_000


def test_two_hundred_arms_drop_out_early() -> None:
    problem = Bandit([Normal(0.02 * k, 1.0) for k in range(200)])
    policy = PairwiseScreening(BOTH, delta=0.05, rarest=0.1, tolerance=0.1)
    answer = best_arm(policy, problem, seed=3)
    pulls = np.array(list(answer.pulls.values()))
    assert int(str(answer.arm)) >= 190
    assert np.median(pulls) == pulls.min() == policy.rule(200).first  # most had no more than they must
    assert pulls.max() > 10 * pulls.min()


def test_a_leader_without_doubt_is_not_sampled_again() -> None:
    problem = Bandit([Discrete({3: 1.0}), Normal(2.5, 2.0)])
    answer = best_arm(PairwiseScreening(MEAN, delta=0.05, rarest=0.1), problem, seed=1)
    policy = PairwiseScreening(MEAN, delta=0.05, rarest=0.1)
    assert answer.arm == 0
    assert answer.pulls[0] == policy.rule(2).first
    assert answer.pulls[1] > 2 * answer.pulls[0]


SPREAD = (0.0, 0.1, 0.2, 0.3, 0.4)


def together(
    policy: PairwiseScreening,
    shared: float,
    seed: int,
    lost: int = 0,
    means: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4),
) -> Learner:
    """Play five arms whose run r shares a part of its noise; every `lost`-th run fails."""
    learner, noise = policy.start(5, seed=seed), np.random.default_rng(seed).normal(size=50_000)
    own, number = np.random.default_rng(seed + 1_000), [0] * 5
    for asked in range(1, 100_000):
        try:
            choice = learner.ask()
        except NotNow:
            return learner
        arm = int(str(choice.arm))
        outcome = means[arm] + math.sqrt(shared) * noise[number[arm]] + math.sqrt(1.0 - shared) * own.normal()
        number[arm] += 1
        if lost and asked % lost == 0:
            learner.cancel(choice)
        else:
            learner.tell(choice, float(outcome))
    raise AssertionError("it must end")


@pytest.mark.parametrize("preference", [MEAN, BOTH, cvar(0.1)])
def test_common_random_numbers_save_runs_where_noise_is_shared(preference: Preference) -> None:
    policy = PairwiseScreening(preference, delta=0.05, rarest=0.05, tolerance=0.05)
    apart = [together(policy, 0.95, seed) for seed in range(3)]
    common = [together(policy.but(common_random_numbers=True), 0.95, seed) for seed in range(3)]  # type: ignore[arg-type]
    assert all(one.recommend().arm in (3, 4) for one in (*apart, *common))
    assert sum(one.samples for one in common) < 0.5 * sum(one.samples for one in apart)


def test_common_random_numbers_cost_little_where_nothing_is_shared() -> None:
    # arms that are close enough rest with them, too: were all sampled alike to the end, it took twice as many
    policy = PairwiseScreening(MEAN, delta=0.05, rarest=0.05, tolerance=0.15)
    apart = sum(together(policy, 0.0, seed).samples for seed in range(6))
    common = sum(together(policy.but(common_random_numbers=True), 0.0, seed).samples for seed in range(6))  # type: ignore[arg-type]
    assert common < 1.5 * apart


def test_with_common_random_numbers_the_leader_runs_ahead_only_where_its_rivals_do_not_share_its_luck() -> None:
    policy = PairwiseScreening(MEAN, delta=0.05, rarest=0.05, common_random_numbers=True)
    for shared, least, most in ((0.0, 1.3, 2.5), (0.95, 0.9, 1.1)):  # two is the root of the number of rivals
        played = [together(policy, shared, seed, means=(0.0, 0.0, 0.0, 0.0, 0.4)) for seed in range(4)]
        pulls = sum(one.state.memory.pulls for one in played)
        assert least < 4.0 * pulls[4] / pulls[:4].sum() < most


@pytest.mark.slow
def test_errors_stay_within_delta_with_common_random_numbers() -> None:
    # 200 runs; at an error rate of 0.1 more than 43 are wrong with probability below 1e-6
    assert stats.binom.sf(43, 200, 0.1) < 1e-6
    policy = PairwiseScreening(MEAN, delta=0.1, rarest=0.1, common_random_numbers=True)
    for shared in (0.0, 0.9):
        assert sum(together(policy, shared, seed).recommend().arm != 4 for seed in range(200)) <= 43


@loop
def _difference(runs, pulls, variances, thirds, found):  # type: ignore[no-untyped-def]  # a kernel
    found[0], found[1], found[2], found[3], found[4] = common_difference(runs, pulls, variances, thirds, 0, 1)


@pytest.mark.parametrize(("n", "m"), [(90, 50), (50, 90), (70, 70)])
def test_runs_that_only_one_arm_had_tell_of_the_others_luck(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    shared = rng.normal(size=90)
    x, y = (shared + rng.exponential(size=90))[:n], (1.5 * shared + rng.normal(size=90))[:m]
    runs: Any = no_runs(2, 6)  # blocks 0 to 2 are the leader's, 3 to 5 the arm's
    runs.head[:], runs.length[:], runs.after[2] = (0, 3), 3, -1
    for first, told in ((0, x), (3, y)):
        runs.pull[first : first + 3].flat[: told.size] = told
    found, thirds = np.zeros(5), [float(((one - one.mean()) ** 3).mean()) for one in (x, y)]
    _difference(runs, np.array([n, m]), np.array([x.var(ddof=1), y.var(ddof=1)]), np.array(thirds), found)
    fewer = min(n, m)
    long, short, sign = (x, y, 1.0) if n >= m else (y, x, -1.0)
    both = np.cov(short, long[:fewer])
    beta = both[0, 1] / both[1, 1]
    shift = -sign * beta * (long[:fewer].mean() - long.mean())
    weight = beta + (1 - beta) * fewer / long.size
    variance = (short - weight * long[:fewer]).var(ddof=1) / fewer
    variance += (long.size - fewer) * (1 - beta) ** 2 * long.var(ddof=1) / long.size**2
    z = short - weight * long[:fewer]
    third = ((z - z.mean()) ** 3).mean() / fewer**2
    third -= (long.size - fewer) * (1 - beta) ** 3 * ((long - long.mean()) ** 3).mean() / long.size**3
    spread = (short - long[:fewer]).var(ddof=1)
    assert found == pytest.approx([fewer, shift, variance, sign * third, spread], rel=1e-9, abs=1e-12)
    assert variance <= spread / fewer * (1 + 1e-9)  # no more than from the common runs alone


def test_failed_runs_leave_the_others_in_step() -> None:
    # had a failed run moved later ones by a place, nothing would be shared any more
    policy = PairwiseScreening(MEAN, delta=0.05, rarest=0.05, tolerance=0.05, common_random_numbers=True)
    whole = sum(together(policy, 0.95, seed).samples for seed in range(3))
    holes = sum(together(policy, 0.95, seed, lost=7).samples for seed in range(3))
    assert holes < 1.5 * whole


def test_runs_of_arms_that_dropped_out_are_forgotten() -> None:
    policy = PairwiseScreening(MEAN, delta=0.05, rarest=0.05, common_random_numbers=True)
    own = together(policy, 0.9, 1).state.own
    left = {int(arm) for arm in own.order[: own.marks[1]]}
    assert {int(arm) for arm in np.flatnonzero(own.head >= 0)} <= left
    assert own.free[1] + own.length.sum() == own.after.size
