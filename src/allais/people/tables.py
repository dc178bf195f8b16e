"""Tables of any kind as columns: DataFrames, CSV files and mappings."""

from __future__ import annotations

import csv
import difflib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from allais._checks import brief
from allais._system.extras import extra
from allais.errors import MissingFile
from allais.people.building import refuse

YES, NO = ("1", "true", "yes"), ("0", "false", "no")


class Columns:
    """The columns of a table, by name."""

    def __init__(self, table: Any) -> None:
        self._columns = _columns(table)
        lengths = {name: len(column) for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of a table are equally long; got {lengths}. Check them.")
        self.n_rows = next(iter(lengths.values()), 0)

    def column(self, name: str) -> list[Any]:
        """A column, or an error that says which there are."""
        if name in self._columns:
            return self._columns[name]
        near = difflib.get_close_matches(str(name), self._columns, n=1)
        there = ", ".join(map(repr, list(self._columns)[:20]))
        meant = f" Did you mean {near[0]!r}?" if near else f" It has {there}: say which of them it is."
        raise ValueError(f"a column must be in the table; {name!r} is not.{meant}")

    def rows(self, *names: str | None) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """The number of each row, from 1, and its cells in some columns; None stands for no column."""
        columns = [[None] * self.n_rows if name is None else self.column(name) for name in names]
        return enumerate(zip(*columns, strict=True), start=1)


def _columns(table: Any) -> dict[str, list[Any]]:
    if isinstance(table, str | Path):
        return _read_csv(Path(table))
    if isinstance(table, Mapping):
        return {str(name): list(column) for name, column in table.items()}
    with extra("people", "a table"):
        import narwhals
    try:
        frame = narwhals.from_native(table, eager_only=True)
    except TypeError:
        raise TypeError(
            f"a table is a DataFrame, the path of a CSV file or a mapping of columns; got {brief(table)}. Give one."
        ) from None
    return {str(name): frame[name].to_list() for name in frame.columns}


def _read_csv(path: Path) -> dict[str, list[Any]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *lines = csv.reader(file)
    except FileNotFoundError:
        raise MissingFile(f"choices are read from a file; {path} does not exist. Check the path.") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"choices are read from a CSV file; {path} cannot be read ({error}). Check it.") from None
    except ValueError:
        raise ValueError(f"a CSV file begins with the names of its columns; {path} is empty. Check it.") from None
    lines = [line for line in lines if line]
    for row, line in enumerate(lines, start=1):
        if len(line) != len(header):
            refuse(
                row,
                f"a row has {len(header)} cells, as the first line of {path} has; this one has {len(line)}. "
                "Put cells with commas into quotes.",
            )
    return {name.strip(): [line[i].strip() for line in lines] for i, name in enumerate(header)}


def is_missing(cell: Any) -> bool:
    """Whether a cell holds nothing."""
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell)) or str(cell) in ("NA", "<NA>")


def cell_number(row: int, name: str, cell: Any) -> float:
    """The number in a cell."""
    try:
        found = float(cell)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found) or isinstance(cell, bool):
        refuse(row, f"{name} must be a number; got {brief(cell)}. Repair the cell, or leave the row out.")
    return found


def cell_answer(row: int, name: str, cell: Any) -> bool:
    """Yes or no: 1 or 0, True or False."""
    text = str(cell).strip().lower().removesuffix(".0")
    if text not in (*YES, *NO):
        refuse(row, f"{name} must be 1 or 0, or yes or no; got {brief(cell)}. Write one of them.")
    return text in YES


def answered(row: int, name: str, cell: Any, missing: str) -> bool:
    """Whether a row has an answer; one without is refused unless such rows are to be dropped."""
    there = not is_missing(cell)
    if not there and missing != "drop":
        refuse(row, f"a row must have an answer; {name} is empty. Leave the row out, or give missing='drop'.")
    return there


def require_missing(missing: str) -> None:
    """Refuse a word that says nothing about rows without an answer."""
    if missing not in ("refuse", "drop"):
        raise ValueError(f"missing is 'refuse' or 'drop'; got {missing!r}. Choose one.")
