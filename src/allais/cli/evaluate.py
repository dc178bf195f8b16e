"""`allais evaluate`: what another policy would have been worth, from a log of decisions."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated, Any

import typer

from allais.cli.options import require_writable, writing
from allais.preferences.named import preference_named


def evaluate_command(
    log: Annotated[Path, typer.Argument(help="The service's export, or a CSV, Parquet or JSON-lines file with one "
                                        "decision per row.")],
    target: Annotated[list[str] | None, typer.Option(help="An arm that is always chosen, or `logging` for what was "
                                                     "done; may repeat.")] = None,
    policy: Annotated[list[str] | None, typer.Option(help="FILE.py:NAME, a function from a context (a dictionary) to "
                                                     "an arm, or to {arm: probability}; may repeat.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="mean, median, p95, cvar:0.1, tk, ...; may repeat.")] = None,
    arm: Annotated[str, typer.Option(help="The column of what was chosen.")] = "arm",
    outcome: Annotated[str, typer.Option(help="The column of what came of it.")] = "outcome",
    propensity: Annotated[str, typer.Option(help="The column of the probability of the choice.")] = "propensity",
    context: Annotated[list[str] | None, typer.Option(help="A column of what was known before; may repeat.")] = None,
    costs: Annotated[bool, typer.Option("--costs", help="Outcomes are costs: less is better.")] = False,
    reference: Annotated[float, typer.Option(help="The outcome that is neither a gain nor a loss.")] = 0.0,
    bounds: Annotated[str | None, typer.Option(help="LOW,HIGH: the outcomes that are possible, for proofs.")] = None,
    delta: Annotated[float, typer.Option(help="The chance that any of the intervals misses.")] = 0.1,
    report: Annotated[Path | None, typer.Option(help="Write a page about it to this HTML file.")] = None,
) -> None:  # fmt: skip
    """What other policies would have been worth, by any preference, from a log with propensities.

    Examples:

    - `allais evaluate log.csv --target A28 --target logging --by p95 --by cvar:0.1 --costs`
    - `allais evaluate log.csv --policy policy.py:choose --context weather --by mean --bounds 0,120 --report page.html`
    """
    from allais.evidence import evaluate, read_decisions

    if report is not None:
        require_writable(report)
    targets: dict[str, Any] = {name: name for name in target or ()}
    targets |= {one: _function(one) for one in policy or ()}
    if not targets:
        raise ValueError("a target is what is evaluated; got none. Give --target ARM, or --policy FILE.py:NAME.")
    preferences = [preference_named(one, costs=costs, reference=reference) for one in by or ["mean"]]
    decisions = read_decisions(log, arm=arm, outcome=outcome, propensity=propensity, context=context or ())
    found = evaluate(decisions, targets, preferences, delta=delta, bounds=_bounds(bounds))
    typer.echo(found)
    if report is not None:
        from allais.report import write_evaluation

        with writing(report):
            write_evaluation(found, report, name=log.name)
        typer.echo(f"The page is in {report}.")


def _function(text: str) -> Any:
    """A function in a file."""
    path, _, name = text.rpartition(":")
    file = Path(path)
    if not (path and file.suffix == ".py" and file.exists()):
        raise ValueError(f"--policy is FILE.py:NAME, of a file that is there; got {text!r}. Check the path.")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"--policy is a file that Python can run; {file} raised {error!r}. Repair it.") from error
    found = getattr(module, name, None)
    if not callable(found):
        raise ValueError(f"--policy names a function of its file; {file} has no function {name!r}. Check the name.")
    return found


def _bounds(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--bounds are two numbers, the least and the greatest; got {text!r}. Write 0,120.") from None
    return low, high
