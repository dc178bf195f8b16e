"""Files are data: they import nothing that was not allowed, and say nothing impossible, even under a right checksum."""

import copy
import json
import sys
import textwrap

import numpy as np
import pytest

from allais import (
    NPTS,
    WLUCB,
    WSR,
    WUCB,
    Bounded,
    Learner,
    Normal,
    Preference,
    TverskyKahneman,
    Uniform,
    ValueStream,
    Weight,
    expected_value,
)
from allais.files import checksum
from allais.linear import WG, EstimatedNoise, LinTS, ParameterNoise
from allais.linear.noise import MOST_SEEN
from allais.settings import from_spec, to_spec
from tests.policies.own_policy import Greedy

PEOPLE = Preference(TverskyKahneman(0.61))


def squared(p):
    return p * p


OWN = Preference(Weight.from_function(squared, holder=(2.0, 1.0)))


def signed(document):
    """The document with a checksum that is right."""
    return {**document, "checksum": checksum(document)}


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A module that writes a file when it is imported."""
    (tmp_path / "trap_module.py").write_text(
        textwrap.dedent(f"""
        from dataclasses import dataclass
        from os import system
        open({str(tmp_path / "sprung")!r}, "w").close()
        def squared(p):
            return p * p
        """)
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "sprung"
    sys.modules.pop("trap_module", None)


def with_function(address):
    document = WUCB.as_printed(OWN, Bounded(0, 50)).start(["A21", "A28"], seed=1).snapshot()
    for side in ("gains", "losses"):
        document["policy"]["preference"][side]["function"] = address
    return signed(document)


# -- trust ------------------------------------------------------------------------------------------


def test_a_learners_file_imports_only_what_is_trusted(trap, tmp_path):
    path = tmp_path / "learner.json"
    path.write_text(json.dumps(with_function("trap_module:squared")))
    with pytest.raises(ValueError, match=r"only modules that you trust; this one names trap_module:squared"):
        Learner.load(path)
    with pytest.raises(ValueError, match="only modules that you trust"):
        Learner.load(path, trust=["trap", "trap_module.inner", "tests"])
    assert not trap.exists()
    assert Learner.load(path, trust=["trap_module"]).ask().arm == "A21"
    assert trap.exists()


@pytest.mark.parametrize("address", ["trap_module:system", "trap_module:dataclass", "trap_module:squared.__call__"])
def test_trust_in_a_module_is_no_trust_in_what_it_imports(address, trap):
    with pytest.raises(ValueError, match=r"its module's own|importable"):
        Learner.from_snapshot(with_function(address), trust=["trap_module"])


def test_a_type_that_is_no_setting_is_refused_without_being_called(trap):
    document = NPTS(PEOPLE, Bounded(0, 1)).start(2, seed=1).snapshot()
    document["policy"] = {"type": "subprocess:Popen", "args": ["touch", str(trap)]}
    for trust in ([], ["subprocess"]):
        with pytest.raises(ValueError, match=r"only modules that you trust|unknown type"):
            Learner.from_snapshot(signed(document), trust=trust)
    assert not trap.exists()


@pytest.mark.parametrize("trust", ["mymodule", [1], 3])
def test_trust_is_a_list_of_names(trust, tmp_path):
    NPTS(PEOPLE, Bounded(0, 1)).start(2, seed=1).save(tmp_path / "learner.json")
    with pytest.raises(TypeError, match="trust is a list"):
        Learner.load(tmp_path / "learner.json", trust=trust)


def test_a_folder_imports_only_what_is_trusted_or_at_hand(tmp_path):
    policy = Greedy(OWN)
    Learner.open(tmp_path / "advisor", policy, arms=2, seed=1).close()
    with pytest.raises(ValueError, match=r"only modules that you trust; this one names tests\."):
        Learner.open(tmp_path / "advisor")
    with Learner.open(tmp_path / "advisor", trust=[__name__, "tests.policies.own_policy"]) as learner:
        assert learner.policy == policy
        assert learner.copy().policy == policy
    with Learner.open(tmp_path / "advisor", policy) as learner:  # who has the policy has its modules
        assert learner.ask().id == 1


def test_settings_are_read_by_their_names_in_whatever_order_they_stand():
    """A tool that sorts keys changes no checksum, so it may change no setting."""
    for distribution in (Uniform(1.0, 3.0), Normal(1.0, 3.0)):
        spec = to_spec(distribution)
        assert repr(from_spec(dict(reversed(spec.items())))) == repr(distribution)


def test_a_stream_imports_only_what_is_trusted(tmp_path):
    stream = ValueStream(OWN)
    stream.add_many([1.0, 2.0])
    stream.save(tmp_path / "stream.npz")
    with pytest.raises(ValueError, match="only modules that you trust"):
        ValueStream.load(tmp_path / "stream.npz")
    assert ValueStream.load(tmp_path / "stream.npz", trust=[__name__]).value() == stream.value()


# -- what cannot be, under a right checksum -----------------------------------------------------------


def asked_and_told(policy, rounds=12, arms=3, **settings):
    learner, rng = policy.start(arms, seed=1, **settings), np.random.default_rng(1)
    for _ in range(rounds):
        learner.tell(learner.ask(), float(rng.integers(5)))
    learner.ask(2)
    return learner.snapshot()


@pytest.fixture(scope="module")
def documents():
    linear = LinTS(expected_value(), ParameterNoise(), delta=0.05, beta=1.0)
    gap = WG(PEOPLE, ParameterNoise(), delta=0.05, beta=99.0)
    estimated = LinTS(PEOPLE, EstimatedNoise(1.0))
    return {
        "W-LUCB": asked_and_told(WLUCB(PEOPLE, Bounded(0, 5), delta=0.1)),
        "W-SR": asked_and_told(WSR(PEOPLE, budget=60)),
        "LinTS": asked_and_told(linear, arms=2, features=[[1.0, 0.0], [0.0, 1.0]]),
        "W-G": asked_and_told(gap, arms=2, features=[[1.0, 0.0], [0.0, 1.0]]),
        "estimated": asked_and_told(estimated, arms=2, features=[[1.0, 0.0], [0.0, 1.0]]),
    }


def put(*path_and_value):
    *path, value = path_and_value

    def change(document):
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


SEEN = MOST_SEEN + 1  # where the counts of the first arm begin
IMPOSSIBLE = {
    "a count is negative": ("W-LUCB", put("arms", 0, "counts", 0, -1)),
    "a count is zero": ("W-LUCB", put("arms", 0, "counts", 0, 0)),
    "a count is a fraction": ("W-LUCB", put("arms", 0, "counts", 0, 1.5)),
    "a count is too large": ("W-LUCB", put("arms", 0, "counts", 0, 10**30)),
    "a count is true": ("W-LUCB", put("arms", 0, "counts", 0, True)),
    "counts are missing": ("W-LUCB", put("arms", 0, "counts", [])),
    "counts are another number": ("W-LUCB", put("arms", 0, "counts", 0, 99)),
    "pulls are negative": ("W-LUCB", put("arms", 0, "pulls", -1)),
    "pulls of a linear arm are negative": ("LinTS", put("arms", 0, "pulls", -1)),
    "outcomes are out of bounds": ("W-LUCB", put("arms", 0, "outcomes", 0, 51.0)),
    "an outcome is NaN": ("W-LUCB", put("arms", 0, "outcomes", 0, float("nan"))),
    "an outcome is text": ("W-LUCB", put("arms", 0, "outcomes", 0, "1")),
    "an outcome feels like another": ("W-LUCB", put("arms", 0, "felt", 0, -1e9)),
    "outcomes are in no order": ("W-LUCB", lambda d: [d["arms"][0][k].reverse() for k in ("outcomes", "felt")]),
    "an arm is there twice": ("W-LUCB", lambda d: d["arms"].append(d["arms"][0])),
    "an arm is missing": ("W-LUCB", lambda d: d["arms"].pop()),
    "an arm has no name": ("W-LUCB", put("arms", 0, "name", None)),
    "there is no arm": ("W-LUCB", put("arms", [])),
    "arms are a number": ("W-LUCB", put("arms", 10**7)),
    "a choice is of arm ten million": ("W-LUCB", put("outstanding", 0, 1, 10**7)),
    "a choice is of an arm before the first": ("W-LUCB", put("outstanding", 0, 1, -1)),
    "a choice has no ticket": ("W-LUCB", put("outstanding", 0, 2, None)),
    "a choice is there twice": ("W-LUCB", lambda d: d["outstanding"].append(d["outstanding"][0])),
    "a choice was lost": ("W-LUCB", lambda d: d["outstanding"].pop()),
    "a choice has features that its policy cannot take": ("W-LUCB", put("outstanding", 0, 3, [1.0])),
    "a choice has other features": ("LinTS", put("outstanding", 0, 3, [1.0, 2.0, 3.0])),
    "the next choice was given before": ("W-LUCB", put("next", 1)),
    "the next choice has no number": ("W-LUCB", put("next", "next")),
    "a draw is no draw": ("W-LUCB", put("draw", 1.5)),
    "the state is too short": ("W-LUCB", lambda d: d["state"]["asked"].pop()),
    "the state is a number": ("W-LUCB", put("state", 3)),
    "the state is text": ("W-LUCB", put("state", "ticket", ["x"])),
    "an arm was asked less than told": ("W-LUCB", put("state", "asked", 0, 0)),
    "no arm is in play": ("W-LUCB", put("state", "active", [False] * 3)),
    "an arm is in play twice": ("W-LUCB", put("state", "active", 0, 2)),
    "the second arm is not there": ("W-LUCB", put("state", "second", 0, 10**7)),
    "the phase is not there": ("W-SR", put("state", "phase", 0, 10**7)),
    "no arm is alive": ("W-SR", put("state", "alive", [False] * 3)),
    "the rival is not there": ("LinTS", put("state", "rival", 0, 10**7)),
    "theta is not finite": ("LinTS", put("state", "theta", 0, "nan")),
    "what arms see of theta is not finite": ("W-G", put("state", "locations", 0, "nan")),
    "what arms share is not finite": ("W-G", put("state", "cross", 1, "inf")),
    "a spread is negative": ("LinTS", put("state", "gram", 0, -1.0)),
    "a factor is zero": ("LinTS", put("state", "factor", 0, 0.0)),
    "an estimated arm saw an outcome a negative number of times": ("estimated", put("state", "seen", SEEN, -1.0)),
    "an estimated arm's outcomes descend": ("estimated", put("state", "seen", 0, 1e9)),
    "the generator is unknown": ("W-LUCB", put("generator", "bit_generator", "Dice")),
    "the generator is a function": ("W-LUCB", put("generator", "bit_generator", "seed")),
    "the generator's state is too large": ("W-LUCB", put("generator", "uinteger", 10**30)),
    "the generator's state is negative": ("W-LUCB", put("generator", "state", "state", -1)),
    "the generator's state is missing": ("W-LUCB", put("generator", "state", {})),
    "the policy is a number": ("W-LUCB", put("policy", 3)),
    "the policy is a preference": ("W-LUCB", lambda d: d.update(policy=d["policy"]["preference"])),
    "the policy has a setting that it has not": ("W-LUCB", put("policy", "colour", "red")),
    "a weight is a policy": (
        "W-LUCB",
        lambda d: d["policy"]["preference"].update(gains={"type": "EXP3", "rewards": d["policy"]["rewards"]}),
    ),
    "the version is a truth value": ("W-LUCB", put("version", True)),
    "the version is below the first": ("W-LUCB", put("version", 0)),
}


@pytest.mark.parametrize(("name", "damage"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_a_file_that_says_the_impossible_is_refused_under_a_right_checksum(name, damage, documents):
    document = copy.deepcopy(documents[name])
    Learner.from_snapshot(document)
    damage(document)
    with pytest.raises(ValueError, match=r"must|only|cannot"):
        Learner.from_snapshot(signed(document))


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        ("MT19937", put("state", "pos", 10**7)),
        ("MT19937", put("state", "pos", -1)),
        ("MT19937", put("state", "key", [1, 2])),
        ("Philox", put("buffer_pos", 10**7)),
        ("SFC64", put("state", "state", [1])),
        ("PCG64", put("has_uint32", 7)),
    ],
)
def test_a_generators_state_that_would_be_read_beyond_its_end_is_refused(kind, damage):
    learner = NPTS(PEOPLE, Bounded(0, 1)).start(2, seed=np.random.Generator(getattr(np.random, kind)(7)))
    document = learner.snapshot()
    Learner.from_snapshot(document)
    damage(document["generator"])
    with pytest.raises(ValueError, match="must be whole"):
        Learner.from_snapshot(signed(document))


def test_an_outcome_that_an_older_version_listed_twice_is_joined():
    document = NPTS(PEOPLE, Bounded(0, 50)).start(2, seed=1).snapshot()
    document["arms"][0].update(outcomes=[7.0, 7.0, 50.0], felt=[7.0, 7.0, 50.0], counts=[1, 2, 1], pulls=4)
    document["state"]["asked"][0] = 4
    outcomes, counts = Learner.from_snapshot(signed(document)).outcomes(0)
    assert (outcomes.tolist(), counts.tolist()) == ([7.0, 50.0], [3, 1])


# -- streams ------------------------------------------------------------------------------------------


def rewritten(path, damage):
    """A stream's file with other content, and all of NumPy's checksums right."""
    with np.load(path) as stored:
        arrays = dict(stored)
    header = json.loads(str(arrays.pop("header")))
    damage(header, arrays)
    np.savez_compressed(path, header=np.array(json.dumps(header)), **arrays)


STREAMS = {
    "counts are fewer": (None, lambda h, a: a.update(gains_counts=a["gains_counts"][:-1])),
    "what is utility is longer": (None, lambda h, a: a.update(gains_felt=np.append(a["gains_felt"], 99.0))),
    "a count is negative": (None, lambda h, a: a["gains_counts"].__setitem__(0, -5)),
    "a count is huge": (None, lambda h, a: a["gains_counts"].__setitem__(0, 2**62)),
    "counts are of another kind": (None, lambda h, a: a.update(gains_counts=a["gains_counts"].astype(np.float32))),
    "what is utility is a table": (None, lambda h, a: a.update(gains_felt=a["gains_felt"][:, None])),
    "an outcome is NaN": (None, lambda h, a: a["gains_raw"].__setitem__(0, np.nan)),
    "an outcome is another": (None, lambda h, a: a["gains_raw"].__setitem__(0, 3.0)),
    "a gain is a loss": (None, lambda h, a: a["gains_felt"].__setitem__(0, -3.0)),
    "outcomes are text": (None, lambda h, a: a.update(gains_raw=np.array(["x"] * a["gains_raw"].size))),
    "a part is missing": (None, lambda h, a: a.pop("losses_felt")),
    "samples are another number": (None, lambda h, a: h.update(samples=1)),
    "samples are none": (None, lambda h, a: h.update(samples=None)),
    "rewards are a weight": (None, lambda h, a: h.update(rewards={"type": "Power", "alpha": 0.5})),
    "max_blocks is text": (None, lambda h, a: h.update(max_blocks="many")),
    "the version is another": (None, lambda h, a: h.update(version=3)),
    "blocks without a bound": (8, lambda h, a: h.update(max_blocks=None)),
    "blocks overlap": (8, lambda h, a: a["high"].__setitem__(0, 1e9)),
    "a block is upside down": (8, lambda h, a: a["low"].__setitem__(2, a["high"][2] + 1.0)),
    "a block has no samples": (8, lambda h, a: a["counts"].__setitem__(0, 0)),
    "blocks are of other lengths": (8, lambda h, a: a.update(at=a["at"][:-1])),
}


@pytest.mark.parametrize(("max_blocks", "damage"), STREAMS.values(), ids=STREAMS)
def test_a_streams_file_that_says_the_impossible_is_refused(max_blocks, damage, tmp_path):
    stream = ValueStream(PEOPLE, max_blocks=max_blocks)
    stream.add_many(np.random.default_rng(1).normal(5.0, 20.0, 300))
    stream.save(tmp_path / "stream.npz")
    rewritten(tmp_path / "stream.npz", lambda header, arrays: None)
    assert ValueStream.load(tmp_path / "stream.npz").value() == pytest.approx(stream.value(), rel=1e-12)
    rewritten(tmp_path / "stream.npz", damage)
    with pytest.raises(ValueError, match=r"must"):
        ValueStream.load(tmp_path / "stream.npz")


# -- folders ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.update(journal="../1"),
        lambda s: s.update(journal=-1),
        lambda s: s.update(began=None),
        lambda s: s["began"].update(arms=["other"]),
        lambda s: s.pop("learner"),
    ],
    ids=["a path", "a negative number", "no beginning", "another beginning", "no learner"],
)
def test_a_snapshot_that_was_changed_is_refused(change, tmp_path):
    Learner.open(tmp_path / "advisor", NPTS(PEOPLE, Bounded(0, 1)), arms=2, seed=1).close()
    path = tmp_path / "advisor" / "snapshot.json"
    snapshot = json.loads(path.read_text())
    change(snapshot)
    path.write_text(json.dumps(snapshot))
    with pytest.raises(ValueError, match=r"a snapshot must be whole; .* is damaged"):
        Learner.open(tmp_path / "advisor")
