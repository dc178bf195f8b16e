"""What was seen in each group: a table as arrays, and the same at every look."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from allais._checks import FloatArray, IntArray, brief, nearest
from allais._system.extras import frame_of
from allais.bands.quantiles import Sorted
from allais.errors import MissingFile
from allais.files.reading import csv_rows
from allais.preferences import Preference

READERS = ("polars", "pyarrow", "pandas")  # that narwhals reads files with, the fastest first
CONTROLS = ("control", "baseline", "a", "old", "off", "false", "0")  # names of the group to compare with
DAY = 86_400.0  # seconds
MOST_GROUPS = 100  # more are no versions: the column has users, or the outcomes themselves
UNLIKE = 5.0  # standard errors, by which no covariate differs between groups that were made by chance
CUT = re.compile(r"(>=?|≥|<=?|≤)\s*[-\d.]+|[\d.]+\s*\+")  # an outcome of which only a part is known


@dataclass(frozen=True)
class Log:
    """Outcomes in the order in which they came."""

    names: tuple[Hashable, ...]  # the groups, the control first
    group: IntArray  # the place of each outcome's group
    outcome: FloatArray
    user: IntArray | None  # numbered from 0, as they came
    time: FloatArray | None  # seconds, ascending
    adjusted: FloatArray | None = None  # outcomes less what was to be expected of them before
    covariates: tuple[str, ...] = ()  # by which

    @cached_property
    def sides(self) -> tuple[Side, ...]:
        """Each group's outcomes."""
        return tuple(Side(self, place) for place in range(len(self.names)))


class Side:
    """One group's outcomes, sorted once: what a look sees of them is a part of that."""

    def __init__(self, log: Log, place: int) -> None:
        rows = np.flatnonzero(log.group == place)
        self.rows, self.outcome = rows, log.outcome[rows]
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
        """What is there of it in the first rows of the table."""
        return View(self, int(np.searchsorted(self.rows, row)))

    def units(self, row: int) -> int:
        """How many units there are in the first rows of the table: users, or outcomes."""
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
    covariates: Sequence[str] = (),
) -> Log:  # fmt: skip
    """The columns of a table, checked.

    Args:
        table: A DataFrame, a mapping of columns, or the path of a CSV or Parquet file.
        group: The column of groups.
        outcome: The column of outcomes.
        user: The column of users, if there is one.
        time: The column of times, if there is one.
        control: The group to compare with; by default the one that is called so, or the first.
        covariates: Columns of numbers that were known before the groups were made.
    """
    columns = columns_of(table, [name for name in (group, outcome, user, time, *covariates) if name is not None])
    labels = listed(columns[group])
    for row, label in enumerate(labels if None in labels or math.nan in labels else (), start=1):
        if label is None or label != label:
            raise ValueError(f"every outcome has a group; row {row} has none. Fill it in, or leave the row out.")
    names, codes = numbered(labels)
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
            raise ValueError(f"every outcome has a user; row {members.index(None) + 1} has none. Leave the row out.")
        who, users = numbered(members)
        _require_one_group(who, users, codes, names)
    found = Log(
        tuple(names[place] for place in order), places[codes], numbers_of(columns[outcome]), users,
        None if time is None else _times(columns[time]),
    )  # fmt: skip
    if not covariates:
        return found
    known = np.stack([numbers_of(columns[name], f"{name!r}, a covariate,") for name in covariates], axis=1)
    return replace(found, adjusted=_adjusted(found, known, covariates), covariates=tuple(covariates))


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


def listed(column: Any) -> list[Any]:
    """The cells of a column."""
    found: list[Any] = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return found


def numbers_of(column: Any, what: str = "an outcome") -> FloatArray:
    """Outcomes as numbers, or a sentence about the first that is none."""
    array = np.asarray(column)
    if array.dtype.kind in "biuf":
        found = array.astype(np.float64)
    else:
        found = np.empty(array.size)
        for row, cell in enumerate(listed(array)):
            try:
                found[row] = math.nan if cell is None or cell == "" else float(cell)
            except (TypeError, ValueError):
                if isinstance(cell, str) and CUT.fullmatch(cell.strip()):
                    raise ValueError(
                        f"a log has finished outcomes; row {row + 1} has {brief(cell)}, of which only a part is known. "
                        "Judge percentiles below the cut with the cut in its place, or use CensoredSample."
                    ) from None
                raise ValueError(
                    f"{what} is a number; row {row + 1} has {brief(cell)}. Repair it, or leave the row out."
                ) from None
    bad = np.flatnonzero(~np.isfinite(found))
    if bad.size:
        raise ValueError(
            f"{what} is a finite number; row {bad[0] + 1} has {found[bad[0]]:g} or nothing ({bad.size} of "
            f"{found.size} do). Repair such rows, or leave them out."
        )
    return found


