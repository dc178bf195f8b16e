"""What a folder was made with: seed, features and arms; and what it shares with files and the disk."""

import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from allais import WUCB, Bounded, Learner, Preference, TverskyKahneman, ValueStream
from allais.linear import LinTS, ParameterNoise
from allais.policies import EXP3
from allais.simulation import Results

PEOPLE = Preference(TverskyKahneman(0.61))
POLICY = WUCB.as_printed(PEOPLE, Bounded(0, 50))
ARMS = ["A21", "A28", "A40"]
LINEAR = LinTS(PEOPLE, ParameterNoise())
ROWS = [[1, 0], [0, 1], [0.6, 0.6]]
SEEDS = {
    "int": lambda: 7,
    "sequence": lambda: np.random.SeedSequence(7, spawn_key=(3,)),
    "generator": lambda: np.random.Generator(np.random.Philox(7)),
}


# -- the seed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SEEDS)
def test_a_folder_opens_with_its_own_seed_only(kind, tmp_path):
    with Learner.open(tmp_path, POLICY, ARMS, seed=SEEDS[kind]()) as learner:
        learner.tell(learner.ask(), 7.0)
        live = learner.snapshot()
    for other in (8, np.random.SeedSequence(7, spawn_key=(4,)), np.random.default_rng(9)):
        with pytest.raises(ValueError, match=r"a folder keeps the seed it began with; .* has another. Leave seed out"):
            Learner.open(tmp_path, POLICY, ARMS, seed=other)
    for given in ({}, {"seed": SEEDS[kind]()}):
        with Learner.open(tmp_path, POLICY, ARMS, **given) as learner:
            assert learner.snapshot() == live


@pytest.mark.parametrize("seed", ["x", -1, 1.5, True])
def test_what_is_no_seed_is_refused_for_old_folders_too(seed, tmp_path):
    for folder in ("new", "old"):
        if folder == "old":
            Learner.open(tmp_path / folder, POLICY, ARMS, seed=1).close()
        with pytest.raises(ValueError, match="a seed must be a non-negative int, a SeedSequence or a Generator; got"):
            Learner.open(tmp_path / folder, POLICY, ARMS, seed=seed)


def test_a_seed_is_known_after_snapshots_and_for_folders_that_do_not_say_it(tmp_path):
    with Learner.open(tmp_path, POLICY, ARMS, seed=1) as learner:
        learner.tell(learner.ask(), 7.0)
    snapshot = json.loads((tmp_path / "snapshot.json").read_text())
    del snapshot["began"]["generator"], snapshot["checksum"]  # as version 0.1.0 wrote it
    (tmp_path / "snapshot.json").write_text(json.dumps(snapshot))
    for _ in range(2):  # before and after a further snapshot
        with pytest.raises(ValueError, match="keeps the seed it began with"):
            Learner.open(tmp_path, seed=2)
        with Learner.open(tmp_path, POLICY, ARMS, seed=1) as learner:
            learner.tell(learner.ask(), 7.0)
            learner.save(tmp_path / "learner.json")


def test_a_generator_that_the_caller_goes_on_using_does_not_spoil_the_folder(tmp_path):
    rng = np.random.default_rng(1)
    with Learner.open(tmp_path, EXP3(Bounded(0, 50)), ARMS, seed=rng) as learner:
        for _ in range(20):
            learner.tell(learner.ask(), rng.uniform(0, 50))
        live = learner.snapshot()
    with Learner.open(tmp_path) as learner:
        assert learner.snapshot() == live


# -- features -----------------------------------------------------------------------------------------


def test_a_linear_policy_is_opened_with_features(tmp_path):
    twin = LINEAR.start(ARMS, seed=1, features=ROWS)
    for given in (
        {"policy": LINEAR, "arms": ARMS, "seed": 1, "features": ROWS},
        {"policy": LINEAR, "arms": ARMS, "seed": 1, "features": np.array(ROWS)},
        {"policy": LINEAR},  # the folder knows them
        {},
    ):
        with Learner.open(tmp_path, **given) as learner:
            for _ in range(5):
                choice = twin.ask()
                assert learner.ask() == choice
                for one in (learner, twin):
                    one.tell(choice, float(choice.id))
            assert learner.snapshot() == twin.snapshot()
    with pytest.raises(ValueError, match=r"keeps the policy it began with; .* with other features. Leave policy out"):
        Learner.open(tmp_path, LINEAR, features=[[1, 0], [0, 1], [0.6, 0.7]])


