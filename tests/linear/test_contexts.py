"""Linear policies whose arms differ from round to round."""

import numpy as np
import pytest

from allais import (
    Learner,
    Normal,
    Preference,
    TverskyKahneman,
)
from allais.linear import (
    WG,
    WOFUL,
    AdditiveNoise,
    ParameterNoise,
)

# -- contexts -----------------------------------------------------------------------------------------

PEOPLE = Preference(TverskyKahneman(0.61))


def test_arms_may_differ_from_round_to_round(tmp_path):
    rng = np.random.default_rng(1)
    theta = np.array([1.0, -0.5])
    policy = WOFUL(PEOPLE, AdditiveNoise(Normal(0, 0.1)), delta=0.05, beta=2.0)
    learner = policy.start(["stay"], seed=1, features=[[1.0, 1.0]])
    regret = []
    for step in range(400):
        rows = rng.normal(size=(3 + step % 4, 2))
        choice = learner.ask(features=rows)
        regret.append((rows @ theta).max() - rows[choice.arm] @ theta)
        learner.tell(choice, float(rows[choice.arm] @ theta + 0.1 * rng.normal()))
        if step == 200:
            learner.save(tmp_path / "learner.json")
            learner = Learner.load(tmp_path / "learner.json")
    assert learner.samples == 400
    assert np.mean(regret[300:]) < 0.05 < np.mean(regret[:10])
    assert learner.state.theta == pytest.approx(theta, abs=0.05)
    assert learner.ask().arm == "stay"


def test_choices_with_contexts_survive_a_file_and_a_journal(tmp_path):
    policy = WOFUL(PEOPLE, ParameterNoise(), delta=0.05, beta=2.0, features=[[1.0, 0.0], [0.0, 1.0]])
    with Learner.open(tmp_path / "folder", policy, 2, seed=1) as learner:
        first = learner.ask(features=[[1.0, 2.0], [3.0, 1.0], [0.5, 0.5]])
        second = learner.ask()
    with Learner.open(tmp_path / "folder") as learner:
        assert learner.outstanding == (first, second)
        learner.tell(first, 1.0)
        learner.cancel(second)
        learner.save(tmp_path / "copy.json")
        theta = learner.state.theta.copy()
    assert np.array_equal(Learner.load(tmp_path / "copy.json").state.theta, theta)
    with Learner.open(tmp_path / "folder") as learner:
        assert np.array_equal(learner.state.theta, theta)


def test_contexts_that_do_not_fit_are_refused_and_change_nothing():
    learner = WOFUL(PEOPLE, ParameterNoise(), delta=0.05, beta=2.0).start(2, seed=1, features=np.eye(2))
    for features, message in (
        ([[1.0, 2.0, 3.0]], "2 numbers per arm"),
        ([[0.0, 0.0]], "zero"),
        ([[np.nan, 1.0]], "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.ask(features=features)
    with pytest.raises(ValueError, match="alone"):
        learner.ask(2, features=[[1.0, 2.0]])
    assert learner.samples == 0
    assert not learner.outstanding
    fixed = WG(PEOPLE, ParameterNoise(), delta=0.05, beta=2.0).start(2, seed=1, features=np.eye(2))
    with pytest.raises(ValueError, match="WOFUL"):
        fixed.ask(features=np.eye(2))
