"""Worlds that change: windows, fading memories, and alarms when outcomes no longer look as they did."""

import collections
import json

import numpy as np
import pytest

from allais import (
    IMED,
    NPTS,
    WLUCB,
    WUCB,
    Bandit,
    Bounded,
    Discrete,
    Finite,
    Learner,
    Preference,
    TverskyKahneman,
    simulate,
)
from allais.linear import WOFUL, EstimatedNoise, LinTS, ParameterNoise
from allais.policies import EXP3, Fading, Recent
from allais.samples.drift import ALIVE, NOW

PEOPLE = Preference(TverskyKahneman(0.61))
BOUNDED = Bounded(-50, 50)


def remembered(learner):
    return {arm: collections.Counter(np.repeat(*learner.outcomes(arm)).tolist()) for arm in learner.arms}


@pytest.mark.parametrize("policy", [NPTS, WUCB])
@pytest.mark.parametrize("window", [1, 7, 300])
@pytest.mark.parametrize("continuous", [False, True])
def test_a_window_is_exact(policy, window, continuous):
    """What is remembered, valued and bounded is what the last outcomes alone would give."""
    rng = np.random.default_rng(window)
    learner = policy(PEOPLE, BOUNDED, memory=Recent(window)).start(["a", "b"], seed=1)
    told = []
    for _ in range(3 * window + 400):
        choice = learner.ask()
        outcome = rng.uniform(-50, 50) if continuous else float(rng.integers(-3, 4))
        learner.tell(choice, outcome)
        told.append((choice.arm, outcome))
    recent = told[-window:]
    expected = {arm: collections.Counter(x for a, x in recent if a == arm) for arm in ("a", "b")}
    assert remembered(learner) == expected
    fresh = policy(PEOPLE, BOUNDED).start(["a", "b"], seed=1)
    for arm, outcome in recent:
        fresh.observe(arm, [outcome])
    learner.lay_out()  # an arm stays in its trees when outcomes become few; as a file has it, it does not
    for arm, value in fresh.value().items():
        np.testing.assert_allclose(learner.value()[arm], value, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(learner.intervals()[arm], fresh.intervals()[arm], rtol=1e-9, atol=1e-9)


def test_trees_do_not_grow_with_what_was_forgotten():
    learner = NPTS(PEOPLE, BOUNDED, memory=Recent(500)).start(["a", "b"], seed=1)
    rng = np.random.default_rng(1)
    learner.observe("a", rng.uniform(-50, 50, 5_000))
    rows = learner.state.memory.trees.outcomes.shape[0]
    learner.observe("a", rng.uniform(-50, 50, 30_000))
    assert learner.state.memory.trees.outcomes.shape[0] <= 2 * rows
    assert learner.pulls["a"] == 500
    assert learner.memory_error()["a"] == 0.0  # nothing shares a cell


def test_what_fades_is_half_gone_after_a_half_life():
    learner = NPTS(PEOPLE, BOUNDED, memory=Fading(half_life=2_000)).start(["a", "b"], seed=1)
    learner.observe("a", [1.0] * 4_000)
    before = learner.pulls["a"]
    learner.observe("b", [2.0] * 2_000)
    # binomial(before, 1/2): 6 standard errors fail by luck once in 5e8
    assert abs(learner.pulls["a"] - before / 2) < 6 * np.sqrt(before) / 2
    # a Poisson number of about 2,000 / log 2 less what is not yet there
    assert abs(before - 2_885 * (1 - 0.25)) < 6 * np.sqrt(before)


@pytest.mark.parametrize("memory", [Recent(50), Fading(half_life=40)])
@pytest.mark.parametrize("kind", [NPTS, WUCB, IMED])
def test_live_and_simulated_forget_alike(memory, kind):
    rewards = Finite([0, 7, 50])
    policy = kind(PEOPLE, rewards, memory=memory)
    problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    results = simulate(policy, problem, n_rounds=500, seed=3, trace=True)
    learner = policy.start(2, np.random.default_rng(np.random.SeedSequence(3).spawn(1)[0].spawn(3)[0]))
    tapes = [
        problem.draw(k, np.random.default_rng(np.random.SeedSequence(3).spawn(1)[0].spawn(3)[k + 1]), 64)
        for k in range(2)
    ]
    used = [0, 0]
    for arm in results.choices[0]:
        choice = learner.ask()
        assert choice.arm == arm
        if used[arm] == 64:
            break
        learner.tell(choice, float(tapes[arm][used[arm]]))
        used[arm] += 1
    assert sum(used) > 70


@pytest.mark.parametrize("memory", [Recent(60), Fading(half_life=60)])
def test_a_saved_learner_goes_on_forgetting(memory, tmp_path):
    rng = np.random.default_rng(1)
    learner = NPTS(PEOPLE, BOUNDED, memory=memory).start(["a", "b"], seed=1)
    for _ in range(300):
        learner.tell(learner.ask(), rng.uniform(-50, 50))
    learner.save(tmp_path / "one.json")
    other, third = Learner.load(tmp_path / "one.json"), learner.copy()
    for _ in range(200):
        choices = [one.ask() for one in (learner, other, third)]
        assert choices[0] == choices[1] == choices[2]
        outcome = rng.uniform(-50, 50)
        for one, choice in zip((learner, other, third), choices, strict=True):
            one.tell(choice, outcome)
    assert remembered(learner) == remembered(other) == remembered(third)


def test_a_file_whose_lifetimes_do_not_fit_is_refused(tmp_path):
    from allais.files import checksum

    learner = NPTS(PEOPLE, BOUNDED, memory=Recent(5)).start(["a", "b"], seed=1)
    learner.observe("a", [1.0, 2.0, 3.0])
    learner.save(tmp_path / "one.json")
    for name, place, value in (("arms", 0, 9), ("ends", 0, 0), ("clock", 1, 2), ("arms", 1, 1)):
        document = json.loads((tmp_path / "one.json").read_text())
        document["state"][name][place] = value
        document["checksum"] = checksum(document)
        (tmp_path / "two.json").write_text(json.dumps(document))
        with pytest.raises(ValueError, match="lifetimes must be those"):
            Learner.load(tmp_path / "two.json")


def test_what_is_taken_back_is_forgotten_once():
    learner = NPTS(PEOPLE, BOUNDED, memory=Recent(4)).start(["a", "b"], seed=1)
    learner.observe("a", [1.0, 2.0, 1.0])
    learner.forget("a", 1.0)
    assert learner.state.lifetimes.clock[[NOW, ALIVE]].tolist() == [3, 2]
    learner.observe("b", [5.0, 5.0])  # the first outcome, told at 1, ends at 5
    assert remembered(learner) == {"a": {2.0: 1}, "b": {5.0: 2}}
    learner.observe("b", [5.0])
    assert remembered(learner) == {"a": {}, "b": {5.0: 3}}
    learner.add("c")
    learner.observe("c", [1.0] * 2)
    assert learner.pulls == {"a": 0, "b": 2, "c": 2}


def test_people_see_what_is_still_remembered():
    other = Preference(TverskyKahneman(0.5), reference=5.0)
    for memory in (Recent(3), Fading(half_life=3)):
        learner = WUCB(PEOPLE, BOUNDED, memory=memory).start(["a", "b"], seed=1)
        for turn in range(40):
            for preference in (None, Preference(TverskyKahneman(0.7)), other):
                learner.tell(learner.ask(preference=preference), float(turn % 7))
                hers = learner.recommend(preference)
                np.testing.assert_allclose(hers.value, learner.value(preference)[hers.arm], rtol=1e-9)


def test_refusals():
    with pytest.raises(ValueError, match="the n of Recent must be"):
        Recent(0)
    with pytest.raises(ValueError, match="half_life must lie"):
        Fading(half_life=0.1)
    with pytest.raises(TypeError, match="memory must be Recent"):
        NPTS(PEOPLE, BOUNDED, memory=5_000)
    for policy in (WLUCB, EXP3):
        with pytest.raises(TypeError):
            policy(PEOPLE, BOUNDED, delta=0.1, memory=Recent(10))


# -- drift ----------------------------------------------------------------------------------------


def watched(outcomes):
    learner = NPTS(PEOPLE, BOUNDED).start(["a", "b"], seed=1)
    learner.observe("a", outcomes)
    return learner.drift()["a"]


def test_a_change_raises_an_alarm_and_the_arm_is_watched_anew():
    rng = np.random.default_rng(1)
    before, after = rng.normal(0, 1, 2_000), rng.normal(1, 1, 2_000)
    drift = watched(np.concatenate([before, after]).clip(-50, 50))
    assert drift.alarms == 1
    assert 1_500 < drift.ago < 2_000
    assert 0.0 < drift.evidence < 1_000.0
    again = watched(np.concatenate([before, after, before]).clip(-50, 50))
    assert again.alarms == 2


DISTRIBUTIONS = {
    "uniform": lambda rng, n: rng.random(n),
    "coin": lambda rng, n: 1.0 * (rng.random(n) < 0.1),
    "rare jackpot": lambda rng, n: rng.random(n) + 49.0 * (rng.random(n) < 0.002),
    "rare disaster": lambda rng, n: rng.random(n) - 50.0 * (rng.random(n) < 0.002),
    "constant": lambda rng, n: np.ones(n),
}


@pytest.mark.parametrize(
    ("arms", "most"),  # of which four of 40, or three of 12, would be luck of 1 in 1e7 and 1 in 4e6
    [(12, 2), pytest.param(40, 3, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_world_that_stands_still_raises_no_alarm(distribution, arms, most):
    """An arm raises one with a probability of .001 at most."""
    rng = np.random.default_rng(5)
    assert sum(watched(DISTRIBUTIONS[distribution](rng, 3_000)).alarms for _ in range(arms)) <= most


def test_what_is_watched_survives_files_copies_and_new_arms(tmp_path):
    rng = np.random.default_rng(1)
    learner = NPTS(PEOPLE, BOUNDED).start(["a", "b"], seed=1)
    learner.observe("a", rng.random(600))
    learner.save(tmp_path / "one.json")
    others = [Learner.load(tmp_path / "one.json"), learner.copy()]
    more = (5.0 + rng.random(300)).tolist()
    for one in (learner, *others):
        one.add("c")
        one.observe("a", more)
    assert learner.drift()["a"].alarms == 1
    assert learner.drift() == others[0].drift() == others[1].drift()
    assert set(learner.drift()) == {"a", "b", "c"}


# -- linear ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [LinTS, WOFUL])
def test_a_fading_ridge_regression_is_the_weighted_one(kind):
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
    policy = kind(PEOPLE, ParameterNoise(), delta=0.05, beta=1.0, memory=Fading(half_life=20))
    learner = policy.start(3, seed=1, features=rows)
    rng = np.random.default_rng(1)
    xs, rs = [], []
    for turn in range(300):
        now = rng.normal(size=(2, 2)) if turn % 3 == 0 else None
        choice = learner.ask(features=now)
        xs.append(learner.features_of(choice))
        rs.append(float(rng.normal()))
        learner.tell(choice, rs[-1])
    x, r = np.array(xs), np.array(rs)
    scale = np.linalg.norm(x, axis=1)  # of ParameterNoise
    weights = 2.0 ** (-np.arange(299, -1, -1) / 20.0) / scale**2
    gram = np.eye(2) + (x * weights[:, None]).T @ x
    np.testing.assert_allclose(learner.ellipsoid.matrix, gram, rtol=1e-9)
    np.testing.assert_allclose(learner.theta, np.linalg.solve(gram, x.T @ (weights * r)), rtol=1e-9, atol=1e-12)


def test_linear_refusals():
    with pytest.raises(TypeError, match="memory of a policy that keeps no single outcomes must be Fading"):
        LinTS(PEOPLE, ParameterNoise(), memory=Recent(100))
    with pytest.raises(ValueError, match="noise is estimated from all outcomes"):
        LinTS(PEOPLE, EstimatedNoise(scale=1.0), memory=Fading(half_life=5))
