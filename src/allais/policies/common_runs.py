"""How two arms are compared, and outcomes by the number of their run, which common random numbers need for that.

Runs lie in blocks, an arm's blocks in a chain, and the blocks of an arm that dropped out are used again: so the memory
grows with the runs of the arms that are left.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import kernel, routine, verb
from allais.bands._distribution_bounds import ends_of
from allais.bands._joint_test import apart
from allais.bands._order_statistics import JOINT, QuantileRule, of_one_end
from allais.bands._tail_walks import IDLE
from allais.bands.asymptotic import AsymptoticRule, allowance
from allais.policies.core.state import require_place
from allais.samples.influence import STEPS, influence, rise_at
from allais.samples.memory import VALUE_SLACK

BLOCK = 32  # runs of a block
MISSING = math.inf  # no outcome, or none that was looked at


class Runs(NamedTuple):
    """The parts of a state that hold outcomes by run; without common random numbers there is room for none."""

    issued: IntArray  # runs of each arm that were asked for, also those that failed; (n_arms,)
    head: IntArray  # the first block of each arm, or -1
    length: IntArray  # how many blocks an arm has
    after: IntArray  # the next block of a chain, or -1; (blocks,)
    free: IntArray  # the first block that is free, or -1, and how many are; (2,)
    utility: FloatArray  # utilities of outcomes, (blocks, BLOCK)
    pull: FloatArray  # their influence, when the arm was last looked at
    ladder: FloatArray  # scratch: distinct outcomes and how far the influence has risen there, (2, blocks * BLOCK)


def no_runs(n_arms: int, blocks: int) -> Runs:
    """Room for some blocks, and no runs."""
    none = np.zeros(n_arms, dtype=np.int64)
    empty = Runs(
        none, none - 1, none.copy(), np.zeros(0, dtype=np.int64), np.array([-1, 0]),
        np.zeros((0, BLOCK)), np.zeros((0, BLOCK)), np.zeros((2, 0)),
    )  # fmt: skip
    return with_blocks(empty, blocks)


def with_blocks(runs: Any, blocks: int) -> Any:
    """The same runs with room for this number of blocks in all; the new ones are free."""
    old = runs.after.size
    more = np.arange(old, blocks)
    if not more.size:
        return runs
    after = np.concatenate([runs.after, np.append(more[1:], runs.free[0])])
    missing = np.full((more.size, BLOCK), MISSING)
    return runs._replace(
        after=after,
        free=np.array([old, runs.free[1] + more.size]),
        utility=np.concatenate([runs.utility, missing]),
        pull=np.concatenate([runs.pull, missing]),
        ladder=np.zeros((2, blocks * BLOCK)),
    )


def check_runs(runs: Any) -> None:
    """Refuse chains, read from a file, that lead out of the arrays or to one block twice."""
    blocks = runs.after.size
    visited = []
    for head, length in (*zip(runs.head.tolist(), runs.length.tolist(), strict=True), runs.free.tolist()):
        block = head
        for _ in range(length):
            require_place("block of runs", block, 0, blocks - 1)
            visited.append(block)
            block = int(runs.after[block])
        require_place("end of a chain of runs", block, -1, -1)
    if len(visited) != blocks or len(set(visited)) != blocks:
        raise ValueError("a saved block of runs must belong to one arm; one does not. Use a backup.")


@kernel
def blocks_wanted(runs, arm, number):
    """How many more blocks an arm needs for a run."""
    return number // BLOCK + 1 - runs.length[arm]


@routine
def note_run(runs, arm, number, utility):
    """Write an outcome down by the number of its run, from 0 on; there is room."""
    block = runs.head[arm]
    for k in range(number // BLOCK + 1):
        if k > 0:
            last = block
            block = runs.after[block]
        if block < 0:
            block = runs.free[0]
            runs.free[0] = runs.after[block]
            runs.free[1] -= 1
            runs.after[block] = -1
            if k == 0:
                runs.head[arm] = block
            else:
                runs.after[last] = block
            runs.length[arm] += 1
    runs.utility[block, number % BLOCK] = utility


@routine
def forget_runs(runs, arm):
    """Free the blocks of an arm that dropped out."""
    block = runs.head[arm]
    while block >= 0:
        following = runs.after[block]
        for i in range(BLOCK):
            runs.utility[block, i], runs.pull[block, i] = MISSING, MISSING
        runs.after[block] = runs.free[0]
        runs.free[0] = block
        runs.free[1] += 1
        block = following
    runs.head[arm], runs.length[arm] = -1, 0


@routine
def weigh_runs(runs, arm, steps):
    """Set the influence of all of an arm's runs, by the ladder that was just made for it."""
    block = runs.head[arm]
    while block >= 0:
        for i in range(BLOCK):
            utility = runs.utility[block, i]
            runs.pull[block, i] = rise_at(runs.ladder, steps, utility) if utility < MISSING else MISSING
        block = runs.after[block]


