"""The common shapes of tables of choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from allais.lotteries import Discrete
from allais.lotteries.text import lottery_of
from allais.people.building import Rows, refuse
from allais.people.choices import Choices
from allais.people.tables import Columns, cell_answer, cell_number, cell_person, cell_share, filled, require_missing

NOTHING = Discrete({0.0: 1.0})
Maker = Callable[[int], Any]  # from a row's number to an option


class Reading:
    """One pass over a table, whose answers are those of one person each or counts of so many."""

    def __init__(self, table: Any, missing: str, of: str | None = None, rate_of: str | None = None) -> None:
        require_missing(missing)
        if of is not None and rate_of is not None:
            raise ValueError("answers are counts or rates; got columns for both, of and rate_of. Give one of them.")
        self.found, self.built = Columns(table), Rows(drop=missing == "drop")
        self.asked, self._rates = of or rate_of, rate_of is not None

    def each(self, take: Callable[..., None], *names: str | None) -> Choices:
        """All rows: `take` gets the number of one, its cells, and how many were asked."""
        for row, cells in self.found.rows(*names, self.asked):
            with self.built.row():
                self.found.require_whole(row)
                take(row, *cells)
        return self.built.done()

    def either(self, row: int, person: Any, options: list[Any], name: str, cell: Any, trial: Any, asked: Any) -> None:
        """Add who took the first option, and who took the second: one answer, or as many as were asked."""
        if self.asked is None:
            took = cell_answer(row, name, cell)
            counts = (int(took), int(not took))
        else:
            counts = cell_share(row, name, cell, self.asked, asked, self._rates)
        for chosen, count in enumerate(counts):
            if count:
                self.built.choice(row, person, options, chosen, trial, count)


def lottery_or_sure(reading: Reading, columns: Mapping[str, str], trial: str | None) -> Choices:
    """A win with a probability, else nothing, or a sure amount."""
    made = _Once()
    who, *names, took_lottery = (columns[key] for key in ("person", "win", "probability", "sure", "took_lottery"))

    def take(row: int, person: Any, *cells: Any) -> None:
        *numbers, took, number, asked = cells
        win, chance, sure = (cell_number(row, name, cell) for name, cell in zip(names, numbers, strict=True))
        if not 0.0 <= chance <= 1.0:
            refuse(row, f"{columns['probability']} must lie in [0, 1]; got {chance:g}. Write 0.25 for 25 %.")
        options = [made.lottery((win, chance), (0.0, 1.0 - chance)), made.lottery((sure, 1.0))]
        reading.either(row, cell_person(row, who, person), options, took_lottery, took, number, asked)

    return reading.each(take, who, *names, took_lottery, trial)


def mixed_gambles(reading: Reading, columns: Mapping[str, str], trial: str | None) -> Choices:
    """A gain or a loss at even odds, or nothing."""
    made = _Once()
    names = [columns[key] for key in ("person", "gain", "loss", "accepted")]

    def take(row: int, person: Any, gain: Any, loss: Any, accepted: Any, number: Any, asked: Any) -> None:
        won, lost = cell_number(row, columns["gain"], gain), cell_number(row, columns["loss"], loss)
        if lost < 0.0:
            refuse(row, f"{columns['loss']} is a positive amount; got {lost:g}. Leave the sign out.")
        options = [made.lottery((won, 0.5), (-lost, 0.5)), NOTHING]
        reading.either(row, cell_person(row, names[0], person), options, names[3], accepted, number, asked)

    return reading.each(take, *names, trial)


def certainty_equivalents(reading: Reading, lottery: Any, columns: Mapping[str, str], trial: str | None) -> Choices:
    """Lotteries with the amounts that people find as good."""
    make = _maker(reading.found, lottery)

    def take(row: int, person: Any, amount: Any, number: Any, _: Any) -> None:
        named = cell_number(row, columns["amount"], amount)
        reading.built.equivalent(row, cell_person(row, columns["person"], person), make(row), named, number)

    return reading.each(take, columns["person"], columns["amount"], trial)


def from_table(reading: Reading, options: Mapping[str, Any], columns: Mapping[str, str], trial: str | None) -> Choices:
    """Options from columns of outcomes and probabilities, of amounts, or of texts."""
    names = [str(name).strip() for name in options]
    if reading.asked is not None and len(names) != 2:
        raise ValueError(f"counts and rates are those of two options; got {len(names)}. Write a row for each answer.")
    makers = [_maker(reading.found, given) for given in options.values()]

    def take(row: int, person: Any, chosen: Any, number: Any, asked: Any) -> None:
        who, offered = cell_person(row, columns["person"], person), [make(row) for make in makers]
        if reading.asked is not None:
            reading.either(row, who, offered, columns["chosen"], chosen, number, asked)
            return
        label = str(int(chosen)) if isinstance(chosen, float) and chosen.is_integer() else str(chosen).strip()
        if label not in names:
            filled(row, columns["chosen"], chosen)
            refuse(
                row, f"{columns['chosen']} must be one of {', '.join(names)}; got {chosen!r}. Name that option, too."
            )
        reading.built.choice(row, who, offered, names.index(label), number)

    return reading.each(take, columns["person"], columns["chosen"], trial)


class _Once:
    """Lotteries that are made once, since making one takes longer than finding it again."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[float, float], ...], Any] = {}

    def lottery(self, *pairs: tuple[float, float]) -> Any:
        if pairs not in self._known:
            chances: dict[float, float] = {}
            for outcome, chance in pairs:
                chances[outcome] = chances.get(outcome, 0.0) + chance
            self._known[pairs] = Discrete(chances)
        return self._known[pairs]


def _maker(found: Columns, given: Any) -> Maker:
    """How to make an option of a row: from one column, or from pairs of outcome and probability."""
    made = _Once()
    if isinstance(given, str):
        column = found.column(given)
        texts: dict[str, Discrete] = {}

        def from_cell(row: int) -> Any:
            cell = column[row - 1]
            if isinstance(cell, str) and ":" in cell:
                if cell not in texts:
                    texts[cell] = _read(row, cell)
                return texts[cell]
            return made.lottery((cell_number(row, given, cell), 1.0))

        return from_cell
    pairs = [(_cells(found, outcome), None if chance is None else _cells(found, chance)) for outcome, chance in given]
    if sum(chance is None for _, chance in pairs) > 1:
        raise ValueError("one probability may be what is left; got two. Give the others.")

    def from_pairs(row: int) -> Any:
        known = [(outcome(row), None if chance is None else chance(row)) for outcome, chance in pairs]
        left = 1.0 - sum(chance for _, chance in known if chance is not None)
        if left < -1e-9 or (abs(left) > 1e-9 and all(chance is not None for _, chance in known)):
            refuse(
                row,
                f"probabilities must sum to 1; got a sum of {1.0 - left:.12g}. Add what is missing, or give "
                "None for one of them.",
            )
        whole = tuple((outcome, max(left, 0.0) if chance is None else chance) for outcome, chance in known)
        if any(chance < 0.0 for _, chance in whole):
            refuse(
                row, f"a probability must not be negative; got {min(chance for _, chance in whole):g}. Repair the cell."
            )
        return made.lottery(*whole)

    return from_pairs


def _cells(found: Columns, given: Any) -> Callable[[int], float]:
    if isinstance(given, str):
        column = found.column(given)
        return lambda row: cell_number(row, given, column[row - 1])
    number = float(given)
    return lambda row: number


def _read(row: int, text: str) -> Discrete:
    try:
        return lottery_of(text)
    except ValueError as error:
        refuse(row, str(error))
