"""Tables of outcomes: data frames, CSV and Parquet files, and mappings of columns, by whatever reader is installed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from allais._checks import FloatArray, brief, nearest
from allais._system.extras import frame_of
from allais.errors import MissingFile
from allais.files import Where, by_line, by_row, csv_rows

DAY = 86_400.0  # seconds
AT_LEAST, AT_MOST = "at_least", "at_most"  # columns of what is known of outcomes that are not finished
COMMA = re.compile(r"-?\d*,\d+")  # a number with a decimal comma
CUT = re.compile(r"(>=?|≥|<=?|≤)\s*[-\d.]+|[\d.]+\s*\+")  # an outcome of which only a bound is known
READERS = ("polars", "pyarrow", "pandas")  # by which narwhals reads files, the fastest first


class Columns(dict[str, Any]):
    """The columns of a table by name."""

    lines: Sequence[int] | Path = ()  # of a file on which rows begin, or the file in which they are looked up

    def where(self, row: int) -> str:
        """How a message names a row, counted from 0: by its line, where an editor counts lines."""
        if isinstance(self.lines, Path):
            try:
                self.lines = csv_rows(self.lines, "outcomes")[2]
            except ValueError:  # only the other reader understands it
                self.lines = ()
        # a row of quoted empty cells is one to some readers
        same = len(self.lines) == len(next(iter(self.values()), ()))
        return by_line(self.lines)(row) if same else by_row(row)


def columns_of(table: Any, names: Sequence[str], optional: Sequence[str] = ()) -> Columns:
    """The columns of a table: those that must be there, and those of the others that are."""
    if isinstance(table, str | Path):
        return _of_file(Path(table), names, optional)
    if isinstance(table, Mapping):
        found = Columns({str(name): column for name, column in table.items()})
        found.lines = getattr(table, "lines", ())
        _require_columns(names, list(found))
        lengths = {name: len(found[name]) for name in (*names, *optional) if name in found}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of a table must be equally long; got {lengths}. Check them.")
        return found
    return _of_frame(frame_of(table, "CSV or Parquet"), names, optional)


def _of_frame(frame: Any, names: Sequence[str], optional: Sequence[str]) -> Columns:
    _require_columns(names, list(frame.columns))
    return Columns({name: frame[name].to_numpy() for name in (*names, *optional) if name in frame.columns})


def _of_file(path: Path, names: Sequence[str], optional: Sequence[str]) -> Columns:
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
            f"outcomes are read from a CSV or Parquet file; {path} is not one ({reason}). Check it."
        ) from None
    if path.suffix != ".csv":
        return _of_frame(frame, names, optional)
    if frame.columns and bool(frame[frame.columns[0]].is_null().any()):  # empty rows do not count
        frame = frame.filter(~narwhals.all_horizontal(narwhals.all().is_null(), ignore_nulls=False))
    found = _of_frame(frame, names, optional)
    found.lines = path
    return found


def _of_csv(path: Path, names: Sequence[str], optional: Sequence[str]) -> Columns:
    """Cells as text, so that a column may hold different things."""
    header, rows, lines = csv_rows(path, "outcomes")
    _require_columns(names, header)
    there = [(name, header.index(name)) for name in (*names, *optional) if name in header]
    found = Columns({name: [row[at] or None if at < len(row) else None for row in rows] for name, at in there})
    found.lines = lines
    return found


def _require_columns(names: Sequence[str], there: Sequence[str]) -> None:
    for name in names:
        if name not in there:
            if len(there) == 1 and re.search("[;\t|]", there[0]):
                raise ValueError(f"columns are separated by commas; the header is {there[0]!r}. Save the table so.")
            raise ValueError(f"a column must be in the table; {name!r} is not.{nearest(name, there)}")


# -- columns -------------------------------------------------------------------------------------


def listed(column: Any) -> list[Any]:
    """The cells of a column."""
    found: list[Any] = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return found


def numbers_or_nan(column: Any, what: str = "an outcome", where: Where = by_row) -> FloatArray:
    """Numbers, with NaN for empty cells; the first cell that is no number is refused."""
    array = np.asarray(column)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    found = np.empty(array.size)
    for row, cell in enumerate(listed(array)):
        try:
            found[row] = math.nan if cell is None or cell == "" else float(cell)
        except (TypeError, ValueError):
            if isinstance(cell, str) and CUT.fullmatch(cell.strip()):
                raise ValueError(
                    f"{what} is a number; {where(row)} has {brief(cell)}, of which only a bound is known. Put "
                    f"the number into a column {AT_LEAST!r} or {AT_MOST!r}, and leave the outcome empty."
                ) from None
            comma = isinstance(cell, str) and COMMA.fullmatch(cell.strip())
            advice = "Write numbers with a point." if comma else "Repair it, or leave the row out."
            raise ValueError(f"{what} is a number; {where(row)} has {brief(cell)}. {advice}") from None
    return found


def numbers_of(column: Any, what: str = "an outcome", where: Where = by_row) -> FloatArray:
    """Finite numbers; a cell that is empty or no number is refused."""
    found = numbers_or_nan(column, what, where)
    bad = np.flatnonzero(~np.isfinite(found))
    if bad.size:
        raise ValueError(
            f"{what} is a finite number; {where(int(bad[0]))} has {found[bad[0]]:g} or nothing ({bad.size} of "
            f"{found.size} do). Repair such rows, or leave them out."
        )
    return found


def seconds_of(time: Any, where: Callable[[], str] | None = None) -> float:
    """A time as seconds: a number of them, a date, or text such as 2026-11-18 05:30.

    >>> seconds_of("1970-01-02"), seconds_of(12.5)
    (86400.0, 12.5)
    """
    if isinstance(time, datetime):
        return time.timestamp() if time.tzinfo else (time - datetime(1970, 1, 1)).total_seconds()
    if isinstance(time, date):
        return (time - date(1970, 1, 1)).days * DAY
    if isinstance(time, int | float | np.number) and not isinstance(time, bool) and math.isfinite(float(time)):
        return float(time)
    try:
        return seconds_of(datetime.fromisoformat(str(time).strip()))
    except ValueError:
        came = "got" if where is None else f"{where()} has"
        raise ValueError(
            f"a time is a date such as 2026-11-18 05:30, or a number of seconds; {came} {brief(time)}. Repair it."
        ) from None


def times_of(column: Any, where: Where = by_row) -> FloatArray:
    """Times in ascending order, as seconds."""
    array = np.asarray(column)
    if array.dtype.kind == "M" and not np.isnat(array).any():
        found = array.astype("datetime64[us]").astype(np.int64) / 1e6
    elif array.dtype.kind in "iuf" and np.isfinite(array).all():
        found = array.astype(np.float64)
    else:
        found = np.array([seconds_of(cell, partial(where, row)) for row, cell in enumerate(listed(array))], np.float64)
    back = np.flatnonzero(np.diff(found) < 0.0)
    if back.size:
        before, after = (where(int(back[0]) + i) for i in (0, 1))
        raise ValueError(
            f"times ascend, since looks are in the order of time; {after} is before {before} "
            f"({back.size} of {found.size} are out of order). Sort the table by time."
        )
    return found
