"""Quantiles of two groups, judged together, however often one looks.

Let A and B be two groups and tau a level. If A's tau-quantile is not below B's, then at one point x (A's quantile)
P(A < x) <= tau <= P(B <= x). Tilt the odds of lying below x up by e^a in A, and down by e^b in B: the likelihood ratio

    exp(a k_A - n_A log(1 - tau + tau e^a) - b k_B - n_B log(1 - tau + tau e^-b)),  k_A = #(A < x), k_B = #(B <= x),

is a product of factors whose means are at most 1, so it is a supermartingale, and so is any mixture of such ratios. The
least over x of the mixture is at most its value at that one point: it exceeds 1 / delta, ever, with probability delta
at most (Ville's inequality), and no union over x is paid. A ratio rises with k_A and falls with k_B, so that between
two points it is at least what it is at A's count of the left and B's count of the right one: the least is certified.

With a = b the counts matter by their difference only, which hardly moves with x near both quantiles: a pair pays for
one unknown difference, and not for two unknown probabilities. Tilts of one group alone refute the x far away. A unit
that is a share z of [0, 1] in place of a yes or no (a user's share of outcomes below x) keeps the proof, since e^(a z)
<= 1 - z + z e^a: counts may be sums of shares (docs/theory/verdicts.md).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais._kernels import kernel, routine
from allais.bands._tail_walks import log_ratio

GREATEST = 2.0  # tilt of the log odds: what 20 outcomes beyond the level tell apart
FINER = 1.6  # from one tilt to the next: a tilt too large or small by its root loses 3 % of the evidence
TILTS = 18  # down to 0.0007: what 20 million outcomes beyond the level tell apart
CENTRE, SPREAD = 6.0, 3.0  # odds of the tilts are a Cauchy distribution: most for some 100 to 10,000 outcomes beyond
TOGETHER = 0.8  # the odds that both groups are tilted; the rest is for points far from both quantiles
RATIOS = (1.0, 3.0, 1.0 / 3.0)  # of the groups' tilts where their shares of the samples are unknown
COUNTED = 10.0  # the strength of one group's mixture, in outcomes beyond the level
CLOSE = 0.01  # how close the least log evidence is found
HALVINGS = 60  # of the bracket of an interval's end, at most
NEAR = 4  # places on either side at which a low point is looked for
FINEST = 1e-4  # of a difference: its end is found no closer
LOWER, UPPER, LOG_LOWER, LOG_UPPER, LOG_ODDS = 0, 1, 2, 3, 4  # columns of a table of tilts


class Sorted(NamedTuple):
    """One group's outcomes in ascending order, and how many units lie before each."""

    outcomes: FloatArray
    before: FloatArray  # the sum of the units of the first i outcomes; (outcomes + 1,)


def sorted_group(outcomes: FloatArray, units: FloatArray | None = None) -> Sorted:
    """A group's outcomes, sorted.

    Args:
        outcomes: The outcomes, in any order.
        units: How much of a unit each outcome is; by default each is one.

    >>> sorted_group(np.array([3.0, 1.0, 2.0])).before
    array([0., 1., 2., 3.])
    """
    if units is None:
        return Sorted(np.sort(outcomes), np.arange(outcomes.size + 1.0))
    order = np.argsort(outcomes, kind="stable")
    return Sorted(outcomes[order], np.concatenate([[0.0], np.cumsum(units[order])]))


def tilts(level: float, share: float | None = 0.5) -> FloatArray:
    """The mixture for one level: tilts of the lower and of the upper group, what they cost, and log odds.

    Args:
        level: The level of the quantile, in (0, 1).
        share: The lower group's share of the samples of both, as it is planned; None where nothing is planned, as in a
            search that chooses what to sample.

    >>> bool(np.isclose(np.exp(tilts(0.95)[:, LOG_ODDS]).sum(), 1.0))
    True
    """
    j = np.arange(TILTS)
    size = GREATEST * FINER**-j
    odds = 1.0 / (1.0 + ((j - CENTRE) / SPREAD) ** 2)
    odds = odds / odds.sum()
    alone = [(1.0, 0.0, 0.5 * (1.0 - TOGETHER)), (0.0, 1.0, 0.5 * (1.0 - TOGETHER))]
    if share is None:
        pairs = [(2.0 * r / (1.0 + r), 2.0 / (1.0 + r), TOGETHER / len(RATIOS)) for r in RATIOS]
    else:  # flat in x where the tilts are as the inverse of the samples
        pairs = [(2.0 * (1.0 - share), 2.0 * share, TOGETHER)]
    rows = []
    for lower, upper, part in pairs + alone:
        a, b = lower * size, upper * size
        costs = np.log1p(level * np.expm1(a)), np.log1p(level * np.expm1(-b))
        rows.append(np.stack([a, b, *costs, np.log(part * odds)], axis=1))
    return np.ascontiguousarray(np.concatenate(rows))


