"""Values as sure amounts: the outcome for certain that is worth as much, in the user's own units."""

from __future__ import annotations

import math

import numpy as np

from allais.preferences.preference import Preference

BEYOND = 1e300  # a utility that never reaches a value is inverted to one of the largest numbers


def sure_amount(preference: Preference, value: float) -> float:
    """The certainty equivalent of a value; NaN where no sure outcome has it.

    >>> sure_amount(Preference(TverskyKahneman(0.61), reference=80, costs=True), 9.0)
    71.0
    """
    if not math.isfinite(value):
        return math.nan
    with np.errstate(all="ignore"):
        sure = float(preference.unfelt(np.float64(value)))
    return sure if abs(sure) < BEYOND else math.nan
