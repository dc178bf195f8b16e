"""What is known of outcomes that are not finished: one by one, a list beside a memory, and a sample of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, IntArray, brief, finite_array, real
from allais.errors import NotAdmitted
from allais.files import require, whole
from allais.lotteries import Discrete
from allais.preferences import Preference
from allais.rewards import Finite, Rewards
from allais.samples.censored import Places, places_of, value_of_masses

MOST_CUTS = 1024  # distinct cuts of an arm that are kept of outcomes that will never be known
NEVER = 0  # the end of a cut that is not forgotten

Cut = tuple[float, float]  # the least and the greatest that an outcome may be, in the user's unit
Key = tuple[int, float, float, int]  # arm, at least, at most, and when it is forgotten


def known_cut(at_least: Any = None, at_most: Any = None, between: Any = None) -> Cut:
    """What is known of an unfinished outcome, as the two ends of an interval; one end may be infinite.

    >>> known_cut(at_least=30), known_cut(between=(30, 60)), known_cut(between=(30, None))
    ((30.0, inf), (30.0, 60.0), (30.0, inf))
    """
    if between is not None:
        if at_least is not None or at_most is not None:
            raise ValueError("an unfinished outcome has between, or at_least and at_most; got both. Leave one out.")
        if isinstance(between, str) or not isinstance(between, Sequence | np.ndarray) or len(between) != 2:
            raise ValueError(f"between takes two numbers; got {brief(between)}. Write between=(30, 60).")
        at_least, at_most = between
    names, advice = ("at_least", "at_most") if between is None else ("between",) * 2, "Leave out what is not known."
    low = -math.inf if at_least is None else real(names[0], at_least, advice)
    high = math.inf if at_most is None else real(names[1], at_most, advice)
    if low == -math.inf and high == math.inf:
        raise ValueError(
            "an outcome must be a number, or unfinished: at_least, at_most or between; got none. Say what is known."
        )
    if low > high:
        raise ValueError(f"an outcome lies between a lower and a higher end; got {low:g} and {high:g}. Swap them.")
    return low, high


def admitted_cut(cut: Cut, rewards: Rewards | None) -> Cut:
    """A cut, unless no reward that is declared lies within it."""
    if rewards is None:
        return cut
    low, high = rewards.support
    if isinstance(rewards, Finite):  # only a value that was declared can come
        inside = [value for value in rewards.values if cut[0] <= value <= cut[1]]
    else:
        inside = [max(cut[0], low)] if max(cut[0], low) <= min(cut[1], high) else []
    if not inside:
        raise NotAdmitted(
            f"an unfinished outcome must be able to end within {low:g} and {high:g}; got {in_words(cut)}. "
            "Widen Bounded(low, high): the guarantees rest on it."
        )
    return cut


def in_words(cut: Cut) -> str:
    """A cut as people say it.

    >>> in_words((30.0, math.inf)), in_words((30.0, 60.0))
    ('at least 30', 'between 30 and 60')
    """
    if math.isinf(cut[1]):
        return f"at least {cut[0]:g}"
    return f"at most {cut[1]:g}" if math.isinf(cut[0]) else f"between {cut[0]:g} and {cut[1]:g}"


class Cuts:
    """What is known of unfinished outcomes, in the user's unit."""

    _table: tuple[int, FloatArray] | None = None  # all of them, after so many changes

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
        """Replace the cuts of outcomes that will never be known."""
        self.closed = closed
        self.any, self.changes = bool(self.open or self.closed), self.changes + 1

    def check(self, id_: int, outcome: float) -> None:
        """Refuse an outcome that contradicts what was known of it."""
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
        if self._table is None or self._table[0] != self.changes:
            rows = [(*cut, 1) for cut in self.open.values()]
            rows += [(arm, low, high, many) for (arm, low, high, _), many in self.closed.items()]
            self._table = self.changes, np.array(rows, dtype=np.float64).reshape(-1, 4)
        table = self._table[1]
        return table[:, 0].astype(np.int64), table[:, 1], table[:, 2], table[:, 3]

    def counts(self, n_arms: int, *, closed: bool = False) -> IntArray:
        """How many outcomes of each arm are not finished, or will never be."""
        arms, _, _, many = self.all()
        start = len(self.open) if closed else 0
        return np.bincount(arms[start:], many[start:], n_arms).astype(np.int64)

    def with_more(self, keys: Iterable[tuple[Key, int]], exact: bool) -> dict[Key, int]:
        """The closed cuts with more of one arm; of too many distinct ones, neighbours are joined."""
        closed, mine = dict(self.closed), None
        for key, many in keys:
            if mine is None:
                mine = sum(other[0] == key[0] for other in closed)
            mine += key not in closed
            closed[key] = closed.get(key, 0) + many
            if mine > MOST_CUTS and not exact and key[3] == NEVER:
                closed = _fewer(closed, key[0])
                mine = sum(other[0] == key[0] for other in closed)
        return closed

    def document(self) -> dict[str, Any]:
        """For a file."""
        opened = [[id_, *as_json((low, high))] for id_, (_, low, high) in sorted(self.open.items())]
        closed = [
            [arm, *as_json((low, high)), end, many] for (arm, low, high, end), many in sorted(self.closed.items())
        ]
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


