"""Tables of results: rows that are printed as they come, claims that hold or not, and means with standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from allais.report.markup import markdown_table

CLAIMS = ("what", "time", "compared with", "ratio", "claim", "holds")  # a header that several sections share


class Table:
    """A table in Markdown, of which each row is printed when it is there, since the next one may take minutes.

    A cell that is a truth value says whether a claim holds.
    """

    def __init__(self, *header: str) -> None:
        self._header = header
        self._rows: list[tuple[str, ...]] = []

    def add(self, *cells: str | bool | np.bool_) -> None:
        row = tuple(cell if isinstance(cell, str) else "yes" if cell else "NO" for cell in cells)
        self._rows.append(row)
        print(*row, sep=" | ", flush=True)

    def __str__(self) -> str:
        return markdown_table(self._header, self._rows)


def error_of(samples: Any) -> float:
    """The standard error of the mean."""
    return float(np.std(samples, ddof=1) / np.sqrt(np.size(samples)))


def with_error(samples: Any, digits: str = ",.0f", of_error: str = "") -> str:
    """The mean with its standard error, to these digits.

    >>> with_error([1.0, 2.0, 3.0], ".2f")
    '2.00 ± 0.58'
    """
    return f"{np.mean(samples):{digits}} ± {error_of(samples):{of_error or digits}}"


def error_of_share(share: float, of: int) -> float:
    """The standard error of a share of so many."""
    return float(np.sqrt(share * (1.0 - share) / of))
