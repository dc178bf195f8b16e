"""The population of a hierarchical fit: its table, ArviZ's object of its chains, and both in a file."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allais._checks import FloatArray
from allais._system.extras import extra
from allais.files.reading import require
from allais.people.inference.summary import interval, rounded
from allais.people.model.parameters import ByName

if TYPE_CHECKING:
    from allais.people.inference.fitted import Fitted
    from allais.people.model.family import Family

POPULATION, PEOPLE = ("middle", "spread"), "people"  # the names of the chains' draws
HEADER = ("", "middle", "90 %", "spread", "90 %", "of its")


@dataclass(frozen=True)
class Group:
    """One parameter among all people: where the middle person is, and how far others are from there."""

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
    """Means and spreads of the parameters of a population, with their intervals; `print` it."""

    rows: tuple[Group, ...]

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
            f"a population has a table if it was fitted with its people; this is a fit by {fitted.method}. "
            "Use hierarchical."
        )
    family = fitted.family
    middle, spread = (fitted.chains[name].reshape(-1, len(family.names)) for name in POPULATION)
    at, ends = family.natural(middle.mean(axis=0)[None])[0], family.natural(interval(middle))
    rows = np.stack([at, *ends, spread.mean(axis=0), *interval(spread)], axis=1).tolist()
    return PopulationTable(
        tuple(
            Group(name, scale.words, *numbers)
            for name, numbers, scale in zip(family.names, rows, family.layout.scales, strict=True)
        )
    )


def inference_of(family: Family, people: list[str], chains: Mapping[str, FloatArray]) -> Any:
    """The draws as ArviZ has them: on the line for the population, as parameters for the people."""
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
    """Chains as JSON has them: shapes, and all digits."""
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
