"""What was seen in each group: a table as arrays, and the same at every look."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from allais._checks import FloatArray, IntArray, brief, nearest
from allais.bands.quantiles import Ends, Sorted, interval
from allais.evidence.tables import AT_LEAST, AT_MOST, DAY, columns_of, listed, numbers_of, numbers_or_nan, times_of
from allais.files import Where, by_row
from allais.preferences import Preference

CONTROLS = ("control", "baseline", "a", "old", "off", "false", "0")  # names of the group to compare with
MOST_GROUPS = 100  # with more, the column has users or outcomes, and not versions
UNLIKE = 5.0  # standard errors between the means of a covariate: in randomised groups they do not differ by more
FAR = 1e3  # the distance of what stands for infinity, as a multiple of the range of outcomes

MOST_LOOKS = 60  # of a table with times: every day, or fewer
FEWEST_LOOKS = 8  # of a large one: each look takes as long as there are rows
ROWS = 16_000_000  # of all looks together
SHORT = 4.0  # days: a shorter test is looked at several times a day

Reach = tuple[FloatArray, FloatArray]  # what each outcome is at least, and at most


@dataclass(frozen=True)
class Log:
    """Outcomes in the order in which they came."""

    names: tuple[Hashable, ...]  # the groups, the control first
    group: IntArray  # the place of each outcome's group
    outcome: FloatArray
    user: IntArray | None  # numbered from 0, as they came
    time: FloatArray | None  # seconds, ascending
    adjusted: FloatArray | None = None  # outcomes less what covariates predict
    covariates: tuple[str, ...] = ()
    reach: Reach | None = None  # where some outcomes are not finished: what each is at least, and at most

    @cached_property
    def sides(self) -> tuple[Side, ...]:
        """Each group's outcomes."""
        return tuple(Side(self, place, None, self._ends(place)) for place in range(len(self.names)))

    def _ends(self, place: int) -> tuple[Side, ...]:
        """A group's outcomes with unfinished ones as low, and as high, as they may be."""
        return tuple(Side(self, place, np.clip(end, *self.far)) for end in self.reach or ())

    @cached_property
    def far(self) -> tuple[float, float]:
        """What stands for unknown ends: farther away than the difference of any two outcomes."""
        low, high = float(self.outcome.min()), float(self.outcome.max())
        return low - FAR * (high - low or 1.0), high + FAR * (high - low or 1.0)

    def known(self, amount: float) -> float:
        """An amount, or the infinity that it stands for."""
        if self.reach is None or self.far[0] < amount < self.far[1]:
            return amount
        return math.inf if amount >= self.far[1] else -math.inf

    def known_excess(self, low: float, high: float, *, relative: bool) -> Ends:
        """The ends of a difference, or of a ratio less 1; infinite where they rest on what stands for infinity."""
        if relative:
            most = self.far[1] / float(self.outcome.max())  # the greatest ratio of what is known to what stands for it
            return Ends(low if most * (1.0 + low) > 1.0 else -1.0, high if 1.0 + high < most else math.inf)
        most = (1.0 - 1.0 / FAR) * (self.far[1] - float(self.outcome.max()))
        return Ends(low if low > -most else -math.inf, high if high < most else math.inf)

    @cached_property
    def finished(self) -> FloatArray:
        """The outcomes that are finished."""
        return self.outcome if self.reach is None else self.outcome[self.reach[0] == self.reach[1]]

    @property
    def unfinished(self) -> int:
        """How many outcomes are not finished."""
        return self.outcome.size - self.finished.size

    def about_unfinished(self, estimated: bool) -> Iterator[str]:
        """How unfinished outcomes count, a sentence each; and what is assumed where values are estimated."""
        if not self.unfinished:
            return
        of = f"{self.unfinished:,} of {self.outcome.size:,} outcomes are not finished"
        yield f"{of}: each counts where it is worse for a verdict, and in amounts as the end that is known."
        if estimated:
            said = "Where nothing is proven, amounts are estimated, as if they"
            yield f"{said} were cut off for other reasons than what would have come of them."


