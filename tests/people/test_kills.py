"""An interview in a folder is killed at random moments: what was acknowledged is there, and nothing else.

Run as a module, this file is the process whose children get killed: they do a random mix of operations on a folder and
say what they are about to do, and what is done.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from allais.learner import journal
from allais.learner.choices import NotNow
from allais.people import Family, Interview
from allais.people.interview.files import content_of

ROOT = Path(__file__).parents[2]
FAMILY = Family(stake=100)
SETTINGS = {"seed": 3, "questions": 10_000, "n_candidates": 400, "n_particles": 100}


def next_operation(interview, rng):
    """What to do next, as JSON: [method, arguments]."""
    out, told = interview._out, list(interview._told)
    side = rng.choice("AB")
    possible = [["ask", []]] * 4 if out is None else [["tell", [out, side]]] * 6 + [["cancel", [out]]]
    return rng.choice(possible + ([["revise", [rng.choice(told), side]]] if told else []))


def perform(interview, operation):
    method, arguments = operation
    with contextlib.suppress(NotNow):  # asking in vain is no change
        getattr(interview, method)(*arguments)


def say(kind, thing=None):
    os.write(sys.stdout.fileno(), json.dumps([kind, thing]).encode() + b"\n")  # one call: all of it or nothing


def work(folder, seed):
    """Operate on the folder for ever, saying what comes and what is done; with a snapshot every few lines."""
    journal.FEWEST_LINES = 5
    Interview._lines_worth_a_snapshot = lambda _: 1
    interview, rng = Interview.open(folder, FAMILY, **SETTINGS), random.Random(seed)
    while True:
        operation = next_operation(interview, rng)
        say("begun", operation)
        perform(interview, operation)
        say("done", operation)


def serve():
    """Fork a process for each line that is read: imports and machine code are loaded once."""
    first = Interview(FAMILY, **SETTINGS)
    for _ in range(3):
        first.tell(first.ask(), "A")
    first.revise(1, "B")
    say("ready")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            say("process", os.getpid())
            work(*json.loads(line))
        os.waitpid(child, 0)
        say("ended")


@pytest.fixture(scope="module")
def server():
    single = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # as forks like it
    command = [sys.executable, "-m", "tests.people.test_kills"]
    with subprocess.Popen(
        command, cwd=ROOT, env=single, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert heard(process) == ["ready", None]
        yield process
        process.stdin.close()


def heard(process):
    return json.loads(process.stdout.readline())


def kill_again_and_again(server, folder, kills, seed):
    rng = random.Random(seed)
    twin = Interview(FAMILY, **SETTINGS)  # does what was acknowledged, in memory
    acknowledged, within_a_call = 0, 0
    for kill in range(kills):
        server.stdin.write(json.dumps([str(folder), 1000 * seed + kill]) + "\n")
        server.stdin.flush()
        kind, pid = heard(server)
        assert kind == "process"
        said = [heard(server) for _ in range(rng.randint(1, 16))]  # so many that it has done something, at any load
        time.sleep(rng.choice([0.0, rng.uniform(0.0, 0.02)]))
        os.kill(pid, signal.SIGKILL)
        while (entry := heard(server)) != ["ended", None]:
            said.append(entry)
        done = [operation for kind, operation in said if kind == "done"]
        begun = [operation for kind, operation in said if kind == "begun"]
        assert len(begun) - len(done) in (0, 1)
        for operation in done:
            perform(twin, operation)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a torn last line is allowed here
            with Interview.open(folder, FAMILY, **SETTINGS) as interview:
                found = content_of(interview)
        if found != content_of(twin) and len(begun) > len(done):  # written, and killed before it was said
            perform(twin, begun[-1])
        assert found == content_of(twin)
        acknowledged += len(done)
        within_a_call += len(begun) > len(done)
    assert acknowledged >= kills
    assert within_a_call > 0  # or no kill came in the middle of anything


def test_nothing_acknowledged_is_lost_when_an_interview_is_killed(server, tmp_path):
    kill_again_and_again(server, tmp_path / "alice", kills=10, seed=1)


@pytest.mark.slow
def test_hundreds_of_kills_lose_no_answer(server, tmp_path):
    kill_again_and_again(server, tmp_path / "alice", kills=200, seed=2)


if __name__ == "__main__":
    serve()
