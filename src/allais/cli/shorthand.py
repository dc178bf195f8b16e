"""Lotteries and weights as words on a command line: "50:0.1,0:0.9", "tk:0.61"."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable

from allais import weights
from allais.lotteries import Discrete
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


def lottery_of(text: str) -> Discrete:
    """The lottery that outcomes and probabilities describe.

    >>> lottery_of("50:0.1, 0:0.9")
    Discrete({50: 0.1, 0: 0.9})
    """
    chances: dict[float, float] = {}
    for part in text.split(","):
        outcome, colon, chance = part.partition(":")
        try:
            key, probability = float(outcome), float(chance)
        except ValueError:
            raise ValueError(
                f'a lottery is outcomes and probabilities, such as "50:0.1,0:0.9"; got {part.strip()!r} in {text!r}. '
                + ("Write numbers." if colon else "Write outcome:probability.")
            ) from None
        if key in chances:
            raise ValueError(f"an outcome is given once; got {key:g} twice in {text!r}. Add its probabilities up.")
        chances[key] = probability
    return Discrete(chances)


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
