"""The distorted value of finitely many outcomes, exactly (Algorithm 1).

Compiled code sums what policies have seen with `distorted_sum` of `numerics/table.py`, from tables of the weights and
one arm at a time. Here weights are computed by their own formulas, on whole arrays, with both tails known to their
last digit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais.weights import Weight

BLOCK = 1 << 13  # the dozen temporaries of a weight then fit into a cache of a megabyte


class Parts(NamedTuple):
    """What gains and losses contribute to a value, which is their difference.

    Attributes:
        gain: The contribution of gains, mu^+; not negative.
        loss: The contribution of losses, mu^-; not negative.
        error: A bound on the absolute error of the value.

    >>> Parts(gain=5.0, loss=2.0).value
    3.0
    """

    gain: float
    loss: float
    error: float = 0.0

    @property
    def value(self) -> float:
        """mu = mu^+ - mu^-."""
        return self.gain - self.loss


def finite_parts(outcomes: FloatArray, at_least: FloatArray, below: FloatArray, gains: Weight, losses: Weight) -> Parts:
    """Gain and loss part of a finite distribution.

    `outcomes` ascend; `at_least` is P(X >= outcome) and `below` is P(X < outcome). Both are
    given, because near 1 a weight is steep and one of them says what the other rounds away.

    >>> from allais.weights import TverskyKahneman
    >>> w = TverskyKahneman(0.61)
    >>> finite_parts(np.array([0.0, 50.0]), np.array([1.0, 0.1]), np.array([0.0, 0.9]), w, w).gain
    9.31512831885...
    """
    first_gain = int(np.searchsorted(outcomes, 0.0, side="right"))
    last_loss = int(np.searchsorted(outcomes, 0.0, side="left"))
    # mu^+ = sum over gains of (gap to the next lower one) * w+(P(X >= gain))
    gain_steps = np.diff(outcomes[first_gain:], prepend=0.0)
    gain, gain_error = _weighted_sum(gains, gain_steps, at_least[first_gain:], below[first_gain:])
    # mu^- mirrors it: w-(P(X <= loss)), and P(X <= loss) is P(X < the next higher outcome)
    loss_steps = np.diff(outcomes[:last_loss], append=0.0)
    up_to = np.append(below, 1.0)[1 : last_loss + 1]
    above = np.append(at_least, 0.0)[1 : last_loss + 1]
    loss, loss_error = _weighted_sum(losses, loss_steps, up_to, above)
    return Parts(gain, loss, gain_error + loss_error)


def _weighted_sum(weight: Weight, steps: FloatArray, upper: FloatArray, lower: FloatArray) -> tuple[float, float]:
    """sum of step * w(upper), in blocks that stay in the processor's cache; and what a rounded curve may hide of it."""
    blocks = [slice(start, start + BLOCK) for start in range(0, steps.size, BLOCK)]
    total = math.fsum(np.sum(steps[part] * weight.of_tails(upper[part], lower[part])) for part in blocks)
    if weight.resolution == (0.0, 0.0):  # a formula
        return total, 0.0
    return total, math.fsum(np.sum(steps[part] * weight.rounding(upper[part], lower[part])) for part in blocks)


def sample_parts(ordered: FloatArray, gains: Weight, losses: Weight) -> Parts:
    """Algorithm 1: the parts of the empirical distribution of samples in ascending order."""
    size = ordered.size
    rank = np.arange(size, dtype=np.float64)  # how many lie below, ties in any order
    return finite_parts(ordered, (size - rank) / size, rank / size, gains, losses)
