"""Results of every experiment in no time: made-up findings of each kind, figures and facts."""

from functools import cache

from allais.paper.experiments import BY_NAME, ExperimentResult, Finding, ResultTable
from allais.paper.report import drawing
from allais.paper.runner import Stored

FINDINGS = (
    Finding("it is so", "so", "so", True),
    Finding("it is so by M", "M", "2 M", False, 10, "M is the width, see erratum 11"),
    Finding("it is so by this name", "this", "that", False, 28, misprint=True),
    Finding("it is faster", "(beyond the paper)", "a thousand times", True, of_paper=False),
)
FACTS = {
    "regret": {"W-UCB": 1234.4, "UCB": 56789.0, "rounds": 50_000},
    "confidence": {"LUCB": 0, "W-LUCB": 299, "runs": 300},
    "budget": {"SR": 3, "W-SR": 500, "runs": 500},
    "vehicles": {"fastest": "R1", "preferred": "R2", "longer": 10.2, "OFUL": "R1", "W-OFUL": "R2"},
}
TABLE = ResultTable(
    "Routes", tuple(f"column {k}" for k in range(9)), ((*(f"{10.0**k:,.3f}" for k in range(8)), "words " * 12),)
)


@cache
def figure(name, height=3.6):
    with drawing(name, f"{name}: a line, and the paper's own value (erratum 21).", height) as picture:
        picture.axes.plot([0, 1], [0, 1], label="W-UCB")
        picture.axes.legend()
    return picture.figure


def made_up(findings=FINDINGS, scale="quick", seed=1):
    """One result per experiment, with the figures of the opening in their places."""
    figures = {name: (figure(name),) for name in ("introduction", "weight")}
    figures |= {"regret": (figure("regret-a"),), "vehicles": (figure("map", 4.6),)}
    return [
        Stored(
            name, scale, seed, 1.0,
            ExperimentResult((("runs", "3"),), findings, (TABLE,), figures.get(name, ()), ("A note.",),
                             FACTS.get(name, {})),
        )
        for name in BY_NAME
    ]  # fmt: skip
