"""The distorted value of finitely many outcomes, exactly (Algorithm 1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais.errors import FloatArray
from allais.weights import Weight


class Parts(NamedTuple):
    """What gains and losses contribute; the value is their difference."""

    gain: float  # mu^+
    loss: float  # mu^-, not negative
    error: float = 0.0  # a bound on the absolute error of the value

    @property
    def value(self) -> float:
        """mu = mu^+ - mu^-."""
        return self.gain - self.loss


def finite_parts(outcomes: FloatArray, at_least: FloatArray, below: FloatArray, gains: Weight, losses: Weight) -> Parts:
    """Gain and loss part of a finite law.

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
    weighted_gains = gains.of_tails(at_least[first_gain:], below[first_gain:])
    # mu^- mirrors it: w-(P(X <= loss)), and P(X <= loss) is P(X < the next higher outcome)
    loss_steps = np.diff(outcomes[:last_loss], append=0.0)
    up_to = np.append(below, 1.0)[1 : last_loss + 1]
    above = np.append(at_least, 0.0)[1 : last_loss + 1]
    weighted_losses = losses.of_tails(up_to, above)
    return Parts(float(np.sum(gain_steps * weighted_gains)), float(np.sum(loss_steps * weighted_losses)))


def sample_parts(ordered: FloatArray, gains: Weight, losses: Weight) -> Parts:
    """Algorithm 1: the parts of the empirical law of samples in ascending order."""
    size = ordered.size
    rank = np.arange(size, dtype=np.float64)  # how many lie below, ties in any order
    return finite_parts(ordered, (size - rank) / size, rank / size, gains, losses)
