"""Learners that live in folders: what was acknowledged survives every crash, and damage is not read over.

Run as a module, this file is the process that gets killed: it does a random mix of operations on
a folder and says what it is about to do, and what is done.
"""

import contextlib
import errno
import gc
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest

from allais import NPTS, WLUCB, WSR, WUCB, Bounded, Learner, Preference, TopTwo, TverskyKahneman, Weight
from allais.learner import NotNow, journal
from allais.learner._engine import Engine
from allais.learner.document import document_of
from allais.linear import LinTS, ParameterNoise
from allais.policies import EXP3

PEOPLE = Preference(TverskyKahneman(0.61))
POLICY = WUCB.as_printed(PEOPLE, Bounded(0, 50))
ARMS = ["A21", "A28", "A40"]
KILLED = {
    "W-UCB": POLICY,
    "EXP3": EXP3(Bounded(0, 50)),
    "W-LUCB": WLUCB(PEOPLE, Bounded(0, 50), delta=1e-12),
    "NPTS": NPTS(PEOPLE, Bounded(0, 50)),
    "LinTS": LinTS(PEOPLE, ParameterNoise(), features=[[1, 0], [0, 1], [0.6, 0.6]]),
}
ROOT = Path(__file__).parents[2]
OUTCOMES = (0.0, 0.1, 7.0, 30.0, 50.0)  # few, so that snapshots are as frequent as FEWEST_LINES says


def opened(folder, policy=POLICY, arms=ARMS, seed=1):
    """Open a folder as a program does that does not know whether it was started before."""
    return contextlib.closing(Learner.open(folder, policy, arms, seed=seed))


def document_in(folder):
    with opened(folder) as learner:
        return learner.snapshot()


# -- a random mix of operations -----------------------------------------------------------------------


def next_operation(learner, rng):
    """What to do next, as JSON: [method, arguments]."""
    policy = learner.policy
    arm = rng.choice(learner.arms)
    out = [choice.id for choice in learner.outstanding]
    possible = [["ask", []], ["ask", [rng.randint(1, 4)]]]
    if policy.open_to_data:
        possible += [["observe", [arm, rng.choices(OUTCOMES, k=rng.randint(1, 3))]]]
    if out:
        possible += [["tell", [rng.choice(out), rng.choice(OUTCOMES)]]] * (2 + len(out))
        possible += [["cancel", [rng.choice(out)]]]
    if policy.open_to_data and policy.keeps_outcomes and len(seen := learner.outcomes(arm)[0]):
        possible += [["forget", [arm, rng.choice(seen.tolist())]]]
    if policy.open_to_arms:
        possible += [["add", [name]] for name in learner.pulls if name not in learner.arms]
        if len(learner.pulls) < 9:
            possible += [["add", [f"new {len(learner.pulls)}"]]]
        if len(learner.arms) > 2:
            possible += [["retire", [arm]]]
    return rng.choice(possible)


def perform(learner, operation):
    method, arguments = operation
    with contextlib.suppress(NotNow):  # asking in vain is no change
        getattr(learner, method)(*arguments)


def mixed(count, seed):
    """Operations one after the other, and the documents of a learner in memory before and after each."""
    learner, rng = POLICY.start(ARMS, seed=1), random.Random(seed)
    operations, documents = [], [learner.snapshot()]
    for _ in range(count):
        operations.append(next_operation(learner, rng))
        perform(learner, operations[-1])
        documents.append(learner.snapshot())
    return operations, documents


def say(kind, thing=None):
    os.write(sys.stdout.fileno(), json.dumps([kind, thing]).encode() + b"\n")  # one call: all of it or nothing


def work(folder, name, seed):
    """Operate on the folder for ever, saying what comes and what is done."""
    journal.FEWEST_LINES = 9
    learner, rng = Learner.open(folder, KILLED[name], ARMS, seed=1), random.Random(seed)
    while True:
        operation = next_operation(learner, rng)
        say("begun", operation)
        perform(learner, operation)
        say("done", operation)


def try_to_open(folder):
    try:
        Learner.open(folder).close()
    except ValueError as error:
        say("refused", str(error))
    else:
        say("opened")


def serve():
    """Fork a process for each line that is read: imports and machine code are loaded once."""
    for policy in KILLED.values():
        learner = policy.start(ARMS, seed=1)
        learner.tell(learner.ask(), 7.0)
        learner.snapshot()
    say("ready")
    for line in sys.stdin:
        task, *arguments = json.loads(line)
        child = os.fork()
        if not child:
            say("process", os.getpid())
            {"work": work, "open": try_to_open}[task](*arguments)
            os._exit(0)
        os.waitpid(child, 0)
        say("ended")


class Server:
    """Another process, which starts processes that may be killed."""

    def __init__(self):
        command = [sys.executable, "-m", "tests.learner.test_journal"]
        single = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # as forks like it
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=single, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.read() == ["ready", None]

    def read(self):
        return json.loads(self.process.stdout.readline())

    def start(self, *task):
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        kind, pid = self.read()
        assert kind == "process"
        return pid

    def rest(self):
        """What the started process said until its end."""
        said = []
        while (entry := self.read()) != ["ended", None]:
            said.append(entry)
        return said

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def server():
    with contextlib.closing(Server()) as running:
        yield running


