"""The winner of a noisy Optuna study is lucky: its best trials are raced again."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import optuna
import pytest
from benchmarks.studies import ENOUGH, row, studied

import allais
from allais.searches import from_optuna

GOOD, WORST = allais.expected_value(costs=True), allais.cvar(0.1)
TWO = optuna.create_study(directions=["minimize", "minimize"])


def finished(*values, direction="minimize", params=None):
    """A study with these reported values, as if it had been optimised."""
    study = optuna.create_study(direction=direction)
    space = {"x": optuna.distributions.FloatDistribution(0, 100)}
    for number, value in enumerate(values):
        own = {"x": float(number) if params is None else params[number]}
        study.add_trial(optuna.trial.create_trial(params=own, distributions=space, value=value))
    return study


def by_state(trial):
    return trial.suggest_float("x", 0, 100) + np.random.normal()  # noqa: NPY002


def test_the_winner_is_wrong_in_most_studies_and_the_answer_good_enough():
    found = np.array([row(GOOD, seed) for seed in range(2)])  # fixed seeds and one worker: nothing is left to chance
    winner, answer, luck, _, settled = found.T
    assert (winner > 0).mean() > 0.5
    assert (answer <= ENOUGH).all()
    assert settled.all()
    assert (luck > 1).all()


def test_the_answer_names_the_trial_and_how_lucky_the_winner_was():
    study, noisy = studied(3)
    raced = from_optuna(study, noisy, indifference=ENOUGH, workers=1, seed=3)
    assert raced.winner.number == study.best_trial.number
    assert raced.trial.params == study.trials[raced.trial.number].params
    own = raced.values[raced.winner.number]
    assert own.low < own.value < own.high
    assert raced.luck == pytest.approx(own.value - study.best_value)
    said = str(raced)
    assert said.startswith(f"Trial {raced.trial.number} is the best of 10 or within 0.25 of the best, with a chance")
    assert f"trial {raced.winner.number}, which reported {study.best_value:.4g}" in said


def test_processes_draw_different_noise_from_the_generators_that_they_share():
    study = finished(*range(4))
    with ProcessPoolExecutor(2) as pool:
        answer = from_optuna(study, by_state, top=2, max_runs=60, executor=pool).answer
    outcomes = np.concatenate([answer.learner.outcomes(arm)[0] for arm in answer.pulls])
    assert np.unique(outcomes % 1.0).size == outcomes.size == 60


def test_bounds_make_the_answer_proven_and_equal_trials_end_at_a_limit():
    study = finished(0.1, 0.2, 0.2, params=[5.0, 6.0, 5.0])  # the first and the last are the same configuration
    raced = from_optuna(study, lambda trial: 0.5, rewards=allais.Bounded(0, 1), workers=1)
    assert raced.answer.promise == "proven"
    assert (raced.answer.settled, raced.answer.samples, list(raced.values)) == (False, 200, [0, 1])
    assert str(raced).startswith("Not settled after 200 runs. Trial ")


def test_a_policy_of_ones_own_and_its_preference_race_gains():
    study = finished(1.0, 2.0, direction="maximize")
    policy = allais.WSR(allais.cvar(0.5), budget=20)
    raced = from_optuna(study, lambda trial: -trial.suggest_float("x", 0, 100), policy=policy)
    assert (raced.trial.number, raced.winner.number) == (0, 1)
    assert raced.luck == 3.0


@pytest.mark.parametrize(
    ("said", "call"),
    [
        ("needs two configurations that were tried; the study has 1", lambda: from_optuna(finished(1.0), by_state)),
        ("has one objective; the study has 2", lambda: from_optuna(TWO, by_state)),
        ("the study minimizes.* Write costs=True", lambda: from_optuna(finished(1, 2), by_state, preference=WORST)),
        ("Leave them out", lambda: from_optuna(finished(1, 2), by_state, 2, allais.WSR(GOOD, budget=9), rarest=0.1)),
        ("takes a study, then its objective", lambda: from_optuna(by_state, finished(1, 2))),
        ("top must be", lambda: from_optuna(finished(1, 2), by_state, top=0)),
    ],
)  # fmt: skip
def test_what_cannot_be_raced_is_refused(said, call):
    with pytest.raises((ValueError, TypeError), match=said):
        call()


def test_an_objective_that_asks_for_another_parameter_is_a_failed_run():
    study = finished(1, 2)
    with pytest.raises(allais.errors.RunFailed, match="'y'"):
        from_optuna(study, lambda trial: trial.suggest_float("y", 0, 1), workers=1)
