"""One memory, many people: `ask`, `recommend` and `value` under a preference that is not the policy's own."""

import numpy as np
import pytest

import allais
from allais import NPTS, WUCB, Bounded, Preference, TverskyKahneman, expected_value
from allais.linear import LinTS, ParameterNoise
from allais.policies import UCBV
from allais.preferences.utilities import PowerUtility

MEAN = expected_value()
ALICE = Preference(TverskyKahneman(0.61))
BOB = Preference(TverskyKahneman(0.5), TverskyKahneman(0.69), PowerUtility(0.8, 2.0), reference=10.0)
SMALL = Preference(TverskyKahneman(0.61), reference=20.0, costs=True)
WAVE = allais.Weight.from_function(lambda p: p + 0.5 * np.sin(2.0 * np.pi * p))  # rises and falls
POLICIES = [NPTS(MEAN, Bounded(0, 50)), WUCB(MEAN, Bounded(0, 50)), WUCB.as_printed(MEAN, Bounded(0, 50))]


def twins(policy, other, continuous, rounds=300):
    """A learner that is asked for `other`, and one whose policy is hers, that are told the same."""
    hers = other.in_frame_of(policy.preference)
    shared, own = policy.start(3, seed=1), policy.but(preference=hers).start(3, seed=1)
    rng = np.random.default_rng(2)
    for _ in range(rounds):
        asked, alone = shared.ask(preference=other), own.ask()
        assert asked == alone
        outcome = rng.uniform(0, 30 + 5 * asked.arm) if continuous else float(rng.integers(0, 51))
        shared.tell(asked, outcome)
        own.tell(alone, outcome)
    return shared, own


@pytest.mark.parametrize(
    ("policy", "continuous"),
    [(POLICIES[0], False), *((policy, kind) for policy in POLICIES[1:] for kind in (False, True))],
)
@pytest.mark.parametrize("other", [ALICE, BOB, SMALL])
def test_a_choice_for_somebody_else_is_the_one_of_a_learner_of_her_own(policy, other, continuous):
    shared, own = twins(policy, other, continuous)
    hers, alone = shared.recommend(other), own.recommend()
    assert hers.arm == alone.arm
    np.testing.assert_allclose(hers.value, alone.value, rtol=1e-9)
    if hers.interval is not None:  # w(1e-16) is 1e-8 under the steepest of the weights
        np.testing.assert_allclose(hers.interval, alone.interval, rtol=1e-8)
    mine, others = shared.value(other), own.value()
    np.testing.assert_allclose(list(mine.values()), list(others.values()), rtol=1e-9)
    assert shared.pulls == own.pulls


@pytest.mark.parametrize(
    ("other", "distinct"),
    [
        *((ALICE, 200), (BOB, 20_000)),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in ((BOB, 200), (SMALL, 15_000), (allais.cvar(0.1), 15_000))
        ),
    ],
)
def test_many_outcomes_are_drawn_in_groups_for_others_and_choices_are_as_likely(other, distinct):
    """Two shares of 1,000 draws differ by less than 6 standard errors, but for a chance of 1 in 5e8."""
    policy = NPTS(expected_value(reference=10.0), Bounded(0, 50))
    hers = other.in_frame_of(policy.preference)
    shared, own = policy.start(3, seed=1), policy.but(preference=hers).start(3, seed=1)
    rng = np.random.default_rng(distinct)
    for arm in range(3):
        outcomes = np.where(rng.random(distinct) < 0.1, 40.0 + arm, 0.0) + rng.random(distinct)  # groups would blur
        shared.observe(arm, outcomes)
        own.observe(arm, outcomes)
    exact = list(own.value().values())
    noise = np.abs(exact).max() / np.sqrt(0.1 * distinct)
    np.testing.assert_allclose(shared._engine.view_for(other).values(), exact, rtol=0.0, atol=max(0.05 * noise, 1e-9))
    likely = shared.chances(other, draws=1_000)
    for arm, share in own.chances(draws=1_000).items():
        assert abs(likely[arm] - share) < 6 * np.sqrt(2 * 0.25 / 1_000)
    assert shared.recommend(other).value == pytest.approx(own.recommend().value, rel=1e-9)


