"""Damaged files of a learner: refused wherever the damage is."""

import copy
import json
import sys

import numpy as np
import pytest

from allais import Bounded, Learner, TopTwo, expected_value
from allais import settings as _spec
from allais.bands import Betting
from allais.files import checksum
from tests.learner.test_storage import HERE, POLICIES, lived_in

# -- damage -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def text():
    """A saved learner with outcomes that are out, in a few kilobytes."""
    learner = lived_in(POLICIES["W-UCB with utility and costs"], rounds=25, seed=3)
    assert len(learner.outstanding) >= 2
    return json.dumps(learner.snapshot(), indent=1) + "\n"


def refused(path, content, message="must"):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        Learner.load(path)


def test_a_file_that_was_cut_off_is_refused_wherever_the_cut_is(text, tmp_path):
    for end in [*range(0, len(text) - 2, 17), len(text) - 3, len(text) - 2]:
        refused(tmp_path / "learner.json", text[:end], "must be whole JSON; .*learner.json is damaged")


def shape_of(document):
    """The keys of a document, all the way down."""
    if isinstance(document, dict):
        return {key: shape_of(value) for key, value in document.items()}
    return [shape_of(entry) for entry in document] if isinstance(document, list) else None


def test_flipped_bits_that_break_the_json_or_its_keys_are_refused(text, tmp_path):
    rng = np.random.default_rng(1)
    whole, shape = text.encode(), shape_of(json.loads(text))
    broken = 0
    for _ in range(12_000):
        damaged = bytearray(whole)
        damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
        try:
            still_whole = shape_of(json.loads(damaged.decode())) == shape
        except ValueError:
            still_whole = False
        if not still_whole:
            broken += 1
            refused(tmp_path / "learner.json", bytes(damaged))
    assert broken > 200


def key_paths(document, path=()):
    entries = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in entries:
        if isinstance(document, dict):
            yield (*path, key)
        if isinstance(value, dict | list):
            yield from key_paths(value, (*path, key))


def without(document, path):
    document = copy.deepcopy(document)
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return document


def answer_to(document):
    try:
        Learner.from_snapshot(document)
    except ValueError as error:
        return str(error)
    return "accepted"


def test_a_file_without_one_of_its_keys_is_refused_and_no_default_takes_its_place(text):
    document = json.loads(text)
    answers = {path: answer_to(without(document, path)) for path in key_paths(document)}
    assert len(answers) > 40
    assert {"/".join(map(str, path)) for path, answer in answers.items() if "must" not in answer} == set()


