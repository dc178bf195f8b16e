"""Learners in files: bit-exact, readable, whole after a crash, and never read by halves."""

import json
import os

import numpy as np
import pytest

from allais import (
    IMED,
    LUCB,
    NPTS,
    SR,
    UCB1,
    WLUCB,
    WSR,
    WUCB,
    Bounded,
    Finite,
    Learner,
    PatientRejects,
    PatientTopTwo,
    Power,
    Preference,
    Prelec,
    SequentialHalving,
    SubGaussian,
    TopTwo,
    TverskyKahneman,
    Weight,
)
from allais.bands import DKW, Envelope
from allais.learner import NotNow
from allais.policies import EXP3, UCBV, WELUCB, WEUCB
from allais.testing import suitable_problem
from allais.weights import Identity


def smoothstep(p):
    return p * p * (3.0 - 2.0 * p)


def softened(x):
    return x / (1.0 + np.abs(x) / 1e7)


class Curves:
    exponent = 2.0

    def raised(self, p):
        return p**self.exponent


HERE = [__name__]  # whose functions some files name
PEOPLE = Preference(TverskyKahneman(0.61))
FIFTY = Bounded(0, 50)
POLICIES = {
    "W-UCB": WUCB.as_printed(PEOPLE, FIFTY),
    "W-UCB with utility and costs": WUCB.as_printed(Preference.tversky_kahneman(reference=30.0, costs=True), FIFTY),
    "W-UCB with finite rewards": WUCB.as_printed(PEOPLE, Finite([0, 7, 50])),
    "W-UCB with rewards of each arm": WUCB.as_printed(PEOPLE, [FIFTY, Finite([0, 7]), Bounded(-5, 10)]),
    "W-UCB with sub-Gaussian rewards": WUCB.as_printed(PEOPLE, SubGaussian(1.0, 5.0)),
    "W-UCB with a dual weight": WUCB.as_printed(Preference.rank_dependent(TverskyKahneman(0.61)), Bounded(-50, 50)),
    "W-UCB with a weight without a pair": WUCB.as_printed(Preference(Prelec(0.65)), FIFTY),
    "W-UCB with a function as weight": WUCB.as_printed(
        Preference(Weight.from_function(smoothstep, singularities=(0.5,), holder=(1.5, 1.0))), FIFTY
    ),
    "W-UCB with the dual of a function": WUCB.as_printed(
        Preference.rank_dependent(Weight.from_function(smoothstep, holder=(1.5, 1.0))), FIFTY
    ),
    "W-UCB with a function as utility": WUCB.as_printed(Preference(Power(0.5), utility=softened), FIFTY),
    "UCB1": UCB1(FIFTY, reference=7.0),
    "UCB-V": UCBV(FIFTY),
    "WE-UCB": WEUCB(PEOPLE, Bounded(0, 1)),
    "W-LUCB": WLUCB(PEOPLE, FIFTY, delta=0.1, tolerance=0.5),
    "LUCB": LUCB(FIFTY, delta=0.1),
    "WE-LUCB": WELUCB(PEOPLE, Bounded(0, 1), delta=0.1),
    "W-SR": WSR(PEOPLE, budget=150),
    "SR": SR(budget=150),
    "EXP3": EXP3(FIFTY),
    "W-UCB with the DKW band": WUCB(PEOPLE, FIFTY, band=DKW()),
    "W-UCB with the envelope band": WUCB(PEOPLE, SubGaussian(1.0, 5.0), band=Envelope()),
    "top-two": TopTwo(PEOPLE, [FIFTY, Finite([0, 7]), Bounded(-5, 10)], delta=1e-60),
    "NPTS": NPTS(Preference.tversky_kahneman(reference=30.0, costs=True), FIFTY),
    "IMED": IMED(PEOPLE, Finite([0, 7, 50])),
    "sequential halving": SequentialHalving(PEOPLE, budget=150),
    "patient rejects": PatientRejects(PEOPLE, budget=150),
    "patient top-two": PatientTopTwo(PEOPLE, budget=150, rewards=[FIFTY, Finite([0, 7]), Bounded(-5, 10)]),
}


def drive(learner, problem, rng, rounds):
    """Ask and tell late and in any order; what was chosen."""
    chosen = []
    for _ in range(rounds):
        try:
            chosen.append(learner.ask())
        except NotNow:
            if not learner.outstanding:
                break
        while learner.outstanding and rng.random() < 0.55:
            choice = learner.outstanding[rng.integers(len(learner.outstanding))]
            learner.tell(choice, float(problem.draw(problem.arms.index(choice.arm), rng, 1)[0]))
    return chosen


