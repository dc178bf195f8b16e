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
from allais.people.building import MOST_TIMES, EmptyCellError, refuse

YES, NO = ("1", "true", "yes"), ("0", "false", "no")
EMPTY = ("", "na", "n/a", "<na>", "nan", "null", "none")  # what tables write where nothing is
ROUNDED = 0.005  # a rate of two digits is off by so much at most


class Columns:
    """The columns of a table, by name."""

    def __init__(self, table: Any) -> None:
        self._broken: dict[int, str] = {}  # rows of a file that have too many cells, or too few
        self._columns = self._read_csv(Path(table)) if isinstance(table, str | Path) else _columns(table)
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
        meant = (
            f" Did you mean {near[0]!r}?"
            if near
            else f" It has {there}: say which of them it is (by --column on the command line)."
        )
        raise ValueError(f"a column must be in the table; {name!r} is not.{meant}")

    def rows(self, *names: str | None) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """The number of each row, from 1, and its cells in some columns; None stands for no column."""
        columns = [[None] * self.n_rows if name is None else self.column(name) for name in names]
        return enumerate(zip(*columns, strict=True), start=1)

    def require_whole(self, row: int) -> None:
        """Refuse a row of a file that has not as many cells as the first line."""
        if row in self._broken:
            refuse(row, self._broken[row])

    def _read_csv(self, path: Path) -> dict[str, list[Any]]:
        try:
            with path.open(newline="", encoding="utf-8-sig") as file:
                header, *lines = csv.reader(file)
        except FileNotFoundError:
            raise MissingFile(f"choices are read from a file; {path} does not exist. Check the path.") from None
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"choices are read from a CSV file; {path} cannot be read ({error}). Check it.") from None
        except ValueError:
            raise ValueError(f"a CSV file begins with the names of its columns; {path} is empty. Check it.") from None
        names = [name.strip() for name in header]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"a column has a name of its own; {path} has two called {twice!r}. Rename one of them.")
        lines = [line for line in lines if line]
        for row, line in enumerate(lines, start=1):
            if len(line) != len(names):
                self._broken[row] = (
                    f"a row has {len(names)} cells, as the first line of {path} has; this one has {len(line)}. "
                    "Put cells with commas into quotes."
                )
                line += [""] * (len(names) - len(line))
        return {name: [line[i].strip() for line in lines] for i, name in enumerate(names)}


def _columns(table: Any) -> dict[str, list[Any]]:
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


def is_missing(cell: Any) -> bool:
    """Whether a cell holds nothing.

    >>> [is_missing(cell) for cell in ("", " n/a ", "NA", float("nan"), None, 0, "no")]
    [True, True, True, True, True, False, False]
    """
    return cell is None or str(cell).strip().lower() in EMPTY


def filled(row: int, name: str, cell: Any) -> Any:
    """A cell that holds something."""
    if is_missing(cell):
        refuse(
            row,
            f"{name} must not be empty; got {brief(cell)}. Repair the cell, or leave such rows out (missing='drop', "
            "--drop-missing).",
            EmptyCellError,
        )
    return cell


def cell_person(row: int, name: str, cell: Any) -> Any:
    """Whose row it is; a row without a person is never left out by itself."""
    if is_missing(cell):
        refuse(row, f"a choice is that of a person; {name} is empty. Give a name or a number.")
    return cell


def cell_number(row: int, name: str, cell: Any) -> float:
    """The number in a cell."""
    try:
        found = float(filled(row, name, cell))
    except (TypeError, ValueError) as error:
        if isinstance(error, EmptyCellError):
            raise
        found = math.nan
    if not math.isfinite(found) or isinstance(cell, bool):
        refuse(row, f"{name} must be a number; got {brief(cell)}. Repair the cell, or leave the row out.")
    return found


def cell_answer(row: int, name: str, cell: Any) -> bool:
    """Yes or no: 1 or 0, True or False."""
    text = str(filled(row, name, cell)).strip().lower().removesuffix(".0")
    if text not in (*YES, *NO):
        refuse(
            row,
            f"{name} must be 1 or 0, or yes or no; got {brief(cell)}. Write one of them, or for counts name the column "
            "of how many were asked (of=, --column of=n).",
        )
    return text in YES


def cell_share(row: int, name: str, cell: Any, of: str, asked: Any, rate: bool) -> tuple[int, int]:
    """How many of those who were asked took it, and how many did not.

    >>> cell_share(1, "took", 12, "n", 30, False), cell_share(1, "took", "0.43", "n", "30", True)
    ((12, 18), (13, 17))
    """
    n = cell_number(row, of, asked)
    if n != round(n) or not 1 <= n <= MOST_TIMES:
        refuse(row, f"{of} is how many were asked, 1 to {MOST_TIMES:,}; got {brief(asked)}. Repair the cell.")
    given = cell_number(row, name, cell)
    k = round(given * n) if rate else given
    if rate and (not 0.0 <= given <= 1.0 or abs(k / n - given) > ROUNDED + 1e-9):
        refuse(
            row, f"{name} is the share of {n:g} who took it, to two digits; got {given:g}. Write counts, and give of=."
        )
    if k != round(k) or not 0 <= k <= n:
        refuse(row, f"{name} is how many of {n:g} took it; got {given:g}. Write a whole number, or give rate_of=.")
    return int(k), int(n - k)


def require_missing(missing: str) -> None:
    """Refuse a word that says nothing about rows without an answer."""
    if missing not in ("refuse", "drop"):
        raise ValueError(f"missing is 'refuse' or 'drop'; got {missing!r}. Choose one.")
