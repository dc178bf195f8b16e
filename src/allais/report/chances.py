"""How likely each arm is to be the best, by what was seen of it."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from allais.errors import FloatArray
from allais.learner import Learner

DRAWS = 400  # a chance is then known to within 0.05


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
    shares = np.bincount(values.argmax(axis=0), minlength=len(names)) / draws
    return dict(zip(names, shares.tolist(), strict=True))


def _drawn(learner: Learner, name: Hashable, rng: np.random.Generator, draws: int) -> FloatArray:
    """Values of an arm under random weights of its outcomes."""
    preference = learner.policy.preference
    outcomes, counts = learner.outcomes(name)
    if not counts.size:
        return np.full(draws, np.nan)
    felt = preference.felt(outcomes)
    order = np.argsort(felt)
    felt = felt[order]
    shares = rng.standard_gamma(counts[order], size=(draws, counts.size))
    up_to = np.clip(np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True), 0.0, 1.0)
    above = np.clip(1.0 - up_to + shares / shares.sum(axis=1, keepdims=True), 0.0, 1.0)  # P(X >= x)
    gains, losses = np.maximum(felt, 0.0), np.maximum(-felt, 0.0)
    gain = np.diff(gains, prepend=0.0) * preference.gains(above)
    loss = -np.diff(losses, append=0.0) * preference.losses(up_to)
    return np.asarray((gain - loss).sum(axis=1))
