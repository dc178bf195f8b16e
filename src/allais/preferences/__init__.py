"""Preferences: what is maximised, how outcomes feel, and why a value is what it is."""

from allais.numerics import Parts
from allais.preferences.explain import Explanation
from allais.preferences.named import cvar, expected_value, mixed, quantile
from allais.preferences.preference import Preference
from allais.preferences.utilities import PowerUtility, Utility

__all__ = [
    "Explanation",
    "Parts",
    "PowerUtility",
    "Preference",
    "Utility",
    "cvar",
    "expected_value",
    "mixed",
    "quantile",
]
