"""`allais simulate SPEC.toml`: policies side by side on a problem of lotteries."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from allais import policies
from allais.cli.console import console
from allais.cli.exits import INTERRUPTED, refusals, stop
from allais.cli.reader import Reader
from allais.cli.value import require_picture
from allais.policies.base import Policy
from allais.preferences import Preference
from allais.problems import Bandit
from allais.storage import write_atomically

# those that choose among lotteries; the linear ones need features
POLICIES = {
    name: getattr(policies, name)
    for name in policies.__all__
    if name not in ("Policy", "OFUL", "WOFUL", "WG", "GAllocation", "LinGapE", "LinTS")
}
TABLES = ("problem", "preference", "rewards")


@dataclass(frozen=True)
class Plan:
    """What a spec describes."""

    problem: Bandit
    policies: dict[str, Policy]
    judge: Preference | None  # whose loss regret is; None: each policy's own
    rounds: int
    runs: int
    seed: int


def simulate_command(
    spec: Annotated[Path, typer.Argument(help="A TOML file: problem, preference, rewards, policies, rounds, runs.")],
    jobs: Annotated[int, typer.Option(help="Workers; -1 is one a core. The numbers do not depend on it.")] = -1,
    plot: Annotated[Path | None, typer.Option(help="Draw mean regret into this file (.png, .svg, .pdf).")] = None,
    out: Annotated[Path | None, typer.Option(help="A folder: each policy's results, kept as they come.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Use the results that are already in --out.")] = False,
) -> None:
    """Play policies on a problem of lotteries, and print regret with standard errors.

    Regret is what the spec's preference loses. Examples:

    - `allais simulate examples/lotteries/lotteries.toml --plot regret.png`
    - `allais simulate spec.toml --out results --resume`, after an interruption

    Exit code 0; 2: refused; 130: interrupted, finished results are in --out.
    """
    from allais.simulation import Comparison, Results, simulate
    from allais.simulation.runs import workers

    with refusals():
        plan = _PlanReader(spec).plan()
        workers(jobs)
        _require_places(plot, out, resume)
        if out is not None:
            _require_same(spec, out / "spec.toml", resume)
        found: dict[str, Results] = {}
        try:
            for name, policy in plan.policies.items():
                path = None if out is None else out / f"{name}.results.npz"
                if resume and path is not None and path.exists():
                    found[name] = Results.load(path)
                    continue
                found[name] = simulate(
                    policy, plan.problem, plan.rounds, plan.runs, plan.seed, jobs, judge=plan.judge
                )  # fmt: skip
                if path is not None:
                    found[name].save(path)
        except KeyboardInterrupt:
            kept = f"finished results are in {out}: continue with --resume." if out else "give --out to keep results."
            stop(f"interrupted; {kept}", INTERRUPTED)
        comparison = Comparison(found)
        console().print(comparison.table())
        if plot is not None:
            comparison.plot().figure.savefig(plot)  # type: ignore[union-attr]
            typer.echo(f"The picture is in {plot}.")


def _require_places(plot: Path | None, out: Path | None, resume: bool) -> None:
    if plot is not None:
        require_picture(plot)
    if resume and out is None:
        raise ValueError("only results that were kept can be resumed; there is no --out. Give the folder.")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)


def _require_same(spec: Path, copy: Path, resume: bool) -> None:
    """Results are resumed by the spec that made them: a copy of it lies beside them."""
    text = spec.read_text(encoding="utf-8")
    if resume and copy.exists() and tomllib.loads(copy.read_text(encoding="utf-8")) != tomllib.loads(text):
        raise ValueError(f"results are resumed by the spec that made them; {copy} is another. Choose another --out.")
    write_atomically(copy, text)


class _PlanReader(Reader):
    def plan(self) -> Plan:
        self.require_tables(("problem", "policies"), TABLES, ("seed", "rounds", "runs", "policies"))
        if "lotteries" not in self._whole["problem"]:
            self._refuse(
                ("problem",), 'simulate needs lotteries, such as bus = "50:0.1,0:0.9"; there are none. Add them.'
            )
        listed = self._whole["policies"]
        if not isinstance(listed, list) or not listed:
            self._refuse(("policies",), "policies are tables in a list; got none. Write [[policies]].")
        problem, found = self.bandit(), {}
        for number, table in enumerate(listed):
            place = ("policies", str(number))
            policy = self.policy(dict(table), place, POLICIES)
            name = policy.name if policy.name not in found else f"{policy.name} ({number + 1})"
            try:
                policy.rule(problem.n_arms)  # refuses what does not fit, before anything runs
            except ValueError as error:
                self._refuse(place, str(error))
            found[name] = policy
        return Plan(
            problem,
            found,
            self._preference() if "preference" in self._whole else None,
            self.whole_number("rounds", default=10_000, least=1),
            self.whole_number("runs", default=100, least=1),
            self.whole_number("seed", default=0, least=0),
        )
