"""The winner of a noisy Optuna study, and the answer after its best trials were raced again."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna

from allais import Preference, cvar, expected_value
from allais.searches import from_optuna
from benchmarks.tables import Table, with_error

STUDIES, TRIALS, TOP, ENOUGH = 100, 40, 10, 0.25


def truth(params: dict[str, Any]) -> float:
    """What a configuration costs on average; its noise is standard normal, so CVaR is as much higher for all."""
    return float(4.0 * (params["x"] - 0.3) ** 2 + (0.3 if params["kind"] == "b" else 0.0))


def studied(seed: int) -> tuple[optuna.Study, Any]:
    """A study of 40 trials by TPE, and its objective."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    rng = np.random.default_rng(seed)

    def noisy(trial: Any) -> float:
        params = {"x": trial.suggest_float("x", -1, 1), "kind": trial.suggest_categorical("kind", ["a", "b"])}
        return truth(params) + float(rng.normal())

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(noisy, n_trials=TRIALS)
    return study, noisy


def row(preference: Preference, seed: int) -> tuple[float, float, float, float, float]:
    """By how much winner and answer are worse than the best of the top, the luck, the runs, whether it settled."""
    study, noisy = studied(seed)
    settings: dict[str, Any] = {"preference": preference, "indifference": ENOUGH, "seed": seed, "workers": 1}
    raced = from_optuna(study, noisy, TOP, **settings)
    costs = {number: truth(study.trials[number].params) for number in raced.values}
    assert raced.trial is not None
    best, answer = min(costs.values()), raced.answer
    return (costs[raced.winner.number] - best, costs[raced.trial.number] - best, raced.luck, answer.samples,
            answer.settled)  # fmt: skip


def run() -> str:
    table = Table(
        "valued by", "winner is not the best of 10", "answer is not", f"winner is worse by more than {ENOUGH:g}",
        "answer is", "luck of the winner", "runs", "settled",
    )  # fmt: skip
    for name, liking in (("mean", expected_value(costs=True)), ("worst 10 %", cvar(0.1, costs=True))):
        found = np.array([row(liking, seed) for seed in range(STUDIES)])
        worse = found[:, :2]
        shares = (f"{share:.2f}" for least in (0.0, ENOUGH) for share in (worse > least).mean(axis=0))
        table.add(name, *shares, with_error(found[:, 2], ".2f"), with_error(found[:, 3]),
                  f"{found[:, 4].sum():.0f} of {STUDIES}")  # fmt: skip
    text = (
        f"{STUDIES} studies by TPE of Optuna, {TRIALS} trials each, of an objective whose noise has "
        f"a standard deviation of 1; "
        f"`from_optuna` races the best {TOP} again, asymptotic at delta = 0.05, indifference {ENOUGH:g}:"
    )
    return f"## Noisy studies\n\n{text}\n\n{table}\n"
