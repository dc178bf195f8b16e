"""Rows of choices, checked one by one, with one message about all invalid ones; and choices as JSON lines.

A line is {"person": "ann", "options": [[[50, 0.1], [0, 0.9]], 7], "chosen": 0}; an answer that was given several times
may have a "count".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from allais._checks import brief, number, whole
from allais.files import Where, by_line, by_row, text_of, write_atomically
from allais.lotteries import Discrete
from allais.people.data.design import CERTAINTY_EQUIVALENT


def as_option(thing: Any) -> Discrete:
    """A lottery as it is, a mapping as a lottery, and a number as a sure amount."""
    if isinstance(thing, Discrete):
        return thing
    try:
        return Discrete(thing) if isinstance(thing, Mapping) else Discrete({thing: 1.0})
    except TypeError as error:
        raise ValueError(str(error)) from None


def lottery_of_pairs(pairs: Iterable[tuple[float, float]]) -> Discrete:
    """The lottery of these outcomes and probabilities; equal outcomes are added up."""
    chances: dict[float, float] = {}
    for outcome, chance in pairs:
        chances[outcome] = chances.get(outcome, 0.0) + chance
    return Discrete(chances)


MOST_SHOWN = 10  # wrong rows in one message
MOST_TIMES = 10**6  # how often one answer can be given


class EmptyCellError(ValueError):
    """Something is missing in a row; such rows can be left out."""


class Rows:
    """The rows of a table so far; with `drop`, rows in which something is missing are left out."""

    def __init__(self, *, drop: bool = False, where: Where = by_row) -> None:
        self._where = where
        self._drop, self._n_tried, self._n_dropped, self._wrong, self._now = drop, 0, 0, list[str](), 0
        self._people: dict[str, int] = {}
        self._lotteries: dict[Discrete, int] = {}
        self._seen: dict[int, tuple[Any, int]] = {}  # options by identity: comparing lotteries takes longer
        self._trials: dict[tuple[str, str], int] = {}
        self._rows: list[tuple[int, list[int], int, float, int]] = []  # person, offered, chosen, amount, count

    @contextmanager
    def row(self, number: int) -> Iterator[None]:
        """Within, one row is read, counted from 1; what is wrong with it is kept for the message of `columns`."""
        self._n_tried, self._now = self._n_tried + 1, number
        try:
            yield
        except ValueError as error:
            if self._drop and isinstance(error, EmptyCellError):
                self._n_dropped += 1
            else:
                self._wrong.append(f"{self._where(number - 1)}: {error}")

    def choice(self, person: Any, options: Sequence[Any], chosen: Any, trial: Any = None, count: Any = 1) -> None:
        """Add a choice that was made `count` times."""
        if len(options) < 2:
            raise ValueError(f"a choice is between two options or more; got {len(options)}. Give another.")
        if isinstance(chosen, bool) or not isinstance(chosen, int | np.integer) or not 0 <= chosen < len(options):
            raise ValueError(
                f"chosen is the position of an option, 0 to {len(options) - 1}; got {brief(chosen)}. Count from 0."
            )
        self._add(person, options, int(chosen), 0.0, trial, count)

    def equivalent(self, person: Any, lottery: Any, amount: Any, trial: Any = None, count: Any = 1) -> None:
        """Add a certainty equivalent."""
        stated = number("a certainty equivalent", amount)
        if not np.isfinite(stated):
            raise ValueError(f"a certainty equivalent must be finite; got {stated}. Leave the row out.")
        option = as_option(lottery)
        low, high = option.support
        if low == high:
            raise ValueError(f"a certainty equivalent is that of a lottery; got the sure amount {low:g}. Leave it out.")
        self._add(person, [option], CERTAINTY_EQUIVALENT, stated, trial, count)

    def _add(self, person: Any, options: Sequence[Any], chosen: int, amount: float, trial: Any, count: Any) -> None:
        who = named_person(person)
        count = whole("count", count, most=MOST_TIMES)
        if trial is not None:
            before = self._trials.setdefault((who, str(trial)), self._now)
            if before != self._now:
                raise ValueError(
                    f"a person answers a trial once; {who} has answered trial {trial} in {self._where(before - 1)} "
                    "already. Leave one of them out."
                )
        offered = [self._option(option) for option in options]
        self._rows.append((self._people.setdefault(who, len(self._people)), offered, chosen, amount, count))

    def _option(self, option: Any) -> int:
        if id(option) not in self._seen:
            lottery = as_option(option)
            # the option is kept, too, so that its identity is not given to another
            self._seen[id(option)] = option, self._lotteries.setdefault(lottery, len(self._lotteries))
        return self._seen[id(option)][1]

    def columns(self) -> dict[str, Any]:
        """The arguments of `Choices`, if every row could be read."""
        if len(self._wrong) == 1:
            raise ValueError(self._wrong[0])
        if self._wrong:
            more = len(self._wrong) - MOST_SHOWN
            listed = [*self._wrong[:MOST_SHOWN], *([f"and {more:,} more"] if more > 0 else [])]
            advice = "Repair them, or leave them out"
            if len(self._wrong) == self._n_tried:
                advice = "Is the table of another shape? What is wrong"
            counted = " (counted from 1, without a header)" if self._where is by_row else ""
            raise ValueError(
                f"{len(self._wrong):,} of {self._n_tried:,} rows cannot be read{counted}. {advice}:\n"
                + "\n".join(f"  {one}" for one in listed)
            )
        if not self._rows:
            raise ValueError("choices need at least one row; got none. Check the table.")
        person, offered, chosen, amount, count = zip(*self._rows, strict=True)
        most = max(map(len, offered))
        return {
            "people": tuple(self._people),
            "lotteries": tuple(self._lotteries),
            "person": np.array(person, np.int64),
            "offered": np.array([row + [-1] * (most - len(row)) for row in offered], np.int64),
            "chosen": np.array(chosen, np.int64),
            "amount": np.array(amount),
            "count": np.array(count, np.int64),
            "n_dropped": self._n_dropped,
        }


def named_person(person: Any) -> str:
    """A person's name as text, without blanks around it; 7.0, which some tables make of 7, is 7."""
    if person is None or (isinstance(person, float) and not np.isfinite(person)) or str(person).strip() == "":
        raise ValueError("a choice needs a person; there is none. Give a name or a number.")
    if isinstance(person, float | np.floating) and float(person).is_integer():
        return str(int(person))
    return str(person).strip()


