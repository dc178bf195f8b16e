"""Preferences that have a name of their own: the mean, and the mean of the worst outcomes."""

from __future__ import annotations

from allais.preferences.preference import Preference
from allais.weights import Identity, TailAverage


def expected_value(*, reference: float = 0.0, costs: bool = False) -> Preference:
    """The preference of a machine: the mean, no distortion.

    >>> from allais import Discrete
    >>> expected_value().value(Discrete({50: 0.1, 0: 0.9}))
    5.0
    """
    return Preference(Identity(), reference=reference, costs=costs)


def cvar(level: float, *, reference: float = 0.0, costs: bool = False) -> Preference:
    """The conditional value at risk: the mean of the worst `level` share of outcomes.

    >>> from allais import Uniform
    >>> round(cvar(0.1).value(Uniform(0, 10)), 12)
    0.5
    """
    return Preference.rank_dependent(TailAverage(level), reference=reference, costs=costs)