@pytest.mark.parametrize(
    ("other", "distinct", "rewards"),
    [
        (ALICE, 100, Bounded(0, 50)), (BOB, 5_000, Bounded(0, 50)), (allais.cvar(0.1), 5_000, Bounded(0, 50)),
        (BOB, 40, allais.Finite(range(51))), (WAVE, 300, Bounded(20, 50)),
        (SMALL, 300, Bounded(0, 50)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("own", [expected_value(reference=10.0), expected_value(reference=30.0, costs=True)])
@pytest.mark.filterwarnings("ignore::allais.errors.DominanceWarning")
def test_upper_bounds_for_others_are_those_of_a_learner_of_their_own(own, other, distinct, rewards):
    other = Preference(WAVE) if other is WAVE else other
    policy = WUCB(own, rewards)
    shared, hers = policy.start(4, seed=1), policy.but(preference=other.in_frame_of(own)).start(4, seed=1)
    rng = np.random.default_rng(distinct)
    outcomes = rng.uniform(*rewards.support, (3, distinct))
    outcomes[:, : distinct // 5] = outcomes[:, :1]  # one outcome has a fifth of the samples
    for learner in (shared, hers):
        for arm in range(3):
            learner.observe(arm, np.round(outcomes[arm]) if isinstance(rewards, allais.Finite) else outcomes[arm])
    for arm in (0, 3):
        assert shared.recommend(other).arm == hers.recommend().arm
        view = shared._engine.view_for(other)
        view.prepare(0.0)
        exact = hers.intervals()
        for k in range(arm + 1 if arm == 3 else 3):
            np.testing.assert_allclose((view.state.kept.low[k], view.state.kept.high[k]), exact[k][::2], atol=1e-6)
        assert shared.ask(preference=other) == hers.ask()
        for learner in (shared, hers):
            learner.tell(1 + (arm == 3), 25.0)
            learner.observe(3, [30.0, 30.0, 45.0])
    assert not shared._engine.others.views


def test_upper_bounds_hold_where_outcomes_share_cells():
    policy = WUCB(expected_value(reference=10.0), Bounded(0, 50))
    shared, exact = policy.start(1, seed=1), policy.but(preference=BOB).start(1, seed=1, exact=True)
    outcomes = np.random.default_rng(1).uniform(0, 50, 40_000)
    for learner in (shared, exact):
        learner.observe(0, outcomes)
    assert shared.memory_error(BOB)[0] > 0.0
    wider, narrower = shared.recommend(BOB).interval, exact.recommend().interval
    assert wider.low <= narrower.low + 1e-6
    assert narrower.high - 1e-6 <= wider.high <= narrower.high + 0.01


@pytest.mark.parametrize("policy", POLICIES)
def test_a_thousand_people_of_their_own_preferences_leave_nothing_behind(policy):
    learner = policy.start(2, seed=1)
    twin = learner.copy()
    for k in range(1_000):
        person = Preference(TverskyKahneman(0.4 + 4e-4 * k), utility=PowerUtility(0.5 + 4e-4 * k, 2.0))
        choice = learner.ask(preference=person)
        learner.tell(choice, 7.0 + choice.arm)
        if k % 500 == 499:  # one who never saw the others chooses alike for her
            assert twin.copy().ask(preference=person) == choice
        twin.apply({"ask": [list(choice)]})
        twin.apply({"tell": choice.id, "reward": 7.0 + choice.arm})
    assert not learner._engine.others.views
    assert len(learner._engine.others.tables._tables) <= 1


def test_people_take_turns_on_one_memory_and_each_is_served_by_her_own_value():
    learner = NPTS(MEAN, Bounded(0, 50)).start(["sure", "risky"], seed=1)
    rng = np.random.default_rng(1)
    chosen = {name: [] for name in ("mean", "alice", "bob")}
    for turn in range(3_000):
        name, preference = [("mean", None), ("alice", ALICE), ("bob", BOB)][turn % 3 if turn % 100 else 0]
        choice = learner.ask(preference=preference)
        learner.tell(choice, 7.0 if choice.arm == "sure" else 50.0 * (rng.random() < 0.1))
        chosen[name].append(choice.arm)
    # the sure arm has the higher mean, 7 against 5; to Alice the risky one is worth 9.3
    assert chosen["mean"][-200:].count("sure") > 150
    assert chosen["alice"][-200:].count("risky") > 150
    assert learner.recommend().arm == "sure"
    assert learner.recommend(ALICE).arm == "risky"


MINUTES = expected_value(reference=30.0, costs=True)  # less is better


@pytest.mark.parametrize("person", [MEAN, ALICE, BOB, Preference.tversky_kahneman()])
@pytest.mark.parametrize("policy", [NPTS, WUCB])
def test_a_person_brings_her_taste_and_the_policy_its_direction_and_reference(policy, person):
    learner = policy(MINUTES, Bounded(0, 60)).start(["slow", "fast"], seed=1)
    learner.observe("slow", [50.0, 51.0] * 20)
    learner.observe("fast", [10.0, 11.0] * 20)
    assert learner.recommend(person).arm == "fast"
    assert learner.chances(person)["fast"] == 1.0
    assert {learner.ask(preference=person).arm for _ in range(20)} == {"fast"}
    hers = person.in_frame_of(MINUTES)
    seen = allais.Discrete({10: 0.5, 11: 0.5})
    assert learner.value(person)["fast"] == pytest.approx(hers.value(seen)) != person.value(seen)
    assert learner.memory_error(person) == {"slow": 0.0, "fast": 0.0}


def test_people_of_other_directions_are_simulated_on_the_costs_of_the_policy():
    problem = allais.Bandit([allais.Discrete({50: 0.5, 40: 0.5}), allais.Discrete({10: 0.5, 20: 0.5})])
    people = {"gains": MEAN, "prospects": Preference.tversky_kahneman()}
    results = allais.simulate(
        NPTS(MINUTES, Bounded(0, 60)), problem, n_rounds=200, n_runs=2, seed=1, people=people, progress=False
    )
    assert (results.pulls[:, :, -1].argmax(axis=-1) == 1).all()
    assert results.values[0].tolist() == [-15.0, 15.0]  # minutes saved against the 30 that the policy reckons with


def test_linear_noise_that_is_estimated_serves_people_of_any_reference():
    policy = LinTS(MINUTES, allais.linear.EstimatedNoise(scale=1.0))
    learner = policy.start(2, seed=1, features=[[1.0, 0.0], [0.0, 1.0]])
    for arm, outcome in ((0, 50.0), (1, 10.0)) * 10:
        learner.observe(arm, [outcome])
    assert learner.recommend(ALICE).arm == learner.recommend(MEAN).arm == 1


def test_what_is_forgotten_or_observed_is_seen_by_everybody():
    learner = WUCB(MEAN, Bounded(0, 50)).start(["a", "b"], seed=1)
    learner.observe("a", [10.0, 20.0])
    learner.observe("b", [15.0, 15.0])
    for other in (ALICE, BOB):
        before = learner.recommend(other)
        learner.observe("b", [50.0] * 20)
        assert learner.recommend(other).arm == "b"
        for _ in range(20):
            learner.forget("b", 50.0)
        assert learner.recommend(other) == before
        learner.tell(learner.ask(preference=other), 15.0)
        learner.forget("a", 15.0) if learner.pulls["a"] == 3 else learner.forget("b", 15.0)


def test_arms_come_and_go_for_everybody():
    learner = NPTS(MEAN, Bounded(0, 50)).start(["a", "b"], seed=1)
    for other in (ALICE, BOB):
        learner.tell(learner.ask(preference=other), 5.0)
    learner.add("c")
    learner.retire("a")
    assert {learner.ask(preference=other).arm for other in (ALICE, BOB) for _ in range(20)} <= {"b", "c"}
    assert learner.recommend(BOB).arm in {"b", "c"}


def test_a_learner_in_a_folder_repeats_the_choices_for_others(tmp_path):
    policy = NPTS(MEAN, Bounded(0, 50))
    folder = tmp_path / "advisor"
    rng = np.random.default_rng(1)
    memory = policy.start(["a", "b"], seed=3)
    with allais.Learner.open(folder, policy, arms=["a", "b"], seed=3) as learner:
        for turn in range(60):
            other = [None, ALICE, BOB][turn % 3]
            choice, outcome = learner.ask(preference=other), float(rng.integers(0, 51))
            assert memory.ask(preference=other) == choice
            learner.tell(choice, outcome)
            memory.tell(choice, outcome)
    with allais.Learner.open(folder) as learner:
        assert learner.pulls == memory.pulls
        assert [learner.ask(preference=BOB) for _ in range(20)] == [memory.ask(preference=BOB) for _ in range(20)]


def test_linear_learners_choose_for_others_among_listed_arms_and_rows():
    rows = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
    policy = LinTS(MEAN, ParameterNoise())
    hers = BOB.in_frame_of(MEAN)
    shared, own = (p.start(3, seed=1, features=rows) for p in (policy, policy.but(preference=hers)))
    rng = np.random.default_rng(1)
    for turn in range(200):
        now = rng.normal(size=(4, 2)) if turn % 2 else None
        asked, alone = shared.ask(features=now, preference=BOB), own.ask(features=now)
        assert asked == alone
        outcome = float(rng.normal())
        shared.tell(asked, outcome)
        own.tell(alone, outcome)
    assert shared.recommend(BOB).arm == own.recommend().arm
    assert shared.value(BOB) == own.value()


def test_the_views_of_many_people_are_bounded(monkeypatch):
    monkeypatch.setattr("allais.learner.reading.MOST", 4)
    learner = UCBV(Bounded(0, 50)).start(2, seed=1)
    for k in range(12):
        person = Preference(allais.weights.Identity(), utility=PowerUtility(0.4 + 0.03 * k))
        learner.tell(learner.ask(preference=person), 7.0)
    assert len(learner._engine.others.views) == 4


def test_refusals_are_sentences_and_change_nothing():
    learner = allais.WLUCB(MEAN, Bounded(0, 50), delta=0.05).start(2, seed=1)
    with pytest.raises(ValueError, match="explores for one preference only"):
        learner.ask(preference=ALICE)
    assert learner.ask(preference=MEAN).id == 1  # its own
    learner.observe(0, [50.0] + [0.0] * 9)
    learner.observe(1, [7.0] * 10)
    hers = learner.recommend(ALICE)
    assert (hers.arm, hers.interval, hers.promise) == (0, None, "none")
    with pytest.raises(TypeError, match="valued by a preference"):
        NPTS(MEAN, Bounded(0, 50)).start(2, seed=1).ask(preference="alice")


def test_people_are_simulated_on_one_memory_and_judged_each_by_herself():
    problem = allais.Bandit([allais.Discrete({50: 0.15, 0: 0.85}), allais.Discrete({9: 1.0})])
    people = {"mean": MEAN, "alice": ALICE}
    policy = NPTS(MEAN, Bounded(0, 50))
    results = allais.simulate(policy, problem, n_rounds=3_000, n_runs=3, seed=1, people=people)
    assert results.pulls.shape == (3, 2, results.checkpoints.size, 2)
    np.testing.assert_array_equal(results.rounds.sum(axis=1), np.tile(results.checkpoints, (3, 1)))
    np.testing.assert_allclose(results.values[1], [ALICE.value(one) for one in problem.lotteries])
    late = results.pulls[:, :, -1] - results.pulls[:, :, -20]
    assert (late[:, 0].argmax(axis=-1) == 1).all()
    assert (late[:, 1].argmax(axis=-1) == 0).all()
    gap = results.values[1].max() - results.values[1, 1]
    np.testing.assert_allclose(results.regret[:, 1, -1], gap * results.pulls[:, 1, -1, 1])
    again = allais.simulate(policy, problem, n_rounds=3_000, n_runs=3, seed=1, people=people)
    np.testing.assert_array_equal(again.pulls, results.pulls)
    with pytest.raises(TypeError, match="people are one preference or more"):
        allais.simulate(policy, problem, n_rounds=10, people=[0.61])
    with pytest.raises(ValueError, match="one run after the other"):
        allais.simulate(policy, problem, n_rounds=10, people=people, n_jobs=2)


def test_chances_are_those_of_the_choices_that_follow_and_change_nothing():
    """Two shares of 2,000 draws differ by less than 6 standard errors, but for a chance of 1 in 5e8."""
    learner = NPTS(MEAN, Bounded(0, 50)).start(["a", "b", "c"], seed=1)
    for arm, outcomes in (("a", [10.0, 12.0, 30.0]), ("b", [14.0, 20.0]), ("c", [0.0, 50.0])):
        learner.observe(arm, outcomes)
    twin = learner.copy()
    for preference in (None, ALICE, BOB):
        chances = learner.chances(preference, draws=2_000)
        assert sum(chances.values()) == pytest.approx(1.0)
        asked = []
        for _ in range(2_000):
            choice = learner.ask(preference=preference)
            learner.cancel(choice)
            asked.append(choice.arm)
        for arm, share in chances.items():
            assert abs(asked.count(arm) / 2_000 - share) < 6 * np.sqrt(2 * 0.25 / 2_000)
    for _ in range(3 * 2_000):
        twin.cancel(twin.ask())
    assert twin.ask().arm == learner.ask().arm
    fixed = WUCB(MEAN, Bounded(0, 50)).start(["a", "b"], seed=1)
    fixed.observe("a", [1.0])
    assert fixed.chances() == {"a": 0.0, "b": 1.0}