def seconds_of(time: Any, row: int = 0) -> float:
    """A time as seconds: a number of them, a date, or text such as 2026-11-18 05:30.

    >>> seconds_of("1970-01-02"), seconds_of(12.5)
    (86400.0, 12.5)
    """
    where = f"row {row} has " if row else "got "
    if isinstance(time, datetime):
        return time.timestamp() if time.tzinfo else (time - datetime(1970, 1, 1)).total_seconds()
    if isinstance(time, date):
        return (time - date(1970, 1, 1)).days * DAY
    if isinstance(time, int | float | np.number) and not isinstance(time, bool) and math.isfinite(float(time)):
        return float(time)
    try:
        return seconds_of(datetime.fromisoformat(str(time).strip()))
    except ValueError:
        raise ValueError(
            f"a time is a date such as 2026-11-18 05:30, or a number of seconds; {where}{brief(time)}. Repair it."
        ) from None


def _times(column: Any) -> FloatArray:
    array = np.asarray(column)
    if array.dtype.kind == "M" and not np.isnat(array).any():
        found = array.astype("datetime64[us]").astype(np.int64) / 1e6
    elif array.dtype.kind in "iuf" and np.isfinite(array).all():
        found = array.astype(np.float64)
    else:
        found = np.array([seconds_of(cell, row) for row, cell in enumerate(listed(array), start=1)])
    back = np.flatnonzero(np.diff(found) < 0.0)
    if back.size:
        raise ValueError(
            f"times ascend, since looks are in the order of time; row {back[0] + 2} is before row {back[0] + 1} "
            f"({back.size} of {found.size} are out of order). Sort the table by time."
        )
    return found


# -- tables ---------------------------------------------------------------------------------------


def columns_of(table: Any, names: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """The columns of a table by name: those that must be there, and those of the others that are."""
    if isinstance(table, str | Path):
        return _of_file(Path(table), names, optional)
    if isinstance(table, Mapping):
        found = {str(name): column for name, column in table.items()}
        _require_columns(names, list(found))
        lengths = {name: len(found[name]) for name in names}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of a table must be equally long; got {lengths}. Check them.")
        return found
    return _of_frame(frame_of(table, "CSV or Parquet"), names, optional)


def _of_frame(frame: Any, names: Sequence[str], optional: Sequence[str]) -> dict[str, Any]:
    _require_columns(names, list(frame.columns))
    return {name: frame[name].to_numpy() for name in (*names, *optional) if name in frame.columns}


def _of_file(path: Path, names: Sequence[str], optional: Sequence[str]) -> dict[str, Any]:
    if not path.exists():
        raise MissingFile(f"outcomes are read from a file; {path} does not exist. Check the path.")
    reader: Any = next((name for name in READERS if find_spec(name)), None)
    if reader is None or not find_spec("narwhals"):
        if path.suffix != ".csv":
            raise ValueError(f"without narwhals and polars only CSV files are read; got {path}. Install them.")
        return _of_csv(path, names, optional)
    import narwhals

    read = narwhals.read_parquet if path.suffix in (".parquet", ".pq") else narwhals.read_csv
    try:
        frame = read(str(path), backend=reader)
    except Exception as error:  # each reader has errors of its own
        if path.suffix == ".csv":
            return _of_csv(path, names, optional)
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"outcomes are read from a CSV or Parquet file; {path} is none ({reason}). Check it."
        ) from None
    return _of_frame(frame, names, optional)


def _of_csv(path: Path, names: Sequence[str], optional: Sequence[str]) -> dict[str, Any]:
    """Cells as text; columns that hold different things are no trouble here."""
    header, rows = csv_rows(path, "outcomes")
    _require_columns(names, header)
    found = [(name, header.index(name)) for name in (*names, *optional) if name in header]
    return {name: [row[place] or None if place < len(row) else None for row in rows] for name, place in found}


def _require_columns(names: Sequence[str], there: Sequence[str]) -> None:
    for name in names:
        if name not in there:
            if len(there) == 1 and re.search("[;\t|]", there[0]):
                raise ValueError(f"columns are separated by commas; the header is {there[0]!r}. Save the table so.")
            raise ValueError(f"a column must be in the table; {name!r} is not.{nearest(name, there)}")
