"""The common shapes of tables of choices."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from allais._checks import brief
from allais._system.extras import frame_of
from allais.files import Where, by_line, by_row, csv_rows
from allais.lotteries import Discrete
from allais.lotteries.finite import lottery_of
from allais.people.data.choices_builder import MOST_TIMES, EmptyCellError, Rows, lottery_of_pairs

YES, NO = ("1", "true", "yes"), ("0", "false", "no")
EMPTY = ("", "na", "n/a", "<na>", "nan", "null", "none")  # what tables write in empty cells
ROUNDED = 0.005  # the rounding error of a rate with two digits


def _columns(table: Any) -> dict[str, list[Any]]:
    if isinstance(table, Mapping):
        return {str(name): list(column) for name, column in table.items()}
    frame = frame_of(table, "CSV")
    return {str(name): frame[name].to_list() for name in frame.columns}


def is_missing(cell: Any) -> bool:
    """Whether a cell holds nothing.

    >>> [is_missing(cell) for cell in ("", " n/a ", "NA", float("nan"), None, 0, "no")]
    [True, True, True, True, True, False, False]
    """
    return cell is None or str(cell).strip().lower() in EMPTY


def filled(name: str, cell: Any) -> Any:
    """A cell that is not empty."""
    if is_missing(cell):
        raise EmptyCellError(
            f"{name} must not be empty; got {brief(cell)}. Repair the cell, or leave such rows out (missing='drop', "
            "--drop-missing)."
        )
    return cell


def cell_person(name: str, cell: Any) -> Any:
    """The person of a row; a row without one is an error, also with missing='drop'."""
    if is_missing(cell):
        raise ValueError(f"a choice needs a person; {name} is empty. Give a name or a number.")
    return cell


def cell_number(name: str, cell: Any) -> float:
    """The number in a cell."""
    filled(name, cell)
    try:
        found = float(cell)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found) or isinstance(cell, bool):
        raise ValueError(f"{name} must be a number; got {brief(cell)}. Repair the cell, or leave the row out.")
    return found


def cell_answer(name: str, cell: Any) -> bool:
    """Yes or no: 1 or 0, True or False."""
    text = str(filled(name, cell)).strip().lower().removesuffix(".0")
    if text not in (*YES, *NO):
        raise ValueError(
            f"{name} must be 1 or 0, or yes or no; got {brief(cell)}. Write one of them, or for counts name the column "
            "of how many were asked (of=, --column of=n)."
        )
    return text in YES


def cell_share(name: str, cell: Any, of: str, asked: Any, rate: bool) -> tuple[int, int]:
    """How many of those who were asked took it, and how many did not.

    >>> cell_share("took", 12, "n", 30, False), cell_share("took", "0.43", "n", "30", True)
    ((12, 18), (13, 17))
    """
    n = cell_number(of, asked)
    if n != round(n) or not 1 <= n <= MOST_TIMES:
        raise ValueError(f"{of} is how many were asked, 1 to {MOST_TIMES:,}; got {brief(asked)}. Repair the cell.")
    given = cell_number(name, cell)
    k = round(given * n) if rate else given
    if rate and (not 0.0 <= given <= 1.0 or abs(k / n - given) > ROUNDED + 1e-9):
        raise ValueError(
            f"{name} is the share of {n:g} who took it, to two digits; got {given:g}. Write counts, and give of=."
        )
    if k != round(k) or not 0 <= k <= n:
        raise ValueError(f"{name} is how many of {n:g} took it; got {given:g}. Write a whole number, or give rate_of=.")
    return int(k), int(n - k)


NOTHING = Discrete({0.0: 1.0})
Found = dict[str, Any]  # the columns of choices
Maker = Callable[[int], Any]  # from a row's number to an option


class Reading:
    """One pass over a table, by the names of its columns; its answers are single ones, counts or rates."""

    def __init__(self, table: Any, missing: str, of: str | None = None, rate_of: str | None = None) -> None:
        if missing not in ("refuse", "drop"):
            raise ValueError(f"missing is 'refuse' or 'drop'; got {missing!r}. Choose one.")
        if of is not None and rate_of is not None:
            raise ValueError("answers are counts or rates; got columns for both, of and rate_of. Give one of them.")
        self._broken: dict[int, str] = {}  # rows of a file that have too many cells, or too few
        self._where: Where = by_row
        self._columns = self._read_csv(Path(table)) if isinstance(table, str | Path) else _columns(table)
        lengths = {name: len(column) for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of a table must be equally long; got {lengths}. Check them.")
        self._n_rows = next(iter(lengths.values()), 0)
        self.built = Rows(drop=missing == "drop", where=self._where)
        self.asked, self._rates = of or rate_of, rate_of is not None

    def _read_csv(self, path: Path) -> dict[str, list[Any]]:
        names, lines, numbers = csv_rows(path, "choices")
        self._where = by_line(numbers)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"column names must be unique; {path} has two called {twice!r}. Rename one of them.")
        for row, line in enumerate(lines, start=1):
            if len(line) != len(names):
                self._broken[row] = (
                    f"a row has {len(names)} cells, as the first line of {path} has; this one has {len(line)}. "
                    "Put cells with commas into quotes."
                )
                line += [""] * (len(names) - len(line))
        return {name: [line[i].strip() for line in lines] for i, name in enumerate(names)}

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

    def each(self, take: Callable[..., None], *names: str | None) -> Found:
        """All rows: `take` gets the number of one, its cells (None without a column), and how many were asked."""
        names = (*names, self.asked)
        columns = [[None] * self._n_rows if name is None else self.column(name) for name in names]
        for row, cells in enumerate(zip(*columns, strict=True), start=1):
            with self.built.row(row):
                if row in self._broken:
                    raise ValueError(self._broken[row])
                take(row, *cells)
        return self.built.columns()

    def either(self, person: Any, options: list[Any], name: str, cell: Any, trial: Any, asked: Any) -> None:
        """Add the answers of a row: how many took the first option, and how many the second."""
        if self.asked is None:
            took = cell_answer(name, cell)
            counts = (int(took), int(not took))
        else:
            counts = cell_share(name, cell, self.asked, asked, self._rates)
        for chosen, count in enumerate(counts):
            if count:
                self.built.choice(person, options, chosen, trial, count)


def lottery_or_sure(
    reading: Reading, who: str, win: str, probability: str, sure: str, took_lottery: str, trial: str | None
) -> Found:
    """A win with a probability, else nothing, or a sure amount."""
    lottery = cache(lottery_of_pairs)  # making one takes longer than looking it up

    def take(row: int, person: Any, *cells: Any) -> None:
        *numbers, took, number, asked = cells
        won, chance, safe = (
            cell_number(name, cell) for name, cell in zip((win, probability, sure), numbers, strict=True)
        )
        if not 0.0 <= chance <= 1.0:
            raise ValueError(f"{probability} must lie in [0, 1]; got {chance:g}. Write 0.25 for 25 %.")
        options = [lottery(((won, chance), (0.0, 1.0 - chance))), lottery(((safe, 1.0),))]
        reading.either(cell_person(who, person), options, took_lottery, took, number, asked)

    return reading.each(take, who, win, probability, sure, took_lottery, trial)


def mixed_gambles(reading: Reading, who: str, gain: str, loss: str, accepted: str, trial: str | None) -> Found:
    """A gain or a loss at even odds, or nothing."""
    lottery = cache(lottery_of_pairs)  # making one takes longer than looking it up

    def take(row: int, person: Any, won: Any, lost: Any, took: Any, number: Any, asked: Any) -> None:
        more, less = cell_number(gain, won), cell_number(loss, lost)
        if less < 0.0:
            raise ValueError(f"{loss} is a positive amount; got {less:g}. Leave the sign out.")
        options = [lottery(((more, 0.5), (-less, 0.5))), NOTHING]
        reading.either(cell_person(who, person), options, accepted, took, number, asked)

    return reading.each(take, who, gain, loss, accepted, trial)


def certainty_equivalents(reading: Reading, lottery: Any, who: str, amount: str, trial: str | None) -> Found:
    """Lotteries with the amounts that people find as good."""
    make = _maker(reading, lottery)

    def take(row: int, person: Any, stated: Any, number: Any, _: Any) -> None:
        sure = cell_number(amount, stated)
        reading.built.equivalent(cell_person(who, person), make(row), sure, number)

    return reading.each(take, who, amount, trial)


def from_table(reading: Reading, options: Mapping[str, Any], who: str, chosen: str, trial: str | None) -> Found:
    """Options from columns of outcomes and probabilities, of amounts, or of texts."""
    names = [str(name).strip() for name in options]
    if reading.asked is not None and len(names) != 2:
        raise ValueError(f"counts and rates are those of two options; got {len(names)}. Write a row for each answer.")
    makers = [_maker(reading, given) for given in options.values()]

    def take(row: int, person: Any, cell: Any, number: Any, asked: Any) -> None:
        name, offered = cell_person(who, person), [make(row) for make in makers]
        if reading.asked is not None:
            reading.either(name, offered, chosen, cell, number, asked)
            return
        label = str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()
        if label not in names:
            filled(chosen, cell)
            raise ValueError(f"{chosen} must be one of {', '.join(names)}; got {cell!r}. Name that option, too.")
        reading.built.choice(name, offered, names.index(label), number)

    return reading.each(take, who, chosen, trial)


def _maker(reading: Reading, given: Any) -> Maker:
    """How to make an option of a row: from one column, or from pairs of outcome and probability."""
    lottery, lottery_of_text = cache(lottery_of_pairs), cache(lottery_of)  # making one takes longer than looking it up
    if isinstance(given, str):
        column = reading.column(given)

        def from_cell(row: int) -> Any:
            cell = column[row - 1]
            if isinstance(cell, str) and ":" in cell:
                return lottery_of_text(cell)
            return lottery(((cell_number(given, cell), 1.0),))

        return from_cell
    pairs = [
        (_cells(reading, outcome), None if chance is None else _cells(reading, chance)) for outcome, chance in given
    ]
    if sum(chance is None for _, chance in pairs) > 1:
        raise ValueError("at most one probability may be None, for the rest; got two. Give the others.")

    def from_pairs(row: int) -> Any:
        cells = [(outcome(row), None if chance is None else chance(row)) for outcome, chance in pairs]
        left = 1.0 - sum(chance for _, chance in cells if chance is not None)
        if left < -1e-9 or (abs(left) > 1e-9 and all(chance is not None for _, chance in cells)):
            raise ValueError(
                f"probabilities must sum to 1; got a sum of {1.0 - left:.12g}. Add what is missing, or give "
                "None for one of them."
            )
        whole = tuple((outcome, max(left, 0.0) if chance is None else chance) for outcome, chance in cells)
        if any(chance < 0.0 for _, chance in whole):
            raise ValueError(
                f"a probability must not be negative; got {min(chance for _, chance in whole):g}. Repair the cell."
            )
        return lottery(whole)

    return from_pairs


def _cells(reading: Reading, given: Any) -> Callable[[int], float]:
    if isinstance(given, str):
        column = reading.column(given)
        return lambda row: cell_number(given, column[row - 1])
    number = float(given)
    return lambda row: number
