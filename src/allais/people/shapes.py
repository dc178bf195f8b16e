"""The common shapes of tables of choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from allais.lotteries import Discrete
from allais.lotteries.text import lottery_of
from allais.people.building import Rows, refuse
from allais.people.choices import Choices
from allais.people.tables import Columns, answered, cell_answer, cell_number, require_missing

NOTHING = Discrete({0.0: 1.0})
Maker = Callable[[int], Any]  # from a row's number to an option


def lottery_or_sure(table: Any, columns: Mapping[str, str], trial: str | None, missing: str) -> Choices:
    """A win with a probability, else nothing, or a sure amount."""
    require_missing(missing)
    found, built, made = Columns(table), Rows(), _Once()
    names = [columns[key] for key in ("person", "win", "probability", "sure", "took_lottery")]
    for row, (person, *numbers, took, number) in found.rows(*names, trial):
        if not answered(row, columns["took_lottery"], took, missing):
            continue
        win, chance, sure = (cell_number(row, name, cell) for name, cell in zip(names[1:4], numbers, strict=True))
        if not 0.0 <= chance <= 1.0:
            refuse(row, f"{columns['probability']} must lie in [0, 1]; got {chance:g}. Write 0.25 for 25 %.")
        options = [made.lottery((win, chance), (0.0, 1.0 - chance)), made.lottery((sure, 1.0))]
        built.choice(row, person, options, 0 if cell_answer(row, columns["took_lottery"], took) else 1, number)
    return built.done()


def mixed_gambles(table: Any, columns: Mapping[str, str], trial: str | None, missing: str) -> Choices:
    """A gain or a loss at even odds, or nothing."""
    require_missing(missing)
    found, built, made = Columns(table), Rows(), _Once()
    names = [columns[key] for key in ("person", "gain", "loss", "accepted")]
    for row, (person, gain, loss, accepted, number) in found.rows(*names, trial):
        if not answered(row, columns["accepted"], accepted, missing):
            continue
        won, lost = cell_number(row, columns["gain"], gain), cell_number(row, columns["loss"], loss)
        if lost < 0.0:
            refuse(row, f"{columns['loss']} is a positive amount; got {lost:g}. Leave the sign out.")
        options = [made.lottery((won, 0.5), (-lost, 0.5)), NOTHING]
        built.choice(row, person, options, 0 if cell_answer(row, columns["accepted"], accepted) else 1, number)
    return built.done()


def certainty_equivalents(
    table: Any, lottery: Any, columns: Mapping[str, str], trial: str | None, missing: str
) -> Choices:
    """Lotteries with the amounts that people find as good."""
    require_missing(missing)
    found, built = Columns(table), Rows()
    make = _maker(found, lottery)
    for row, (person, amount, number) in found.rows(columns["person"], columns["amount"], trial):
        if answered(row, columns["amount"], amount, missing):
            built.equivalent(row, person, make(row), cell_number(row, columns["amount"], amount), number)
    return built.done()


def from_table(
    table: Any, options: Mapping[str, Any], columns: Mapping[str, str], trial: str | None, missing: str
) -> Choices:
    """Options from columns of outcomes and probabilities, of amounts, or of texts."""
    require_missing(missing)
    found, built = Columns(table), Rows()
    names = [str(name) for name in options]
    makers = [_maker(found, given) for given in options.values()]
    for row, (person, chosen, number) in found.rows(columns["person"], columns["chosen"], trial):
        if not answered(row, columns["chosen"], chosen, missing):
            continue
        label = str(int(chosen)) if isinstance(chosen, float) and chosen.is_integer() else str(chosen)
        if label not in names:
            refuse(
                row, f"{columns['chosen']} must be one of {', '.join(names)}; got {chosen!r}. Name that option, too."
            )
        built.choice(row, person, [make(row) for make in makers], names.index(label), number)
    return built.done()


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