class Side:
    """One group's outcomes, sorted once: what a look sees of them is a part of that."""

    def __init__(
        self, log: Log, place: int, outcome: FloatArray | None = None, ends: tuple[Side, ...] = ()
    ) -> None:  # fmt: skip
        rows = np.flatnonzero(log.group == place)
        self.log, self.rows, self.ends = log, rows, ends
        self.outcome = (log.outcome if outcome is None else outcome)[rows]
        self.adjusted = None if log.adjusted is None else log.adjusted[rows]
        self.order = np.argsort(self.outcome, kind="stable")
        self.sorted = self.outcome[self.order]
        self._felt: tuple[Preference, FloatArray] | None = None
        self.user: IntArray | None = None
        if log.user is not None:  # numbered anew, as they came
            members = log.user[rows]
            known, first = np.unique(members, return_index=True)
            number = np.empty(int(known.max(initial=0)) + 1, dtype=np.int64)
            number[known[np.argsort(first)]] = np.arange(known.size)
            self.user = number[members]

    def felt(self, preference: Preference) -> FloatArray:
        """The utilities of the sorted outcomes, worked out once for all looks."""
        if self._felt is None or self._felt[0] != preference:
            self._felt = preference, preference.finite_utilities("outcomes", self.sorted)
        return self._felt[1]

    def upto(self, row: int) -> View:
        """The group's outcomes in the first rows of the table."""
        return View(self, int(np.searchsorted(self.rows, row)))

    def units(self, row: int) -> int:
        """How many units the group has in the first rows of the table: users, or outcomes."""
        count = int(np.searchsorted(self.rows, row))
        return count if self.user is None else int(self.user[:count].max(initial=-1)) + 1


class View:
    """One group at one look. A user's outcomes are one unit together: each is a part of it."""

    def __init__(self, side: Side, count: int) -> None:
        self.side, self.count = side, count
        self.outcome = side.outcome[:count]
        self.seen: slice | IntArray = slice(None) if count == side.outcome.size else np.flatnonzero(side.order < count)
        self.order, outcomes = side.order[self.seen], side.sorted[self.seen]
        self.each: FloatArray | None = None  # how much of a unit an outcome is, as they came
        self.users = count
        if side.user is None:
            self.sorted = Sorted(outcomes, np.arange(count + 1.0))
        else:
            times = np.bincount(side.user[:count])
            self.users, self.each = times.size, 1.0 / times[side.user[:count]]
            before = np.concatenate([[0.0], np.cumsum(self.each[self.order])])
            before[-1] = float(times.size)  # without what rounding adds
            self.sorted = Sorted(outcomes, np.minimum(before, times.size))

    def felt(self, preference: Preference) -> FloatArray:
        """The utilities of the sorted outcomes."""
        return self.side.felt(preference)[self.seen]

    @cached_property
    def reach(self) -> Reach:
        """What each outcome is at least, and at most."""
        low, high = self.side.log.reach or (self.side.log.outcome,) * 2
        rows = self.side.rows[: self.count]
        return low[rows], high[rows]

    @property
    def unfinished(self) -> int:
        """How many outcomes are not finished."""
        return 0 if self.side.log.reach is None else int(np.sum(self.reach[0] < self.reach[1]))

    @cached_property
    def ends(self) -> tuple[View, View]:
        """The same with unfinished outcomes as low, and as high, as they may be."""
        low, high = (View(one, self.count) for one in self.side.ends) if self.side.ends else (self, self)
        return low, high

    def quantile_ends(self, level: float, exponent: float) -> Ends:
        """The interval of a quantile by order statistics: each end has unfinished outcomes where they are worse."""
        least, most = (interval(one.sorted, level, exponent)[end] for end, one in enumerate(self.ends))
        return Ends(self.side.log.known(least), self.side.log.known(most))

    @cached_property
    def by_user(self) -> IntArray | None:
        """The user of each outcome, in ascending order of outcomes."""
        return None if self.side.user is None else self.side.user[: self.count][self.order]

    def means_of_users(self) -> FloatArray:
        """Each user's mean, in the order in which users came; each outcome where there are no users."""
        if self.side.user is None:
            return self.outcome
        users = self.side.user[: self.count]
        return np.bincount(users, weights=self.outcome) / np.bincount(users)

    def one_of_each_user(self) -> FloatArray:
        """One outcome of each user, drawn at random, in the order in which users came."""
        if self.side.user is None:
            return self.outcome
        shuffled = np.random.default_rng(0).permutation(self.count)
        found = np.empty(self.users)
        found[self.side.user[: self.count][shuffled]] = self.outcome[shuffled]
        return found


