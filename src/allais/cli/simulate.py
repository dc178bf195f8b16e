"""`allais simulate SPEC.toml`: policies side by side on a problem of lotteries."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allais.cli.options import Plot, Resume, Workers, console, counted, made, require_picture, sentences, writing
from allais.files import write_atomically
from allais.preferences.named import in_words, is_mean
from allais.preferences.valuation import amount, certainty_equivalent_in_words

if TYPE_CHECKING:
    from allais.preferences import Preference
    from allais.problems import Bandit


def simulate_command(
    spec: Annotated[Path, typer.Argument(help="A TOML file: problem, preference, rewards, policies, rounds, runs.")],
    workers: Workers = -1,
    plot: Plot = None,
    out: Annotated[Path | None, typer.Option(help="A folder: each policy's results, kept as they come.")] = None,
    resume: Resume = False,
) -> None:
    """Play policies on a problem of lotteries, and print regret with standard errors.

    Regret is what the spec's preference loses. Examples:

    - `allais simulate examples/lotteries/lotteries.toml --plot regret.png`
    - `allais simulate spec.toml --out results --resume`, after an interruption

    Exit code 0; 2: refused; 1: a disk is full; 130: interrupted. Finished results are in --out.
    """
    from allais.cli.specs import read_comparison
    from allais.simulation import Results, simulate
    from allais.simulation.comparison import compared

    wanted = read_comparison(spec)
    at_once = counted(workers)
    require_picture(plot)
    if resume and out is None:
        raise ValueError("--resume needs --out, the folder of the results; there is none. Give it.")
    if out is not None:
        made(out)
        _require_same(spec, out / "spec.toml", [_place(out, name) for name in wanted.policies], resume)
    found: dict[str, Results] = {}
    kept = f"Finished results are in {out}: continue with --resume." if out else "Give --out to keep results."
    with sentences(lambda: kept):
        for name, policy in wanted.policies.items():
            path = None if out is None else _place(out, name)
            if resume and path is not None and path.exists():
                found[name] = Results.load(path)
                continue
            found[name] = simulate(
                policy, wanted.problem, wanted.rounds, wanted.runs, wanted.seed, at_once, judge=wanted.judge
            )
            if path is not None:
                with writing(path):
                    found[name].save(path)
    judges = [wanted.judge] if wanted.judge else [policy.preference for policy in wanted.policies.values()]
    for judge in dict.fromkeys(judges):
        typer.echo("\n".join(_values_in_words(judge, wanted.problem, wanted.unit)))
    comparison = compared(found, judges, wanted.problem)
    console().print(comparison.table())
    if plot is not None:
        judge_of_picture = next(iter(comparison.values))
        with writing(plot):
            comparison.plot(judge=judge_of_picture).figure.savefig(plot)  # type: ignore[union-attr]
        typer.echo(f"The picture is in {plot}: regret by {judge_of_picture}.")


def _values_in_words(judge: Preference, problem: Bandit, unit: str) -> list[str]:
    """Which arm is best for whom, and the value of each."""
    from allais.report.markup import quoted

    values, means = problem.true_values(judge).tolist(), [lottery.mean for lottery in problem.lotteries]
    best = [quoted(name) for name, value in zip(problem.arms, values, strict=True) if value == max(values)]
    wanted = (min if judge.costs else max)(means)
    by_mean = [quoted(name) for name, mean in zip(problem.arms, means, strict=True) if mean == wanted]
    verdict = f"{' and '.join(best)} {'is' if len(best) == 1 else 'are'} best"
    also = "as it is by the mean" if best == by_mean else f"by the mean {' and '.join(by_mean)}"
    less = ", where less is better" if judge.costs else ""
    wide = max(len(str(name)) for name in problem.arms)
    return [
        f"For people who go by {in_words(judge)}{less}, {verdict}; {also}.",
        *(
            f"  {name!s:<{wide}}  {certainty_equivalent_in_words(judge, value, unit)}"
            f"{'' if is_mean(judge) else f', mean {amount(mean, unit)}'}"
            for name, value, mean in zip(problem.arms, values, means, strict=True)
        ),
    ]


def _place(out: Path, policy: str) -> Path:
    return out / f"{policy}.results.npz"


def _require_same(spec: Path, copy: Path, results: list[Path], resume: bool) -> None:
    """A folder has the results of one spec, with a copy of it; without --resume the old results are deleted."""
    text = spec.read_text(encoding="utf-8")
    if copy.exists() and tomllib.loads(copy.read_text(encoding="utf-8")) != tomllib.loads(text):
        raise ValueError(f"a folder holds the results of one spec; {copy} is another. Choose another --out.")
    strange = [] if copy.exists() else [path.name for path in results if path.exists()]
    if strange:
        raise ValueError(
            f"results lie beside their spec; {copy.parent} has {strange[0]} and no {copy.name}. Choose another --out."
        )
    if not resume:
        for old in results:
            old.unlink(missing_ok=True)
    with writing(copy):
        write_atomically(copy, text)
