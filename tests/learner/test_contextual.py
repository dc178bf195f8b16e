"""Choices in contexts: what is learned there, for whom, and that no crash loses it."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from allais import NPTS, WUCB, Bounded, Guardrail, Learner, Preference, TverskyKahneman, cvar, expected_value
from allais.learner import journal
from allais.linear import LinTS, ParameterNoise
from allais.policies import ContextualNPTS, Fading, Recent

UNIT = Bounded(0, 1)
POLICY = ContextualNPTS(cvar(0.2), UNIT)
ARMS = ["a", "b", "c"]


def context_at(t: int) -> dict[str, object]:
    return {"weather": ("rain", "dry")[t % 2], "hour": t % 24, "tags": ["new"] if t % 3 else [], "odd": bool(t % 5)}


def outcome_at(t: int, arm: object) -> float:
    """Arm a is good in the rain, b is good when it is dry, c never is."""
    good = {"a": t % 2 == 0, "b": t % 2 == 1, "c": False}[str(arm)]
    return float(np.random.default_rng(t).uniform(0.5 if good else 0.0, 1.0 if good else 0.6))


def played(learner, first: int, last: int) -> list[object]:
    """Play rounds, and return the arms; every seventh choice stays out."""
    arms = []
    for t in range(first, last):
        choice = learner.ask(context=context_at(t))
        if t % 7:
            learner.tell(choice, outcome_at(t, choice.arm))
        arms.append(choice.arm)
    return arms


@pytest.fixture(scope="module")
def learner():
    made = POLICY.start(ARMS, seed=1)
    played(made, 0, 400)
    return made


def test_a_learner_prefers_in_each_context_what_is_good_there(learner):
    # the sides differ so much that the tree misses them with a chance below 1e-6
    assert learner.recommend(context={"weather": "rain"}).arm == "a"
    assert learner.recommend(context={"weather": "dry"}).arm == "b"
    assert next(iter(learner.features)) == "weather"
    assert learner.value(context={"weather": "rain"})["a"] > 0.45
    assert learner.chances(context={"weather": "rain"})["a"] > 0.8
    assert "weather" in learner.why("a", context={"weather": "rain"})
    assert "c was never" not in learner.why("c", context={"weather": "rain"})


def test_the_value_in_a_context_is_that_of_its_distribution(learner):
    context = {"weather": "rain", "hour": 3}
    for name, value in learner.value(context=context).items():
        assert value == pytest.approx(POLICY.preference.value(learner.distribution(name, context)), abs=1e-9)
        assert value == pytest.approx(learner.explain(name, context).value, abs=1e-9)


def test_each_person_is_served_by_her_own_preference():
    learner = ContextualNPTS(expected_value(), Bounded(0, 50)).start(["sure", "lottery"], seed=1)
    learner.observe("sure", [7.0] * 60, {"hour": 8})
    learner.observe("lottery", [50.0] * 6 + [0.0] * 54, {"hour": 8})
    people = Preference(TverskyKahneman(0.61))
    assert learner.recommend(context={"hour": 8}).arm == "sure"
    assert learner.recommend(people, context={"hour": 8}).arm == "lottery"
    shares = learner.chances(people, context={"hour": 8})
    assert shares["lottery"] > 0.5 > learner.chances(context={"hour": 8})["lottery"]


def test_costs_are_read_from_the_other_end():
    learner = ContextualNPTS(expected_value(costs=True), Bounded(0, 100)).start(["slow", "fast"], seed=1)
    learner.observe(["slow", "fast"] * 40, [30.0, 10.0] * 40, {"hour": 8})
    assert learner.recommend(context={"hour": 8}).arm == "fast"
    assert learner.value(context={"hour": 8})["fast"] == pytest.approx(-10.0)
    assert learner.chances(context={"hour": 8})["fast"] > 0.9


def test_a_choice_without_a_context_is_that_of_npts():
    one, other = POLICY.start(ARMS, seed=3), NPTS(cvar(0.2), UNIT).start(ARMS, seed=3)
    for t in range(100):
        choice, twin = one.ask(), other.ask()
        assert choice == twin
        for learner in (one, other):
            learner.tell(choice.id, outcome_at(t, choice.arm))


def test_the_policys_own_preference_is_drawn_as_that_of_anybody_else():
    people = Preference(TverskyKahneman(0.61), reference=0.5, costs=True)
    learner = ContextualNPTS(people, UNIT).start(ARMS, seed=1)
    played(learner, 0, 200)
    # compiled code values the policy's own preference, NumPy that of others: all draws differ by rounding only
    almost = Preference(TverskyKahneman(0.61 + 1e-13), reference=0.5, costs=True)
    for t in range(4):
        assert learner.chances(context=context_at(t)) == learner.chances(almost, context=context_at(t))


def test_propensities_are_exact_shares_and_keep_the_floor():
    learner = ContextualNPTS(expected_value(), UNIT, draws=20, floor=0.05).start(ARMS, seed=1)
    learner.observe(ARMS * 20, [0.4, 0.5, 0.45] * 20, {"hour": 8})
    choices = learner.ask(400, context={"hour": 8})
    shares = np.array([choice.propensity for choice in choices])
    assert shares.min() >= 0.05
    assert np.allclose((shares - 0.05) / (1 - 0.15) * 20, np.round((shares - 0.05) / (1 - 0.15) * 20))
    assert learner.propensity(choices[0]) == choices[0].propensity
    # the mean of 1{arm} / p is 1 for each arm; its standard error is below sqrt(20 / 400), so 6 of them fail 1 in 1e8
    for arm in ARMS:
        found = np.mean([(choice.arm == arm) / choice.propensity for choice in choices])
        assert found == pytest.approx(1.0, abs=6 * np.sqrt(20 / 400))


def test_arms_come_and_go_and_old_choices_keep_their_contexts():
    learner = POLICY.start(["a", "b"], seed=1)
    old = learner.ask(context=context_at(0))
    learner.add("c")
    assert learner.context_of(old) == {"weather": "rain", "hour": 0.0, "odd": 0.0}
    played(learner, 1, 60)
    learner.tell(old, 0.5)
    learner.retire("a")
    assert "a" not in {learner.ask(context=context_at(t)).arm for t in range(30)}
    assert learner.ask(context=context_at(0), allowed=["c"]).arm == "c"
    learner.widen(Bounded(0, 2))
    learner.change_preference(expected_value())
    assert set(learner.chances(context=context_at(0))) == {"b", "c"}


def test_a_fading_memory_follows_a_world_that_changes():
    found = {}
    for memory in (None, Fading(half_life=50)):
        learner = ContextualNPTS(expected_value(), UNIT, memory=memory).start(["a", "b"], seed=1)
        for flipped in (False, True):
            for t in range(300):
                good = ("a" if t % 2 else "b") if flipped else ("b" if t % 2 else "a")
                learner.observe(["a", "b"], [float(good == "a"), float(good == "b")], {"odd": t % 2})
        found[memory] = learner.value(context={"odd": 1})["a"]
    assert found[None] == pytest.approx(0.5, abs=0.1)
    assert found[Fading(half_life=50)] > 0.9


# -- files, folders and crashes -----------------------------------------------------------------------


def test_files_copies_and_pickles_go_on_alike(learner, tmp_path):
    learner = learner.copy()
    learner.save(tmp_path / "learner.json")
    twins = [Learner.load(tmp_path / "learner.json"), copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))]
    after = played(learner, 400, 520)
    for twin in twins:
        assert len(twin.outstanding) == len(learner.outstanding) - sum(t % 7 == 0 for t in range(400, 520))
        assert played(twin, 400, 520) == after
        assert twin.snapshot() == learner.snapshot()


def test_a_folder_resumes_to_the_same_choices_across_snapshots(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "FEWEST_LINES", 40)
    monkeypatch.setattr(type(POLICY.start(ARMS, seed=1)), "_lines_worth_a_snapshot", lambda self: 0)
    whole = POLICY.start(ARMS, seed=1)
    expected = played(whole, 0, 150)
    found = []
    for first in range(0, 150, 30):
        with Learner.open(tmp_path / "folder", POLICY, ARMS, seed=1) as learner:
            found += played(learner, first, first + 30)
    assert found == expected
    with Learner.open(tmp_path / "folder") as learner:
        assert learner.pulls == whole.pulls
        assert learner.outstanding == whole.outstanding


WORKER = """
import sys
from tests.learner.test_contextual import ARMS, POLICY, Learner, context_at, outcome_at
learner = Learner.open(sys.argv[1], POLICY, ARMS, seed=1)
for t in range(learner.samples, 10_000):
    choice = learner.ask(context=context_at(t))
    learner.tell(choice, outcome_at(t, choice.arm))
    print(choice.arm, flush=True)
