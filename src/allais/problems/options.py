"""Options as data: an arm that is described by named numbers, and lists of them from a grid or a table."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from allais._checks import brief
from allais._system.extras import extra
from allais.files import csv_rows

Setting = str | int | float | bool
OWN_NAME = "arm"  # the column that names an option; without it the name is made from the settings
RESERVED = ("rng", "seed")  # what a run gets beside its settings
MOST_OPTIONS = 1_000_000  # of a grid: more is a slip


class Option(str):
    """An arm that is described by named settings; its name is a text, so it is kept and compared as one.

    Args:
        settings: Numbers, texts or truth values, by name.
        name: What the option is called; by default its settings, such as `"s=20, S=60"`.

    >>> option = Option({"s": 20, "S": 60})
    >>> option, option.settings["S"]
    ('s=20, S=60', 60)
    """

    def __new__(cls, settings: Mapping[str, Any], name: str | None = None) -> Option:
        found = _checked(settings)
        return super().__new__(
            cls, ", ".join(f"{key}={written(value)}" for key, value in found.items()) if name is None else str(name)
        )

    def __init__(self, settings: Mapping[str, Any], name: str | None = None) -> None:
        self.settings: dict[str, Setting] = _checked(settings)
        self.called = None if name is None else str(name)

    def __repr__(self) -> str:
        own = super().__repr__()  # a journal tells by it whether a problem is the same
        return own if self.called is None else f"Option({self.settings!r}, {own})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Option, (self.settings, self.called)


def _checked(settings: Mapping[str, Any]) -> dict[str, Setting]:
    found = {_checked_name(key): _checked_setting(key, value) for key, value in settings.items()}
    if not found:
        raise ValueError('an option is described by settings; got none. Write {"s": 20, "S": 60}.')
    return found


def written(value: Setting) -> str:
    """A setting as a command gets it: truth values as JSON writes them.

    >>> written(True), written(0.5), written("fast")
    ('true', '0.5', 'fast')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(
            f"a setting's name must be an identifier, such as reorder_at; got {name!r}. Use letters, digits and _."
        )
    if name in (*RESERVED, OWN_NAME):
        raise ValueError(
            f"{', '.join((*RESERVED, OWN_NAME))} have a meaning of their own; got {name!r} as a setting. Rename it."
        )
    return name


def _checked_setting(name: str, value: Any) -> Setting:
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, str | int | float):
        raise TypeError(f"{name} must be a number, a text, or true or false; got {brief(value)}. Give one of them.")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} must be finite; got {value}. Leave the option out, or fill the cell.")
    if isinstance(value, str) and "\0" in value:
        raise ValueError(f"{name} must be text without null characters; got {value!r}. Rename it.")
    return value


def as_options(arms: Any) -> Any:
    """Arms as they are, or, where they are dictionaries or a data frame, as options with the same settings each."""
    if isinstance(arms, Mapping):
        raise TypeError(
            f"arms must be a list, of names or of dictionaries; got {brief(dict(arms))}. Write "
            "allais.problems.grid(s=[20, 30], S=[60, 80]) for all combinations of lists."
        )
    if hasattr(arms, "columns") or hasattr(arms, "__arrow_c_stream__"):
        return table(arms)
    if isinstance(arms, str) or not isinstance(arms, Sequence):
        return arms
    if not any(isinstance(one, Mapping | Option) for one in arms):
        return arms
    options = [one if isinstance(one, Option) else _option(one) for one in arms]
    first = options[0].settings.keys()
    for place, option in enumerate(options):
        if option.settings.keys() != first:
            raise ValueError(
                f"options must have the same settings; the first has {', '.join(first)}, and number {place + 1} has "
                f"{', '.join(option.settings)}. Fill in what is missing."
            )
    return options


