"""Several policies on one problem: one table and one figure."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allais._checks import FloatArray
from allais._system.extras import extra
from allais.policies.core.base import Policy
from allais.preferences import Preference
from allais.preferences.named import in_words
from allais.preferences.showing import as_frame, as_html
from allais.problems import ContextualBandit, Problem
from allais.simulation.python_policy import as_policy
from allais.simulation.results import Results
from allais.simulation.simulate import simulate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table


HEADINGS = ("policy", "judged by", "regret", "std. error", "wrong in", "samples")
DIGITS = 4  # that a table shows of a regret


@dataclass(frozen=True)
class Comparison:
    """The results of several policies, by name, and the true values of the arms to those who judge them.

    Attributes:
        results: The results of each policy.
        values: The true value of each arm, by the judge's words; None where it is not known.

    >>> problem = Bandit([Bernoulli(0.4), Bernoulli(0.6)])
    >>> policies = [NPTS(expected_value(), Bounded(0, 1)), UCB1(Bounded(0, 1))]
    >>> comparison = compare(policies, problem, n_rounds=1_000, n_runs=5, seed=1)
    >>> [(row["policy"], row["judge"]) for row in comparison.rows()]
    [('NPTS', 'the mean'), ('UCB1', 'the mean')]
    """

    results: dict[str, Results]
    values: dict[str, FloatArray | None] = field(default_factory=dict)

    _repr_html_, to_frame = as_html, as_frame
    headline = "Regret by the end: what the choices lost to the best arm. Less is better."

    @property
    def worths(self) -> dict[str, FloatArray | None]:
        """The former name of `values`."""
        warnings.warn("`worths` is now `values`. The old name goes in 0.4.0.", DeprecationWarning, stacklevel=2)
        return self.values

    def judged(self, judge: str | None = None) -> dict[str, Results]:
        """The results with regret as one judge counts it.

        Args:
            judge: The judge's words, as in `rows`; None if there is one judge only.
        """
        if not self.values:
            return self.results
        if judge is None and len(self.values) == 1:
            judge = next(iter(self.values))
        if judge not in self.values:
            raise ValueError(
                f"regret is counted by one judge; got {judge!r} of {', '.join(map(repr, self.values))}. "
                "Name one of them, or give compare a judge."
            )
        return {name: _by(one, judge, self.values[judge]) for name, one in self.results.items()}

    def rows(self) -> list[dict[str, Any]]:
        """One row per policy and judge: final regret with its standard error, error rate, runs and samples used."""
        by_judge = [self.judged(judge) for judge in self.values] or [self.results]
        return [
            {
                "policy": name,
                "judge": judged[name].judge,
                "regret": float(judged[name].mean_regret[-1]),
                "standard error": float(judged[name].regret_error[-1]),
                "error rate": float(judged[name].error_rate[-1]),
                "runs": int(one.samples.size),
                "samples": float(one.samples.mean()),
            }
            for name, one in self.results.items()
            for judged in by_judge
        ]

    def table(self) -> Table:
        """The rows as a table for a terminal."""
        with extra("cli", "a table for a terminal"):
            from rich.table import Table
            from rich.text import Text

        table = Table()
        for heading in HEADINGS:
            table.add_column(heading, justify="left" if heading in HEADINGS[:2] else "right")
        for row in self.rows():
            table.add_row(*map(Text, _cells(row)))  # a name may hold brackets, which are markup
        return table

    def __str__(self) -> str:
        lines = [HEADINGS, *(_cells(row) for row in self.rows())]
        widths = [max(len(line[k]) for line in lines) for k in range(len(HEADINGS))]
        return "\n".join(
            "  ".join(cell.ljust(wide) if k < 2 else cell.rjust(wide) for k, (cell, wide) in enumerate(placed)).rstrip()
            for placed in (list(zip(line, widths, strict=True)) for line in lines)
        )

    def plot(self, ax: Axes | None = None, *, lower_slope: float | None = None, judge: str | None = None) -> Axes:
        """Draw every policy's mean regret in one picture.

        Args:
            ax: Where to draw; by default a new figure.
            lower_slope: The growth per log n that no consistent policy beats, from `theory.regret_slope`; it is drawn,
                too.
            judge: The words of one judge, as in `rows`, where there are several.
        """
        for index, one in enumerate(self.judged(judge).values()):
            ax = one.plot(ax, bound=False, lower_slope=lower_slope if index == 0 else None)
        assert ax is not None
        return ax


def _by(one: Results, judge: str, worth: FloatArray | None) -> Results:
    same = worth is not None and one.values is not None and np.array_equal(one.values, worth)
    return replace(one, values=worth, bound=one.bound if same else None, judge=judge)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    """A row in words."""
    wrong = f"{round(row['error rate'] * row['runs'])} of {row['runs']} runs"
    numbers = _written(row["regret"], DIGITS), _written(row["standard error"], DIGITS - 1)
    return row["policy"], row["judge"] or "unknown", *numbers, wrong, f"{row['samples']:,.0f}"


def _written(number: float, digits: int) -> str:
    """A number with so many digits or more, never as a power of ten; a dash where there is none.

    >>> [_written(number, 4) for number in (213940.4, 17.426, 0.0, float("nan"))]
    ['213,940', '17.43', '0', '-']
    """
    if math.isnan(number):
        return "-"
    size = math.floor(math.log10(abs(number))) if number else digits
    return f"{number:,.{max(digits - 1 - size, 0)}f}"


def compare(
    policies: Sequence[Policy] | Mapping[str, Policy],
    problem: Problem,
    n_rounds: int,
    judge: Preference | None = None,
    **settings: Any,
) -> Comparison:
    """Simulate several policies on one problem. The same seed lets all policies meet the same outcomes.

    Args:
        policies: The policies, in a list or by name.
        problem: The arms.
        n_rounds: The number of rounds of each run.
        judge: Whose regret it is; by default the policies' own preference, and where these differ, the table has the
            regret of every policy by each of them.
        **settings: What else `simulate` takes, such as `n_runs` and `seed`.

    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> people = Preference(TverskyKahneman(0.61))
    >>> policies = {"W-UCB": WUCB.as_printed(people, Bounded(0, 50)), "UCB1": UCB1(Bounded(0, 50))}
    >>> print(compare(policies, problem, n_rounds=100_000, n_runs=5, seed=1, judge=people))
    policy  judged by               regret  std. error     wrong in  samples
    W-UCB   Tversky-Kahneman 0.61   ...  0 of 5 runs  100,000
    UCB1    Tversky-Kahneman 0.61   ...  5 of 5 runs  100,000
    """
    if isinstance(policies, Policy) or not isinstance(policies, Sequence | Mapping):
        raise TypeError(
            f"compare takes several policies; got {type(policies).__name__} alone. "
            "Write compare([policy, other], problem, ...), or simulate(policy, problem, ...)."
        )
    if isinstance(policies, Mapping):
        named = {name: as_policy(policy) for name, policy in policies.items()}
    else:
        named = _named([as_policy(policy) for policy in policies])
    if not named:
        raise ValueError("there must be a policy to compare; got none. Give two or more.")
    results = {
        name: replace(simulate(policy, problem, n_rounds, judge=judge, **settings), label=name)
        for name, policy in named.items()
    }
    if isinstance(problem, ContextualBandit):  # whose arms have a value in each round
        return Comparison(results)
    return compared(results, [policy.preference for policy in named.values()] if judge is None else [judge], problem)


def compared(results: dict[str, Results], judges: Sequence[Preference], problem: Problem) -> Comparison:
    """Results side by side, with regret by each of the judges."""
    distinct = list(dict.fromkeys(judges))
    plain = [in_words(judge) for judge in distinct]
    words = [
        text if plain.count(text) == 1 else f"{text}, {'costs' if judge.costs else 'gains'} from {judge.reference:g}"
        for judge, text in zip(distinct, plain, strict=True)
    ]
    for k, text in enumerate(words):  # a curve of one's own may share its name with another
        words[k] = text if text not in words[:k] else f"{text}, number {k + 1}"
    return Comparison(results, {text: problem.true_values(one) for text, one in zip(words, distinct, strict=True)})


def _named(policies: Sequence[Policy]) -> dict[str, Policy]:
    named: dict[str, Policy] = {}
    for policy in policies:
        name = policy.name
        number = sum(known == name or known.startswith(f"{name} ") for known in named)
        named[name if number == 0 else f"{name} {number + 1}"] = policy
    return named
