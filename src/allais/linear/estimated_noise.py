"""Noise that is estimated: what an arm brought, and what that is worth around a location."""

from __future__ import annotations

import numpy as np

from allais._kernels import routine
from allais.numerics.distorted_sum import distorted_sum

MOST_SEEN = 128  # outcomes per arm that are kept apart


@routine
def worth_of_seen(world, state, arm, place):
    """Algorithm 1 on an arm's outcomes, moved so that their mean is the location."""
    size = state.sizes[arm]
    if size == 0:
        return place
    outcomes, counts = state.seen[arm, 0], state.seen[arm, 1]
    total = 0.0
    for i in range(size):
        total += counts[i] * outcomes[i]
    pulls = state.memory.pulls[arm]
    origin = total / pulls - place
    return distorted_sum(world.gains, world.losses, outcomes, counts, 0, size, pulls, origin, np.inf)


@routine
def keep_seen(state, arm, gain):
    """Keep an outcome of an arm; beyond MOST_SEEN the two nearest become their mean."""
    outcomes, counts = state.seen[arm, 0], state.seen[arm, 1]
    size = state.sizes[arm]
    at = 0
    while at < size and outcomes[at] < gain:
        at += 1
    if at < size and outcomes[at] == gain:
        counts[at] += 1.0
        return
    for i in range(size, at, -1):
        outcomes[i], counts[i] = outcomes[i - 1], counts[i - 1]
    outcomes[at], counts[at] = gain, 1.0
    state.sizes[arm] = size + 1
    if size < MOST_SEEN:
        return
    # the pair whose joining moves values least: by its gap times how far w leaves its chord, about c_1 c_2 |w''| / 2.
    # Toward a rare end |w''| grows as p^-1.5 or so: there outcomes stay apart
    least, nearest = np.inf, 0
    below = 0.0
    for i in range(size):
        both = counts[i] + counts[i + 1]
        beyond = min(below, state.memory.pulls[arm] - below - both) + both
        cost = (outcomes[i + 1] - outcomes[i]) * counts[i] * counts[i + 1] / (beyond * np.sqrt(beyond))
        if cost < least:
            least, nearest = cost, i
        below += counts[i]
    both = counts[nearest] + counts[nearest + 1]
    outcomes[nearest] += (outcomes[nearest + 1] - outcomes[nearest]) * counts[nearest + 1] / both
    counts[nearest] = both
    for i in range(nearest + 1, size):
        outcomes[i], counts[i] = outcomes[i + 1], counts[i + 1]
    state.sizes[arm] = size