def lived_in(policy, rounds=60, seed=1):
    learner = policy.start(3, seed=seed)
    drive(learner, suitable_problem(policy, 3), np.random.default_rng(seed), rounds)
    return learner


# -- going on exactly where it was --------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(policy, marks=pytest.mark.slow) if name == "top-two" else policy
        for name, policy in POLICIES.items()
    ],
    ids=POLICIES,
)
def test_a_loaded_learner_goes_on_exactly_as_the_saved_one(policy, tmp_path):
    learner = lived_in(policy)
    learner.save(tmp_path / "learner.json")
    again = Learner.load(tmp_path / "learner.json", trust=HERE)
    assert again.snapshot() == learner.snapshot()
    assert again.policy == policy
    assert again.outstanding == learner.outstanding
    assert again.intervals() == learner.intervals()
    assert again.recommend() == learner.recommend()
    problem = suitable_problem(policy, 3)
    first, second = (drive(one, problem, np.random.default_rng(2), 200) for one in (learner, again))
    assert len(first) > 20
    assert first == second
    assert again.snapshot() == learner.snapshot()


@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if policy.rewards == FIFTY])
def test_a_learner_of_many_distinct_outcomes_goes_on_exactly(name, tmp_path):
    learner, rng = POLICIES[name].start(3, seed=1), np.random.default_rng(5)
    for arm in range(3) if learner.policy.open_to_data else ():
        learner.observe(arm, rng.uniform(0, 50, 300))
    for _ in range(100):
        learner.tell(learner.ask(), rng.uniform(0, 50))
    learner.save(tmp_path / "learner.json")
    again = Learner.load(tmp_path / "learner.json", trust=HERE)
    for _ in range(100):
        choice, outcome = learner.ask(), rng.uniform(0, 50)
        assert again.ask() == choice
        learner.tell(choice, outcome)
        again.tell(choice, outcome)
    assert again.snapshot() == learner.snapshot()
    assert again.intervals() == learner.intervals()


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_every_kind_of_generator_is_resumed(kind, tmp_path):
    learner = EXP3(FIFTY).start(3, seed=np.random.Generator(getattr(np.random, kind)(7)))
    drive(learner, suitable_problem(learner.policy, 3), np.random.default_rng(1), 30)
    learner.save(tmp_path / "learner.json")
    assert Learner.load(tmp_path / "learner.json", trust=HERE).ask(50) == learner.ask(50)


def test_arms_that_came_and_went_are_resumed(tmp_path):
    learner = POLICIES["W-UCB with rewards of each arm"].start(["a", "b", "c"], seed=1)
    learner.ask(5)
    learner.add("d", rewards=Bounded(0, 2))
    learner.retire("a")
    learner.observe("d", np.linspace(0, 2, 40))  # more distinct outcomes than a memory begins with
    learner.save(tmp_path / "learner.json")
    again = Learner.load(tmp_path / "learner.json", trust=HERE)
    assert again.arms == ("b", "c", "d")
    assert again.snapshot() == learner.snapshot()
    assert again.ask(9) == learner.ask(9)


def test_a_learner_is_saved_while_first_outcomes_are_still_out(tmp_path):
    learner = POLICIES["W-UCB"].start(2, seed=1)
    batch = learner.ask(5)
    learner.save(tmp_path / "learner.json")
    again = Learner.load(tmp_path / "learner.json", trust=HERE)
    assert again.outstanding == tuple(batch)
    assert again.ask(3) == learner.ask(3)


def test_numpy_whole_numbers_are_saved_like_others(tmp_path):
    learner = WSR(PEOPLE, budget=np.int64(30)).start(np.int64(2), seed=np.int64(1))
    learner.save(tmp_path / "learner.json")
    assert Learner.load(tmp_path / "learner.json", trust=HERE).policy == WSR(PEOPLE, budget=30)


def test_a_weight_keeps_its_given_name(tmp_path):
    weight = Weight.from_function(smoothstep, holder=(1.5, 1.0), name="gentle")
    learner = WUCB.as_printed(Preference(weight), FIFTY).start(2, seed=1)
    learner.save(tmp_path / "learner.json")
    assert repr(Learner.load(tmp_path / "learner.json", trust=HERE).policy) == repr(learner.policy)


# -- the file -----------------------------------------------------------------------------------------


def test_the_file_is_readable_json_with_a_version(tmp_path):
    learner = POLICIES["W-UCB"].start(["A21", "A28"], seed=1)
    learner.observe("A21", [0, 50, 50])
    learner.save(tmp_path / "learner.json")

    def no_constants(name):
        raise AssertionError(f"{name} is not JSON")

    text = (tmp_path / "learner.json").read_text(encoding="utf-8")
    document = json.loads(text, parse_constant=no_constants)
    assert (document["format"], document["version"]) == ("allais learner", 3)
    assert document["policy"]["type"] == "WUCB"
    assert document["arms"][0]["name"] == "A21"
    assert document["arms"][0]["outcomes"] == [0.0, 50.0]
    assert document["arms"][0]["counts"] == [1, 2]
    assert len(text.splitlines()) > 20
    assert text.endswith("\n")


