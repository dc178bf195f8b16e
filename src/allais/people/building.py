"""Choices, row by row: what is wrong with some of them is said at once, each with its number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from allais._checks import brief, number
from allais.lotteries import FiniteLottery
from allais.people.arrays import CERTAINTY_EQUIVALENT
from allais.people.choices import Choices, as_option

MOST_SHOWN = 10  # wrong rows in one message
MOST_TIMES = 10**6  # that one answer was given


class RowError(ValueError):
    """A row that cannot be read, in a sentence with its number."""


class EmptyCellError(RowError):
    """A row in which something is missing; such rows can be left out."""


class Rows:
    """The rows of a table so far; with `drop`, rows in which something is missing are left out."""

    def __init__(self, *, drop: bool = False) -> None:
        self._drop, self._n_tried, self._n_dropped, self._wrong = drop, 0, 0, list[str]()
        self._people: dict[str, int] = {}
        self._lotteries: dict[FiniteLottery, int] = {}
        self._seen: dict[int, tuple[Any, int]] = {}  # options by identity: to compare lotteries takes longer
        self._trials: dict[tuple[str, str], int] = {}
        self._person: list[int] = []
        self._offered: list[list[int]] = []
        self._chosen: list[int] = []
        self._amount: list[float] = []
        self._count: list[int] = []

    @contextmanager
    def row(self) -> Iterator[None]:
        """Within, one row is read: if it is wrong it is kept for the message of `done`."""
        self._n_tried += 1
        try:
            yield
        except EmptyCellError as error:
            if self._drop:
                self._n_dropped += 1
            else:
                self._wrong.append(str(error))
        except RowError as error:
            self._wrong.append(str(error))

    def choice(
        self, row: int, person: Any, options: Sequence[Any], chosen: Any, trial: Any = None, count: Any = 1
    ) -> None:
        """Add a choice, which was made so often; rows are counted from 1."""
        if len(options) < 2:
            refuse(row, f"a choice is between two options or more; got {len(options)}. Give another.")
        if isinstance(chosen, bool) or not isinstance(chosen, int | np.integer) or not 0 <= chosen < len(options):
            refuse(
                row, f"chosen is the position of an option, 0 to {len(options) - 1}; got {brief(chosen)}. Count from 0."
            )
        self._add(row, person, options, int(chosen), 0.0, trial, count)

    def equivalent(self, row: int, person: Any, lottery: Any, amount: Any, trial: Any = None, count: Any = 1) -> None:
        """Add a certainty equivalent."""
        try:
            named = number("a certainty equivalent", amount)
        except ValueError as error:
            refuse(row, str(error))
        if not np.isfinite(named):
            refuse(row, f"a certainty equivalent must be finite; got {named}. Leave the row out.")
        try:
            option = as_option(lottery)
        except (ValueError, TypeError) as error:
            refuse(row, str(error))
        low, high = option.support
        if low == high:
            refuse(row, f"a certainty equivalent is that of a lottery; got the sure amount {low:g}. Leave it out.")
        self._add(row, person, [option], CERTAINTY_EQUIVALENT, named, trial, count)

    def _add(
        self, row: int, person: Any, options: Sequence[Any], chosen: int, amount: float, trial: Any, count: Any
    ) -> None:
        who = named_person(row, person)
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= MOST_TIMES:
            refuse(
                row, f"an answer was given a whole number of times, 1 to {MOST_TIMES:,}; got {brief(count)}. Repair it."
            )
        if trial is not None:
            before = self._trials.setdefault((who, str(trial)), row)
            if before != row:
                refuse(
                    row,
                    f"a person answers a trial once; {who} has answered trial {trial} in row {before} already. "
                    "Leave one of the rows out.",
                )
        offered = [self._option(row, option) for option in options]
        self._offered.append(offered)
        self._person.append(self._people.setdefault(who, len(self._people)))
        self._chosen.append(chosen)
        self._amount.append(amount)
        self._count.append(int(count))

    def _option(self, row: int, option: Any) -> int:
        known = self._seen.get(id(option))
        if known is not None:
            return known[1]
        try:
            lottery = as_option(option)
        except (ValueError, TypeError) as error:
            refuse(row, str(error))
        place = self._lotteries.setdefault(lottery, len(self._lotteries))
        self._seen[id(option)] = option, place  # held, so that its identity is not given to another
        return place

    def done(self) -> Choices:
        """The table, if every row could be read."""
        if len(self._wrong) == 1:
            raise ValueError(self._wrong[0])
        if self._wrong:
            more = len(self._wrong) - MOST_SHOWN
            listed = [*self._wrong[:MOST_SHOWN], *([f"and {more:,} more"] if more > 0 else [])]
            advice = "Repair them, or leave them out"
            if len(self._wrong) == self._n_tried:
                advice = "Is the table of another shape? What is wrong"
            raise ValueError(
                f"{len(self._wrong):,} of {self._n_tried:,} rows cannot be read (counted from 1, without a header). "
                f"{advice}:\n" + "\n".join(f"  {one}" for one in listed)
            )
        if not self._person:
            raise ValueError("choices need at least one row; got none. Check the table.")
        most = max(map(len, self._offered))
        offered = [row + [-1] * (most - len(row)) for row in self._offered]
        return Choices(
            tuple(self._people),
            tuple(self._lotteries),
            np.array(self._person, np.int64),
            np.array(offered, np.int64),
            np.array(self._chosen, np.int64),
            np.array(self._amount),
            np.array(self._count, np.int64),
            self._n_dropped,
        )


def refuse(row: int, sentence: str, kind: type[RowError] = RowError) -> NoReturn:
    """Refuse one row of a table."""
    raise kind(f"row {row}: {sentence}") from None


def named_person(row: int, person: Any) -> str:
    """A person's name as text, without blanks around it; 7.0, which some tables make of 7, is 7."""
    if person is None or (isinstance(person, float) and not np.isfinite(person)) or str(person).strip() == "":
        refuse(row, "a choice is that of a person; there is none. Give a name or a number.")
    if isinstance(person, float | np.floating) and float(person).is_integer():
        return str(int(person))
    return str(person).strip()


def joined(first: Choices, second: Choices) -> Choices:
    """The answers of two tables as one."""
    people = {name: place for place, name in enumerate(first.people)}
    lotteries = {lottery: place for place, lottery in enumerate(first.lotteries)}
    who = np.array([people.setdefault(name, len(people)) for name in second.people], np.int64)
    what = np.array([lotteries.setdefault(one, len(lotteries)) for one in second.lotteries] + [-1], np.int64)
    most = max(first.offered.shape[1], second.offered.shape[1])
    offered = [
        np.pad(table, ((0, 0), (0, most - table.shape[1])), constant_values=-1)
        for table in (first.offered, what[second.offered])
    ]
    return Choices(
        tuple(people),
        tuple(lotteries),
        np.concatenate([first.person, who[second.person]]),
        np.concatenate(offered),
        np.concatenate([first.chosen, second.chosen]),
        np.concatenate([first.amount, second.amount]),
        np.concatenate([first.count, second.count]),
    )
