"""What is needed for some work only, and installed with an extra: its absence is said in one sentence.

The progress bar of long work on a terminal is such a thing: without `rich` there is none. Tables are read by whatever
reader is installed, CSV files without any.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from allais._checks import brief, nearest
from allais.errors import MissingExtra, MissingFile

READERS = ("polars", "pyarrow", "pandas")  # that narwhals reads files with, the fastest first
PACKAGES = {
    "plot": ("matplotlib",),
    "frame": ("narwhals", "pandas", "polars", "pyarrow"),
    "cli": ("rich", "typer"),
    "routes": ("networkx",),
    "cluster": ("distributed", "dask"),
    "mcp": ("mcp",),
    "optuna": ("optuna",),
    "serve": ("fastapi", "starlette", "uvicorn", "pydantic", "sqlalchemy", "alembic", "psycopg", "prometheus_client"),
    "people": ("narwhals", "numpyro", "jax", "arviz"),
}


@contextmanager
def extra(name: str, thing: str) -> Iterator[None]:
    """Around imports: where a package of the extra is not installed, say what needs it and how to get it.

    >>> with extra("plot", "a picture"):
    ...     import matplotlib
    """
    try:
        yield
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in PACKAGES[name]:  # installed, and broken: that is another story
            raise
        raise missing_extra(name, thing, missing) from None


def missing_extra(name: str, thing: str, package: str) -> MissingExtra:
    """The error that says which extra to install.

    >>> print(missing_extra("plot", "a picture", "matplotlib"))
    a picture needs matplotlib, which is not installed. Run in the folder of allais: pip install '.[plot]'.
    """
    how = f"Run in the folder of allais: pip install '.[{name}]'."  # it is not on PyPI
    return MissingExtra(f"{thing} needs {package}, which is not installed. {how}")


PATIENCE = 2.0  # seconds before a bar appears


class Progress:
    """Counts finished runs; silent when output is not a terminal, or when told to be."""

    def __init__(self, total: int, label: str, wanted: bool | None) -> None:
        self._total, self._label = total, label
        self._show = (sys.stderr.isatty() and find_spec("rich") is not None) if wanted is None else wanted
        self._started = perf_counter()
        self._done = 0
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, runs: int) -> None:
        """Say that some runs are finished."""
        self._done += runs
        if not self._show or (self._bar is None and perf_counter() - self._started < PATIENCE):
            return
        if self._bar is None:
            self._begin()
        self._bar.update(self._task, completed=self._done)

    def _begin(self) -> None:
        with extra("cli", "a progress bar"):
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Bar(*columns, console=Console(stderr=True))
        self._bar.start()
        self._task = self._bar.add_task(f"{self._label}, runs", total=self._total)


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
    with extra("people", "a table"):
        import narwhals
    try:
        frame = narwhals.from_native(table, eager_only=True)
    except TypeError:
        raise TypeError(
            f"a table is a DataFrame, the path of a CSV or Parquet file or a mapping of columns; got {brief(table)}. "
            "Give one."
        ) from None
    return _of_frame(frame, names, optional)


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
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            header = [name.strip() for name in next(rows, [])]
            _require_columns(names, header)
            names = [*names, *(name for name in optional if name in header)]
            places = [header.index(name) for name in names]
            cells = [[line[place] if place < len(line) else "" for place in places] for line in rows if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"outcomes are read from a CSV file; {path} cannot be read ({error}). Check it.") from None
    return {name: [line[i] or None for line in cells] for i, name in enumerate(names)}


def _require_columns(names: Sequence[str], there: Sequence[str]) -> None:
    for name in names:
        if name not in there:
            raise ValueError(f"a column must be in the table; {name!r} is not.{nearest(name, there)}")