def read_log(
    table: Any, group: str, outcome: str, user: str | None, time: str | None, control: Hashable | None,
    covariates: Sequence[str] = (), at_least: str | None = AT_LEAST, at_most: str | None = AT_MOST,
) -> Log:  # fmt: skip
    """The columns of a table, checked; the arguments are those of `verdict`. Without columns of ends, they are None."""
    names_of_ends, there = ends_wanted(at_least, at_most)
    needed = [name for name in (group, outcome, user, time, *covariates, *names_of_ends) if name is not None]
    columns = columns_of(table, needed, there)
    labels = listed(columns[group])
    where = columns.where
    for row, label in enumerate(labels if None in labels or math.nan in labels else ()):
        if label is None or label != label:
            raise ValueError(f"every outcome has a group; {where(row)} has none. Fill it in, or leave the row out.")
    if not labels:
        raise ValueError("a verdict compares outcomes; the table has no row below its header. Check it.")
    names, codes = numbered(labels)
    _require_unlike(names)
    if not 2 <= len(names) <= MOST_GROUPS:
        some = f" ({', '.join(map(brief, names[:3]))}{', ...' if names[3:] else ''})" if names else ""
        raise ValueError(
            f"a verdict compares two groups or more, at most {MOST_GROUPS}; {group!r} has {len(names):,}{some}. "
            "Name the column that says which version each outcome is from."
        )
    first = place_of(control, names)
    order = [first, *(place for place in range(len(names)) if place != first)]
    places = np.empty(len(names), dtype=np.int64)
    places[order] = np.arange(len(names))
    users = None
    if user is not None:
        members = listed(columns[user])
        if None in members:
            raise ValueError(f"every outcome has a user; {where(members.index(None))} has none. Leave the row out.")
        who, users = numbered(members)
        _require_one_group(who, users, codes, names)
    told = numbers_or_nan(columns[outcome], where=where)
    reach = reach_of(told, columns, at_least, at_most, where)
    known = numbers_of(told if reach is None else known_ends(reach), where=where)
    found = Log(
        tuple(names[place] for place in order), places[codes], known, users,
        None if time is None else times_of(columns[time], where), reach=reach,
    )  # fmt: skip
    if not covariates:
        return found
    before = np.stack([numbers_of(columns[name], f"{name!r}, a covariate,", where) for name in covariates], axis=1)
    return replace(found, adjusted=_adjusted(found, before, covariates), covariates=tuple(covariates))


def _adjusted(log: Log, known: FloatArray, names: Sequence[str]) -> FloatArray:
    """Outcomes less their regression on what was known before, within groups (Deng, Xu, Kohavi and Walker 2013).

    What was known before has the same mean in all groups, so that the difference of means stays what it is, and varies
    less. Where a covariate differs between groups it was not known before, or the groups were not made by chance.
    """
    each = np.ones(log.outcome.size) if log.user is None else 1.0 / np.bincount(log.user)[log.user]  # users are units
    sizes = np.bincount(log.group, weights=each)
    within, centred = known.copy(), log.outcome.copy()
    for column in (*within.T, centred):
        column -= (np.bincount(log.group, weights=each * column) / sizes)[log.group]
    unit = np.arange(log.outcome.size) if log.user is None else log.user
    group = np.zeros(int(unit.max(initial=0)) + 1, dtype=np.int64)
    group[unit] = log.group
    for k, name in enumerate(names):
        squares = np.bincount(unit, weights=each * within[:, k]) ** 2
        error = math.sqrt(float(np.sum(np.bincount(group, weights=squares) / sizes**2)))
        means = np.bincount(log.group, weights=each * known[:, k]) / sizes
        if np.ptp(means) > UNLIKE * error + 1e-9 * float(np.abs(known[:, k]).max()):  # more than rounding, too
            raise ValueError(
                f"a covariate is known before groups are made; {name!r} differs between them (means "
                f"{', '.join(f'{mean:.4g}' for mean in means)}). Leave it out, or find out why."
            )
    root = np.sqrt(each)
    theta = np.linalg.lstsq(within * root[:, None], centred * root, rcond=None)[0]
    middle = each @ known / each.sum()
    return np.asarray(log.outcome - (known - middle) @ theta)


def place_of(control: Hashable | None, names: Sequence[Hashable]) -> int:
    """The place of the control among the groups: by default of the one that is called so, or the first."""
    if control is None:
        called = [str(name).casefold() for name in names]
        return next((called.index(word) for word in CONTROLS if word in called), 0)
    if control not in names:
        texts = list(map(str, names))
        if str(control) in texts:
            return texts.index(str(control))
        raise ValueError(f"the control is one of the groups; {brief(control)} is not.{nearest(str(control), texts)}")
    return names.index(control)


