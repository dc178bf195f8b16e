"""Whether one arm beats another for every theta in the ellipsoid: the exact pairwise stop.

The difference of two values depends on theta through the two locations only, and those fill an ellipse. Both
values rise with their locations, so the smallest difference lies on its edge. On an arc of the edge the difference
is at least the one arm's value at its lowest location on the arc, less the other's value at its highest: a certified
bound, which comes as near as one likes when arcs are halved often enough.
"""

from __future__ import annotations

import numpy as np

from allais._kernels import kernel, routine
from allais.linear.ellipsoid import location, worth

FIRST_ARCS = 16
DEPTH = 24  # halvings of an arc before the answer is "not certain"


@routine
def beats(world, state, reach, arm, other, tolerance):
    """Whether mu_arm - mu_other >= -tolerance is certain for all theta within `reach` in the norm of A."""
    # (u, v) = centre + reach C (cos phi, sin phi), with C C' = [x y]' A^-1 [x y]; C lower triangular
    u0, v0 = location(world, state, arm), location(world, state, other)
    a = np.sqrt(max(state.norms[arm], 0.0))
    shared = _product(world, state, arm, other)
    c = shared / a if a > 0.0 else 0.0
    s = np.sqrt(max(state.norms[other] - c * c, 0.0))
    width, height = reach * a, reach * np.sqrt(c * c + s * s)
    turn = np.arctan2(s, c)  # v = v0 + height cos(phi - turn)
    if not _holds_at_worst(world, state, arm, other, u0, v0, width, height, turn, tolerance):
        return False
    step = 2.0 * np.pi / FIRST_ARCS
    for first in range(FIRST_ARCS):
        # arcs in order, halved on demand: `depth` halvings deep, the `index`-th of them
        index, depth = 0, 0
        while index < (1 << depth):
            length = step / (1 << depth)
            start = first * step + index * length
            low = worth(world, state, arm, u0 + width * _least(start, start + length))
            high = worth(world, state, other, v0 + height * _greatest(start - turn, start - turn + length))
            if low - high >= -tolerance:
                index += 1
                while depth > 0 and index % 2 == 0:
                    index //= 2
                    depth -= 1
                continue
            middle = start + 0.5 * length
            here = worth(world, state, arm, u0 + width * np.cos(middle))
            there = worth(world, state, other, v0 + height * np.cos(middle - turn))
            if here - there < -tolerance or depth == DEPTH:
                return False
            index *= 2
            depth += 1
    return True


@kernel
def _product(world, state, arm, other):
    """x' A^-1 y."""
    if state.cross.size > 0:
        return state.cross[arm, other]
    total = 0.0
    for i in range(state.theta.size):
        row = 0.0
        for j in range(state.theta.size):
            row += state.inverse[i, j] * world.features[other, j]
        total += world.features[arm, i] * row
    return total


@kernel
def _holds_at_worst(world, state, arm, other, u0, v0, width, height, turn, tolerance):
    """A quick look where values of slope 1 would be nearest: most rounds end here."""
    phi = np.arctan2(height * np.sin(turn), height * np.cos(turn) - width)  # where v - u is largest
    here = worth(world, state, arm, u0 + width * np.cos(phi))
    there = worth(world, state, other, v0 + height * np.cos(phi - turn))
    return here - there >= -tolerance


@kernel
def _greatest(start, end):
    """The largest cosine on an arc."""
    turns = np.ceil(start / (2.0 * np.pi))
    return 1.0 if turns * 2.0 * np.pi <= end else max(np.cos(start), np.cos(end))


@kernel
def _least(start, end):
    """The smallest cosine on an arc."""
    return -_greatest(start - np.pi, end - np.pi)
