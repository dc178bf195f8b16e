"""Preferences that have a name of their own: the mean, and the mean of the worst outcomes."""

from __future__ import annotations

from allais.preferences.preference import Preference
from allais.weights import Identity, TailAverage


def expected_value(*, reference: float = 0.0, costs: bool = False) -> Preference:
    """The preference without any distortion: the mean.

    Args:
        reference: The outcome that is neither a gain nor a loss; it does not change which option is better.
        costs: Whether less is better.

    >>> from allais import Discrete
    >>> expected_value().value(Discrete({50: 0.1, 0: 0.9}))
    5.0
    """
    return Preference(Identity(), reference=reference, costs=costs)


def cvar(level: float, *, reference: float = 0.0, costs: bool = False) -> Preference:
    """The conditional value at risk: the mean of the worst `level` share of outcomes.

    Args:
        level: The share of outcomes that counts, in (0, 1]; at 1 it is the mean.
        reference: The outcome whose utility is 0.
        costs: Whether less is better, so that the highest costs are the worst outcomes.

    >>> from allais import Uniform
    >>> round(cvar(0.1).value(Uniform(0, 10)), 12)
    0.5
    """
    return Preference.rank_dependent(TailAverage(level), reference=reference, costs=costs)