class Ends(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


def joint_evidence(
    lower: Sorted, upper: Sorted, table: FloatArray, by: float = 0.0, *, relative: bool = False
) -> float:
    """log of the e-value for "the upper group's quantile lies above the lower one's by more than `by`".

    Args:
        lower: The group whose quantile seems to be lower.
        upper: The other one.
        table: What `tilts` returned for the level.
        by: The difference that is exceeded.
        relative: Whether `by` is a share of the lower quantile, which is then taken to be positive.

    >>> rng = np.random.default_rng(1)
    >>> fast, slow = sorted_group(rng.exponential(size=4_000)), sorted_group(rng.exponential(1.3, size=4_000))
    >>> joint_evidence(fast, slow, tilts(0.95)) > 5.0, joint_evidence(slow, fast, tilts(0.95)) < 0.0
    (True, True)
    """
    return float(least_evidence(table, *lower, *upper, float(by), relative, np.inf)[0])


def difference(
    first: Sorted, second: Sorted, tables: tuple[FloatArray, FloatArray], exponent: float, *, relative: bool = False
) -> Ends:
    """By how much the second group's quantile exceeds the first one's: all differences that are not refuted.

    Each end fails, ever, with probability e^-exponent at most; 0 lies outside where one of the two `joint_evidence`
    reaches the exponent.

    Args:
        first: The group to compare with.
        second: The other one.
        tables: `tilts` with the first group as the lower one, and with the second group as the lower one.
        exponent: The log of the evidence that refutes.
        relative: Whether the difference is a share of the first quantile, which is then taken to be positive.

    >>> rng = np.random.default_rng(1)
    >>> one, two = sorted_group(rng.exponential(size=20_000)), sorted_group(rng.exponential(1.2, size=20_000))
    >>> low, high = difference(one, two, (tilts(0.5), tilts(0.5)), math.log(2 / 0.05), relative=True)
    >>> low < 0.2 < high, high - low < 0.2
    (True, True)
    """
    low = float(greatest_excess(tables[0], *first, *second, exponent, relative))
    back = float(greatest_excess(tables[1], *second, *first, exponent, relative))  # of the first above the second
    if not relative:
        return Ends(low, -back)
    return Ends(low, -back / (1.0 + back) if back > -1.0 else math.inf)


def rank_ends(units: float, level: float, exponent: float) -> Ends:
    """The counts below a quantile that are not refuted: all others fail, ever, with probability e^-exponent at most."""
    return Ends(*(float(end) for end in count_ends(units, level, exponent)))


def interval(group: Sorted, level: float, exponent: float) -> Ends:
    """One group's quantile, in all rounds at once: it is missed with probability e^-exponent at most.

    Args:
        group: The group's outcomes.
        level: The level of the quantile.
        exponent: The log of the evidence that refutes.

    >>> group = sorted_group(np.random.default_rng(1).uniform(size=10_000))
    >>> low, high = interval(group, 0.95, math.log(1 / 0.05))
    >>> low < 0.95 < high, high - low < 0.02
    (True, True)
    """
    fewest, most = rank_ends(float(group.before[-1]), level, exponent)
    # x is the quantile only if #(<x) <= most and #(<=x) >= fewest
    first = int(np.searchsorted(group.before[1:], fewest, side="left")) if fewest > 0.0 else -1
    last = int(np.searchsorted(group.before, most, side="right")) - 1
    low = -math.inf if first < 0 else float(group.outcomes[first])
    return Ends(low, math.inf if last >= group.outcomes.size else float(group.outcomes[last]))


# -- compiled -------------------------------------------------------------------------------------


@kernel
def log_joint(table, below, lower, upto, upper):
    """log of the mixture at one point: `below` of `lower` units of the lower group, `upto` of `upper` of the other."""
    most, total = -np.inf, 0.0
    for j in range(table.shape[0]):
        log = table[j, LOG_ODDS] + table[j, LOWER] * below - table[j, UPPER] * upto
        log -= table[j, LOG_LOWER] * lower + table[j, LOG_UPPER] * upper
        if log <= most:
            if log > most - 40.0:  # smaller parts are lost in rounding
                total += np.exp(log - most)
        else:
            total = total * np.exp(most - log) + 1.0 if most > -np.inf else 1.0
            most = log
    return most + np.log(total)


@kernel
def place_below(outcomes, x):
    """How many outcomes lie below x."""
    low, high = 0, outcomes.size
    while low < high:
        middle = (low + high) // 2
        if outcomes[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def place_upto(outcomes, x):
    """How many outcomes are at most x."""
    low, high = 0, outcomes.size
    while low < high:
        middle = (low + high) // 2
        if outcomes[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low


@routine
def evidence_at(table, a, before_a, b, before_b, by, relative, x):
    """log of the mixture at one point: a witness, if it is small, that nothing is decided."""
    right = x * (1.0 + by) if relative else x + by
    below, upto = before_a[place_below(a, x)], before_b[place_upto(b, right)]
    return log_joint(table, below, before_a[a.size], upto, before_b[b.size])


@routine
def least_evidence(table, a, before_a, b, before_b, by, relative, level):
    """The least over x of the log evidence, rounded down by CLOSE, and an x where it is so low.

    With a finite level the walk ends at the first x where there is less; if there is none, the level is returned. Only
    points at outcomes of the upper group matter, and one before them all: in between, its count stays, and the lower
    group's rises.
    """
    n, m = before_a[a.size], before_b[b.size]
    below, j = (place_upto(a, 0.0), place_upto(b, 0.0)) if relative else (0, 0)
    decide, witness = not np.isinf(level), 0.0 if relative else -np.inf
    log = log_joint(table, before_a[below], n, before_b[j], m)
    if decide and log < level:
        return log, witness
    bound, step = level if decide else log - CLOSE, 1
    if not decide:  # a low point to begin with: far from it the walk then takes long steps
        centre, reach = 0.5 * b.size, 0.5 * b.size
        while reach >= 0.5:
            middle = centre
            for i in range(2 * NEAR + 1):
                at = min(max(int(middle + reach * (i / NEAR - 1.0)), j), b.size - 1)
                x = b[at] / (1.0 + by) if relative else b[at] - by
                log = evidence_at(table, a, before_a, b, before_b, by, relative, x)
                if log - CLOSE < bound and at >= j and (not relative or x > 0.0):
                    bound, witness, centre = log - CLOSE, x, float(at)
            reach *= 0.5
    while j < b.size:
        last = place_upto(b, b[min(j + step, b.size) - 1])  # equal outcomes are one point
        x = b[j] / (1.0 + by) if relative else b[j] - by
        below = place_below(a, x)
        log = log_joint(table, before_a[below], n, before_b[last], m)  # at least so much from b_j to b_(last - 1)
        if log >= bound:
            j, step = last, 2 * step
        elif b[last - 1] > b[j]:
            step = max(step // 4, 1)
        elif decide:
            return log, x
        else:
            bound, witness, j = log - CLOSE, x, last
    return bound, witness


@routine
def greatest_excess(table, a, before_a, b, before_b, exponent, relative):
    """The greatest difference by which B's quantile exceeds A's beyond doubt; -inf (or a share of -1) if there is none.

    The evidence falls with the difference, so the end is found by halving; it is rounded towards less.
    """
    n, m = before_a[a.size], before_b[b.size]
    below, upto = (place_upto(a, 0.0), place_upto(b, 0.0)) if relative else (0, 0)
    ends = min(log_joint(table, before_a[below], n, before_b[upto], m), log_joint(table, n, n, m, m))
    nothing = -1.0 if relative else -np.inf
    if ends < exponent or upto == b.size:
        return nothing
    left, right, witness, step = nothing, 0.0, np.inf, 0.001
    if not relative:
        least, most = min(a[0], b[0]), max(a[a.size - 1], b[b.size - 1])
        step *= max(most - least, 1e-9 * max(abs(least), abs(most)), 1e-300)
    sign = 1.0
    for doubling in range(200):  # outward from no difference, until both sides of the end are known
        by = sign * step * (2.0**doubling - 1.0)
        by = np.expm1(by) if relative else by
        log, x = least_evidence(table, a, before_a, b, before_b, by, relative, exponent)
        if log >= exponent:
            left = by
            if sign < 0.0:
                break
        else:
            right, witness = by, x
            if doubling == 0:
                sign = -1.0
            elif sign > 0.0:
                break
    for _ in range(HALVINGS if left > nothing else 0):
        middle = 0.5 * (left + right)
        if right - left <= FINEST * max(abs(left), abs(right)):
            break
        if evidence_at(table, a, before_a, b, before_b, middle, relative, witness) < exponent:
            right = middle
            continue
        log, x = least_evidence(table, a, before_a, b, before_b, middle, relative, exponent)
        if log >= exponent:
            left = middle
        else:
            right, witness = middle, x
    return left


@kernel
def _last_refused(refused, left, units, strength, level, exponent):
    """The count next to those that are left, between one that is refused and one that is not."""
    for _ in range(HALVINGS):
        middle = 0.5 * (refused + left)
        if log_ratio(middle, units, strength, level) >= exponent:
            refused = middle
        else:
            left = middle
    return refused


@routine
def count_ends(units, level, exponent):
    """The least and the greatest count below a quantile that the mixture of one group leaves."""
    strength, likely = COUNTED / min(level, 1.0 - level), level * units
    fewest, most = 0.0, np.inf
    if log_ratio(0.0, units, strength, level) >= exponent:
        fewest = _last_refused(0.0, likely, units, strength, level, exponent)
    if log_ratio(units, units, strength, level) >= exponent:
        most = _last_refused(units, likely, units, strength, level, exponent)
    return fewest, most