def _fewer(closed: dict[Key, int], arm: int) -> dict[Key, int]:
    """Half as many distinct cuts of an arm: two neighbours become the interval that contains both."""
    fewer: dict[Key, int] = {other: many for other, many in closed.items() if other[0] != arm}
    sides: dict[tuple[bool, bool], list[Key]] = {}
    for other in sorted(other for other in closed if other[0] == arm):
        sides.setdefault((math.isinf(other[1]), math.isinf(other[2])), []).append(other)
    for side in sides.values():
        for one, other in zip(side[::2], [*side[1::2], side[-1]], strict=False):
            both = (arm, min(one[1], other[1]), max(one[2], other[2]), NEVER)
            many = closed[one] + (closed[other] if other != one else 0)
            fewer[both] = fewer.get(both, 0) + many
    return fewer


def _rows(given: Any, size: int) -> list[list[Any]]:
    require(isinstance(given, list), "unfinished outcomes must be lists")
    require(all(isinstance(row, list) and len(row) == size for row in given), "an unfinished outcome is not complete")
    return list(given)


def as_json(cut: Cut) -> list[float | None]:
    """A cut as JSON has it: what is not known is null."""
    return [None if math.isinf(end) else end for end in cut]


def _from_json(ends: list[Any], known: list[Rewards], arm: int) -> Cut:
    return admitted_cut(known_cut(between=ends), known[arm] if known else None)


def ends_of_cuts(low: FloatArray, high: FloatArray, rewards: Rewards) -> tuple[FloatArray, FloatArray]:
    """The least and the greatest that each unfinished outcome may be, by what is known about outcomes."""
    if isinstance(rewards, Finite):
        values = np.array(rewards.values)
        return values[np.searchsorted(values, low)], values[np.searchsorted(values, high, side="right") - 1]
    return np.maximum(low, rewards.support[0]), np.minimum(high, rewards.support[1])


