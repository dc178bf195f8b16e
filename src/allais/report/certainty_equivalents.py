"""Certainty equivalents: values and intervals as sure amounts in the user's units."""

from __future__ import annotations

import math
from collections.abc import Hashable

from allais.bands import Interval
from allais.learner import Learner
from allais.preferences import Preference
from allais.preferences.valuation import sure_amount


def sure_interval(preference: Preference, interval: Interval) -> Interval:
    """An interval of values in the user's units, the smaller end first; of costs, the smaller is the better one."""
    low, value, high = (sure_amount(preference, end) for end in interval)
    return Interval(high, value, low) if preference.costs else Interval(low, value, high)


def sure_intervals(
    learner: Learner, pulls: dict[Hashable, int], intervals: dict[Hashable, Interval]
) -> dict[Hashable, Interval]:
    """What each option feels like for sure; NaN where nothing is known about it, or it has no interval."""
    preference = learner.policy.preference
    if getattr(learner.policy, "of_mean", False):  # such a policy compares w(mean), which is no value of outcomes
        values = learner.value()
        return {name: Interval(math.nan, sure_amount(preference, values[name]), math.nan) for name in intervals}
    return {
        name: sure_interval(preference, one) if pulls[name] else Interval(math.nan, math.nan, math.nan)
        for name, one in intervals.items()
    }
