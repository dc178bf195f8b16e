"""Folders of a learner: a torn end and damage, what does not agree, and errors of the disk."""

import contextlib
import errno
import gc
import json
import os
import stat
import warnings
import zlib

import numpy as np
import pytest

from allais import WSR, WUCB, Bounded, Learner, Preference, Weight
from allais.learner import NotNow, journal
from allais.learner.document import document_of
from allais.policies import EXP3
from tests.learner.test_journal import ARMS, PEOPLE, POLICY, document_in, mixed, opened, perform

# -- a torn end, and damage ---------------------------------------------------------------------------


@pytest.fixture
def lived_in(tmp_path):
    """A folder with ten operations in its journal, and the documents after each."""
    operations, documents = mixed(10, seed=5)
    with opened(tmp_path) as learner:
        for operation in operations:
            perform(learner, operation)
    assert document_in(tmp_path) == documents[-1]
    return tmp_path, documents


def test_a_torn_last_line_is_dropped_with_a_warning(lived_in):
    folder, documents = lived_in
    path = folder / "journal-1.jsonl"
    whole = path.read_bytes()
    start = whole.rstrip(b"\n").rindex(b"\n") + 1
    for end in range(start + 1, len(whole)):
        path.write_bytes(whole[:end])
        with pytest.warns(UserWarning, match=r"last line of .*journal-1.jsonl was cut off .* it is dropped"):
            assert document_in(folder) == documents[-2]
        assert document_in(folder) == documents[-2]  # it was cut away: no second warning
    path.write_bytes(whole[:start])
    with opened(folder) as learner:
        assert learner.snapshot() == documents[-2]
        learner.observe("A21", [7.0])
        after = learner.snapshot()
    assert document_in(folder) == after


@pytest.mark.parametrize("line", [0, 4, 8, 9])
def test_damage_in_a_line_that_was_acknowledged_is_refused(line, lived_in):
    """Also in the last one: it ends in a newline, so it was not torn."""
    folder, _ = lived_in
    path = folder / "journal-1.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 10
    for at in range(len(lines[line])):
        damaged = bytearray(lines[line])
        damaged[at] ^= 1 << at % 8
        path.write_bytes(b"".join([*lines[:line], bytes(damaged), *lines[line + 1 :]]))
        with pytest.raises(
            ValueError, match=rf"must match its checksums; .*journal-1.jsonl is damaged .*line {line + 1}\. Use"
        ):
            Learner.open(folder)


def test_a_line_that_is_missing_or_there_twice_is_refused(lived_in):
    folder, _ = lived_in
    path = folder / "journal-1.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    accepted = []
    for line in range(len(lines)):
        for kind, changed in (
            ("missing", lines[:line] + lines[line + 1 :]),
            ("twice", lines[: line + 1] + lines[line:]),
        ):
            if changed == lines[:-1]:  # a journal that ends earlier is whole
                continue
            path.write_bytes(b"".join(changed))
            with contextlib.suppress(ValueError):
                Learner.open(folder).close()
                accepted.append((line, kind))
    assert accepted == []


def test_a_damaged_snapshot_is_refused(lived_in):
    folder, _ = lived_in
    whole = (folder / "snapshot.json").read_bytes()
    for end in range(0, len(whole) - 1, 41):
        (folder / "snapshot.json").write_bytes(whole[:end])
        with pytest.raises(ValueError, match=r"a snapshot must be whole; .* is damaged"):
            Learner.open(folder)


@pytest.mark.parametrize("missing", ["journal-1.jsonl", "snapshot.json"])
def test_a_folder_without_one_of_its_files_is_refused(missing, lived_in):
    folder, _ = lived_in
    kept = {path: path.read_bytes() for path in folder.iterdir() if path.name != missing}
    (folder / missing).unlink()
    with pytest.raises(ValueError, match=missing.split("-")[0].split(".")[0]):
        Learner.open(folder, POLICY, ARMS, seed=1).close()
    assert {path: path.read_bytes() for path in folder.iterdir()} == kept


def test_a_journal_that_repeats_to_other_choices_is_refused(tmp_path):
    """As it would on a machine whose last bits differ: the acknowledged choices are what counts."""
    policy = EXP3(Bounded(0, 50))
    with opened(tmp_path, policy) as learner:
        for _ in range(20):
            learner.tell(learner.ask(), 7.0)
    snapshot = json.loads((tmp_path / "snapshot.json").read_text())
    snapshot["learner"] = policy.start(ARMS, seed=2).snapshot()  # whole, but it will choose otherwise
    (tmp_path / "snapshot.json").write_text(json.dumps(snapshot))
    with pytest.raises(ValueError, match="must"):
        Learner.open(tmp_path).close()