DAMAGE = {
    "a count is missing": lambda d: d["arms"][0]["counts"].pop(),
    "all counts are missing": lambda d: d["arms"][0].update(counts=[]),
    "an outcome is missing": lambda d: d["arms"][0]["outcomes"].pop(),
    "what it utilities like is one number": lambda d: d["arms"][0].update(utility=0.0),
    "a count is negative": lambda d: d["arms"][0]["counts"].__setitem__(0, -1),
    "a count is zero": lambda d: d["arms"][0]["counts"].__setitem__(0, 0),
    "a count is a fraction": lambda d: d["arms"][0]["counts"].__setitem__(0, 1.5),
    "a count is too large": lambda d: d["arms"][0]["counts"].__setitem__(0, 10**30),
    "an outcome is not a number": lambda d: d["arms"][0]["outcomes"].__setitem__(0, None),
    "an outcome is not finite": lambda d: d["arms"][0]["outcomes"].__setitem__(0, float("nan")),
    "an outcome cannot occur": lambda d: d["arms"][0]["outcomes"].__setitem__(0, 51.0),
    "an outcome feels like another": lambda d: d["arms"][0]["felt"].__setitem__(0, -1e9),
    "outcomes are in no order": lambda d: [d["arms"][0][part].reverse() for part in ("outcomes", "felt")],
    "an arm is missing": lambda d: d["arms"].pop(),
    "an arm is there twice": lambda d: d["arms"].append(d["arms"][0]),
    "an arm has a name that cannot be saved": lambda d: d["arms"][0].update(name=None),
    "a choice is of an arm that is not there": lambda d: d["outstanding"][0].__setitem__(1, 7),
    "a choice is of an arm before the first": lambda d: d["outstanding"][0].__setitem__(1, -1),
    "a choice has no ticket": lambda d: d["outstanding"][0].pop(),
    "a choice was lost": lambda d: d["outstanding"].pop(),
    "a choice is there twice": lambda d: d["outstanding"].append(d["outstanding"][0]),
    "the next choice was given before": lambda d: d.update(next=d["outstanding"][-1][0]),
    "the next choice has no number": lambda d: d.update(next="next"),
    "a draw is no draw": lambda d: d.update(draw=1.5),
    "a part of the state is too short": lambda d: d["state"]["asked"].pop(),
    "a part of the state is no number": lambda d: d["state"]["asked"].__setitem__(0, "x"),
    "what was asked is less than what was told": lambda d: d["state"]["asked"].__setitem__(0, 0),
    "the generator is unknown": lambda d: d["generator"].update(bit_generator="Dice"),
    "the generator is none": lambda d: d["generator"].update(bit_generator="default_rng"),
    "the generator's state is too large": lambda d: d["generator"].update(uinteger=10**30),
    "the policy is a number": lambda d: d.update(policy=3),
    "the policy is a preference": lambda d: d.update(policy=d["policy"]["preference"]),
    "the version is a truth value": lambda d: d.update(version=True),
    "the version is below the first": lambda d: d.update(version=0),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_file_that_contradicts_itself_is_refused(damage, text, tmp_path):
    document = json.loads(text)
    Learner.from_snapshot(document)
    damage(document)
    refused(tmp_path / "learner.json", json.dumps(document))


@pytest.mark.parametrize("content", ["", "{}", "[]", "3", '"allais learner"', '{"format": "a diary", "version": 1}'])
def test_a_file_of_another_format_is_refused(content, tmp_path):
    refused(tmp_path / "learner.json", content, "a saved learner must")


@pytest.mark.parametrize("content", [b"\x00\x01\xff", b"\x80" * 100, "{}".encode("utf-16")])
def test_a_file_that_is_no_text_is_refused(content, tmp_path):
    refused(tmp_path / "learner.json", content, "must be whole JSON; .* is damaged")


@pytest.mark.parametrize("version", [5, 10**9])
def test_a_file_of_a_newer_version_is_refused(version, text, tmp_path):
    newer = json.dumps({**json.loads(text), "version": version})
    refused(tmp_path / "learner.json", newer, f"version 4 or older; this one is of version {version}. Update allais")


def test_a_setting_that_this_version_does_not_know_is_refused(text, tmp_path, monkeypatch):
    monkeypatch.delitem(_spec.FAMILIES, "utility")
    refused(tmp_path / "learner.json", text, r"unknown type 'PowerUtility'\.")


def test_a_function_that_is_gone_is_refused(tmp_path, monkeypatch):
    learner = POLICIES["W-UCB with a function as weight"].start(2, seed=1)
    learner.save(tmp_path / "learner.json")
    monkeypatch.delattr(sys.modules[HERE[0]], "smoothstep")
    with pytest.raises(ValueError, match=r"must be importable; got .*:smoothstep, which is not found"):
        Learner.load(tmp_path / "learner.json", trust=HERE)


def test_a_file_that_is_missing_or_a_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"learner.json does not exist. Check the path"):
        Learner.load(tmp_path / "learner.json", trust=HERE)
    with pytest.raises(ValueError, match="folder"):
        Learner.load(tmp_path)


def test_large_arrays_that_are_mostly_zeros_are_written_sparsely():
    learner = TopTwo(expected_value(), Bounded(0, 1), delta=0.1, evidence=Betting()).start(300, seed=1)
    for _ in range(12_000):
        learner.tell(learner.ask(), 0.5)
    snapshot = json.loads(json.dumps(learner.snapshot()))
    sparse = [name for name, part in snapshot["state"].items() if isinstance(part, dict)]
    assert sparse
    assert snapshot["version"] == 4  # 0.2.0 says: update allais
    assert json.loads(json.dumps(Learner.from_snapshot(snapshot).snapshot())) == snapshot
    broken = copy.deepcopy(snapshot)
    next(broken["state"][name] for name in sparse if broken["state"][name]["at"])["at"][-1] = 10**9
    with pytest.raises(ValueError, match="must have"):
        Learner.from_snapshot({**broken, "checksum": checksum(broken)})
