"""An arm's memory: what was seen of it, and what that is worth.

Policies touch it through `insert`, `remove`, `measure` and the bands only, so that a better memory
changes no policy. Distinct outcomes are kept sorted with their counts: a value costs as many
weights as there are distinct outcomes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais._kernels import kernel
from allais.errors import FloatArray, IntArray
from allais.values.curve import Curve, weigh

FIRST_CAPACITY = 8  # distinct outcomes of an arm before its memory grows


class Memory(NamedTuple):
    """The arms' outcomes, as felt (gains and losses from the reference) and as told."""

    felt: FloatArray  # distinct, ascending; (n_arms, capacity)
    raw: FloatArray  # the same outcomes in the user's units
    counts: IntArray  # how often each was seen
    sizes: IntArray  # how many are distinct, (n_arms,)
    pulls: IntArray  # T_k: how many were told
    value: FloatArray  # mu-hat_k, by `measure`


class Worth(NamedTuple):
    """How an arm's value is computed from its memory."""

    gains: Curve
    losses: Curve
    edge: FloatArray  # m of the truncation at m + sigma sqrt(log n); inf where rewards are bounded
    edge_scale: FloatArray  # sigma, (n_arms,)
    of_mean: bool  # the WE heuristic: w(mean), right for Bernoulli rewards only


def empty_memory(n_arms: int, capacity: int = FIRST_CAPACITY) -> Memory:
    """The memory of arms that were never pulled."""
    shape = (n_arms, capacity)
    return Memory(
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape, dtype=np.int64),
        np.zeros(n_arms, dtype=np.int64),
        np.zeros(n_arms, dtype=np.int64),
        np.full(n_arms, -np.inf),
    )


def grown(memory: Memory) -> Memory:
    """A copy with room for twice as many distinct outcomes."""
    wider = [np.concatenate([part, np.zeros_like(part)], axis=1) for part in memory[:3]]
    return Memory(*wider, *(part.copy() for part in memory[3:]))


@kernel
def is_full(memory, arm):
    """Whether the next new outcome of an arm needs `grown` first."""
    return memory.sizes[arm] == memory.felt.shape[1]


@kernel
def position(memory, arm, felt):
    """Where an outcome stands, or would stand, among an arm's distinct ones."""
    low, high = 0, memory.sizes[arm]
    while low < high:
        middle = (low + high) // 2
        if memory.felt[arm, middle] < felt:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def insert(memory, arm, felt, raw):
    """Add one outcome; the caller has made sure that there is room."""
    at = position(memory, arm, felt)
    size = memory.sizes[arm]
    memory.pulls[arm] += 1
    if at < size and memory.felt[arm, at] == felt:
        memory.counts[arm, at] += 1
        return
    for i in range(size, at, -1):
        memory.felt[arm, i] = memory.felt[arm, i - 1]
        memory.raw[arm, i] = memory.raw[arm, i - 1]
        memory.counts[arm, i] = memory.counts[arm, i - 1]
    memory.felt[arm, at] = felt
    memory.raw[arm, at] = raw
    memory.counts[arm, at] = 1
    memory.sizes[arm] = size + 1


@kernel
def remove(memory, arm, felt):
    """Take one outcome back; False if it was never seen."""
    at = position(memory, arm, felt)
    size = memory.sizes[arm]
    if at == size or memory.felt[arm, at] != felt:
        return False
    memory.pulls[arm] -= 1
    memory.counts[arm, at] -= 1
    if memory.counts[arm, at] == 0:
        for i in range(at, size - 1):
            memory.felt[arm, i] = memory.felt[arm, i + 1]
            memory.raw[arm, i] = memory.raw[arm, i + 1]
            memory.counts[arm, i] = memory.counts[arm, i + 1]
        memory.sizes[arm] = size - 1
    return True


@kernel
def measure(worth, memory, arm):
    """Set an arm's value from its memory: Algorithm 1, truncated where rewards are unbounded."""
    pulls = memory.pulls[arm]
    size = memory.sizes[arm]
    if pulls == 0:
        memory.value[arm] = -np.inf
        return
    if worth.of_mean:
        total = 0.0
        for i in range(size):
            total += memory.counts[arm, i] * memory.felt[arm, i]
        memory.value[arm] = weigh(worth.gains, total / pulls)
        return
    edge = np.inf
    if worth.edge_scale[arm] > 0.0:
        edge = worth.edge[arm] + worth.edge_scale[arm] * np.sqrt(np.log(pulls))  # M_n, Proposition 1
    value = 0.0
    above = 0  # outcomes at or above the current one
    i = size - 1
    while i >= 0 and memory.felt[arm, i] > 0.0:
        above += memory.counts[arm, i]
        lower = memory.felt[arm, i - 1] if i > 0 else 0.0
        step = min(memory.felt[arm, i], edge) - min(max(lower, 0.0), edge)
        if step > 0.0:
            value += step * weigh(worth.gains, above / pulls)
        i -= 1
    below = 0  # losses accumulate from the bottom: w- sees P(X <= z)
    i = 0
    while i < size and memory.felt[arm, i] < 0.0:
        below += memory.counts[arm, i]
        upper = memory.felt[arm, i + 1] if i + 1 < size else 0.0
        step = max(min(upper, 0.0), -edge) - max(memory.felt[arm, i], -edge)
        if step > 0.0:
            value -= step * weigh(worth.losses, below / pulls)
        i += 1
    memory.value[arm] = value


@kernel
def pick(scores, eligible, asked, u):
    """The eligible arm with the highest score: ties go to the fewest asks, then by the draw u.

    A tie is equality to 1e-12, relative, since values come from tables; -1 if none is eligible.
    """
    best, second = -np.inf, -np.inf
    leader = -1
    for arm in range(scores.size):
        if eligible[arm]:
            if leader < 0 or scores[arm] > best:
                second = best if leader >= 0 else second
                best, leader = scores[arm], arm
            else:
                second = max(second, scores[arm])
    level = best - 1e-12 * abs(best) if np.isfinite(best) else best
    if leader < 0 or second < level:
        return leader
    fewest = -1
    ties = 0
    for arm in range(scores.size):
        if eligible[arm] and scores[arm] >= level:
            if fewest < 0 or asked[arm] < fewest:
                fewest, ties = asked[arm], 0
            ties += asked[arm] == fewest
    skip = min(int(u * ties), ties - 1)
    for arm in range(scores.size):
        if eligible[arm] and scores[arm] >= level and asked[arm] == fewest:
            if skip == 0:
                return arm
            skip -= 1
    return leader
