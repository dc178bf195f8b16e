"""Preferences that have a name of their own, such as the mean, and any preference in a few words."""

from __future__ import annotations

import re

from allais._checks import share
from allais.preferences.preference import Preference
from allais.weights import Identity, Mixed, Step, TailAverage, Weight

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
    elif isinstance(gains, Step) and losses == gains.dual():
        text = f"percentile {100.0 * (gains.at if preference.costs else 1.0 - gains.at):.6g}"
    elif isinstance(gains, Mixed) and losses == gains.dual():
        parts = zip(gains.shares, gains.weights, strict=True)
        each = ((part, Preference.rank_dependent(one, costs=preference.costs)) for part, one in parts)
        text = " + ".join(f"{part:.3g} x {in_words(one)}" for part, one in each)
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


def quantile(level: float, *, reference: float = 0.0, costs: bool = False) -> Preference:
    """A percentile of outcomes: the least outcome x such that a share `level` of outcomes is at most x.

    Of n samples it is the k-th smallest, where k = level * n, rounded up (the inverse of the cumulative distribution
    function; NumPy's `inverted_cdf`); nothing is interpolated.

    Args:
        level: The share of outcomes at or below it, in (0, 1).
        reference: The outcome whose utility is 0.
        costs: Whether less is better. The level counts from the lowest outcome all the same: `quantile(0.95,
            costs=True)` of waiting times is what one wait in twenty exceeds.

    >>> from allais import Discrete, Uniform
    >>> round(quantile(0.95).value(Uniform(0, 10)), 9), quantile(0.5).value(Discrete({1: 0.5, 2: 0.5}))
    (9.5, 1.0)
    >>> waits = quantile(0.95, costs=True)
    >>> waits.certainty_equivalent(Discrete({3: 0.9, 20: 0.1}))
    20.0
    """
    checked = share("level", level, advice="Give 0.95 for the 95th percentile.")
    weight = Step(checked, inclusive=True) if costs else Step(round(1.0 - checked, 15))
    return Preference.rank_dependent(weight, reference=reference, costs=costs)


def mixed(*parts: tuple[float, Preference]) -> Preference:
    """Several preferences as one: its value is the weighted mean of theirs.

    Args:
        *parts: A share and a preference each; shares sum to 1. All have the same direction, reference and utility.

    >>> from allais import Uniform
    >>> round(mixed((0.75, expected_value()), (0.25, cvar(0.1))).value(Uniform(0, 10)), 9)
    3.875
    """
    if not parts:
        raise ValueError("a mixture has one preference or more; got none. Write mixed((0.7, a), (0.3, b)).")
    first = parts[0][1]
    for _, one in parts:
        if (one.costs, one.reference, one.utility) != (first.costs, first.reference, first.utility):
            raise ValueError(
                f"preferences that are mixed share direction, reference and utility; {one!r} and {first!r} do not. "
                "Give all the same costs=, reference= and utility."
            )
    shares = [part for part, _ in parts]
    gains = Mixed(shares, [one.gains for _, one in parts])
    losses = Mixed(shares, [one.losses for _, one in parts])
    return Preference(gains, losses, utility=first.utility, reference=first.reference, costs=first.costs)