def test_a_line_of_a_newer_version_is_refused(lived_in):
    folder, _ = lived_in
    with opened(folder) as learner:
        learner._journal.log.append({"merge": "A21", "into": "A28"})
    with pytest.raises(ValueError, match="invalid event"):
        Learner.open(folder).close()


# -- what does not agree ------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"policy": POLICY}, {"policy": POLICY, "arms": 3}, {"arms": 3, "seed": 1}])
def test_a_new_folder_needs_policy_arms_and_seed(given, tmp_path):
    with pytest.raises(ValueError, match=r"a new folder needs policy, arms and seed; .* Give all three"):
        Learner.open(tmp_path / "folder", **given)
    with opened(tmp_path / "folder") as learner:  # and the refusal is in nobody's way
        assert learner.samples == 0


def test_another_policy_is_refused(lived_in):
    folder, documents = lived_in
    for other in (
        WUCB.as_printed(PEOPLE, Bounded(0, 51)),
        WUCB.as_printed(PEOPLE, Bounded(0, 50), exploration=2.0),
        EXP3(Bounded(0, 50)),
    ):
        with pytest.raises(ValueError, match=r"a folder keeps the policy it began with; .*Leave policy out"):
            Learner.open(folder, other)
    with contextlib.closing(Learner.open(folder)) as learner:
        assert learner.snapshot() == documents[-1]


@pytest.mark.parametrize("arms", [["A21", "A28"], ["A28", "A21", "A40"], 3])
def test_other_arms_are_refused(arms, tmp_path):
    opened(tmp_path).thing.close()
    with pytest.raises(ValueError, match="arms"):
        Learner.open(tmp_path, POLICY, arms, seed=1).close()


@pytest.mark.parametrize("rewards", [Bounded(0, 50), [Bounded(0, 50)] * 3], ids=["for all arms", "one per arm"])
def test_the_same_program_opens_a_folder_whose_arms_have_changed(rewards, tmp_path):
    policy = WUCB.as_printed(PEOPLE, rewards)
    with opened(tmp_path, policy) as learner:
        learner.add("new", Bounded(0, 2) if isinstance(rewards, list) else None)
        learner.retire("A21")
    with opened(tmp_path, policy) as learner:
        assert learner.arms == ("A28", "A40", "new")
        assert learner.ask().arm in learner.arms


def test_a_file_in_place_of_a_folder_is_refused(tmp_path):
    POLICY.start(ARMS, seed=1).save(tmp_path / "learner.json")
    with pytest.raises(ValueError, match="folder"):
        Learner.open(tmp_path / "learner.json", POLICY, ARMS, seed=1)


@pytest.mark.parametrize(
    ("policy", "arms"),
    [
        (POLICY, [("A", 1), "B"]),
        (WUCB.as_printed(Preference(Weight.from_function(lambda p: p * p, holder=(2.0, 1.0))), Bounded(0, 50)), ARMS),
    ],
    ids=["an arm", "a weight"],
)
def test_what_cannot_be_saved_is_refused_at_once_and_leaves_nothing_open(policy, arms, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match="can be saved"):
            Learner.open(tmp_path, policy, arms, seed=1)
        gc.collect()
    assert [str(warning.message) for warning in caught] == []
    assert document_in(tmp_path) == POLICY.start(ARMS, seed=1).snapshot()


@pytest.mark.parametrize(
    "call",
    [
        lambda learner: learner.add(("A", 1)),
        lambda learner: learner.add(1.5),
        lambda learner: learner.add(None),
        lambda learner: learner.add(frozenset("A")),
        lambda learner: learner.observe(np.int64(2), [50.0] * 30),
        lambda learner: learner.forget(np.int64(2), 7.0),
        lambda learner: learner.retire(np.int64(2)),
        lambda learner: learner.tell(np.int64(4), 7.0),
    ],
    ids=["tuple", "float", "None", "frozenset", "observe int64", "forget int64", "retire int64", "tell int64"],
)
@pytest.mark.parametrize("fewest", [12, 4096], ids=["snapshot", "journal"])
def test_what_the_journal_cannot_hold_is_refused_before_it_is_done(fewest, call, tmp_path, monkeypatch):
    """Whether it is taken or refused: the folder and the learner agree, then and later."""
    monkeypatch.setattr(journal, "FEWEST_LINES", fewest)
    with opened(tmp_path, arms=3) as learner:
        learner.observe(2, [7.0])
        learner.ask(4)
        with contextlib.suppress(TypeError, ValueError):
            call(learner)
        for _ in range(20):  # beyond the snapshot, if there is one
            learner.tell(learner.ask(), 7.0)
        live = learner.snapshot()
    with opened(tmp_path, arms=3) as learner:
        assert learner.snapshot() == live


