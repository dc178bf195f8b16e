"""Preferences that have a name of their own, such as the mean, and any preference in a few words."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from allais import weights
from allais._checks import brief, nearest, real, share
from allais.preferences.preference import Preference
from allais.preferences.valuation import is_mean as is_mean
from allais.preferences.valuation import is_undistorted
from allais.preferences.valuation import level_of as level_of
from allais.weights import Identity, Mixed, Step, TailAverage, Weight

SPOKEN = {"TverskyKahneman": "Tversky-Kahneman", "GonzalezWu": "Gonzalez-Wu", "Identity": "as they are"}


def in_words(preference: Preference) -> str:
    """A preference as a short label.

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
    elif (level := level_of(preference)) is not None:
        text = f"percentile {100.0 * level:.6g}"
    elif isinstance(gains, Mixed) and losses == gains.dual():
        parts = zip(gains.shares, gains.weights, strict=True)
        each = ((part, Preference.rank_dependent(one, costs=preference.costs)) for part, one in parts)
        text = " + ".join(f"{part:.3g} x {in_words(one)}" for part, one in each)
    elif is_undistorted(preference):
        text = "the mean"
    else:
        text = _weight(gains)
        if losses not in (gains, gains.dual()):
            same = type(losses) is type(gains)
            text += f", losses {_numbers(losses) if same else _weight(losses)}"
    return text if utility is None else f"{text}, {_spoken(type(utility).__name__)} {_numbers(utility)}".rstrip()


FELT = "feels like"  # the heading of certainty equivalents that have no name of their own


def heading_of(preference: Preference) -> str:
    """The heading of a column of certainty equivalents: their own name, if they have one.

    >>> heading_of(expected_value()), heading_of(quantile(0.95)), heading_of(cvar(0.1))
    ('the mean', 'percentile 95', 'feels like')
    """
    return in_words(preference) if is_mean(preference) or level_of(preference) is not None else FELT


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


# -- as people write them: on the command line, in specs, to the service --------------------------

SHORTHANDS: dict[str, Callable[..., Weight]] = {
    "tk": weights.TverskyKahneman,
    "prelec": weights.Prelec,
    "gonzalez-wu": weights.GonzalezWu,
    "power": weights.Power,
    "wang": weights.Wang,
    "tail-average": weights.TailAverage,
    "steep-middle": weights.SteepMiddle,
    "identity": weights.Identity,
}
OTHER_NAMES = {  # under which people know them
    "cvar": "tail-average:A, which is the weight of CVaR for gains",
    "tversky-kahneman": "tk:ETA",
    "tverskykahneman": "tk:ETA",
    "mean": "identity",
}


def weight_of(text: str) -> Weight:
    """The weight that a name and its parameters describe.

    >>> weight_of("tk:0.61"), weight_of("gonzalez-wu:0.44,0.77"), weight_of("identity")
    (TverskyKahneman(eta=0.61), GonzalezWu(gamma=0.44, delta=0.77), Identity())
    """
    name, _, given = text.partition(":")
    if name not in SHORTHANDS:
        known = f" Write {OTHER_NAMES[name.lower()]}." if name.lower() in OTHER_NAMES else nearest(name, SHORTHANDS)
        raise ValueError(f"there is no weight {name!r}.{known}")
    make = SHORTHANDS[name]
    takes = inspect.signature(make).parameters
    needed = [key for key, parameter in takes.items() if parameter.default is inspect.Parameter.empty]
    try:
        numbers = [float(number) for number in given.split(",")] if given else []
    except ValueError:
        raise ValueError(
            f"the parameters of a weight are numbers; got {given!r} in {text!r}. Write {name}:0.5."
        ) from None
    if not len(needed) <= len(numbers) <= len(takes):
        words = f"{name}:{','.join(takes)}" if takes else name
        raise ValueError(f"the weight {name} is written {words}; got {text!r}. Repair its parameters.")
    return make(*numbers)


NAMED: dict[str, Callable[..., Preference]] = {
    "mean": expected_value,
    "expected_value": expected_value,
    "prospect": Preference.tversky_kahneman,
    "tversky_kahneman": Preference.tversky_kahneman,
    "cvar": cvar,
    "quantile": quantile,
    "median": lambda **frame: quantile(0.5, **frame),
}
WRITTEN = ("mean", "median", "p95", "cvar:0.1", "prospect", *SHORTHANDS)  # what a refusal proposes


def preference_named(
    name: str, *, level: float | None = None, reference: float = 0.0, costs: bool = False
) -> Preference:
    """The preference that a short text describes.

    Args:
        name: `mean`, `median`, `p95` or `p99.9` (a percentile), `quantile:0.95`, `cvar:0.1` (the mean of the worst
            tenth), `prospect` (Tversky & Kahneman 1992), a weight such as `tk:0.61` or `prelec:0.65`, or a mixture
            such as `0.7*mean + 0.3*p99`.
        level: Of `cvar` and `quantile`, where the text does not have it.
        reference: The outcome that is neither a gain nor a loss.
        costs: Whether less is better.

    >>> preference_named("p95", costs=True) == quantile(0.95, costs=True)
    True
    >>> in_words(preference_named("0.7*mean + 0.3*cvar:0.1")), in_words(preference_named("tk:0.61"))
    ('0.7 x the mean + 0.3 x the worst 10%', 'Tversky-Kahneman 0.61')
    """
    if not isinstance(name, str):
        raise ValueError(f"a named preference is text, such as p95 or cvar:0.1; got {brief(name)}. Write it in quotes.")
    frame: dict[str, Any] = {"reference": reference, "costs": costs}
    if "*" in name:
        return mixed(*(_part(one, name, reference, costs) for one in name.split("+")))
    word, _, given = name.strip().partition(":")
    if level is not None or (given and word in ("cvar", "quantile")):
        if word not in ("cvar", "quantile") or (given and level is not None):
            raise ValueError(f"cvar and quantile have one level; got {brief(name)} with level {brief(level)}.")
        return NAMED[word](_number(given, name) if level is None else level, **frame)
    if percentile := re.fullmatch(r"[pP](\d+(?:\.\d*)?)", word):
        if not 0.0 < float(percentile[1]) < 100.0:
            raise ValueError(f"a percentile lies above 0 and below 100; got {brief(name)}. Write p95, or p99.9.")
        return quantile(round(float(percentile[1]) / 100.0, 15), **frame)
    if word in ("cvar", "quantile"):
        raise ValueError(f"{word} needs a level; got {brief(name)}. Write {word}:0.1.")
    if word in NAMED and not given:
        return NAMED[word](**frame)
    if word in SHORTHANDS:
        return Preference(weight_of(name.strip()), **frame)
    raise ValueError(
        f"a named preference is {', '.join(WRITTEN[:5])}, or a weight such as tk:0.61; got {brief(name)}."
        f"{' For the percentile write p' + word + '.' if word.isdecimal() else nearest(word, WRITTEN)}"
    )


def _part(text: str, whole: str, reference: float, costs: bool) -> tuple[float, Preference]:
    part, _, name = text.partition("*")
    if not name.strip():
        raise ValueError(f"each part of a mixture has a share, as in 0.7*mean + 0.3*p99; got {brief(whole)}.")
    return _number(part, whole), preference_named(name, reference=reference, costs=costs)


def _number(text: str, whole: str) -> float:
    try:
        return real("a share", float(text))
    except ValueError:
        raise ValueError(f"{brief(text.strip())} in {brief(whole)} is not a number. Write 0.1 for a tenth.") from None
