"""Choices: who was offered what, and what they took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais.lotteries import Discrete
from allais.people.data import table_formats as tables
from allais.people.data.choices_builder import Rows, read_lines, write_lines
from allais.people.data.design import CERTAINTY_EQUIVALENT, Compact, compact


class Attention(NamedTuple):
    """How many attention checks, in which one option dominates the other, were asked and passed.

    Attributes:
        asked: How many attention checks were answered.
        passed: How many of them were passed.
    """

    asked: int
    passed: int

    def __str__(self) -> str:
        if not self.asked:
            return "No attention check was answered."
        return f"{self.passed} of {self.asked} attention checks were passed."


@dataclass(frozen=True, eq=False, repr=False)
class Choices:
    """A table of choices: a person, two or more options, and the one that was taken.

    An option is a finite lottery or a sure amount. A row may also hold a certainty equivalent: one lottery, and the
    amount that the person finds as good. A row has a count: "12 of 30 took it" are two rows, whose likelihood is
    binomial up to a constant factor. Make one by `lottery_or_sure`,
    `mixed_gambles`, `certainty_equivalents`, `from_table`, `from_rows` or `read`. If rows cannot be read, one message
    says which and why. Blanks around a person's name are ignored.

    Args:
        people: The names of the people.
        lotteries: Each option once.
        person: The index of each row's person in `people`, (rows,).
        offered: The indices of each row's options in `lotteries`, -1 where there are fewer, (rows, most options).
        chosen: The position of the chosen option, or -1: the row is a certainty equivalent.
        amount: The certainty equivalent, where there is one.
        count: How often the answer was given, (rows,).
        n_dropped: Rows of the table that were left out, since a cell was empty.

    >>> choices = Choices.from_rows([("ann", [Discrete({50: 0.1, 0: 0.9}), 7], 0), ("bob", [{50: 0.1, 0: 0.9}, 7], 1)])
    >>> choices
    <Choices: 2 answers of 2 people>
    >>> choices.of("bob").rates()
    array([0.])
    """

    people: tuple[str, ...]
    lotteries: tuple[Discrete, ...]
    person: IntArray
    offered: IntArray
    chosen: IntArray
    amount: FloatArray
    count: IntArray
    n_dropped: int = 0
    _designs: dict[Any, Compact] = field(default_factory=dict, init=False)

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[Any, Sequence[Any], int] | tuple[Any, Sequence[Any], int, int]]) -> Choices:
        """Choices from (person, options, chosen).

        Args:
            rows: A person, options (lotteries, amounts or mappings), the position of the chosen one and, optionally,
                how often that answer was given.

        >>> Choices.from_rows([("ann", [Discrete({50: 0.1, 0: 0.9}), 7], 1), ("ann", [{50: 0.1, 0: 0.9}, 7], 0, 3)])
        <Choices: 4 answers of 1 person>
        """

        built = Rows()
        for row, (person, options, chosen, *times) in enumerate(rows, start=1):
            with built.row(row):
                built.choice(person, options, chosen, None, *times)
        return cls(**built.columns())

    @classmethod
    def lottery_or_sure(
        cls, table: Any, *, person: str = "person", win: str = "win", probability: str = "probability",
        sure: str = "sure", took_lottery: str = "took_lottery", trial: str | None = None, missing: str = "refuse",
        of: str | None = None, rate_of: str | None = None,
    ) -> Choices:  # fmt: skip
        """Choices between "`win` with `probability`, else nothing" and a `sure` amount.

        Args:
            table: A DataFrame of any kind, the path of a CSV file, or a mapping of columns.
            person: The column of people.
            win: The column of amounts to win.
            probability: The column of probabilities to win.
            sure: The column of sure amounts.
            took_lottery: The column that says whether the lottery was taken; with `of` how many took it, with `rate_of`
                which share.
            trial: A column that no person may repeat.
            missing: `"drop"` leaves out rows with an empty cell ("", "NA", "n/a", ...); `"refuse"` raises an error.
            of: For counts, the column that says how many were asked.
            rate_of: For shares, the column that says how many were asked.

        >>> table = {"person": ["a"], "win": [13], "probability": [0.2], "sure": [5], "took_lottery": [1]}
        >>> Choices.lottery_or_sure(table)
        <Choices: 1 answer of 1 person>
        >>> Choices.lottery_or_sure({**table, "took_lottery": [0.4], "n": [30]}, rate_of="n").rates()
        array([0.4])
        """
        names = person, win, probability, sure, took_lottery
        return cls(**tables.lottery_or_sure(tables.Reading(table, missing, of, rate_of), *names, trial))

    @classmethod
    def mixed_gambles(
        cls, table: Any, *, person: str = "person", gain: str = "gain", loss: str = "loss",
        accepted: str = "accepted", trial: str | None = None, missing: str = "refuse",
        of: str | None = None, rate_of: str | None = None,
    ) -> Choices:  # fmt: skip
        """Gambles of +`gain` or -`loss` at even odds that were accepted or not.

        Args:
            table: A DataFrame of any kind, the path of a CSV file, or a mapping of columns.
            person: The column of people.
            gain: The column of gains.
            loss: The column of losses, as positive amounts.
            accepted: The column that says whether the gamble was accepted; with `of` how many did, with `rate_of` which
                share.
            trial: A column that no person may repeat.
            missing: `"drop"` or `"refuse"`, as in `lottery_or_sure`.
            of: For counts, the column that says how many were asked.
            rate_of: For shares, the column that says how many were asked.

        >>> Choices.mixed_gambles({"person": ["a"], "gain": [14], "loss": [6], "accepted": [1]}).rates()
        array([1.])
        """
        reading = tables.Reading(table, missing, of, rate_of)
        return cls(**tables.mixed_gambles(reading, person, gain, loss, accepted, trial))

    @classmethod
    def certainty_equivalents(
        cls, table: Any, *, lottery: Any, person: str = "person", amount: str = "amount",
        trial: str | None = None, missing: str = "refuse",
    ) -> Choices:  # fmt: skip
        """Lotteries, and the amounts that people find as good.

        Args:
            table: A DataFrame of any kind, the path of a CSV file, or a mapping of columns.
            lottery: What makes up the lottery, as an option of `from_table`.
            person: The column of people.
            amount: The column of certainty equivalents.
            trial: A column that no person may repeat.
            missing: `"drop"` or `"refuse"`, as in `lottery_or_sure`.

        >>> table = {"person": ["a"], "x": [50], "p": [0.1], "amount": [8]}
        >>> Choices.certainty_equivalents(table, lottery=[("x", "p"), (0, None)])
        <Choices: 1 answer of 1 person>
        """
        return cls(**tables.certainty_equivalents(tables.Reading(table, missing), lottery, person, amount, trial))

    @classmethod
    def from_table(
        cls, table: Any, *, options: Mapping[str, Any], person: str = "person", chosen: str = "chosen",
        trial: str | None = None, missing: str = "refuse", of: str | None = None, rate_of: str | None = None,
    ) -> Choices:  # fmt: skip
        """Choices from any table.

        Args:
            table: A DataFrame of any kind, the path of a CSV file, or a mapping of columns.
            options: For each name that `chosen` may hold, what makes up the option: a column of amounts or of texts
                such as "50:0.1,0:0.9", or a list of pairs of columns, outcome and probability. A number may stand for a
                column, and None for the probability that is left.
            person: The column of people.
            chosen: The column of chosen options; for rates between two options, how many took the first, or which
                share.
            trial: A column that no person may repeat.
            missing: `"drop"` or `"refuse"`, as in `lottery_or_sure`.
            of: For counts, the column that says how many were asked.
            rate_of: For shares, the column that says how many were asked.

        >>> table = {"person": ["a"], "x": [50], "p": [0.1], "sure": [7], "chosen": ["left"]}
        >>> Choices.from_table(table, options={"left": [("x", "p"), (0, None)], "right": "sure"})
        <Choices: 1 answer of 1 person>
        """
        return cls(**tables.from_table(tables.Reading(table, missing, of, rate_of), options, person, chosen, trial))

    @classmethod
    def read(cls, path: str | Path) -> Choices:
        """Choices from JSON lines, as `write` makes them, or from the file of an interview or of its page.

        Args:
            path: The file.
        """
        return cls(**read_lines(Path(path)))

    def write(self, path: str | Path) -> None:
        """Write one JSON line per answer.

        Args:
            path: The file.
        """
        write_lines(self, Path(path))

    def __len__(self) -> int:
        """The number of rows."""
        return int(self.person.size)

    @property
    def n_answers(self) -> int:
        """How many answers there are: each row as often as its answer was given."""
        return int(self.count.sum())

    def __repr__(self) -> str:
        answers, people = self.n_answers, len(self.people)
        return (
            f"<Choices: {answers:,} answer{'s' * (answers != 1)} of {people:,} {'people' if people != 1 else 'person'}>"
        )

    def __add__(self, other: Choices) -> Choices:
        """The answers of both tables."""
        people = {name: place for place, name in enumerate(self.people)}
        lotteries = {lottery: place for place, lottery in enumerate(self.lotteries)}
        who = np.array([people.setdefault(name, len(people)) for name in other.people], np.int64)
        what = np.array([lotteries.setdefault(one, len(lotteries)) for one in other.lotteries] + [-1], np.int64)
        most = max(self.offered.shape[1], other.offered.shape[1])
        offered = [
            np.pad(table, ((0, 0), (0, most - table.shape[1])), constant_values=-1)
            for table in (self.offered, what[other.offered])
        ]
        return Choices(
            tuple(people),
            tuple(lotteries),
            np.concatenate([self.person, who[other.person]]),
            np.concatenate(offered),
            np.concatenate([self.chosen, other.chosen]),
            np.concatenate([self.amount, other.amount]),
            np.concatenate([self.count, other.count]),
        )

    def of(self, person: str) -> Choices:
        """The answers of one person.

        Args:
            person: The person's name.
        """
        name = str(person).strip()
        if name not in self.people:
            raise ValueError(
                f"a person must have answers in the table; got {person!r}. "
                f"There are {len(self.people)}, such as {self.people[0]!r}."
            )
        return self.where(self.person == self.people.index(name))

    def where(self, mask: NDArray[np.bool_]) -> Choices:
        """The answers for which a mask holds; people without any are left out.

        Args:
            mask: One boolean per row.
        """
        kept, person = np.unique(self.person[mask], return_inverse=True)
        people = tuple(self.people[place] for place in kept)
        rows = {name: getattr(self, name)[mask] for name in ("offered", "chosen", "amount", "count")}
        return Choices(people, self.lotteries, person.ravel(), **rows)

    def one_by_one(self) -> Choices:
        """The same answers with a row for each."""
        rows = np.repeat(np.arange(len(self)), self.count)
        each = {name: getattr(self, name)[rows] for name in ("person", "offered", "chosen", "amount")}
        return Choices(self.people, self.lotteries, **each, count=np.ones(rows.size, np.int64))

    def options(self, row: int) -> tuple[Discrete, ...]:
        """What was offered in a row, counted from 0.

        Args:
            row: The row, from 0 on.
        """
        return tuple(self.lotteries[place] for place in self.offered[row] if place >= 0)

    def rates(self) -> FloatArray:
        """How often each person took the first option of two; NaN for a person without such choices."""
        plain = self.chosen != CERTAINTY_EQUIVALENT
        n = np.bincount(self.person[plain], self.count[plain], len(self.people))
        first = np.bincount(self.person[self.chosen == 0], self.count[self.chosen == 0], len(self.people))
        return np.divide(first, n, out=np.full(n.size, np.nan), where=n > 0)

    def attention(self, *, costs: bool = False) -> dict[str, Attention]:
        """For each person, the choices in which one of two options dominates, and how many times it was taken.

        Args:
            costs: Whether less is better.

        >>> Choices.from_rows([("ann", [{50: 0.5, 0: 0.5}, {50: 0.4, 0: 0.6}], 1)]).attention()["ann"].passed
        0
        """
        better = {}  # the position of the better option of each pair, or -1
        asked, passed = np.zeros(len(self.people), np.int64), np.zeros(len(self.people), np.int64)
        rows = zip(self.person, self.offered.tolist(), self.chosen.tolist(), self.count, strict=True)
        for person, offered, chosen, count in rows:
            pair = tuple(place for place in offered if place >= 0)
            if len(pair) != 2:
                continue
            if pair not in better:
                first, second = (self.lotteries[place] for place in pair)
                above, below = dominates(first, second), dominates(second, first)
                better[pair] = -1 if above == below else int(above == costs)
            if better[pair] >= 0:
                asked[person] += count
                passed[person] += count * (chosen == better[pair])
        return {
            name: Attention(*counts) for name, *counts in zip(self.people, asked.tolist(), passed.tolist(), strict=True)
        }

    def compact(self, reference: float, costs: bool, by_person: bool) -> Compact:
        """The arrays that compiled code reads; they are made once."""
        key = (reference, costs, by_person)
        if key not in self._designs:
            self._designs[key] = compact(self, *key)
        return self._designs[key]


def dominates(first: Discrete, second: Discrete) -> bool:
    """Whether the first has at least the probability of the second to reach any outcome.

    >>> dominates(Discrete({10: 0.5, 0: 0.5}), Discrete({10: 0.4, 0: 0.6}))
    True
    """
    points = np.union1d(first.outcomes, second.outcomes)
    return bool((_survival(first, points) >= _survival(second, points) - 1e-12).all())


def _survival(lottery: Discrete, points: FloatArray) -> FloatArray:
    return np.append(lottery.at_least, 0.0)[np.searchsorted(lottery.outcomes, points)]