@routine
def _in_common(runs, x, y):
    """How many runs two arms share, and of their influence: a base, means beyond it, variances and the covariance.

    Also the mean over all runs of x, beyond the same base.
    """
    c, in_x, all_x = 0.0, 0.0, 0.0
    at_x, at_y, sum_x, sum_y, square_x, square_y, product = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    first, second = runs.head[x], runs.head[y]
    while first >= 0:
        for i in range(BLOCK):
            a = runs.pull[first, i]
            if a == MISSING:
                continue
            if in_x == 0.0:
                at_x = a  # sums count from a run, so that digits do not cancel
            a -= at_x
            in_x += 1.0
            all_x += a
            if second < 0 or runs.pull[second, i] == MISSING:
                continue
            b = runs.pull[second, i]
            if c == 0.0:
                at_y = b
            b -= at_y
            c += 1.0
            sum_x += a
            sum_y += b
            square_x += a * a
            square_y += b * b
            product += a * b
        first, second = runs.after[first], runs.after[second] if second >= 0 else -1
    shared = max(c, 1.0)
    mean_x, mean_y = sum_x / shared, sum_y / shared
    of_x, of_y = max(square_x / shared - mean_x * mean_x, 0.0), max(square_y / shared - mean_y * mean_y, 0.0)
    both = product / shared - mean_x * mean_y
    return c, at_x, at_y, mean_x, mean_y, of_x, of_y, both, all_x / max(in_x, 1.0)


@routine
def apart_variances(runs, leader, arm):
    """What the variance of a pair's difference is made of, if the leader has more runs: that of its own, and the arm's.

    With n and m runs it is sigma_x^2 (1 - beta)^2 / n + sigma_y^2 (1 - rho^2) / m.
    """
    _, _, _, _, _, of_x, of_y, both, _ = _in_common(runs, leader, arm)
    if of_x <= 0.0:
        return 0.0, of_y
    beta = both / of_x
    return of_x * (1.0 - beta) ** 2, max(of_y - both * beta, 0.0)


@routine
def common_difference(runs, pulls, variances, thirds, leader, arm):
    """What two arms' runs say about the difference of their values, the arm's less the leader's.

    How many runs they have in common; what to add to the difference of their two estimates; the variance and the third
    cumulant of the sum; and the variance of the difference of one run. Where one arm, x, had more runs than the other,
    y, its luck in the common ones is known from the others: that of y is taken to be beta times as much (the
    efficient estimator where runs are missing, docs/theory/asymptotic.md).
    """
    sign, x, y = (1.0, leader, arm) if pulls[leader] >= pulls[arm] else (-1.0, arm, leader)
    n, m = float(pulls[x]), float(pulls[y])
    c, at_x, at_y, mean_x, mean_y, of_x, of_y, both, all_x = _in_common(runs, x, y)
    if c < 2.0:
        return c, 0.0, 0.0, 0.0, 0.0
    beta = c / m * both / of_x if of_x > 0.0 else 0.0
    weight = m / n * (1.0 - beta) + m / c * beta  # of x in a common run, beside that of y
    cubes, first, second = 0.0, runs.head[x], runs.head[y]
    while first >= 0 and second >= 0:
        for i in range(BLOCK):
            if runs.pull[first, i] < MISSING and runs.pull[second, i] < MISSING:
                z = runs.pull[second, i] - at_y - mean_y - weight * (runs.pull[first, i] - at_x - mean_x)
                cubes += z * z * z
        first, second = runs.after[first], runs.after[second]
    bias = c / (c - 1.0)
    in_common = max(of_y - 2.0 * weight * both + weight * weight * of_x, 0.0) * bias
    left = 1.0 - beta  # of the runs that only x had
    variance = (c * in_common + (m - c) * variances[y]) / (m * m) + (n - c) * left * left * variances[x] / (n * n)
    third = (cubes + (m - c) * thirds[y]) / (m * m * m) - (n - c) * left * left * left * thirds[x] / (n * n * n)
    spread = max(of_y - 2.0 * both + of_x, 0.0) * bias
    return c, -sign * beta * (mean_x - all_x), variance, sign * third, spread


