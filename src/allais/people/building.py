"""Choices, row by row: what is wrong with one is said with its number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from allais._checks import brief, number
from allais.lotteries import FiniteLottery
from allais.people.arrays import CERTAINTY_EQUIVALENT
from allais.people.choices import Choices, as_option


class Rows:
    """The rows of a table so far."""

    def __init__(self) -> None:
        self._people: dict[str, int] = {}
        self._lotteries: dict[FiniteLottery, int] = {}
        self._seen: dict[int, tuple[Any, int]] = {}  # options by identity: to compare lotteries takes longer
        self._trials: dict[tuple[str, str], int] = {}
        self._person: list[int] = []
        self._offered: list[list[int]] = []
        self._chosen: list[int] = []
        self._amount: list[float] = []

    def choice(self, row: int, person: Any, options: Sequence[Any], chosen: Any, trial: Any = None) -> None:
        """Add a choice; rows are counted from 1."""
        if len(options) < 2:
            refuse(row, f"a choice is between two options or more; got {len(options)}. Give another.")
        if isinstance(chosen, bool) or not isinstance(chosen, int | np.integer) or not 0 <= chosen < len(options):
            refuse(
                row, f"chosen is the position of an option, 0 to {len(options) - 1}; got {brief(chosen)}. Count from 0."
            )
        self._add(row, person, options, int(chosen), 0.0, trial)

    def equivalent(self, row: int, person: Any, lottery: Any, amount: Any, trial: Any = None) -> None:
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
        self._add(row, person, [option], CERTAINTY_EQUIVALENT, named, trial)

    def _add(self, row: int, person: Any, options: Sequence[Any], chosen: int, amount: float, trial: Any) -> None:
        who = named_person(row, person)
        if trial is not None:
            before = self._trials.setdefault((who, str(trial)), row)
            if before != row:
                refuse(
                    row,
                    f"a person answers a trial once; {who} has answered trial {trial} in row {before} already. "
                    "Leave one of the rows out.",
                )
        self._offered.append([self._option(row, option) for option in options])
        self._person.append(self._people.setdefault(who, len(self._people)))
        self._chosen.append(chosen)
        self._amount.append(amount)

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
        """The table."""
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
        )


def refuse(row: int, sentence: str) -> NoReturn:
    """Refuse a table for one of its rows."""
    raise ValueError(f"row {row}: {sentence}") from None


def named_person(row: int, person: Any) -> str:
    """A person's name as text; 7.0, which some tables make of 7, is 7."""
    if person is None or (isinstance(person, float) and not np.isfinite(person)) or str(person).strip() == "":
        refuse(row, "a choice is that of a person; there is none. Give a name or a number.")
    if isinstance(person, float | np.floating) and float(person).is_integer():
        return str(int(person))
    return str(person)


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
    )
