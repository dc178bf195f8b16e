"""Choices: who was offered what, and what they took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray
from allais.lotteries import Discrete, FiniteLottery
from allais.people.data.arrays import CERTAINTY_EQUIVALENT
from allais.people.interview.design import Compact, compact

if TYPE_CHECKING:
    from allais.people.data.attention import Attention


from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from allais._checks import brief, number


@dataclass(frozen=True, eq=False, repr=False)
class Choices:
    """A table of choices: a person, two or more options, and the one that was taken.

    An option is a finite lottery or a sure amount. A row may also hold a certainty equivalent: one lottery, and the
    amount that the person finds as good. A row counts as often as its answer was given: so "12 of 30 took it" are two
    rows, and their likelihood is binomial, but for a factor that no parameter changes. Make one by `lottery_or_sure`,
    `mixed_gambles`, `certainty_equivalents`, `from_table`, `from_rows` or `read`. If rows cannot be read, one message
    says which and why. Blanks around a person's name do not count.

    >>> choices = Choices.from_rows([("ann", [Discrete({50: 0.1, 0: 0.9}), 7], 0), ("bob", [{50: 0.1, 0: 0.9}, 7], 1)])
    >>> choices
    <Choices: 2 answers of 2 people>
    >>> choices.of("bob").rates()
    array([0.])
    """

    people: tuple[str, ...]
    lotteries: tuple[FiniteLottery, ...]  # each option once
    person: IntArray  # the place of a row's person in `people`, (rows,)
    offered: IntArray  # the places of a row's options in `lotteries`, -1 where there are fewer, (rows, most options)
    chosen: IntArray  # the position of the chosen option, or -1: the row is a certainty equivalent
    amount: FloatArray  # the certainty equivalent, where there is one
    count: IntArray  # how often the answer was given, (rows,)
    n_dropped: int = 0  # rows of the table that were left out, since a cell was empty
    _designs: dict[Any, Compact] = field(default_factory=dict, init=False)

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[Any, Sequence[Any], int] | tuple[Any, Sequence[Any], int, int]]) -> Choices:
        """Choices from (person, options, chosen): options are lotteries, amounts or mappings, chosen is a position.

        A fourth entry says how often that answer was given.

        >>> Choices.from_rows([("ann", [Discrete({50: 0.1, 0: 0.9}), 7], 1), ("ann", [{50: 0.1, 0: 0.9}, 7], 0, 3)])
        <Choices: 4 answers of 1 person>
        """

        built = Rows()
        for row, (person, options, chosen, *times) in enumerate(rows, start=1):
            with built.row():
                built.choice(row, person, options, chosen, None, *times)
        return built.done()

    @classmethod
    def lottery_or_sure(
        cls, table: Any, *, person: str = "person", win: str = "win", probability: str = "probability",
        sure: str = "sure", took_lottery: str = "took_lottery", trial: str | None = None, missing: str = "refuse",
        of: str | None = None, rate_of: str | None = None,
    ) -> Choices:  # fmt: skip
        """Choices between "`win` with `probability`, else nothing" and a `sure` amount.

        A table is a DataFrame of any kind, the path of a CSV file, or a mapping of columns. Other names of columns
        can be given. With `missing="drop"` rows with an empty cell ("", "NA", "n/a", ...) are left out.

        For rates of choice, `of` names a column with how many were asked: `took_lottery` then holds how many of them
        took the lottery. With `rate_of` it holds their share.

        >>> table = {"person": ["a"], "win": [13], "probability": [0.2], "sure": [5], "took_lottery": [1]}
        >>> Choices.lottery_or_sure(table)
        <Choices: 1 answer of 1 person>
        >>> Choices.lottery_or_sure({**table, "took_lottery": [0.4], "n": [30]}, rate_of="n").rates()
        array([0.4])
        """
        from allais.people.data import table_formats

        columns = {"person": person, "win": win, "probability": probability, "sure": sure, "took_lottery": took_lottery}
        return table_formats.lottery_or_sure(table_formats.Reading(table, missing, of, rate_of), columns, trial)

    @classmethod
    def mixed_gambles(
        cls, table: Any, *, person: str = "person", gain: str = "gain", loss: str = "loss",
        accepted: str = "accepted", trial: str | None = None, missing: str = "refuse",
        of: str | None = None, rate_of: str | None = None,
    ) -> Choices:  # fmt: skip
        """Gambles of +`gain` or -`loss` at even odds that were accepted or not; `loss` is a positive amount.

        `of` and `rate_of` are for rates, as in `lottery_or_sure`.

        >>> Choices.mixed_gambles({"person": ["a"], "gain": [14], "loss": [6], "accepted": [1]}).rates()
        array([1.])
        """
        from allais.people.data import table_formats

        columns = {"person": person, "gain": gain, "loss": loss, "accepted": accepted}
        return table_formats.mixed_gambles(table_formats.Reading(table, missing, of, rate_of), columns, trial)

    @classmethod
    def certainty_equivalents(
        cls, table: Any, *, lottery: Any, person: str = "person", amount: str = "amount",
        trial: str | None = None, missing: str = "refuse",
    ) -> Choices:  # fmt: skip
        """Lotteries, and the amounts that people find as good; `lottery` is as in `from_table`.

        >>> table = {"person": ["a"], "x": [50], "p": [0.1], "amount": [8]}
        >>> Choices.certainty_equivalents(table, lottery=[("x", "p"), (0, None)])
        <Choices: 1 answer of 1 person>
        """
        from allais.people.data import table_formats

        columns = {"person": person, "amount": amount}
        return table_formats.certainty_equivalents(table_formats.Reading(table, missing), lottery, columns, trial)

    @classmethod
    def from_table(
        cls, table: Any, *, options: Mapping[str, Any], person: str = "person", chosen: str = "chosen",
        trial: str | None = None, missing: str = "refuse", of: str | None = None, rate_of: str | None = None,
    ) -> Choices:  # fmt: skip
        """Choices from any table: `options` says, for each name that `chosen` may hold, what makes up the option.

        That is a column, which holds amounts or texts such as "50:0.1,0:0.9"; or a list of pairs of columns, outcome
        and probability. A number may stand for a column, and None for the probability that is left. For rates between
        two options, `of` and `rate_of` are as in `lottery_or_sure`, and `chosen` counts who took the first.

        >>> table = {"person": ["a"], "x": [50], "p": [0.1], "sure": [7], "chosen": ["left"]}
        >>> Choices.from_table(table, options={"left": [("x", "p"), (0, None)], "right": "sure"})
        <Choices: 1 answer of 1 person>
        """
        from allais.people.data import table_formats

        columns = {"person": person, "chosen": chosen}
        return table_formats.from_table(table_formats.Reading(table, missing, of, rate_of), options, columns, trial)

    @classmethod
    def read(cls, path: str | Path) -> Choices:
        """Choices from JSON lines, as `write` makes them, or from the file of an interview or of its page."""
        from allais.people.data.jsonl import read_lines

        return read_lines(Path(path))

    def write(self, path: str | Path) -> None:
        """Write one JSON line per answer."""
        from allais.people.data.jsonl import write_lines

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

        return joined(self, other)

    def of(self, person: str) -> Choices:
        """The answers of one person."""
        name = str(person).strip()
        if name not in self.people:
            raise ValueError(
                f"a person must have answers in the table; got {person!r}. "
                f"There are {len(self.people)}, such as {self.people[0]!r}."
            )
        return self.where(self.person == self.people.index(name))

    def where(self, mask: NDArray[np.bool_]) -> Choices:
        """The answers for which a mask holds; people without any are left out."""
        kept, person = np.unique(self.person[mask], return_inverse=True)
        people = tuple(self.people[place] for place in kept)
        return Choices(
            people, self.lotteries, person.ravel(), self.offered[mask], self.chosen[mask], self.amount[mask],
            self.count[mask],
        )  # fmt: skip

    def one_by_one(self) -> Choices:
        """The same answers with a row for each."""
        rows = np.repeat(np.arange(len(self)), self.count)
        return Choices(
            self.people, self.lotteries, self.person[rows], self.offered[rows], self.chosen[rows], self.amount[rows],
            np.ones(rows.size, np.int64),
        )  # fmt: skip

    def options(self, row: int) -> tuple[FiniteLottery, ...]:
        """What was offered in a row, counted from 0."""
        return tuple(self.lotteries[place] for place in self.offered[row] if place >= 0)

    def rates(self) -> FloatArray:
        """How often each person took the first option of two; NaN for a person without such choices."""
        plain = self.chosen != CERTAINTY_EQUIVALENT
        n = np.bincount(self.person[plain], self.count[plain], len(self.people))
        first = np.bincount(self.person[self.chosen == 0], self.count[self.chosen == 0], len(self.people))
        return np.divide(first, n, out=np.full(n.size, np.nan), where=n > 0)

    def attention(self, *, costs: bool = False) -> dict[str, Attention]:
        """For each person, the choices in which one of two options is better in everything, and how many went to it.

        >>> Choices.from_rows([("ann", [{50: 0.5, 0: 0.5}, {50: 0.4, 0: 0.6}], 1)]).attention()["ann"].passed
        0
        """
        from allais.people.data.attention import attention_of

        return attention_of(self, costs)

    def compact(self, reference: float, costs: bool, by_person: bool) -> Compact:
        """The arrays that compiled code reads; they are made once."""
        key = (reference, costs, by_person)
        if key not in self._designs:
            self._designs[key] = compact(self, *key)
        return self._designs[key]


def as_option(thing: Any) -> FiniteLottery:
    """A lottery as it is, a mapping as a lottery, and a number as a sure amount."""
    if isinstance(thing, FiniteLottery):
        return thing
    return Discrete(thing) if isinstance(thing, Mapping) else Discrete({thing: 1.0})


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
