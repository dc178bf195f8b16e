"""What is known of outcomes that are not finished: a list beside the memory, bounded as it is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.files.reading import require, whole
from allais.rewards import Rewards
from allais.samples.censored import Cut, admitted_cut, in_words, known_cut

MOST_CUTS = 1024  # distinct cuts of an arm that are kept of outcomes that will never be known
NEVER = 0  # the end of a cut that is not forgotten

Key = tuple[int, float, float, int]  # arm, at least, at most, and when it is forgotten


class Cuts:
    """What is known of unfinished outcomes, in the user's unit."""

    def __init__(self) -> None:
        self.open: dict[int, tuple[int, float, float]] = {}  # of a choice that is out: arm, at least, at most
        self.closed: dict[Key, int] = {}  # of outcomes that will never be known: how many
        self.changes = 0  # so that a view notices one
        self.any = False  # whether there is one

    def put(self, id_: int, arm: int, cut: Cut) -> None:
        """Note what is known of a choice that is out."""
        self.open[id_] = (arm, *cut)
        self.any, self.changes = True, self.changes + 1

    def without(self, id_: int) -> None:
        """Drop what was known of a choice, since its outcome is there or lost."""
        del self.open[id_]
        self.any, self.changes = bool(self.open or self.closed), self.changes + 1

    def close(self, closed: dict[Key, int]) -> None:
        """Take other outcomes for those that will never be known."""
        self.closed = closed
        self.any, self.changes = bool(self.open or self.closed), self.changes + 1

    def check(self, id_: int, outcome: float) -> None:
        """Refuse an outcome that is not what was known of it."""
        _, low, high = self.open[id_]
        if not low <= outcome <= high:
            raise ValueError(
                f"an outcome must agree with what was told of it, {in_words((low, high))}; got {outcome:g}. Check it, "
                "or cancel the choice and observe() the outcome."
            )

    def narrowed(self, id_: int, cut: Cut) -> Cut:
        """A cut together with what was known of the choice before."""
        _, low, high = self.open.get(id_, (0, -math.inf, math.inf))
        both = max(low, cut[0]), min(high, cut[1])
        if both[0] > both[1]:
            raise ValueError(
                f"what is told of an outcome must agree: it was {in_words((low, high))}; got {in_words(cut)}. Check "
                "it, or cancel the choice and observe() what is known."
            )
        return both

    def all(self) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """Every cut: its arm, at least, at most, and how many outcomes have it."""
        rows = [(*cut, 1) for cut in self.open.values()]
        rows += [(arm, low, high, many) for (arm, low, high, _), many in self.closed.items()]
        table = np.array(rows, dtype=np.float64).reshape(-1, 4)
        return table[:, 0].astype(np.int64), table[:, 1], table[:, 2], table[:, 3]

    def counts(self, n_arms: int, *, closed: bool = False) -> IntArray:
        """How many outcomes of each arm are not finished, or will never be."""
        found = np.zeros(n_arms, dtype=np.int64)
        for (arm, _, _, _), many in self.closed.items():
            found[arm] += many
        for arm, _, _ in () if closed else self.open.values():
            found[arm] += 1
        return found

    def with_one(self, arm: int, cut: Cut, end: int, exact: bool) -> dict[Key, int]:
        """The closed cuts with one more; of too many distinct ones, neighbours are known as what holds for both."""
        key = (arm, *cut, end)
        closed = {**self.closed, key: self.closed.get(key, 0) + 1}
        mine = sorted(other for other in closed if other[0] == arm)
        if exact or end != NEVER or len(mine) <= MOST_CUTS:
            return closed
        fewer: dict[Key, int] = {other: many for other, many in closed.items() if other[0] != arm}
        sides: dict[tuple[bool, bool], list[Key]] = {}
        for other in mine:
            sides.setdefault((math.isinf(other[1]), math.isinf(other[2])), []).append(other)
        for side in sides.values():
            for one, other in zip(side[::2], [*side[1::2], side[-1]], strict=False):
                both = (arm, min(one[1], other[1]), max(one[2], other[2]), NEVER)
                many = closed[one] + (closed[other] if other != one else 0)
                fewer[both] = fewer.get(both, 0) + many
        return fewer

    def document(self) -> dict[str, Any]:
        """For a file."""
        opened = [[id_, *_as_json(low, high)] for id_, (_, low, high) in sorted(self.open.items())]
        closed = [[arm, *_as_json(low, high), end, many] for (arm, low, high, end), many in sorted(self.closed.items())]
        return {"open": opened, "closed": closed}

    @staticmethod
    def of(written: Any, out: dict[int, tuple[int, float]], known: list[Rewards], n_arms: int) -> Cuts:
        """From a file."""
        cuts = Cuts()
        if written is None:
            return cuts
        require(isinstance(written, dict), "unfinished outcomes must be a mapping")
        for id_, *ends in _rows(written["open"], 3):
            require(id_ in out and id_ not in cuts.open, "an unfinished outcome is of no choice that is out")
            cuts.open[id_] = (out[id_][0], *_from_json(ends, known, out[id_][0]))
        for arm, low, high, end, many in _rows(written["closed"], 5):
            place = whole(arm, "the arm of an unfinished outcome", 0, n_arms - 1)
            key = (place, *_from_json([low, high], known, place), whole(end, "an end", 0))
            cuts.closed[key] = whole(many, "a count", 1)
        cuts.any = bool(cuts.open or cuts.closed)
        return cuts


def _rows(given: Any, size: int) -> list[list[Any]]:
    require(isinstance(given, list), "unfinished outcomes must be lists")
    require(all(isinstance(row, list) and len(row) == size for row in given), "an unfinished outcome is not complete")
    return list(given)


def as_json(cut: Cut) -> list[float | None]:
    """A cut as JSON has it: what is not known is null."""
    return _as_json(*cut)


def _as_json(low: float, high: float) -> list[float | None]:
    return [None if math.isinf(low) else low, None if math.isinf(high) else high]


def _from_json(ends: list[Any], known: list[Rewards], arm: int) -> Cut:
    return admitted_cut(known_cut(between=ends), known[arm] if known else None)