"""


def test_kill_9_loses_nothing_and_the_rest_goes_on_as_without_it(tmp_path):
    command = [sys.executable, "-c", WORKER, str(tmp_path / "folder")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        said = [process.stdout.readline().strip() for _ in range(60)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.read().split()
    whole = POLICY.start(ARMS, seed=1)
    with Learner.open(tmp_path / "folder") as learner:
        told = learner.samples
        expected = []
        for t in range(told):
            expected.append(whole.ask(context=context_at(t)).arm)
            whole.tell(t + 1, outcome_at(t, expected[-1]))
        assert said == expected[: len(said)]
        assert len(said) <= told
        if learner.outstanding:  # asked, and killed before it was told
            assert learner.outstanding == (whole.ask(context=context_at(told)),)
        assert played(learner, told + 1, told + 30) == played(whole, told + 1, told + 30)


def test_events_repeat_and_one_that_does_not_fit_is_refused(learner):
    twin = POLICY.start(ARMS, seed=1)
    twin.apply({"ask": [[1, "b"]], "context": {"hour": 8}, "tickets": [0.25]})
    assert twin.propensity(1) == 0.25
    twin.apply({"observe": "a", "rewards": [0.5], "contexts": [{"hour": 9}]})
    with pytest.raises(ValueError, match="number 5 is not next"):
        twin.apply({"ask": [[5, "b"]], "context": {"hour": 8}, "tickets": [0.0]})
    assert json.loads(json.dumps(twin.snapshot()))["contexts"] == [[1, {"hour": 8.0}]]


def test_memory_is_bounded():
    learner = ContextualNPTS(expected_value(), UNIT).start(4, seed=1)
    rng, sizes = np.random.default_rng(1), []
    for _ in range(2):
        contexts = [{"a": float(x)} for x in rng.random(9_000)]
        learner.observe(rng.integers(0, 4, 9_000).tolist(), rng.random(9_000), contexts)
        sizes.append(learner._engine.forest.size)
    assert sizes[1] < 1.1 * sizes[0]


# -- wrong input --------------------------------------------------------------------------------------


def test_a_category_where_a_number_was_has_a_column_of_its_own(learner):
    learner = learner.copy()
    for strange in ({"hour": "noon"}, {"weather": 3}, {"never seen": 1}, {"hour": float("nan")}, {"hour": None}, {}):
        choice = learner.ask(context=strange)
        learner.tell(choice, 0.5)
    assert learner.recommend(context={"weather": "rain"}).arm == "a"
    assert "a number in some contexts and text in others: hour" in learner.why("a", context={"hour": "noon"})
    assert "in others: hour" in learner.why("a", context={"hour": 8})
    assert "others" not in learner.why("a", context={"odd": 1})


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ("rain", "a context is features by name"),
        ({"hour": float("inf")}, "must be finite"),
        ({"hour": object()}, "is text, a number, true or false"),
        ({8: "hour"}, "a feature's name is text"),
        ({"page": "x" * 1_000_000}, "500 characters at most; got 1,000,000"),
        ({"tags": ["x", "y" * 501]}, "500 characters at most; got 501"),
        ({"x" * 501: 1}, "a feature's name has 500 characters at most"),
        ({"a": {"b" * 300: {"c" * 300: 1}}}, "a feature's name has 500 characters at most"),
        ({f"x{k}": 1 for k in range(10_000)}, "1,000 features at most; got 10,000"),
    ],
)
def test_a_wrong_context_is_refused_in_a_sentence_and_changes_nothing(learner, context, said):
    before = learner.snapshot()
    with pytest.raises((TypeError, ValueError), match=said):
        learner.ask(context=context)
    assert learner.snapshot() == before


def test_a_context_in_the_place_of_something_else_is_refused_and_the_message_says_where_it_goes(learner):
    with pytest.raises(TypeError, match=r"given by its name; got \{'weather': 'rain'\}\. Write ask\(context="):
        learner.ask({"weather": "rain"})
    for reading in (learner.recommend, learner.value, learner.chances):
        with pytest.raises(TypeError, match=r"given by its name; got \{'weather': 'rain'\}\. Write context="):
            reading({"weather": "rain"})
    with pytest.raises(TypeError, match="a context is features by name; got 'rain'"):
        learner.observe("a", [0.5], "rain")


def test_features_beyond_the_limit_are_left_out_and_named():
    learner = ContextualNPTS(expected_value(), UNIT).start(["a", "b"], seed=1)
    context = {f"x{k}": k for k in range(400)}
    learner.observe("a", [0.5], context)
    assert "not used, since there are too many features: x256" in learner.why("a", context=context)


def test_what_cannot_be_is_refused_in_a_sentence(learner):
    with pytest.raises(ValueError, match=r"got 'huor'\. Did you mean 'hour'"):
        learner.across("huor")
    with pytest.raises(ValueError, match="cannot take an outcome back"):
        learner.forget("a", 0.5)
    with pytest.raises(TypeError, match=r"Write Fading\(half_life=30\)"):
        ContextualNPTS(expected_value(), UNIT, memory=Recent(90))
    with pytest.raises(ValueError, match="draws must be a whole number, 1 or more; got 0"):
        learner.chances(draws=0, context={"hour": 8})
    with pytest.raises(ValueError, match="each reward has its context; got 1 for 2"):
        learner.observe("a", [0.5, 0.5], [{"hour": 8}])
    with pytest.raises(ValueError, match=r"ask\(context="):
        POLICY.start(ARMS, seed=1, features=[[1.0], [2.0], [3.0]])
    for other in (WUCB(expected_value(), UNIT).start(2, seed=1),
                  LinTS(expected_value(), ParameterNoise(), features=[[1.0], [2.0]]).start(2, seed=1)):  # fmt: skip
        with pytest.raises(TypeError, match="takes no context; got one"):
            other.ask(context={"hour": 8})
        for read in (other.value, other.recommend, other.chances, partial(other.why, 0)):
            with pytest.raises(TypeError, match="takes no context; got one"):
                read(context={"hour": 8})


def test_a_guardrail_is_judged_by_all_outcomes_of_an_arm():
    policy = ContextualNPTS(expected_value(), UNIT, guardrails=[Guardrail(expected_value(), at_least=0.3)])
    learner = policy.start(["good", "bad"], seed=1)
    learner.observe(["good", "bad"] * 300, [0.6, 0.05] * 300, {"hour": 8})
    learner.tell(learner.ask(context={"hour": 8}), 0.6)
    assert learner.arms == ("good",)
