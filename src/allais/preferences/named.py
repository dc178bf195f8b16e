"""Preferences that have a name of their own, such as the mean, and any preference in a few words."""

from __future__ import annotations

import re

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
