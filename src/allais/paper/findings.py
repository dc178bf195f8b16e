"""What an experiment leaves behind: findings, tables and figures, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """Something that the paper says, and whether it came out."""

    claim: str
    paper: str  # what it printed
    measured: str  # what came out, with its standard error
    holds: bool
    erratum: int | None = None  # the entry of docs/paper/errata.md that explains why it cannot hold
    why: str = ""
    of_paper: bool = True  # False: beyond the paper, or a check of the report itself

    def __post_init__(self) -> None:
        object.__setattr__(self, "holds", bool(self.holds))  # comparisons of arrays give NumPy's own

    @property
    def expected(self) -> bool:
        """Whether the claim should hold: all do but those with an erratum."""
        return self.erratum is None

    @property
    def as_expected(self) -> bool:
        """Whether the status is the one that is known."""
        return self.holds == self.expected

    @property
    def status(self) -> str:
        """In words, for the summary.

        >>> Finding("50 @ .1 is worth 10.55", "10.55", "9.315", holds=False, erratum=21).status
        'refuted (erratum 21)'
        """
        if self.holds:
            return "holds" if self.expected else f"holds, against erratum {self.erratum}"
        return f"refuted (erratum {self.erratum})" if not self.expected else "does not hold"


@dataclass(frozen=True)
class ResultTable:
    """Rows of text under a heading."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figure:
    """A picture, as SVG in the two colours of `drawing` that a page replaces by its own."""

    name: str
    caption: str
    svg: str


@dataclass(frozen=True)
class ExperimentResult:
    """All that one experiment leaves behind."""

    setting: tuple[tuple[str, str], ...]  # what was run: name and text
    findings: tuple[Finding, ...]
    tables: tuple[ResultTable, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()  # paragraphs: what was done, and what to make of it

    def as_document(self) -> dict[str, Any]:
        """The result as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> ExperimentResult:
        """The result that was stored."""
        return cls(
            tuple((name, text) for name, text in document["setting"]),
            tuple(Finding(**finding) for finding in document["findings"]),
            tuple(
                ResultTable(table["title"], tuple(table["header"]), tuple(tuple(row) for row in table["rows"]))
                for table in document["tables"]
            ),
            tuple(Figure(**figure) for figure in document["figures"]),
            tuple(document["notes"]),
        )
