"""Which options may still be the best, and more of them between these: a grid that is finer where it matters."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from itertools import product
from typing import Any

import numpy as np

from allais.problems.options import Option, Setting
from allais.searches.forecast import chances_of_best
from allais.simulation.best_arm import BestArm

MOST_REDRAWN = 1_000  # options: redrawing the runs of more takes minutes
MAY_BE_BEST = 0.01  # of the redraws in which a contender is the best, at least
FEW = 3  # settings of which all combinations are tried; of more, one setting at a time changes
DIGITS = 12  # of a number halfway between two others


def chances(answer: BestArm) -> dict[Hashable, float]:
    """How often each option is best when the runs are redrawn; by a fixed draw, so that a report repeats."""
    if not answer.learner.policy.keeps_outcomes or len(answer.pulls) > MOST_REDRAWN:
        return dict.fromkeys(answer.pulls, math.nan)
    return chances_of_best(answer.learner, np.random.default_rng(0))


def contenders(answer: BestArm) -> list[Hashable]:
    """The options that may be the best by what was seen, the recommended one first, then by value.

    These are the answer, the next best, and all that are best in one of a hundred redraws of the runs.

    Args:
        answer: What `search` or `best_arm` returned.

    >>> problem = Bandit([Bernoulli(p) for p in (0.9, 0.88, 0.2, 0.1)], arms=["A", "B", "C", "D"])
    >>> contenders(best_arm(PatientTopTwo(expected_value(), Bounded(0, 1), budget=400), problem, seed=1))
    ['A', 'B']
    """
    chance = chances(answer)
    seen = [name for name in answer.intervals if answer.pulls[name] and not math.isnan(answer.intervals[name].value)]
    ranked = sorted(seen, key=lambda name: (name != answer.arm, -answer.intervals[name].value))
    return ranked[:2] + [name for name in ranked[2:] if chance[name] >= MAY_BE_BEST]


def finer(answer: BestArm, *, keep: Callable[..., bool] | None = None) -> list[Option]:
    """The options of an answer, and after them more between its contenders and their neighbours.

    Each number of a contender also becomes the one halfway to the next smaller and to the next larger number that an
    option has; whole numbers stay whole, and texts stay. Search the longer list with the same journal, and the runs
    that are there are used again.

    Args:
        answer: What a search among options with settings returned.
        keep: Which settings make sense, as a function of them by name; by default all.

    >>> problem = Simulator(lambda size, rng: rng.normal(-abs(size - 30), 1.0), grid(size=[0, 20, 40, 60]))
    >>> answer = best_arm(PatientRejects(expected_value(), budget=400), problem, seed=1)
    >>> finer(answer)
    ['size=0', 'size=20', 'size=40', 'size=60', 'size=10', 'size=30', 'size=50']
    """
    options = [name for name in answer.pulls if isinstance(name, Option)]
    if not options or len(options) < len(answer.pulls):
        raise ValueError(
            "a finer grid is made from options with settings; these have names only. Describe them by numbers: "
            "allais.problems.grid(s=[20, 30], S=[60, 80])."
        )
    numbers: dict[str, list[Any]] = {
        name: sorted({option.settings[name] for option in options})
        for name in options[0].settings
        if all(_is_number(option.settings[name]) for option in options)
    }
    found = {_key(option.settings): option for option in options}
    for contender in contenders(answer):
        for settings in _around(contender.settings, numbers):  # type: ignore[attr-defined]
            if _key(settings) not in found and (keep is None or keep(**settings)):
                found[_key(settings)] = Option(settings)
    return list(found.values())


def _key(settings: dict[str, Setting]) -> tuple[Setting, ...]:
    return tuple(settings.values())


def _is_number(value: Setting) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _around(settings: dict[str, Setting], numbers: dict[str, list[Any]]) -> list[dict[str, Setting]]:
    """An option's neighbours at half the distance."""
    steps = {name: _halfway(settings[name], levels) for name, levels in numbers.items() if len(levels) > 1}
    if len(steps) > FEW:
        return [{**settings, name: value} for name, values in steps.items() for value in values]
    near = ([settings[name], *values] for name, values in steps.items())
    return [{**settings, **dict(zip(steps, chosen, strict=True))} for chosen in product(*near)]


def _halfway(value: Any, levels: list[Any]) -> list[Any]:
    """The numbers between a level and its neighbours, if there are some: whole ones between whole ones.

    >>> _halfway(20, [10, 20, 21]), _halfway(0.2, [0.1, 0.2])
    ([15], [0.15])
    """
    place = levels.index(value)
    beside = levels[max(place - 1, 0) : place] + levels[place + 1 : place + 2]
    whole = all(isinstance(level, int) for level in levels)
    between = [(value + other) // 2 if whole else float(f"{(value + other) / 2.0:.{DIGITS}g}") for other in beside]
    return [one for one in between if one not in levels]
