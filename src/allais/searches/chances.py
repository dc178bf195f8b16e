"""How likely each arm is to be the best, by the outcomes that were seen."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from allais._checks import FloatArray
from allais.learner import Learner

DRAWS = 400  # a chance is then known to within 0.05
AT_ONCE = 2**19  # random weights that are held at a time: some 30 MB


def chances_of_best(learner: Learner, rng: np.random.Generator, draws: int = DRAWS) -> dict[Hashable, float]:
    """The chance of each arm to have the highest value, by the Bayesian bootstrap (Rubin 1981).

    Each draw gives every outcome a random weight. This is a picture for the eye: no stopping rule
    reads it. It knows outcomes that were seen only, so an arm with few runs looks too certain.

    >>> learner = WLUCB(expected_value(), Bounded(0, 1), delta=0.1).start(["A", "B"], seed=1)
    >>> learner.observe("A", [0.0, 1.0, 1.0])
    >>> learner.observe("B", [0.0, 0.0, 1.0])
    >>> chances_of_best(learner, np.random.default_rng(1), draws=10_000)
    {'A': 0.83..., 'B': 0.16...}
    """
    names = tuple(learner.pulls)
    values = np.array([_drawn(learner, name, rng, draws) for name in names])
    if np.isnan(values).any():  # an arm that was never seen may be anything
        return dict.fromkeys(names, float("nan"))
    best = values == values.max(axis=0)
    shares = (best / best.sum(axis=0)).mean(axis=1)  # options that are equal share a draw
    return dict(zip(names, shares.tolist(), strict=True))


def _drawn(learner: Learner, name: Hashable, rng: np.random.Generator, draws: int) -> FloatArray:
    """Values of an arm under random weights of its outcomes."""
    preference = learner.policy.preference
    outcomes, counts = learner.outcomes(name)
    if not counts.size:
        return np.full(draws, np.nan)
    felt = preference.felt(outcomes)
    order = np.argsort(felt)
    felt, seen = felt[order], counts[order]
    gains, losses = np.maximum(felt, 0.0), np.maximum(-felt, 0.0)
    steps_up, steps_down = np.diff(gains, prepend=0.0), -np.diff(losses, append=0.0)
    values = np.empty(draws)
    rows = max(AT_ONCE // seen.size, 1)
    for first in range(0, draws, rows):
        shares = rng.standard_gamma(seen, size=(min(rows, draws - first), seen.size))
        total = shares.sum(axis=1, keepdims=True)
        # each tail from its own end, so that the chance of a rare outcome keeps its digits
        up_to = np.minimum(np.cumsum(shares, axis=1) / total, 1.0)
        above = np.minimum(np.cumsum(shares[:, ::-1], axis=1)[:, ::-1] / total, 1.0)  # P(X >= x)
        values[first : first + rows] = preference.gains(above) @ steps_up - preference.losses(up_to) @ steps_down
    return values
