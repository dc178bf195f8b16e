"""Summaries: each parameter with its interval, and what the data cannot tell, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from allais._checks import FloatArray

if TYPE_CHECKING:
    from allais.people.inference.fitted import Fitted
    from allais.people.inference.population import PopulationTable

TRADING = 0.9  # a correlation beyond which two parameters are not told apart
UNTOLD = 0.8  # of the prior's spread: a parameter that keeps more of it is not told by the data


@dataclass(frozen=True)
class Row:
    """One parameter."""

    name: str
    estimate: float
    low: float  # 90 % lie between it and `high`
    high: float
    told: float  # the share of the prior's spread that the data took away, 0 to 1


@dataclass(frozen=True)
class Summary:
    """What was found, as text; `warnings` are sentences about what the data cannot tell."""

    title: str
    rows: tuple[Row, ...]
    warnings: tuple[str, ...]
    population: PopulationTable | None = None  # of a hierarchical fit

    def __str__(self) -> str:
        width = max((len(row.name) for row in self.rows), default=0)
        lines = [self.title]
        for row in self.rows:
            shown = rounded(row.estimate, row.high - row.low)
            ends = f"{rounded(row.low, row.high - row.low)} to {rounded(row.high, row.high - row.low)}"
            told = "" if row.told >= 1.0 - UNTOLD else "   not told by these data"
            lines.append(f"  {row.name:<{width}}   {shown:>8}   90 % {ends}{told}")
        if self.population is not None:
            lines += ["the population: its middle person, and how far people are from there", str(self.population)]
        return "\n".join([*lines, *self.warnings])


def summarise(fitted: Fitted) -> Summary:
    """The summary of one distribution of parameters."""
    family, names = fitted.family, fitted.family.names
    people = len(fitted.people)
    whose = f", {people} people: the rows are of somebody like them" if people else ""
    answers = "1 answer" if fitted.n_choices == 1 else f"{fitted.n_choices:,} answers"
    title = f"{fitted.method} of {answers}{whose}"
    if not names:
        return Summary(title, (), fitted.notes)
    ends = family.natural(interval(fitted.places))
    spread, prior = fitted.places.std(axis=0), family.prior.spread
    # people differ, so that the spread of many says nothing about what is known of each
    told = np.ones(len(names)) if people else np.clip(1.0 - spread / prior, 0.0, 1.0)
    rows = tuple(
        Row(name, fitted.parameters[name], low, high, share)
        for name, low, high, share in zip(names, *ends.tolist(), told.tolist(), strict=True)
    )
    table = None if fitted.chains is None else fitted.population_table()
    return Summary(title, rows, (*fitted.notes, *_untold(fitted, rows)), table)


def interval(places: FloatArray) -> FloatArray:
    """The ends between which the next draw lies with 90 %, (draws, parameters) -> (2, parameters).

    One more draw falls below the k-th of n with k in n + 1. NumPy's usual rule forgets itself: with 500 draws its
    interval holds 89.6 %.

    >>> interval(np.arange(1.0, 100.0)[:, None]).ravel().tolist()
    [5.0, 95.0]
    """
    return np.asarray(np.quantile(places, [0.05, 0.95], axis=0, method="weibull"))


def _untold(fitted: Fitted, rows: tuple[Row, ...]) -> list[str]:
    """What the data cannot tell; of many people, how many of them it holds for."""
    if fitted.people:
        counted: dict[str, int] = {}
        for one in fitted.people.values():
            for sentence in one.summary().warnings:
                key = sentence.partition(" (")[0]
                counted[key] = counted.get(key, 0) + 1
        n = len(fitted.people)
        return [f"Of {times} of {n} people: {key}." for key, times in counted.items() if 2 * times >= n]
    sentences = [
        f"The data say little about {row.name}: its interval is nearly the prior's (it keeps {1 - row.told:.0%} of it)."
        for row in rows
        if row.told < 1.0 - UNTOLD
    ]
    names = fitted.family.names
    if len(names) > 1:
        together = correlations(fitted.places)
        sentences += [
            f"{names[i]} and {names[j]} trade off: the data tell them together, not apart "
            f"(correlation {together[i, j]:+.2f})."
            for i, j in combinations(range(len(names)), 2)
            if abs(together[i, j]) > TRADING
        ]
    return sentences


def correlations(places: FloatArray) -> FloatArray:
    """Of parameters, on their scales."""
    return np.atleast_2d(np.corrcoef(places.T))


def rounded(number: float, width: float) -> str:
    """A number to as many digits as an interval of this width deserves.

    >>> rounded(0.613482, 0.21), rounded(123.456, 30.0), rounded(0.0021, 0.5)
    ('0.61', '123', '0.002')
    """
    if not (math.isfinite(width) and width > 0.0):
        return f"{number:.3g}"
    digits = max(0, 1 - math.floor(math.log10(width)))
    shown = f"{number:.{digits}f}"
    return shown if number == 0.0 or float(shown) != 0.0 else f"{number:.1g}"
