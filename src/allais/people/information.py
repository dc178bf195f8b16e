"""How much an answer is expected to tell: the mutual information of the answer and what is asked about."""

from __future__ import annotations

import numpy as np

from allais._checks import FloatArray, IntArray


def about_parameters(log_chance: FloatArray) -> FloatArray:
    """Bits that an answer tells about the parameters, from its log chance at equally likely ones, (n, questions).

    >>> about_parameters(np.log([[1.0, 0.5], [1e-9, 0.5]])).round(3)
    array([1., 0.])
    """
    chance = np.exp(log_chance)
    rest = np.maximum(1.0 - chance, 1e-300)
    inside = -(chance * np.maximum(log_chance, -700.0) + rest * np.log(rest)).mean(axis=0) / np.log(2.0)
    return entropy(chance.mean(axis=0)) - inside


def about_decision(log_chance: FloatArray, decision: IntArray) -> FloatArray:
    """Bits that an answer tells about which arm is preferred, `decision` of each parameter vector.

    >>> about_decision(np.log([[0.9, 0.5], [0.1, 0.5]]), np.array([0, 1])).round(3)
    array([0.531, 0.   ])
    """
    chance = np.exp(log_chance)
    left = np.zeros(chance.shape[1])
    for arm in np.unique(decision):
        mine = chance[decision == arm]
        left += len(mine) / len(chance) * entropy(mine.mean(axis=0))
    return entropy(chance.mean(axis=0)) - left


def entropy(chance: FloatArray) -> FloatArray:
    """Of a coin, in bits."""
    inside = np.clip(chance, 1e-300, 1.0 - 1e-16)
    return -(inside * np.log(inside) + (1.0 - inside) * np.log1p(-inside)) / np.log(2.0)


def entropy_of(shares: FloatArray) -> FloatArray:
    """Of laws over several things, along the last axis, in bits."""
    inside = np.where(shares > 0.0, shares, 1.0)
    return np.abs((inside * np.log2(inside)).sum(axis=-1))  # none of the terms is positive, and -0 is 0
