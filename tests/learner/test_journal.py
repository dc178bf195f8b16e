"""Learners that live in folders: what was acknowledged survives every crash, and damage is not read over.

Run as a module, this file is the process that gets killed: it does a random mix of operations on
a folder and says what it is about to do, and what is done.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from allais import NPTS, WLUCB, WUCB, Bounded, Learner, Preference, TopTwo, TverskyKahneman
from allais.learner import NotNow, journal
from allais.learner._engine import Engine
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