def _option(given: Any) -> Option:
    if not isinstance(given, Mapping):
        raise TypeError(
            f"options are all dictionaries or all names; got {brief(given)} among dictionaries. Name them all."
        )
    name = given.get(OWN_NAME)
    return Option({key: value for key, value in given.items() if key != OWN_NAME}, None if name is None else str(name))


def settings_of(arms: Sequence[Hashable]) -> list[dict[str, Setting]]:
    """The settings of options; nothing where arms are names."""
    return [arm.settings for arm in arms if isinstance(arm, Option)]


def grid(**parameters: Any) -> list[Option]:
    """Every combination of lists of settings, the last one changing fastest.

    Args:
        **parameters: For each setting a list of what it may be, or one number that stays.

    >>> grid(s=[20, 30], S=[60, 80], lead=3)
    ['s=20, S=60, lead=3', 's=20, S=80, lead=3', 's=30, S=60, lead=3', 's=30, S=80, lead=3']
    """
    lists = {name: _listed(name, given) for name, given in parameters.items()}
    if not lists:
        raise ValueError("a grid needs settings; got none. Write s = [20, 30] and S = [60, 80].")
    many = math.prod(map(len, lists.values()))
    if many > MOST_OPTIONS:
        raise ValueError(f"a grid may have {MOST_OPTIONS:,} options at most; got {many:,}. Shorten its lists.")
    return [Option(dict(zip(lists, chosen, strict=True))) for chosen in product(*lists.values())]


def _listed(name: str, given: Any) -> list[Any]:
    if isinstance(given, Mapping):
        raise TypeError(f"{name} must be a number or a list of settings; got {brief(given)}. Write {name} = [20, 30].")
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        return [given]
    values = [value.item() if isinstance(value, np.generic) else value for value in given]
    if not values:
        raise ValueError(f"{name} must have at least one setting; got an empty list. Write {name} = [20, 30].")
    seen: set[Any] = set()
    for value in values:
        if _checked_setting(name, value) in seen:
            raise ValueError(f"{name} must list each setting once; got {value!r} twice. Leave one out.")
        seen.add(value)
    return values


def table(source: Any) -> list[Option]:
    """The options of a table, one each row: a column per setting, and `arm` for their names if they have some.

    Args:
        source: The path of a CSV file with a header, or a data frame (pandas, polars, pyarrow).

    >>> import pandas
    >>> table(pandas.DataFrame({"arm": ["small", "large"], "s": [20, 50], "S": [60, 120]}))[1].settings
    {'s': 50, 'S': 120}
    """
    if isinstance(source, str | Path):
        rows = _of_csv(Path(source))
    else:
        with extra("frame", "a data frame"):
            import narwhals
        try:
            rows = list(narwhals.from_native(source, eager_only=True).iter_rows(named=True))
        except TypeError:
            raise TypeError(f"a table is a CSV file or a data frame; got {brief(source)}. Give one of them.") from None
    if not rows:
        raise ValueError(
            "a table of options needs at least one row; it has none below its header. Add one for each option."
        )
    found: list[Option] = as_options(rows)
    return found


def _of_csv(path: Path) -> list[dict[str, Any]]:
    header, rows, lines = csv_rows(path, "options")
    for name in header:
        if header.count(name) > 1:
            raise ValueError(f"columns must have distinct names; {path} has {name!r} twice. Rename one.")
    for line, cells in zip(lines, rows, strict=True):
        if len(cells) != len(header):
            raise ValueError(
                f"every row must have {len(header)} cells, as the header has; {path} has {len(cells)} in line {line}. "
                "Repair that line."
            )
    columns = [_typed([cells[place].strip() for cells in rows]) for place in range(len(header))]
    return [dict(zip(header, row, strict=True)) for row in zip(*columns, strict=True)]


def _typed(cells: list[str]) -> list[Any]:
    """A column as whole numbers, as numbers, or else as text."""
    for kind in (int, float):
        try:
            return [kind(cell) for cell in cells]
        except ValueError:
            continue
    return cells
