"""`allais simulate SPEC.toml`: policies side by side on a problem of lotteries."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from allais.cli.console import console
from allais.cli.exits import INTERRUPTED, stop, writing
from allais.cli.places import made, require_picture


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

    Exit code 0; 2: refused; 1: a disk is full; 130: interrupted. Finished results are in --out.
    """
    from allais.cli.plan import read_plan
    from allais.simulation import Comparison, Results, simulate
    from allais.simulation.simulate import workers

    plan = read_plan(spec)
    workers(jobs)
    _require_places(plot, out, resume)
    if out is not None:
        _require_same(spec, out / "spec.toml", [_place(out, name) for name in plan.policies], resume)
    found: dict[str, Results] = {}
    try:
        for name, policy in plan.policies.items():
            path = None if out is None else _place(out, name)
            if resume and path is not None and path.exists():
                found[name] = Results.load(path)
                continue
            found[name] = simulate(
                policy, plan.problem, plan.rounds, plan.runs, plan.seed, jobs, judge=plan.judge
            )  # fmt: skip
            if path is not None:
                with writing(path):
                    found[name].save(path)
    except KeyboardInterrupt:
        kept = f"finished results are in {out}: continue with --resume." if out else "give --out to keep results."
        stop(f"interrupted; {kept}", INTERRUPTED)
    comparison = Comparison(found)
    console().print(comparison.table())
    if plot is not None:
        with writing(plot):
            comparison.plot().figure.savefig(plot)  # type: ignore[union-attr]
        typer.echo(f"The picture is in {plot}.")


def _require_places(plot: Path | None, out: Path | None, resume: bool) -> None:
    if plot is not None:
        require_picture(plot)
    if resume and out is None:
        raise ValueError("only results that were kept can be resumed; there is no --out. Give the folder.")
    if out is not None:
        made(out)


def _place(out: Path, policy: str) -> Path:
    return out / f"{policy}.results.npz"


def _require_same(spec: Path, copy: Path, results: list[Path], resume: bool) -> None:
    """Results are those of one spec: a copy of it lies beside them, and without --resume they begin anew."""
    from allais.files.atomic import write_atomically

    text = spec.read_text(encoding="utf-8")
    if copy.exists() and tomllib.loads(copy.read_text(encoding="utf-8")) != tomllib.loads(text):
        raise ValueError(f"a folder holds the results of one spec; {copy} is another. Choose another --out.")
    strange = [] if copy.exists() else [path.name for path in results if path.exists()]
    if strange:
        raise ValueError(
            f"results lie beside the spec that they are of; {copy.parent} has {strange[0]} and no {copy.name}. "
            "Choose another --out."
        )
    if not resume:
        for old in results:
            old.unlink(missing_ok=True)
    with writing(copy):
        write_atomically(copy, text)