def test_asking_in_vain_does_not_part_the_learner_from_its_folder(tmp_path):
    policy = WSR(PEOPLE, budget=10)
    with opened(tmp_path, policy, ["A", "B"]) as learner:
        while not learner.is_settled():
            choice = learner.ask()
            learner.tell(choice, 7.0 if choice.arm == "B" else 0.0)
        with pytest.raises(NotNow):
            learner.ask()
        learner.observe("A", [50.0] * 20)
        live = learner.recommend()
    with opened(tmp_path, policy, ["A", "B"]) as learner:
        assert learner.recommend() == live


# -- errors of the disk -------------------------------------------------------------------------------


def input_output_error(*arguments):
    raise OSError(errno.EIO, "Input/output error")


def test_an_error_of_the_disk_closes_the_learner_and_the_folder_goes_on(tmp_path, monkeypatch):
    with opened(tmp_path) as learner:
        learner.observe("A21", [7.0])
        choice = learner.ask()
        before = learner.snapshot()
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", input_output_error)
            with pytest.raises(OSError, match="Input/output error"):
                learner.tell(choice, 50.0)
        told = document_of(learner._engine)  # a learner that was closed in the middle of a call takes no snapshot
        with pytest.raises(ValueError, match=r"was closed, .*Open it again"):
            learner.observe("A21", [7.0])
        with opened(tmp_path) as again:
            assert again.snapshot() in (before, told)


@pytest.mark.parametrize("room", [0, 10])
def test_a_full_disk_closes_the_learner_and_lets_go_of_the_folder(room, tmp_path):
    resource = pytest.importorskip("resource")  # the limit on a file's size stands for the disk's
    with opened(tmp_path) as learner:
        choice = learner.ask()
        before = learner.snapshot()
        written = (tmp_path / "journal-1.jsonl").stat().st_size
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (written + room, limits[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                learner.tell(choice, 50.0)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        with pytest.raises(ValueError, match="was closed"):
            learner.ask()
        with pytest.warns(UserWarning, match="cut off") if room else contextlib.nullcontext():
            assert document_in(tmp_path) == before


def test_a_closed_learner_refuses_to_change(tmp_path):
    with opened(tmp_path) as learner:
        choice = learner.ask()
        learner.observe("A21", [7.0])
    before = learner.snapshot()
    for call in (
        lambda: learner.tell(choice, 7.0),
        lambda: learner.cancel(choice),
        lambda: learner.ask(),
        lambda: learner.observe("A21", [7.0]),
        lambda: learner.forget("A21", 7.0),
        lambda: learner.add("new"),
        lambda: learner.retire("A21"),
    ):
        with pytest.raises(ValueError, match="was closed"):
            call()
        assert learner.snapshot() == before
    learner.close()  # twice is no mistake


def test_an_interrupt_does_not_part_the_learner_from_its_folder(tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    with opened(tmp_path) as learner:
        with monkeypatch.context() as patch:
            patch.setattr(zlib, "crc32", interrupt)  # after the call was checked, before its line is written
            with pytest.raises(KeyboardInterrupt):
                learner.observe("A21", [7.0])
        try:
            learner.tell(learner.ask(), 7.0)
        except ValueError:  # it was closed
            live = POLICY.start(ARMS, seed=1).snapshot()
        else:
            live = learner.snapshot()
    assert document_in(tmp_path) == live


@pytest.mark.parametrize("when", ["the snapshot", "its folder"])
def test_an_error_of_the_disk_while_a_snapshot_is_written_loses_nothing(when, tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "FEWEST_LINES", 4)
    acknowledged = 0

    def failing(descriptor):
        file = os.fstat(descriptor)
        if file.st_ino in {path.stat().st_ino for path in tmp_path.glob("journal-*")}:
            return
        if stat.S_ISDIR(file.st_mode) == (when == "its folder"):
            raise OSError(errno.EIO, "Input/output error")

    with opened(tmp_path) as learner, monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        for outcomes in ([7.0], [7.0], [7.0], [7.0], np.linspace(0, 50, 100), [7.0], [7.0]):
            with contextlib.suppress(OSError, ValueError):
                learner.observe("A21", outcomes)
                acknowledged += len(outcomes)
    with opened(tmp_path) as learner:
        assert learner.samples >= acknowledged
