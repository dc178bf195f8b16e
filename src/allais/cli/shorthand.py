"""Weights as words on a command line: "tk:0.61"; and what was probably meant."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable

from allais import weights
from allais.weights import Weight

WEIGHTS: dict[str, Callable[..., Weight]] = {
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
    if name not in WEIGHTS:
        known = f" Write {OTHER_NAMES[name.lower()]}." if name.lower() in OTHER_NAMES else nearest(name, WEIGHTS)
        raise ValueError(f"a weight must be one that exists; got {name!r}.{known}")
    make = WEIGHTS[name]
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


def nearest(name: str, known: Iterable[str]) -> str:
    """What was probably meant, as the end of a refusal."""
    candidates = list(known)
    lowered = {candidate.lower(): candidate for candidate in candidates}
    near = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    if near:
        return f" Did you mean {lowered[near[0]]!r}?"
    if not candidates:
        return " There are none: leave it out."
    return f" Known are {', '.join(map(repr, candidates[:20]))}."