def _require_unlike(names: Sequence[Hashable]) -> None:
    """Refuse names that differ only in blanks or in upper and lower case."""
    known: dict[str, Hashable] = {}
    for name in names:
        other = known.setdefault(str(name).strip().casefold(), name)
        if other is not name:
            raise ValueError(
                f"a group has one name; {brief(other)} and {brief(name)} are alike. Write them the same way."
            )


def _require_one_group(who: list[Hashable], users: IntArray, codes: IntArray, names: list[Hashable]) -> None:
    least, most = np.full(len(who), len(names)), np.full(len(who), -1)
    np.minimum.at(least, users, codes)
    np.maximum.at(most, users, codes)
    torn = np.flatnonzero(least != most)
    if torn.size:
        one = int(torn[0])
        raise ValueError(
            f"a user stays in one group; {brief(who[one])} was in {brief(names[least[one]])} and "
            f"{brief(names[most[one]])} ({torn.size} of {len(who)} users were in two). Leave such users out."
        )


def numbered(labels: list[Any]) -> tuple[list[Any], IntArray]:
    """Each label once, as they came, and the places of all."""
    names = list(dict.fromkeys(labels))
    index = {name: place for place, name in enumerate(names)}
    return names, np.fromiter(map(index.__getitem__, labels), dtype=np.int64, count=len(labels))


# -- outcomes that are not finished ---------------------------------------------------------------


def ends_wanted(at_least: str | None, at_most: str | None) -> tuple[list[str], list[str]]:
    """The columns of ends that must exist, since a caller named them, and those that may."""
    both = [(name, usual) for name, usual in ((at_least, AT_LEAST), (at_most, AT_MOST)) if name is not None]
    return [name for name, usual in both if name != usual], [name for name, usual in both if name == usual]


def reach_of(
    outcome: FloatArray, columns: Mapping[str, Any], at_least: str | None, at_most: str | None, where: Where = by_row
) -> Reach | None:
    """What each outcome is at least and at most, NaN where nothing is known; None if no outcome is unfinished.

    `outcome` is NaN where there is none; the table may have the two columns of ends.
    """
    low, high = (
        numbers_or_nan(columns[name], repr(name), where)
        if name and name in columns
        else np.full(outcome.size, math.nan)
        for name in (at_least, at_most)
    )
    cut = ~np.isnan(low) | ~np.isnan(high)
    for row in np.flatnonzero(cut & ~np.isnan(outcome))[:1].tolist():
        raise ValueError(
            f"an outcome is known, or what it is at least or at most; {where(row)} has both. Leave the outcome empty "
            "while it is not finished, else the others."
        )
    for row in np.flatnonzero(np.isinf(low) | np.isinf(high) | (low > high))[:1].tolist():
        raise ValueError(
            f"an outcome lies between two finite numbers that ascend; {where(row)} has {low[row]:g} and "
            f"{high[row]:g}. Leave empty what is not known."
        )
    if not cut.any():
        return None
    low[cut & np.isnan(low)], high[cut & np.isnan(high)] = -math.inf, math.inf
    return np.where(cut, low, outcome), np.where(cut, high, outcome)


def known_ends(reach: Reach) -> FloatArray:
    """The end of each outcome that is known: the lower one, if both are."""
    return np.where(np.isinf(reach[0]), reach[1], reach[0])


# -- looks ------------------------------------------------------------------------------------------


def ends_of_looks(log: Log) -> list[tuple[int, float | None]]:
    """After how many rows there is a look, and on which day."""
    if log.time is None:
        return [(log.outcome.size, None)]
    start, last = float(log.time[0]), float(log.time[-1])
    span = max((last - start) / DAY, 1e-9)
    most = min(max(ROWS // log.outcome.size, FEWEST_LOOKS), MOST_LOOKS)
    step = float(max(math.ceil(span / most), 1)) if span >= SHORT else span / min(most, 24)
    days = np.append(np.arange(step, span, step), span)
    rows = np.searchsorted(log.time, start + days * DAY, side="left")
    rows[-1] = log.outcome.size
    return [(int(row), float(day)) for row, day in zip(rows, days, strict=True) if row > 0]
