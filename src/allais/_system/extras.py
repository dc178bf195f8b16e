"""Packages that only some work needs, installed with an extra: one sentence says that one is missing.

The progress bar of long work on a terminal needs one, too: without `rich` there is none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from time import perf_counter
from typing import Any

from allais._checks import brief
from allais.errors import MissingExtra

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
        if missing not in PACKAGES[name]:  # it is installed, but broken
            raise
        raise missing_extra(name, thing, missing) from None


def missing_extra(name: str, thing: str, package: str) -> MissingExtra:
    """The error that says which extra to install.

    >>> print(missing_extra("plot", "a picture", "matplotlib"))
    a picture needs matplotlib, which is not installed. Run in the folder of allais: pip install '.[plot]'.
    """
    how = f"Run in the folder of allais: pip install '.[{name}]'."  # it is not on PyPI
    return MissingExtra(f"{thing} needs {package}, which is not installed. {how}")


def frame_of(table: Any, files: str) -> Any:
    """A data frame of any kind, as narwhals sees it; `files` are those that would do in its place."""
    with extra("people", "a table"):
        import narwhals
    try:
        return narwhals.from_native(table, eager_only=True)
    except TypeError:
        raise TypeError(
            f"a table is a DataFrame, the path of a {files} file or a mapping of columns; got {brief(table)}. Give one."
        ) from None


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