def test_saving_a_loaded_learner_writes_the_same_bytes(tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    lived_in(POLICIES["W-UCB with utility and costs"]).save(first)
    Learner.load(first).save(str(second))
    assert first.read_bytes() == second.read_bytes()


class Crashed(BaseException):
    """The process is gone."""


def crash(*arguments, **settings):
    raise Crashed


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_crash_while_saving_leaves_the_old_file(call, tmp_path, monkeypatch):
    path = tmp_path / "learner.json"
    learner = lived_in(POLICIES["W-UCB"])
    learner.save(path)
    old, before = path.read_bytes(), learner.snapshot()
    drive(learner, suitable_problem(learner.policy, 3), np.random.default_rng(3), 10)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, crash)
        with pytest.raises(Crashed):
            learner.save(path)
        with pytest.raises(Crashed):
            learner.save(tmp_path / "new.json")
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["learner.json"]
    assert Learner.load(path).snapshot() == before


def test_at_every_moment_of_saving_the_file_is_the_old_or_the_new_one(tmp_path, monkeypatch):
    path = tmp_path / "learner.json"
    learner = lived_in(POLICIES["W-UCB"])
    learner.save(path)
    old = learner.snapshot()
    drive(learner, suitable_problem(learner.policy, 3), np.random.default_rng(3), 10)
    new = learner.snapshot()
    seen = []

    def watched(call):
        def wrapper(*arguments, **settings):
            seen.append(Learner.load(path).snapshot())
            result = call(*arguments, **settings)
            seen.append(Learner.load(path).snapshot())
            return result

        return wrapper

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    learner.save(path)
    assert seen[0] == old
    assert seen[-1] == new
    assert all(document in (old, new) for document in seen)


# -- what cannot be saved -----------------------------------------------------------------------------


def local_function():
    def squared(p):
        return p * p

    return squared


def renamed():
    """A function whose name stands for another one by now."""

    def impostor(p):
        return p * p

    impostor.__qualname__, impostor.__module__ = "smoothstep", __name__
    return impostor


@pytest.mark.parametrize(
    "function",
    [lambda p: p * p, local_function(), Curves().raised, renamed()],
    ids=["a lambda", "a local function", "a method of an object", "a name that stands for another function"],
)
def test_a_function_that_could_not_be_found_again_is_refused_when_saving(function, tmp_path):
    path = tmp_path / "learner.json"
    path.write_text("what was there before")
    learner = WUCB.as_printed(Preference(Weight.from_function(function, holder=(2.0, 1.0))), FIFTY).start(2, seed=1)
    with pytest.raises(ValueError, match=r"a function can be saved by its name in a module only.*Define it at the top"):
        learner.save(path)
    assert path.read_text() == "what was there before"
    assert os.listdir(tmp_path) == ["learner.json"]


def test_a_utility_without_a_name_is_refused_when_saving(tmp_path):
    learner = WUCB.as_printed(Preference(Identity(), utility=lambda x: 2.0 * x), FIFTY).start(2, seed=1)
    with pytest.raises(ValueError, match=r"saved by its name in a module only; got .*<lambda>"):
        learner.save(tmp_path / "learner.json")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", [("A", 1), 1.5, None, True, b"A", frozenset("A")])
def test_an_arm_whose_name_json_cannot_hold_is_refused_when_saving(name, tmp_path):
    learner = POLICIES["W-UCB"].start(["A", name], seed=1)
    with pytest.raises(ValueError, match=r"names that are strings or whole numbers can be saved; got .*Rename it"):
        learner.save(tmp_path / "learner.json")
    assert os.listdir(tmp_path) == []


def test_names_of_either_kind_stay_apart(tmp_path):
    learner = POLICIES["W-UCB"].start(["1", 1, "Ж\n\u2028", -3, ""], seed=1)
    learner.observe("1", [7.0])
    learner.save(tmp_path / "learner.json")
    again = Learner.load(tmp_path / "learner.json", trust=HERE)
    assert again.pulls == learner.pulls
    assert list(map(type, again.arms)) == [str, int, str, int, str]


def test_a_file_needs_a_folder_that_exists(tmp_path):
    with pytest.raises(ValueError, match="a file needs a folder that exists"):
        POLICIES["W-UCB"].start(2, seed=1).save(tmp_path / "no" / "learner.json")
