"""Preferences in a few words."""

from __future__ import annotations

import math
import re

import numpy as np

from allais.preferences.preference import Preference
from allais.weights import Identity, TailAverage, Weight

SPOKEN = {"TverskyKahneman": "Tversky-Kahneman", "GonzalezWu": "Gonzalez-Wu", "Identity": "as they are"}


def in_words(preference: Preference) -> str:
    """What somebody goes by, as short as a label.

    >>> in_words(Preference(TverskyKahneman(0.61), TverskyKahneman(0.69)))
    'Tversky-Kahneman 0.61, losses 0.69'
    >>> in_words(cvar(0.1)), in_words(expected_value()), in_words(Preference.tversky_kahneman())
    ('the worst 10%', 'the mean', 'prospect theory')
    """
    if preference == Preference.tversky_kahneman(reference=preference.reference, costs=preference.costs):
        return "prospect theory"
    gains, losses, utility = preference.gains, preference.losses, preference.utility
    if isinstance(gains, TailAverage) and losses == gains.dual():
        text = f"the worst {100.0 * gains.level:g}%"
    elif isinstance(gains, Identity) and isinstance(losses, Identity):
        text = "the mean"
    else:
        text = _weight(gains)
        if losses not in (gains, gains.dual()):
            same = type(losses) is type(gains)
            text += f", losses {_numbers(losses) if same else _weight(losses)}"
    return text if utility is None else f"{text}, {_spoken(type(utility).__name__)} {_numbers(utility)}".rstrip()


def _weight(weight: Weight) -> str:
    name = re.match(r"\w+", repr(weight))
    return f"{_spoken(name[0] if name else type(weight).__name__)} {_numbers(weight)}".rstrip()


def _spoken(name: str) -> str:
    """A type's name as two words or more."""
    return SPOKEN.get(name, re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))


def _numbers(setting: object) -> str:
    return " ".join(f"{float(found):.3g}" for found in re.findall(r"=(-?\d[\d.e+-]*)", repr(setting)))


BEYOND = 1e300  # a utility that never reaches a value is inverted to one of the largest numbers


def sure_amount(preference: Preference, value: float) -> float:
    """The certainty equivalent of a value; NaN where no sure outcome has it.

    >>> sure_amount(Preference(TverskyKahneman(0.61), reference=80, costs=True), 9.0)
    71.0
    """
    if not math.isfinite(value):
        return math.nan
    with np.errstate(all="ignore"):
        sure = float(preference.outcomes_of(np.float64(value)))
    return sure if abs(sure) < BEYOND else math.nan
