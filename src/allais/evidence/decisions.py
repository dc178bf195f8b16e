"""Logs of decisions: what was chosen, how likely that was, and what came of it."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used

from allais._checks import FloatArray, IntArray, brief
from allais.evidence.data import Reach, ends_wanted, numbered, reach_of
from allais.evidence.tables import AT_LEAST, AT_MOST, Columns, columns_of, listed, numbers_or_nan
from allais.files import Where, text_of

IMPORTED = "imported"  # a state in the service's export: an outcome without a decision
FEATURES = "features"  # the column of that export with the context of each decision, as JSON
CERTAIN = 0.001  # a finding is reported if its chance, were nothing wrong, is below this
BETS = 0.5 ** np.arange(1, 13)  # the shares of wealth that are bet side by side
FEW = 30.0  # outcomes, in effect, below which nothing should rest on an estimate


@dataclass(frozen=True)
class Decisions:
    """A log of decisions, in the order in which they were made.

    Attributes:
        arms: The arms that were chosen.
        chosen: The place of each decision's arm.
        outcome: What came of it; NaN where that is missing.
        propensity: The probability with which the arm was chosen, in (0, 1].
        context: What was known before the decision: a column by name.
        reach: Where some outcomes are not finished: what each is at least, and at most; NaN where it is missing.

    >>> log = read_decisions({"arm": ["a", "b"], "outcome": [1.0, None], "propensity": [0.5, 0.5]})
    >>> log.arms, log.n, log.findings()[0]
    (('a', 'b'), 2, '1 of 2 outcomes is missing.')
    """

    arms: tuple[Hashable, ...]
    chosen: IntArray
    outcome: FloatArray
    propensity: FloatArray
    context: Mapping[str, list[Any]]
    reach: Reach | None = None

    @property
    def n(self) -> int:
        """The number of decisions."""
        return int(self.chosen.size)

    @cached_property
    def told(self) -> Decisions:
        """The decisions whose outcome is known."""
        return self.where(np.isfinite(self.outcome))

    def where(self, rows: Any) -> Decisions:
        """Some of the decisions.

        Args:
            rows: Their places, or whether each is one of them.
        """
        places = np.arange(self.n)[rows].tolist()
        context = {name: [column[k] for k in places] for name, column in self.context.items()}
        reach = None if self.reach is None else (self.reach[0][rows], self.reach[1][rows])
        return Decisions(self.arms, self.chosen[rows], self.outcome[rows], self.propensity[rows], context, reach)

    @property
    def unfinished(self) -> int:
        """How many outcomes are not finished."""
        return 0 if self.reach is None else int(np.sum(np.isnan(self.outcome) & ~np.isnan(self.reach[0])))

    def completed(self, outcome: FloatArray) -> Decisions:
        """The same decisions with all outcomes finished.

        Args:
            outcome: The outcomes; NaN where one is missing.
        """
        return Decisions(self.arms, self.chosen, outcome, self.propensity, self.context)

    def contexts(self) -> Iterator[dict[str, Any]]:
        """What was known before each decision, by name."""
        names = list(self.context)
        for cells in zip(*self.context.values(), strict=True) if names else ((),) * self.n:
            yield dict(zip(names, cells, strict=True))

    def findings(self, least: float | None = None) -> tuple[str, ...]:
        """What is wrong with the log, in sentences; nothing, if nothing was found.

        Args:
            least: The probability that every arm had at least in every decision, if there is one: with it,
                propensities that are too large are found, too.
        """
        said = [*self._about_missing(), *self._about_propensities(least)]
        counts = np.bincount(self.chosen, minlength=len(self.arms))
        rare = [str(arm) for arm, count in zip(self.arms, counts.tolist(), strict=True) if count < FEW]
        if rare:
            names = ", ".join(rare[:5]) + (" and others" if len(rare) > 5 else "")
            said.append(f"{len(rare)} of {len(self.arms)} arms were chosen fewer than {FEW:g} times ({names}).")
        return tuple(said)

    def _about_missing(self) -> list[str]:
        missing = np.isnan(self.outcome if self.reach is None else self.reach[0])
        many, open_ = int(missing.sum()), self.unfinished
        said = []
        if open_:
            are = "is" if open_ == 1 else "are"
            said.append(f"{open_} of {self.n} outcomes {are} not finished: nothing is assumed of them.")
        if not many:
            return said
        said.append(f"{many} of {self.n} outcomes {'is' if many == 1 else 'are'} missing.")
        size = np.bincount(self.chosen, minlength=len(self.arms)).astype(float)
        lost = np.bincount(self.chosen[missing], minlength=len(self.arms)).astype(float)
        share = many / self.n
        if 0.0 < share < 1.0 and len(self.arms) > 1:  # Pearson's test of equal shares
            chi = float(np.sum((lost - share * size) ** 2 / (share * (1.0 - share) * size)))
            if scipy.special.chdtrc(len(self.arms) - 1, chi) < CERTAIN:
                worst = int(np.argmax(lost / size))
                said.append(
                    f"They are missing more often for some arms than for others: {lost[worst] / size[worst]:.1%} of "
                    f"those of {self.arms[worst]}, {share:.1%} of all. What is left may not be what came."
                )
        return said

    def _about_propensities(self, least: float | None) -> list[str]:
        directions = (1,) if least is None else (1, -1)
        needed = len(self.arms) * len(directions) / CERTAIN  # any of these tests may be wrong
        return [
            f"The propensities of {self.arms[k]} do not fit how often it was chosen: "
            f"{'too small' if direction > 0 else 'too large'} (evidence {found:.3g} to 1 against them)."
            for direction in directions
            for k, found in enumerate(np.exp(np.minimum(self.calibration(direction, least), 700.0)))
            if found > needed
        ]

    def calibration(self, direction: int = 1, least: float | None = None) -> FloatArray:
        """The log evidence against each arm's propensities, valid at any time.

        1{A = a} / p has the mean 1 given the past where a was possible, and 0 where it was not; so wealth that bets on
        more than 1 is a supermartingale if the propensities are right, and exceeds 1/delta at any time with
        probability delta at most (Ville). Bets of several sizes are made side by side.

        Args:
            direction: 1 for propensities that are too small; -1 for those that are too large, which needs `least`.
            least: The probability that every arm had at least in every decision.
        """
        if direction < 0 and least is None:
            raise ValueError("propensities that are too large show only where every arm is possible. Give least=.")
        bets = BETS if direction > 0 or least is None else -BETS * least  # so that no bet loses all
        arms, each = len(self.arms), np.log1p(np.outer(bets, 1.0 / self.propensity - 1.0))
        mine = np.array([np.bincount(self.chosen, weights=one, minlength=arms) for one in each])
        others = self.n - np.bincount(self.chosen, minlength=arms)
        wealth = mine + np.outer(np.log1p(-bets), others)  # where another was chosen, 1{A = a} / p - 1 is -1
        found: FloatArray = scipy.special.logsumexp(wealth, axis=0) - math.log(BETS.size)
        return found


def read_decisions(
    table: Any, *, arm: str = "arm", outcome: str = "outcome", propensity: str = "propensity",
    context: Sequence[str] = (), at_least: str = AT_LEAST, at_most: str = AT_MOST,
) -> Decisions:  # fmt: skip
    """A log of decisions from a table: the service's export, a CSV, Parquet or JSON-lines file, or a DataFrame.

    Args:
        table: The table, a mapping of columns, or the path of a file.
        arm: The column of what was chosen.
        outcome: The column of what came of it; an empty cell is an outcome that is missing.
        propensity: The column of the probability with which the arm was chosen.
        context: The columns of what was known before, or names within the features of the service's export.
        at_least: The column of what an outcome that is not finished will be at least; its cell of outcomes is empty.
        at_most: The column of what it will be at most.

    Returns:
        The log. Rows that the service's export calls imported are left out: no policy decided on them.

    Raises:
        ValueError: A column is missing, or a cell is invalid; the message says which.

    >>> read_decisions({"arm": ["a"], "outcome": [1.0], "propensity": [0.0]})
    Traceback (most recent call last):
        ...
    ValueError: a propensity is a probability above 0; row 1 has 0. Log the probability with which the arm was chosen.
    """
    ends, there = ends_wanted(at_least, at_most)
    names = [arm, outcome, propensity, *ends]
    if isinstance(table, str | Path) and Path(table).suffix in (".jsonl", ".ndjson"):
        table = _of_lines(Path(table))
    columns = columns_of(table, names, optional=("state", FEATURES, *context, *there))
    if absent := [name for name in context if name not in columns]:
        within = _within(listed(columns.get(FEATURES, [])), absent, columns.where)
        columns_of(table, [name for name in absent if name not in within])  # refuses those that are nowhere
        columns.update(within)
    states = listed(columns["state"]) if "state" in columns else []
    keep = [k for k, state in enumerate(states) if state != IMPORTED] if IMPORTED in states else None

    def cells(name: str) -> list[Any]:
        whole = listed(columns[name])
        return whole if keep is None else [whole[k] for k in keep]

    def where(row: int) -> str:
        return columns.where(row if keep is None else keep[row])

    labels = cells(arm)
    if not labels:
        raise ValueError("a log has one decision or more; this one has none. Check the file.")
    for row, label in enumerate(labels):
        if label is None or label != label or label == "":
            raise ValueError(f"every decision has its arm; {where(row)} has none. Fill it in, or leave the row out.")
    arms, chosen = numbered(labels)
    likely = _numbers(cells(propensity), "a propensity", where)
    for row in np.flatnonzero(~((likely > 0.0) & (likely <= 1.0)))[:1].tolist():
        if not math.isfinite(likely[row]):
            raise ValueError(
                f"every decision has its propensity; {where(row)} has none. Leave out rows without a decision."
            )
        what = "above 0" if likely[row] <= 0.0 else "of at most 1"
        raise ValueError(
            f"a propensity is a probability {what}; {where(row)} has {likely[row]:g}. Log the probability with "
            "which the arm was chosen."
        )
    told = _numbers(cells(outcome), "an outcome", where)
    ends_there = {name: cells(name) for name in (at_least, at_most) if name in columns}
    reach = reach_of(told, ends_there, at_least, at_most, where)
    return Decisions(tuple(arms), chosen, told, likely, {name: cells(name) for name in context}, reach)


def _numbers(cells: list[Any], what: str, where: Where) -> FloatArray:
    """Numbers, and NaN where a cell is empty."""
    found = numbers_or_nan(np.array(cells, dtype=object), what, where)
    for row in np.flatnonzero(np.isinf(found))[:1].tolist():
        raise ValueError(f"{what} is a finite number; {where(row)} has {found[row]:g}. Repair it.")
    return found


def _of_lines(path: Path) -> Columns:
    """The columns of a file with one JSON object per line."""
    rows, lines = [], []
    for number, line in enumerate(text_of(path, "a log is").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise ValueError(f"each line of {path} is a JSON object; line {number} is not. Repair it.")
        rows.append(row)
        lines.append(number)
    if not rows:
        raise ValueError(f"a log has one decision or more; {path} has none. Check the file.")
    names = {name: None for row in rows for name in row}
    found = Columns({name: [row.get(name) for row in rows] for name in names})
    found.lines = lines
    return found


def _within(cells: list[Any], names: list[str], where: Where) -> dict[str, list[Any]]:
    """The columns, of those named, that are within cells of features: JSON objects, as text or as they are."""
    rows: list[dict[str, Any]] = []
    for place, cell in enumerate(cells):
        try:
            row = json.loads(cell) if isinstance(cell, str) else cell
        except ValueError:
            raise ValueError(f"features are written as JSON; {where(place)} has {brief(cell)}. Repair it.") from None
        rows.append(row if isinstance(row, dict) else {})
    found = {name for row in rows for name in row}
    return {name: [row.get(name) for row in rows] for name in names if name in found}
