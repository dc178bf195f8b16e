"""Try a policy out on distributions like those that were seen: how many runs it takes to settle.

A few runs per arm say only roughly what it is worth. The best of many looks better than it is, and arms look further
apart than they are. So each trial draws values that may well be the true ones: what was seen is drawn in toward the
mean of arms like it as far as chance alone would have spread it, and scattered by what is left in doubt (empirical
Bayes).

A few runs show little of an arm's tail, and what they do not show makes the arm look both better and surer. So arms
that may be the best, and whose outcomes never repeat, are taken to scatter alike: each about its own value, as all of
them do about their medians.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais.lotteries import Discrete
from allais.policies.core.base import Policy
from allais.preferences import Preference
from allais.preferences.valuation import influence
from allais.problems import Bandit, Problem
from allais.rewards import Rewards
from allais.searches.limit import Seen, fewest_runs
from allais.simulation.best_arm import best_arm

TRIALS = 9  # how often a policy is tried out
TRIED = 300_000  # runs of one trial, at most, and a third of those of all
PER_ARM = 100  # or so many per arm, where there are thousands
NEAR = 1.5  # standard errors by which two arms may each be off: with 2 and 3, forecasts came out lower
STEEP, HALVINGS = 8.0, 20  # no share is tilted by more than e^8, and to a hundred-thousandth of it
STRETCH = 2.5  # of the range of trials, both ways: it then holds some nine in ten searches (benchmarks/results.md)
SHAPE = 1_000  # outcomes of a shape that arms share
STEPS = 12  # how often a tolerance is doubled until a policy settles in time


def tried_out(
    policy: Policy, values: FloatArray, seen: Sequence[Seen], table: FloatArray | None = None
) -> tuple[float, float, float] | None:
    """The runs that a policy takes on arms that are like those seen: the mean of trials, and a range for one search.

    Trials differ less than searches do, since they share what the pilot runs got wrong: so their range is stretched.

    With a `table` of outcomes, arms by rows and runs by columns, trials have common random numbers. None where it
    cannot be told; infinite where two arms seem equal.
    """
    if policy.goal == "regret" or values.size < 2 or any(outcomes.size == 0 for outcomes, _ in seen):
        return None
    first, second = np.sort(values)[::-1][:2]
    if policy.goal == "confidence" and first - second + getattr(policy, "tolerance", 0.0) <= 0.0:
        return math.inf, math.inf, math.inf
    limit = max(TRIED, PER_ARM * values.size)
    took: list[float] = []
    for trial in range(TRIALS):
        problem = _trial(policy, values, seen, table, np.random.default_rng(trial))
        answer = best_arm(policy, problem, seed=trial, max_samples=limit)
        took.append(float(answer.samples) if answer.settled else math.inf)
        if sum(one if math.isfinite(one) else limit for one in took) >= 3 * limit:
            break
    low, middle, high = np.quantile(took, (0.1, 0.5, 0.9), method="nearest").tolist()
    low, high = max(low / STRETCH, float(values.size)), high * STRETCH
    if math.isfinite(middle):  # the mean, but for trials that were broken off
        return float(np.mean(took)) if math.isfinite(max(took)) else middle, low, high
    beyond = _extrapolated(policy, values, seen, table, limit)
    return None if beyond is None else (beyond, min(low, beyond), math.inf)


def closer_look(preference: Preference, values: FloatArray, seen: Sequence[Seen], runs: int) -> dict[int, int]:
    """How many runs more each arm should have that may be the best, of so many in all: a forecast depends on them.

    >>> outcomes = np.array([0.0, 1.0])
    >>> seen = [(outcomes, np.array([k, 20 - k])) for k in (2, 4, 18)]
    >>> closer_look(expected_value(), np.array([0.9, 0.8, 0.1]), seen, runs=60)
    {0: 30, 1: 30}
    """
    near = np.flatnonzero(_shaped(preference, values, seen)[1])
    return dict.fromkeys(near.tolist(), runs // near.size)


def _extrapolated(
    policy: Policy, values: FloatArray, seen: Sequence[Seen], table: FloatArray | None, limit: int
) -> float | None:
    """What would take too long to try out: from a larger tolerance, in the proportion of the fewest runs of both."""
    slack = getattr(policy, "tolerance", None)
    if slack is None:
        return None
    first, second = np.sort(values)[::-1][:2]
    gap = float(first - second)
    wide = 2.0 * max(slack, gap, 1e-3 * float(np.ptp(values)))
    for _ in range(STEPS):
        looser = policy.but(tolerance=wide)
        problem = _trial(policy, values, seen, table, None)
        answer = best_arm(looser, problem, seed=0, max_samples=limit)
        if answer.settled:
            fewest, fewest_then = fewest_runs(policy, values, seen), fewest_runs(looser, values, seen)
            if fewest is None or fewest_then is None or not math.isfinite(fewest):
                return float(answer.samples * ((wide + gap) / (slack + gap)) ** 2)
            return float(answer.samples * fewest / fewest_then)
        wide *= 2.0
    return None


def _trial(
    policy: Policy,
    values: FloatArray,
    seen: Sequence[Seen],
    table: FloatArray | None,
    rng: np.random.Generator | None,
) -> Problem:
    """Arms as they may be; without a generator, as they were seen."""
    if table is not None and getattr(policy, "common_random_numbers", False):
        return Together(table, 0 if rng is None else int(rng.integers(2**31)))
    moves = np.zeros(values.size) if rng is None else _plausible(policy.preference, values, seen, rng) - values
    known = policy.rewards_of(values.size)
    distributions = []
    for arm, (outcomes, counts) in enumerate(_shaped(policy.preference, values, seen)[0]):
        by = -float(moves[arm]) if policy.preference.costs else float(moves[arm])
        moved = _moved(outcomes, by, known[arm] if known else None)
        if moved is None:  # only some outcomes can be: others of them come more often
            distributions.append(_tilted(policy.preference, outcomes, counts, float(values[arm] + moves[arm])))
        else:
            distributions.append(_distribution(moved, counts))
    return Bandit(distributions)


def _shaped(preference: Preference, values: FloatArray, seen: Sequence[Seen]) -> tuple[list[Seen], NDArray[np.bool_]]:
    """What was seen, with one scatter for arms that may be the best and whose outcomes never repeat; and which may."""
    own = np.array([_variance(preference, one) for one in seen])
    runs = np.array([float(counts.sum()) for _, counts in seen])
    smooth = np.array([outcomes.size > 1 and outcomes.size == n for (outcomes, _), n in zip(seen, runs, strict=True)])
    if smooth.sum() < 2:
        return list(seen), _may_be_best(values, own / runs)
    # no arm is thought surer than most: it may not have shown its tail yet
    near = _may_be_best(values, np.where(smooth, np.maximum(own, np.median(own[smooth])), own) / runs)
    alike = np.flatnonzero(smooth & near).tolist()
    if len(alike) < 2:
        return list(seen), near
    parts = [seen[arm][0] - np.median(seen[arm][0]) for arm in alike]
    pool = _thinned(np.concatenate(parts), np.concatenate([np.full(part.size, 1.0 / part.size) for part in parts]))
    found = list(seen)
    for arm in alike:
        off = float(values[arm] - preference.estimate(pool))
        found[arm] = (pool - off if preference.costs else pool + off), np.ones(pool.size, dtype=np.int64)
    return found, near


def _thinned(pool: FloatArray, shares: FloatArray) -> FloatArray:
    """Outcomes of equal shares: means of a pool in bins of its order."""
    order = np.argsort(pool)
    pool, shares = pool[order], shares[order]
    bins = np.minimum(SHAPE * (np.cumsum(shares) - 0.5 * shares) / shares.sum(), SHAPE - 1).astype(np.int64)
    weight = np.bincount(bins, weights=shares, minlength=SHAPE)
    filled = weight > 0.0
    means = np.bincount(bins, weights=shares * pool, minlength=SHAPE)[filled] / weight[filled]
    return np.asarray(means)


def _plausible(
    preference: Preference, values: FloatArray, seen: Sequence[Seen], rng: np.random.Generator
) -> FloatArray:
    """Values that may be the true ones, by the values seen and their standard errors.

    Arms that may be the best are drawn in toward their own mean: near an optimum, options are alike.
    """
    shaped, near = _shaped(preference, values, seen)
    runs = np.array([float(counts.sum()) for _, counts in seen])
    noise, drawn = np.array([_variance(preference, one) for one in shaped]) / runs, values.copy()
    for group in (near, ~near):
        if group.sum() < 2:
            continue
        middle, doubt = values[group].mean(), noise[group]
        spread = max(float(values[group].var(ddof=1) - doubt.mean()), 0.0)
        trust = np.divide(spread, spread + doubt, out=np.ones_like(doubt), where=spread + doubt > 0.0)
        scatter = np.sqrt(trust * doubt) * rng.standard_normal(doubt.size)
        drawn[group] = middle + trust * (values[group] - middle) + scatter
    return drawn


def _may_be_best(values: FloatArray, variances: FloatArray) -> NDArray[np.bool_]:
    doubt = NEAR * np.sqrt(variances)
    return np.asarray(values + doubt >= (values - doubt).max())


def _variance(preference: Preference, seen: Seen) -> float:
    """The variance of an arm's influence function."""
    outcomes, counts = seen
    utility = preference.utilities(outcomes)
    order = np.argsort(utility)
    counts = counts[order]
    return float(counts @ influence(preference, utility[order], counts) ** 2 / max(counts.sum() - 1.0, 1.0))


