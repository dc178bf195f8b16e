"""Several policies on one problem: one table and one figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from allais._system.extras import extra
from allais.policies.base import Policy
from allais.preferences import Preference
from allais.problems import Problem
from allais.simulation.python_policy import as_policy
from allais.simulation.results import Results
from allais.simulation.simulate import simulate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table


@dataclass(frozen=True)
class Comparison:
    """The results of several policies, by name.

    >>> problem = Bandit([Bernoulli(0.4), Bernoulli(0.6)])
    >>> policies = [NPTS(expected_value(), Bounded(0, 1)), UCB1(Bounded(0, 1))]
    >>> comparison = compare(policies, problem, n_rounds=1_000, n_runs=5, seed=1)
    >>> [row["policy"] for row in comparison.rows()]
    ['NPTS', 'UCB1']
    """

    results: dict[str, Results]

    def rows(self) -> list[dict[str, Any]]:
        """One row per policy: final regret with its standard error, error rate and samples used."""
        return [
            {
                "policy": name,
                "regret": float(one.mean_regret[-1]),
                "standard error": float(one.regret_error[-1]),
                "error rate": float(one.error_rate[-1]),
                "samples": float(one.samples.mean()),
            }
            for name, one in self.results.items()
        ]

    def table(self) -> Table:
        """The rows as a table for a terminal."""
        with extra("cli", "a table for a terminal"):
            from rich.table import Table
            from rich.text import Text

        table = Table()
        for heading in ("policy", "regret", "standard error", "error rate", "samples"):
            table.add_column(heading, justify="left" if heading == "policy" else "right")
        for row in self.rows():
            numbers = [f"{row[key]:.4g}" for key in ("regret", "standard error", "error rate", "samples")]
            table.add_row(Text(row["policy"]), *numbers)  # a name may hold brackets, which are markup
        return table

    def __str__(self) -> str:
        lines = [f"{'policy':<12} {'regret':>12} {'std. error':>12} {'error rate':>10} {'samples':>12}"]
        for row in self.rows():
            lines.append(
                f"{row['policy']:<12} {row['regret']:>12.5g} {row['standard error']:>12.3g} "
                f"{row['error rate']:>10.3f} {row['samples']:>12.6g}"
            )
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None, *, lower_slope: float | None = None) -> Axes:
        """Every policy's mean regret in one picture, and the limit of growth if a slope is given."""
        for index, one in enumerate(self.results.values()):
            ax = one.plot(ax, bound=False, lower_slope=lower_slope if index == 0 else None)
        assert ax is not None
        return ax


def compare(
    policies: Sequence[Policy] | Mapping[str, Policy],
    problem: Problem,
    n_rounds: int,
    judge: Preference | None = None,
    **settings: Any,
) -> Comparison:
    """Simulate several policies on one problem; regret is what `judge` loses, by default the first policy's preference.

    `settings` go to `simulate`. The same seed lets all policies meet the same outcomes.

    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> people = Preference(TverskyKahneman(0.61))
    >>> policies = {"W-UCB": WUCB.as_printed(people, Bounded(0, 50)), "UCB1": UCB1(Bounded(0, 50))}
    >>> comparison = compare(policies, problem, n_rounds=100_000, n_runs=5, seed=1)
    >>> [row["error rate"] for row in comparison.rows()]
    [0.0, 1.0]
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
    # what people prefer is the yardstick, also for a policy that does not know it
    judge = next(iter(named.values())).preference if judge is None else judge
    results = {
        name: replace(simulate(policy, problem, n_rounds, judge=judge, **settings), label=name)
        for name, policy in named.items()
    }
    return Comparison(results)


def _named(policies: Sequence[Policy]) -> dict[str, Policy]:
    named: dict[str, Policy] = {}
    for policy in policies:
        name = policy.name
        number = sum(known == name or known.startswith(f"{name} ") for known in named)
        named[name if number == 0 else f"{name} {number + 1}"] = policy
    return named
