"""Summaries: each parameter with its interval, what the data do not identify, and populations."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from allais._checks import FloatArray
from allais._system.extras import extra
from allais.files import require
from allais.people.model.parameters import ByName
from allais.preferences.showing import Rows, as_frame, as_html, as_intervals

if TYPE_CHECKING:
    from allais.people.inference.fitted import Fitted
    from allais.people.model.family import Family


TRADING = 0.9  # correlation beyond which two parameters are not identified separately
UNIDENTIFIED = 0.8  # of the prior's spread: a parameter that keeps more of it is not identified by the data


@dataclass(frozen=True)
class Row:
    """One parameter."""

    name: str
    estimate: float
    low: float  # 90 % lie between it and `high`
    high: float
    told: float  # the share of the prior's spread that the data removed, 0 to 1


@dataclass(frozen=True)
class Summary:
    """A fit as text; `warnings` are sentences about what the data do not identify."""

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
            told = "" if row.told >= 1.0 - UNIDENTIFIED else "   not identified by these data"
            lines.append(f"  {row.name:<{width}}   {shown:>8}   90 % {ends}{told}")
        if self.population is not None:
            lines += ["the population: its median person, and the spread of people around it", str(self.population)]
        return "\n".join([*lines, *self.warnings])


def summarise(fitted: Fitted) -> Summary:
    """The summary of one distribution of parameters."""
    family, names = fitted.family, fitted.family.names
    people = len(fitted.people)
    whose = f", {people} people: the rows are of a random one of them" if people else ""
    answers = "1 answer" if fitted.n_choices == 1 else f"{fitted.n_choices:,} answers"
    title = f"{fitted.method} of {answers}{whose}"
    if not names:
        return Summary(title, (), fitted.notes)
    ends = family.natural(interval(fitted.places))
    spread, prior = fitted.places.std(axis=0), family.prior.spread
    # people differ, so the spread among them says nothing about how well each is identified
    told = np.ones(len(names)) if people else np.clip(1.0 - spread / prior, 0.0, 1.0)
    rows = tuple(
        Row(name, fitted.parameters[name], low, high, share)
        for name, low, high, share in zip(names, *ends.tolist(), told.tolist(), strict=True)
    )
    table = None if fitted.chains is None else fitted.population_table()
    return Summary(title, rows, (*fitted.notes, *_unidentified(fitted, rows)), table)


def interval(places: FloatArray) -> FloatArray:
    """The 90 % interval of the next draw, (draws, parameters) -> (2, parameters).

    One more draw falls below the k-th of n with probability k / (n + 1). NumPy's default rule ignores that: with 500
    draws its interval holds 89.6 %.

    >>> interval(np.arange(1.0, 100.0)[:, None]).ravel().tolist()
    [5.0, 95.0]
    """
    return np.asarray(np.quantile(places, [0.05, 0.95], axis=0, method="weibull"))


def _unidentified(fitted: Fitted, rows: tuple[Row, ...]) -> list[str]:
    """What the data do not identify; for many people, of how many of them."""
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
        if row.told < 1.0 - UNIDENTIFIED
    ]
    names = fitted.family.names
    if len(names) > 1:
        together = correlations(fitted.places)
        sentences += [
            f"{names[i]} and {names[j]} trade off: the data identify them together, not separately "
            f"(correlation {together[i, j]:+.2f})."
            for i, j in combinations(range(len(names)), 2)
            if abs(together[i, j]) > TRADING
        ]
    return sentences


def correlations(places: FloatArray) -> FloatArray:
    """The correlations of parameters, on the unconstrained scale."""
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


POPULATION, PEOPLE = ("middle", "spread"), "people"  # the names of the chains' draws
HEADER = ("", "middle", "90 %", "spread", "90 %", "of its")


@dataclass(frozen=True)
class Group:
    """One parameter among all people: that of the median person, and the spread of the others."""

    name: str
    scale: str  # logarithm, log odds, or value
    middle: float  # the mean on the parameter's scale, as a parameter
    low: float  # the mean lies between it and `high` with 90 %
    high: float
    spread: float  # the standard deviation of people, on the scale
    spread_low: float
    spread_high: float


@dataclass(frozen=True)
class PopulationTable:
    """Means and spreads of the parameters of a population, with their intervals; `print` it.

    Attributes:
        rows: One row per parameter.
    """

    rows: tuple[Group, ...]

    _repr_html_, to_frame, plot, headline = as_html, as_frame, as_intervals, ""

    def frame_rows(self) -> Rows:
        """One row per parameter, with the ends between which its middle and its spread lie with 90 %."""
        return [
            {"parameter": one.name, "middle": one.middle, "middle low": one.low, "middle high": one.high,
             "spread": one.spread, "spread low": one.spread_low, "spread high": one.spread_high, "of its": one.scale}
            for one in self.rows
        ]  # fmt: skip

    def __getitem__(self, name: str) -> Group:
        return ByName({row.name: row for row in self.rows})[name]

    def __str__(self) -> str:
        lines = [list(HEADER)]
        for one in self.rows:
            wide, broad = one.high - one.low, one.spread_high - one.spread_low
            lines.append([
                one.name,
                rounded(one.middle, wide), f"{rounded(one.low, wide)} to {rounded(one.high, wide)}",
                rounded(one.spread, broad), f"{rounded(one.spread_low, broad)} to {rounded(one.spread_high, broad)}",
                one.scale,
            ])  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  " + "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )


def population_table(fitted: Fitted) -> PopulationTable:
    """The means and spreads of a hierarchical fit."""
    if fitted.chains is None:
        raise ValueError(
            f"only a hierarchical fit has a table of its population; this is a fit by {fitted.method}. "
            "Use hierarchical."
        )
    family = fitted.family
    middle, spread = (fitted.chains[name].reshape(-1, len(family.names)) for name in POPULATION)
    at, ends = family.natural(middle.mean(axis=0)[None])[0], family.natural(interval(middle))
    rows = np.stack([at, *ends, spread.mean(axis=0), *interval(spread)], axis=1).tolist()
    return PopulationTable(
        tuple(
            Group(name, scale.words, *numbers)
            for name, numbers, scale in zip(family.names, rows, family.transforms.scales, strict=True)
        )
    )


def inference_of(family: Family, people: list[str], chains: Mapping[str, FloatArray]) -> Any:
    """The draws as ArviZ has them: unconstrained for the population, as parameters for the people."""
    with extra("people", "ArviZ's object"):
        import arviz
    names, z = list(family.names), chains[PEOPLE]
    natural = family.natural(z.reshape(-1, len(names))).reshape(z.shape)
    return arviz.from_dict(
        posterior={**{name: chains[name] for name in POPULATION}, PEOPLE: natural},
        coords={"parameter": names, "person": people},
        dims={"middle": ["parameter"], "spread": ["parameter"], PEOPLE: ["person", "parameter"]},
    )


def chains_content(chains: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Chains as JSON: shapes, and all digits."""
    return {
        name: {"shape": list(drawn.shape), "data": base64.b64encode(drawn.astype("<f8").tobytes()).decode()}
        for name, drawn in chains.items()
    }


def chains_from(content: Any, n_people: int, n_parameters: int) -> dict[str, FloatArray]:
    """The chains that a file holds; raises what damage raises."""
    found: dict[str, FloatArray] = {}
    for name in (*POPULATION, PEOPLE):
        shape = tuple(content[name]["shape"])
        data = base64.b64decode(content[name]["data"], validate=True)
        last = (n_people, n_parameters) if name == PEOPLE else (n_parameters,)
        require(len(shape) == 2 + len(last) and shape[2:] == last, "a chain must be of all parameters")
        require(len(data) == 8 * int(np.prod(shape)) > 0, "a chain must be complete")
        found[name] = np.frombuffer(data, "<f8").reshape(shape).astype(np.float64)
        require(bool(np.isfinite(found[name]).all()), "a chain must be of finite numbers")
        require(shape[:2] == found["middle"].shape[:2], "chains must be equally long")
    return found