# -- killed at the worst moment -----------------------------------------------------------------------


def kill_again_and_again(server, folder, name, kills, seed):
    """Kill a process at work on a folder; what is on disk is what it acknowledged, and perhaps the call under way."""
    rng = random.Random(seed)
    policy = KILLED[name]
    twin = policy.start(ARMS, seed=1)  # does what was acknowledged, in memory
    acknowledged = 0
    for kill in range(kills):
        pid = server.start("work", str(folder), name, 1000 * seed + kill)
        said = [server.read() for _ in range(rng.randint(1, 24))]  # so many that it has done something, at any load
        time.sleep(rng.choice([0.0, rng.uniform(0.0, 0.003)]))
        os.kill(pid, signal.SIGKILL)
        said += server.rest()
        done = [operation for kind, operation in said if kind == "done"]
        begun = [operation for kind, operation in said if kind == "begun"]
        assert len(begun) - len(done) in (0, 1)
        for operation in done:
            perform(twin, operation)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a torn last line is allowed here
            with opened(folder, policy) as learner:
                found, intervals = as_repeated(learner), learner.intervals()
        if found != as_repeated(twin) and len(begun) > len(done):  # written, and killed before it was said
            perform(twin, begun[-1])
        assert found == as_repeated(twin)
        assert repr(intervals) == repr(twin.intervals())
        acknowledged += len(done)
    assert acknowledged >= kills  # each process was heard to do something before the next


def as_repeated(learner):
    """A document without what asking in vain leaves: a draw, which is made again when it is needed."""
    document = learner.snapshot()
    return {key: document[key] for key in ("policy", "arms", "state", "outstanding", "next")}


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(server, tmp_path):
    kill_again_and_again(server, tmp_path, "W-UCB", kills=12, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["W-UCB", "EXP3", "W-LUCB", "NPTS", "LinTS"])
def test_hundreds_of_kills_lose_nothing(name, server, tmp_path):
    kill_again_and_again(server, tmp_path, name, kills=100, seed=2)


def test_the_disk_holds_all_that_was_acknowledged_at_every_moment(tmp_path, monkeypatch):
    """The folder is copied before and after each call that writes; every copy opens to what it should."""
    monkeypatch.setattr(journal, "FEWEST_LINES", 4)
    operations, documents = mixed(40, seed=2)
    folder = tmp_path / "live"
    images = []
    acknowledged = 0

    def image():
        target = tmp_path / f"image {len(images)}"
        shutil.copytree(folder, target)
        images.append((target, acknowledged))

    def watched(call):
        def wrapper(*arguments, **settings):
            image()
            result = call(*arguments, **settings)
            image()
            return result

        return wrapper

    with monkeypatch.context() as patch:
        for owner, name in ((os, "fsync"), (os, "replace"), (Path, "unlink")):
            patch.setattr(owner, name, watched(getattr(owner, name)))
        with opened(folder) as learner:
            for operation in operations:
                perform(learner, operation)
                acknowledged += 1
    assert len(images) > 120
    for target, count in images:
        assert document_in(target) in documents[count : count + 2]


def test_leftovers_of_a_crash_are_cleared_away(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "FEWEST_LINES", 4)
    operations, documents = mixed(20, seed=2)
    with opened(tmp_path) as learner:
        for operation in operations:
            perform(learner, operation)
        kept = sorted(os.listdir(tmp_path))
    (tmp_path / "journal-1.jsonl").write_text("killed before it was removed")
    (tmp_path / "snapshot.json0abc.tmp").write_text("killed while it was written")
    assert document_in(tmp_path) == documents[-1]
    assert sorted(os.listdir(tmp_path)) == kept


# -- going on -----------------------------------------------------------------------------------------


def test_a_folder_goes_on_where_it_was_left(tmp_path):
    operations, documents = mixed(60, seed=3)
    for operation, before, after in zip(operations, documents, documents[1:], strict=False):
        with opened(tmp_path / "new" / "folder") as learner:
            assert learner.snapshot() == before
            perform(learner, operation)
            assert learner.snapshot() == after


@pytest.mark.parametrize(
    "policy",
    [EXP3(Bounded(0, 50)), WLUCB(PEOPLE, Bounded(0, 50), delta=0.1), WSR(PEOPLE, budget=40)],
    ids=["EXP3", "W-LUCB", "W-SR"],
)
def test_every_kind_of_policy_goes_on_with_the_same_choices(policy, tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "FEWEST_LINES", 6)
    twin = policy.start(ARMS, seed=1)
    for day in range(6):
        with opened(tmp_path, policy) as learner:
            assert learner.outstanding == twin.outstanding
            for turn in range(9):
                try:
                    expected = twin.ask(2)
                except NotNow:
                    with pytest.raises(NotNow):
                        learner.ask(2)
                else:
                    assert learner.ask(2) == expected
                for choice in twin.outstanding[: 1 + turn % 3]:
                    for one in (learner, twin):
                        one.tell(choice, OUTCOMES[(choice.id + day) % 5])
            assert learner.recommend() == twin.recommend()


