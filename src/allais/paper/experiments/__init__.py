"""An experiment of the paper: what it is about, which module runs it, what it found; and all of them, as reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

HOLDS, CORRECTED, MISPRINT, DIFFERS = "holds", "corrected", "misprint", "differs"  # the kinds of a finding


@dataclass(frozen=True)
class Finding:
    """Something that the paper says, and whether it came out."""

    claim: str
    paper: str  # what it printed
    measured: str  # what came out, with its standard error
    holds: bool  # what the claim says
    erratum: int | None = None  # the entry of docs/paper/errata.md that says what is right instead
    why: str = ""
    of_paper: bool = True  # False: beyond the paper, or a check of the report itself
    as_corrected: bool = False  # what was measured is the statement as the erratum corrects it
    misprint: bool = False  # nothing that the paper argues depends on it

    def __post_init__(self) -> None:
        object.__setattr__(self, "holds", bool(self.holds))  # comparisons of arrays give NumPy's own

    @property
    def as_expected(self) -> bool:
        """Whether it holds, or is a printed statement with an erratum and does not."""
        return self.holds == (self.erratum is None or self.as_corrected)

    @property
    def kind(self) -> str:
        """Holds as printed, holds once corrected, a misprint, or not as expected.

        >>> Finding("50 @ .1 is worth 10.55", "10.55", "9.315", holds=False, erratum=21, misprint=True).kind
        'misprint'
        """
        if not self.as_expected:
            return DIFFERS
        return HOLDS if self.erratum is None else MISPRINT if self.misprint else CORRECTED

    @property
    def status(self) -> str:
        """In words, for tables.

        >>> Finding("Theorem 1 for [-M, M]", "0.022", "0.133", holds=False, erratum=10).status
        'holds once corrected (erratum 10)'
        """
        return {
            HOLDS: "holds",
            CORRECTED: f"holds once corrected (erratum {self.erratum})",
            MISPRINT: f"misprint (erratum {self.erratum})",
            DIFFERS: "does not hold" if not self.holds else f"holds as printed, against erratum {self.erratum}",
        }[self.kind]


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
    facts: Mapping[str, Any] = field(default_factory=dict)  # what the opening of the report says about all of them

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
            dict(document.get("facts", {})),  # version 0.1.0 wrote none
        )


SCALES = ("quick", "full")
Done = Callable[[float], None]  # told the share of the work that is done


@dataclass(frozen=True)
class Size:
    """How much an experiment runs; each reads the numbers that it has."""

    runs: int = 0
    rounds: int = 0
    estimates: int = 0  # repetitions of an estimate, for its standard error
    samples: tuple[int, ...] = ()
    deltas: tuple[float, ...] = ()
    exact_runs: int = 0  # of a rule in every round, which elsewhere is evaluated in batches
    linear_runs: int = 0
    blocks: int = 0  # of recorded traffic


@dataclass(frozen=True)
class Experiment:
    """One section of the report; its module is loaded when it runs, so that a list of experiments costs nothing."""

    name: str
    title: str
    where: str  # in the paper
    module: str  # in allais.paper.experiments; it has `run_NAME(size, seed, done)`
    sizes: Mapping[str, Size]  # by scale
    seconds: Mapping[str, float]  # by scale, on one machine: how large its share of all work is
    missing: Callable[[], str | None] = lambda: None  # what has to be installed first, in a sentence

    def result(self, size: str | Size, seed: int, done: Done = lambda share: None) -> ExperimentResult:
        """Run it at a scale, or at a size of its own."""
        run: Any = getattr(
            import_module(f"allais.paper.experiments.{self.module}"), f"run_{self.name.replace('-', '_')}"
        )
        found: ExperimentResult = run(self.sizes[size] if isinstance(size, str) else size, seed, done)
        return found


def without_sumo() -> str | None:
    """What has to be installed before traffic can be simulated, in a sentence, or None."""
    from allais.traffic import sumo

    return None if sumo.is_installed() else sumo.MISSING


def _listed(
    name: str, title: str, where: str, module: str, quick: tuple[float, Size], full: tuple[float, Size]
) -> Experiment:
    """An experiment; seconds and sizes at both scales. Seconds may be rough: only their ratios are used."""
    missing = {"missing": without_sumo} if name == "vehicles" else {}
    sizes = {"quick": quick[1], "full": full[1]}
    return Experiment(name, title, where, module, sizes, {"quick": quick[0], "full": full[0]}, **missing)


EXACT = 0.5, Size()  # values by arithmetic: nothing is drawn
FEW, MANY = (0.1, 0.05, 0.01), (0.2, 0.1, 0.05, 0.02, 0.01)  # deltas

EXPERIMENTS: tuple[Experiment, ...] = (
    _listed("introduction", "Rare events, and the paradox of Allais", "Section I", "introduction", EXACT, EXACT),
    _listed("weight", "The weight function", "Figure 1", "introduction", EXACT, EXACT),
    _listed(
        "estimator", "The estimator and its concentration", "Section III-A, Theorem 1 and Proposition 1", "theorems",
        (4.3, Size(runs=1_000, samples=(100, 1_000, 10_000))),
        (350.0, Size(runs=5_000, samples=(100, 1_000, 10_000, 100_000))),
    ),
    _listed(
        "regret", "Regret of UCB and W-UCB", "Appendix D, Figure 3", "regret",
        (2.3, Size(rounds=50_000, runs=100)), (40.0, Size(rounds=1_000_000, runs=100)),
    ),
    _listed(
        "setup-regret", "Setup(*): values and regret", "Appendix D, Figure 4", "regret",
        (1.1, Size(rounds=10_000, runs=100, estimates=100)), (11.0, Size(rounds=10_000, runs=1_000, estimates=400)),
    ),
    _listed(
        "budget", "Three arms at a fixed budget", "Appendix E-A, Table III", "best_arm",
        (2.8, Size(runs=100, estimates=100)), (33.0, Size(runs=1_000, estimates=400)),
    ),
    _listed(
        "confidence", "Three arms at a fixed confidence", "Appendix E-A, Figure 5", "best_arm",
        (3.0, Size(deltas=FEW, runs=100, exact_runs=20)), (8.0, Size(deltas=MANY, runs=100, exact_runs=100)),
    ),
    _listed(
        "setup-confidence", "Setup(*) at a fixed confidence", "Appendix E-A, Figure 6", "best_arm",
        (12.0, Size(deltas=FEW, runs=100, exact_runs=2)), (100.0, Size(deltas=MANY, runs=100, exact_runs=20)),
    ),
    _listed(
        "linear-regret", "Linear bandits: OFUL and W-OFUL", "Section V-A", "linear",
        (2.0, Size(rounds=20_000, runs=20)), (17.0, Size(rounds=100_000, runs=100)),
    ),
    _listed(
        "grid-network", "The 3x3 grid network: G-allocation and W-G", "Appendix E-B, Table IV", "linear",
        (9.0, Size(runs=5, estimates=50)), (230.0, Size(runs=100, estimates=400)),
    ),
    _listed("route-table", "The arithmetic of the route table", "Section VI, Table II", "routing", EXACT, EXACT),
    _listed(
        "bounds", "Bounds beside measurements", "Theorems 2 to 11", "theorems",
        (4.0, Size(rounds=20_000, runs=50)), (12.0, Size(rounds=100_000, runs=100)),
    ),
    _listed(
        "sharper", "The same problems, sharper", "Beyond the paper", "sharper",
        (16.0, Size(rounds=20_000, runs=50, linear_runs=10)), (80.0, Size(rounds=100_000, runs=100, linear_runs=50)),
    ),
    _listed(
        "vehicles", "Vehicular routing on a traffic simulator", "Section VI", "routing",
        (65.0, Size(rounds=20_000, runs=4, estimates=200, blocks=15)),
        (385.0, Size(rounds=50_000, runs=10, estimates=400, blocks=60)),
    ),
)  # fmt: skip
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