def write_lines(choices: Any, path: Path) -> None:
    """Write one line per answer."""
    lines = []
    for row in range(len(choices)):
        options = [plain_option(one) for one in choices.options(row)]
        told: dict[str, Any] = {"person": choices.people[choices.person[row]]}
        if choices.chosen[row] == CERTAINTY_EQUIVALENT:
            told |= {"lottery": options[0], "amount": float(choices.amount[row])}
        else:
            told |= {"options": options, "chosen": int(choices.chosen[row])}
        if choices.count[row] != 1:
            told["count"] = int(choices.count[row])
        lines.append(json.dumps(told))
    write_atomically(path, "\n".join(lines) + "\n")


def plain_option(lottery: Discrete) -> Any:
    """An option as JSON has it: pairs of outcome and probability, or a sure amount."""
    pairs = [list(pair) for pair in zip(lottery.outcomes.tolist(), lottery.probabilities.tolist(), strict=True)]
    return pairs[0][0] if len(pairs) == 1 else pairs


def read_lines(path: Path) -> dict[str, Any]:
    """The columns of a file's answers: one per line, or a list called "answers". Other keys are ignored."""
    content = text_of(path, "choices are")
    listed = _listed(content)
    found = content.split("\n") if listed is None else listed  # a text may hold other ends of lines
    built = Rows(where=by_row if listed is not None else by_line(range(1, len(found) + 1)))
    for row, told in enumerate(found, start=1):
        if listed is not None or told.strip():
            with built.row(row):
                _take(built, _parsed(told) if listed is None else told)
    return built.columns()


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (json.JSONDecodeError, RecursionError):  # the latter: hundreds of nested lists
        raise ValueError(f"a line must be JSON; got {brief(line)}. Repair it.") from None


def _listed(content: str) -> list[Any] | None:
    """The answers in one document, such as the file of an interview or of its page; None for lines."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    answers = document.get("answers") if isinstance(document, dict) else None
    return answers if isinstance(answers, list) else None


def _take(built: Rows, told: Any) -> None:
    if not isinstance(told, dict):
        raise ValueError(f"an answer is written in braces; got {brief(told)}. Repair it.")
    person, trial, count = told.get("person"), told.get("trial"), told.get("count", 1)
    if "amount" in told and "lottery" in told:
        built.equivalent(person, _option(told["lottery"]), told["amount"], trial, count)
    elif isinstance(told.get("options"), list) and "chosen" in told:
        built.choice(person, [_option(one) for one in told["options"]], told["chosen"], trial, count)
    else:
        raise ValueError("an answer has options and chosen, or a lottery and an amount; something is missing. Add it.")


def _option(given: Any) -> Any:
    if not isinstance(given, list):
        return given
    try:
        return lottery_of_pairs(given)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"an option is an amount, or pairs of outcome and probability; got {brief(given)} ({error}). Repair it."
        ) from None