def test_snapshots_keep_everything_and_remove_the_journals_before_them(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "FEWEST_LINES", 5)
    operations, documents = mixed(200, seed=4)
    with opened(tmp_path) as learner:
        for operation in operations:
            perform(learner, operation)
            assert len(list(tmp_path.glob("journal-*.jsonl"))) == 1
    (last,) = tmp_path.glob("journal-*.jsonl")
    assert int(last.stem.removeprefix("journal-")) > 3
    assert len(last.read_text().splitlines()) < 60
    assert not list(tmp_path.glob("*.tmp"))
    assert document_in(tmp_path) == documents[-1]


def test_a_folder_of_many_distinct_outcomes_goes_on_exactly(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "FEWEST_LINES", 30)
    rng = np.random.default_rng(6)
    for _ in range(3):
        with opened(tmp_path) as learner:
            learner.observe("A28", rng.uniform(0, 50, 100))
            for _ in range(200):
                learner.tell(learner.ask(), rng.uniform(0, 50))
            live = learner.snapshot()
        assert document_in(tmp_path) == live


def test_the_more_there_is_to_write_the_rarer_are_snapshots(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "FEWEST_LINES", 4)
    with opened(tmp_path) as learner:
        learner.observe("A21", np.linspace(0, 50, 1000))
        for _ in range(50):
            learner.observe("A21", [7.0])
    (last,) = tmp_path.glob("journal-*.jsonl")
    assert last.name in ("journal-1.jsonl", "journal-2.jsonl")


def test_a_refused_call_writes_nothing(tmp_path):
    with opened(tmp_path) as learner:
        choice = learner.ask()
        before, written = learner.snapshot(), (tmp_path / "journal-1.jsonl").read_bytes()
        for bad in (
            lambda: learner.tell(choice, float("nan")),
            lambda: learner.tell(choice, 51.0),
            lambda: learner.tell(99, 1.0),
            lambda: learner.cancel(99),
            lambda: learner.observe("A21", [1.0, -1.0]),
            lambda: learner.observe("A21", ["seven"]),
            lambda: learner.observe("A21", 7.0),
            lambda: learner.forget("A21", 1.0),
            lambda: learner.add("A21"),
            lambda: learner.retire("A99"),
            lambda: learner.ask(0),
        ):
            with pytest.raises(ValueError, match=r"must|only|an arm"):
                bad()
        assert (tmp_path / "journal-1.jsonl").read_bytes() == written
        assert learner.snapshot() == before


def test_a_copy_lives_in_memory_and_a_saved_one_in_its_file(tmp_path):
    with opened(tmp_path / "folder") as learner:
        learner.observe("A21", [7.0])
        twin = learner.copy()
        learner.save(tmp_path / "learner.json")
        twin.observe("A21", [50.0])
        assert learner.samples == 1
    assert twin.ask().id == 1  # the folder is closed, and the copy does not mind
    assert document_in(tmp_path / "folder") == Learner.load(tmp_path / "learner.json").snapshot()


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
    with pytest.raises(ValueError, match="must"):
        Learner.open(folder).close()


# -- what does not agree ------------------------------------------------------------------------------


def test_one_process_at_a_time_has_a_folder(server, tmp_path):
    with opened(tmp_path) as learner:
        with pytest.raises(ValueError, match=r"one process at a time may open a folder; .* is open in another"):
            Learner.open(tmp_path)
        server.start("open", str(tmp_path))
        ((kind, message),) = server.rest()
        assert kind == "refused"
        assert "one process at a time may open a folder" in message
        learner.tell(learner.ask(), 7.0)
    server.start("open", str(tmp_path))
    assert server.rest() == [["opened", None]]


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


if __name__ == "__main__":
    serve()


def test_a_journal_of_choices_that_a_policy_would_no_longer_make_is_read_as_it_stands(tmp_path, monkeypatch):
    policy = TopTwo(PEOPLE, Bounded(0, 1), delta=1e-9)
    with Learner.open(tmp_path / "folder", policy, ["A", "B"], seed=1) as learner:
        for _ in range(40):
            choice = learner.ask()
            learner.tell(choice, 0.5 + 0.1 * (choice.arm == "A"))
        waiting = learner.ask(3)
        pulls = learner.pulls

    genuine = Engine.ask

    def contrary(self):  # as if an older version had chosen: another arm, or none at all
        if self.next % 5 == 0:
            raise NotNow("settled")
        choice = genuine(self)
        arm = 1 - self.out[choice.id][0]
        self.state.asked[arm] += 1
        self.state.asked[1 - arm] -= 1
        self.out[choice.id] = (arm, *self.out[choice.id][1:])
        return choice._replace(arm=self.names[arm])

    monkeypatch.setattr(Engine, "ask", contrary)
    with Learner.open(tmp_path / "folder") as learner:
        assert learner.pulls == pulls
        assert list(learner.outstanding) == waiting
        assert learner.state.asked.tolist() == [
            pulls[name] + sum(choice.arm == name for choice in waiting) for name in ("A", "B")
        ]