def _moved(outcomes: FloatArray, by: float, known: Rewards | None) -> FloatArray | None:
    """Outcomes that are all better or worse by as much, within what can be; None where such outcomes cannot be."""
    if known is None:
        return outcomes + by
    low, high = known.support
    moved = np.clip(outcomes + by, low, high)
    return moved if all(map(known.admits, moved.tolist())) else None


def _tilted(preference: Preference, outcomes: FloatArray, counts: IntArray, value: float) -> Discrete:
    """A distribution of the same outcomes that has a value, as far as it can: shares are tilted upward."""
    utility = preference.utilities(outcomes)
    reach = float(np.ptp(utility))
    if reach == 0.0:
        return _distribution(outcomes, counts)
    better = (utility - utility.min()) / reach

    def shares(tilt: float) -> FloatArray:
        return np.asarray(counts * np.exp(tilt * (better - (1.0 if tilt > 0.0 else 0.0))))

    low, high = -STEEP, STEEP
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if preference.value(_distribution(outcomes, shares(middle))) < value:
            low = middle
        else:
            high = middle
    return _distribution(outcomes, shares(0.5 * (low + high)))


def _distribution(outcomes: FloatArray, counts: FloatArray | IntArray) -> Discrete:
    distinct, place = np.unique(outcomes, return_inverse=True)
    shares = np.bincount(place, weights=counts) / counts.sum()
    return Discrete(dict(zip(distinct.tolist(), shares.tolist(), strict=True)))


class Together(Problem):
    """Arms that draw the same runs of a table: common random numbers among what was seen."""

    def __init__(self, table: FloatArray, seed: int) -> None:
        self._table, self._seed, self._used = table, seed, np.zeros(table.shape[0], dtype=np.int64)

    def __repr__(self) -> str:
        return f"Together(<{self._table.shape[0]} arms>, {self._seed})"

    @property
    def arms(self) -> tuple[Hashable, ...]:
        return tuple(range(self._table.shape[0]))

    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        first = int(self._used[arm])
        self._used[arm] += size
        # a run's row depends on its number only, whichever arm comes first
        blocks = range(first // BLOCK, (first + size - 1) // BLOCK + 1)
        rows = np.concatenate([self._rows(block) for block in blocks])
        return self._table[arm, rows[first - blocks[0] * BLOCK :][:size]]

    def _rows(self, block: int) -> IntArray:
        return np.random.default_rng([self._seed, block]).integers(self._table.shape[1], size=BLOCK)


BLOCK = 4096  # rows that are drawn at a time