# -- how two arms are compared --------------------------------------------------------------------


def _excess(band, rule, state, leader, arm):
    """How much better than the leader an arm may be, at most: the upper end of the interval of their difference."""


def _influence_moments(band, rule, state, arm):
    """The variance of an arm's influence function, and its third central moment."""


excess, influence_moments = verb(_excess, make=routine), verb(_influence_moments)


@influence_moments.of(AsymptoticRule)
def _(band, rule, state, arm):
    return influence(rule.worth, state.memory, arm, state.own.sums, state.own.ladder)


@influence_moments.of(QuantileRule)
def _(band, rule, state, arm):
    # no density is estimated; the width of the interval says whom to sample, and nothing is concluded from it
    most = rule.beta - np.log(IDLE * (1.0 - JOINT))  # that one arm must show
    low, high = ends_of(band, state.memory, arm, most)
    state.own.sums[STEPS] = 0.0
    return state.memory.pulls[arm] * (high - low) ** 2 / (8.0 * rule.beta), 0.0


@excess.of(QuantileRule)
def _(band, rule, state, leader, arm):
    # only the side of 0, and of the tolerance, on which it lies is asked for
    memory, kept = state.memory, state.kept
    if rule.common:  # runs with the same random numbers are not independent: each arm by itself, at half of delta
        alone = of_one_end(band, rule.beta + np.log(2.0))
        return ends_of(band, memory, arm, alone)[1] - ends_of(band, memory, leader, alone)[0]
    if apart(band, kept, memory, leader, arm, rule.beta, 0.0):
        return 0.0
    near = rule.tolerance > 0.0 and apart(band, kept, memory, leader, arm, rule.beta, rule.tolerance)
    return rule.tolerance if near else np.inf


@excess.of(AsymptoticRule)
def _(band, rule, state, leader, arm):
    memory, own = state.memory, state.own
    n, m = float(memory.pulls[leader]), float(memory.pulls[arm])
    of_leader, of_arm = own.variance[leader] / n, own.variance[arm] / m
    variance = of_leader + of_arm
    gap = memory.value[arm] - memory.value[leader]
    hidden = rule.band.variation * (memory.slack[leader, VALUE_SLACK] + memory.slack[arm, VALUE_SLACK])
    if rule.common:
        found = common_difference(own, memory.pulls, own.variance, own.third, leader, arm)
        common, shift, of_pair, cubed, of_run = found
        if common >= rule.first:
            clock = of_run / (rule.first * of_pair) if of_pair > 0.0 else 1.0
            squared = rule.squared + max(math.log(clock), 0.0)
            return gap + shift + allowance(squared, of_pair, cubed, common - 1.0)[1] + hidden
    if variance <= 0.0:
        return gap + hidden
    freedom = variance * variance / (of_leader * of_leader / (n - 1.0) + of_arm * of_arm / (m - 1.0))  # Welch
    third = own.third[arm] / (m * m) - own.third[leader] / (n * n)
    # the clock of the pair is its information, 1 / variance; it starts where both have n_0 samples
    clock = (own.variance[leader] + own.variance[arm]) / (rule.first * variance)
    squared = rule.squared + max(math.log(clock), 0.0)
    return gap + allowance(squared, variance, third, freedom)[1] + hidden