@dataclass(frozen=True, init=False)
class CensoredSample:
    """Outcomes, some of which are not finished: for each of these an interval is known.

    Its distribution rests on one assumption: that an outcome was cut off has nothing to do with what would have come.
    `bounds`, and the bands that take such a sample, rest on none.

    Args:
        exact: The outcomes that are known, in any order.
        at_least: Of unfinished outcomes, what each will be at least.
        at_most: What each will be at most.
        between: Pairs: what each will be at least and at most.

    >>> trips = CensoredSample([20, 25, 40], at_least=[30])  # minutes; the fourth is still under way
    >>> trips.distribution()
    Discrete({40: 0.5, 25: 0.25, 20: 0.25})
    >>> trips.unfinished, round(trips.value(expected_value(costs=True)), 3)
    (1, -31.25)
    """

    exact: FloatArray
    low: FloatArray
    high: FloatArray

    def __init__(
        self, exact: ArrayLike, at_least: ArrayLike = (), at_most: ArrayLike = (), between: Sequence[Any] = ()
    ) -> None:
        empty = isinstance(exact, Sequence | np.ndarray) and len(exact) == 0
        cuts = cuts_of(at_least, at_most, between)
        object.__setattr__(self, "exact", np.zeros(0) if empty and cuts else np.sort(finite_array("exact", exact)))
        object.__setattr__(self, "low", np.array([low for low, _ in cuts]))
        object.__setattr__(self, "high", np.array([high for _, high in cuts]))

    @property
    def unfinished(self) -> int:
        """How many outcomes are not finished."""
        return int(self.low.size)

    @property
    def beyond(self) -> float:
        """The share of the most likely distribution that lies beyond the last outcome: the value has it at the cut.

        >>> trips = CensoredSample([20, 25], at_least=[22, 30])
        >>> trips.beyond, trips.distribution()
        (0.375, Discrete({30: 0.375, 25: 0.375, 20: 0.25}))
        """
        return self.places().share_beyond()

    def __len__(self) -> int:
        return int(self.exact.size + self.low.size)

    def places(self, bounds: Cut | None = None) -> Places:
        """Where mass may lie, and which of it each cut reaches.

        Args:
            bounds: The bounds of the declared rewards, where mass beyond the last cut lies; None for the cut itself.
        """
        at, counts = np.unique(self.exact, return_counts=True)
        cuts, many = np.unique(np.stack([self.low, self.high], axis=1), axis=0, return_counts=True)
        return places_of(at, counts.astype(np.float64), cuts[:, 0], cuts[:, 1], many.astype(np.float64), bounds)

    def distribution(self, rewards: Rewards | None = None) -> Discrete:
        """The most likely distribution: product limit, or self-consistent where cuts lie on both sides.

        What lies beyond the last outcome is not known. It is placed at the last cut (Efron 1967), the least that it
        can be.

        Args:
            rewards: Declared rewards, to place it at their bound instead.

        >>> CensoredSample([20, 25], at_least=[30, 30]).distribution(Bounded(0, 60))
        Discrete({60: 0.5, 25: 0.25, 20: 0.25})
        """
        places = self.places(None if rewards is None else rewards.support)
        masses = places.masses()
        some = masses > 0.0
        shares = masses[some] / masses[some].sum()
        return Discrete(dict(zip(places.at[some].tolist(), shares.tolist(), strict=True)))

    def value(self, preference: Preference) -> float:
        """What the most likely distribution is worth.

        Args:
            preference: What is maximised.
        """
        places = self.places()
        return value_of_masses(preference, places.at, places.masses())

    def bounds(self, preference: Preference, rewards: Rewards) -> tuple[float, float]:
        """The least and the greatest value that the whole sample may come to have; nothing is assumed.

        Args:
            preference: What is maximised; its weights must be monotone.
            rewards: What is known about outcomes; where nothing bounds them, an end is infinite.

        >>> CensoredSample([20, 25, 40], at_least=[30]).bounds(expected_value(costs=True), Bounded(0, 60))
        (-36.25, -28.75)
        """
        require_monotone(preference)
        found = []
        for ends, beyond in zip(self.completed(rewards), (-math.inf, math.inf), strict=True):
            finite = bool(np.isfinite(ends).all())
            open_end = -beyond if preference.costs else beyond
            found.append(value_of_masses(preference, ends, np.ones(ends.size)) if finite else open_end)
        return min(found), max(found)

    def completed(self, rewards: Rewards) -> tuple[FloatArray, FloatArray]:
        """All outcomes, with each unfinished one at its lower end and at its upper end.

        Args:
            rewards: What is known about outcomes.
        """
        if self.exact.size:
            rewards.check(self.exact)
        for cut in zip(self.low.tolist(), self.high.tolist(), strict=True):
            admitted_cut(cut, rewards)
        ends = ends_of_cuts(self.low, self.high, rewards)
        return np.concatenate([self.exact, ends[0]]), np.concatenate([self.exact, ends[1]])


def cuts_of(at_least: ArrayLike = (), at_most: ArrayLike = (), between: Sequence[Any] = ()) -> list[Cut]:
    """The cuts of several unfinished outcomes."""
    listed = [np.atleast_1d(np.asarray(given, dtype=object)).ravel().tolist() for given in (at_least, at_most)]
    return [
        *(known_cut(at_least=end) for end in listed[0]),
        *(known_cut(at_most=end) for end in listed[1]),
        *(known_cut(between=pair) for pair in between),
    ]


def require_monotone(preference: Preference) -> None:
    """Refuse weights by which a better outcome may lower a value: the worst end of a cut would not be known."""
    if not (preference.gains.is_monotone and preference.losses.is_monotone):
        raise ValueError("unfinished outcomes need weights that never fall; one of these does. Use a monotone weight.")