def test_features_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"LinTS needs the features of its arms; got none. Give features="):
        Learner.open(tmp_path / "a", LINEAR, ARMS, seed=1)
    with pytest.raises(ValueError, match="features must be one row per arm; got 2 for 3 arms"):
        Learner.open(tmp_path / "b", LINEAR, ARMS, seed=1, features=ROWS[:2])
    with pytest.raises(ValueError, match="WUCB learns each arm on its own and takes no features; got some"):
        Learner.open(tmp_path / "c", POLICY, ARMS, seed=1, features=ROWS)
    with pytest.raises(ValueError, match="features come with a policy; got None"):
        Learner.open(tmp_path / "d", features=ROWS)


# -- arms that come back ------------------------------------------------------------------------------


def test_a_retired_arm_comes_back_with_what_was_learned(tmp_path):
    with Learner.open(tmp_path, POLICY, ARMS, seed=1) as learner:
        learner.observe("A28", [50.0, 50.0])
        learner.retire("A28")
        assert "A28" not in {choice.arm for choice in learner.ask(8)}
        learner.add("A28")
        assert learner.arms == tuple(ARMS)
        assert learner.pulls["A28"] == 2
        assert "A28" in {choice.arm for choice in learner.ask(8)}  # the others have no outcome yet
        with pytest.raises(ValueError, match="distinct names; 'A28' is there already"):
            learner.add("A28")
        live = learner.snapshot()
    with Learner.open(tmp_path) as learner:
        assert learner.snapshot() == live


def test_an_arm_comes_back_with_its_own_rewards_only():
    learner = WUCB.as_printed(PEOPLE, [Bounded(0, 50), Bounded(0, 2)]).start(["wide", "narrow"], seed=1)
    learner.retire("narrow")
    with pytest.raises(ValueError, match="keeps what is known about it; got other rewards for 'narrow'"):
        learner.add("narrow", Bounded(0, 3))
    learner.add("narrow", Bounded(0, 2))
    learner.retire("narrow")
    learner.add("narrow")
    assert learner.arms == ("wide", "narrow")


# -- files --------------------------------------------------------------------------------------------


def test_a_saved_folder_its_file_and_the_learner_go_on_alike_to_the_last_bit(tmp_path):
    """With many distinct outcomes, whose sums depend on how memory is laid out."""
    rng = np.random.default_rng(6)
    folder, file = tmp_path / "folder", tmp_path / "learner.json"
    with Learner.open(folder, POLICY, ARMS, seed=1) as learner:
        for arm in ARMS:
            learner.observe(arm, rng.uniform(0, 50, 1000))
        learner.save(file)
        from_file = Learner.load(file)
        for _ in range(200):
            choice, outcome = learner.ask(), rng.uniform(0, 50)
            learner.tell(choice, outcome)
            assert from_file.ask() == choice
            from_file.tell(choice, outcome)
        live, intervals = learner.snapshot(), learner.intervals()
    assert from_file.snapshot() == live
    assert from_file.intervals() == intervals
    with Learner.open(folder) as again:
        assert again.snapshot() == live
        assert again.intervals() == intervals
        assert again.copy().intervals() == intervals


@pytest.mark.parametrize("load", [Learner.load, ValueStream.load, Results.load])
def test_a_missing_file_is_said_in_one_sentence_and_is_caught_as_usual(load, tmp_path):
    path = tmp_path / "missing.json"
    with pytest.raises(FileNotFoundError, match=r"^an? .* is read from a file; .*missing.json does not exist. Check"):
        load(path)
    with pytest.raises(ValueError, match="does not exist"):
        load(path)


def test_new_folders_are_durable_with_all_those_above_them(tmp_path, monkeypatch):
    synced, sync = [], os.fsync

    def watched(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            synced.append(Path(f"/proc/self/fd/{descriptor}").resolve())
        sync(descriptor)

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs to know the path of a descriptor")
    monkeypatch.setattr(os, "fsync", watched)
    Learner.open(tmp_path / "a" / "b" / "c", POLICY, ARMS, seed=1).close()
    assert {tmp_path, tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"} <= set(synced)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ValueError, match=r"a folder must be writable; .* is not"):
        Learner.open(tmp_path, POLICY, ARMS, seed=1)
