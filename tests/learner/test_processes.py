"""Learners that are copied, pickled or forked, and folders of a process that goes elsewhere."""

import contextlib
import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from allais import (
    LUCB,
    NPTS,
    WUCB,
    Bandit,
    Bernoulli,
    Bounded,
    Learner,
    Preference,
    Program,
    TverskyKahneman,
    ValueStream,
    best_arm,
    search,
)
from allais.learner import journal
from allais.linear import LinTS, ParameterNoise
from allais.policies import EXP3

PEOPLE = Preference(TverskyKahneman(0.61))
POLICY = WUCB.as_printed(PEOPLE, Bounded(0, 50))
ARMS = ["A21", "A28", "A40"]
POLICIES = {
    "W-UCB": POLICY,
    "EXP3": EXP3(Bounded(0, 50)),
    "NPTS": NPTS(PEOPLE, Bounded(0, 50)),
    "LinTS": LinTS(PEOPLE, ParameterNoise(), features=[[1, 0], [0, 1], [0.6, 0.6]]),
}
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def lived_in(policy, rounds=400):
    learner, rng = policy.start(ARMS, seed=1), np.random.default_rng(1)
    for _ in range(rounds):
        learner.tell(learner.ask(), rng.uniform(0, 50))
    learner.ask(2)
    return learner


# -- copies and pickles -------------------------------------------------------------------------------


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("name", POLICIES)
def test_a_copied_or_pickled_learner_goes_on_alike_and_alone(name, twin_of):
    learner = lived_in(POLICIES[name])
    twin, before = twin_of(learner), learner.snapshot()
    assert twin.snapshot() == before
    chosen = []
    for _ in range(100):
        choice = twin.ask()
        twin.tell(choice, choice.id % 50)
        chosen.append(choice)
    assert learner.snapshot() == before
    for choice in chosen:
        assert learner.ask() == choice
        learner.tell(choice, choice.id % 50)
    assert learner.snapshot() == twin.snapshot()
    assert learner.intervals() == twin.intervals()


def test_an_answer_can_be_pickled(tmp_path):
    problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)], arms=["A21", "A28"])
    policy = LUCB(Bounded(0, 1), delta=0.05)
    for answer in (best_arm(policy, problem, seed=1), search(policy, problem, seed=1, journal=tmp_path / "runs")):
        again = pickle.loads(pickle.dumps(answer))
        assert str(again) == str(answer)
        assert again.intervals == answer.intervals
        assert again.reached_delta == answer.reached_delta
        assert again.learner.snapshot() == answer.learner.snapshot()


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, pickle.dumps])
def test_the_learner_of_a_folder_is_not_copied(twin_of, tmp_path):
    with Learner.open(tmp_path, POLICY, ARMS, seed=1) as learner:
        with pytest.raises(TypeError, match=r"one learner at a time writes a folder; .* Take learner.copy\(\)"):
            twin_of(learner)
        learner.tell(learner.ask(), 7.0)
        assert learner.copy().snapshot() == learner.snapshot()
    with Learner.open(tmp_path) as learner:
        assert learner.samples == 1


@pytest.mark.parametrize("max_blocks", [None, 20])
def test_a_copied_stream_lives_alone(max_blocks):
    stream = ValueStream(PEOPLE, max_blocks=max_blocks)
    stream.add_many(np.linspace(-50, 50, 300))
    stream.add(7.0)
    before = stream.certified()
    for twin in (copy.copy(stream), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))):
        assert twin.certified() == before
        twin.add_many(np.linspace(0, 9, 100))
        twin.add(1000.0)
        assert len(twin) == 402
        assert len(stream) == 301
        assert stream.certified() == before


# -- forks --------------------------------------------------------------------------------------------


def in_a_fork(task):
    """What a forked process says of a task: 'done', or the error; 'hangs' if it does not end."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(300)  # no load of the machine makes it that long
        try:
            task()
            said = "done"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said or "hangs"


@needs_fork
def test_a_fork_does_not_write_to_the_folder_of_its_parent(tmp_path):
    with Learner.open(tmp_path, POLICY, ARMS, seed=1) as learner:
        choice = learner.ask()
        for task in (
            lambda: learner.tell(choice, 7.0),
            learner.ask,
            lambda: learner.observe("A21", [7.0]),
            lambda: learner.add("new"),
            learner.recommend,
            lambda: learner.pulls,
            lambda: learner.save(tmp_path / "learner.json"),
        ):
            said = in_a_fork(task)
            assert said.startswith(f"ValueError: the folder {tmp_path} belongs to the process that opened it")
        assert in_a_fork(learner.close) == "done"
        assert "is open in another" in in_a_fork(lambda: Learner.open(tmp_path))  # the parent still has it
        learner.tell(choice, 50.0)
        live = learner.snapshot()
    assert in_a_fork(lambda: Learner.open(tmp_path).close()) == "done"
    with Learner.open(tmp_path) as learner:
        assert learner.snapshot() == live


@needs_fork
def test_a_fork_in_the_middle_of_another_threads_call_does_not_wait_for_it():
    learner, stop = POLICY.start(ARMS, seed=1), threading.Event()
    stream = ValueStream(PEOPLE)

    def keep_busy():
        while not stop.is_set():
            learner.tell(learner.ask(), 7.0)
            stream.add(7.0)

    def look():
        for question in (learner.recommend, stream.value):
            with contextlib.suppress(ValueError):  # it was forked in the middle of a change
                question()

    threads = [threading.Thread(target=keep_busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert {in_a_fork(look) for _ in range(10)} == {"done"}  # at nearly every moment one of them holds a lock
    finally:
        stop.set()
        for thread in threads:
            thread.join()


# -- a process that goes elsewhere --------------------------------------------------------------------


def test_a_folder_stays_where_it_was_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "FEWEST_LINES", 4)
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(there)
    with Learner.open("advisor", POLICY, ["other"], seed=5) as other:
        other.observe("other", [7.0])
        untouched = other.snapshot()
    monkeypatch.chdir(here)
    with Learner.open("advisor", POLICY, ARMS, seed=1) as learner:
        for turn in range(40):
            monkeypatch.chdir(there if turn % 2 else here)
            learner.tell(learner.ask(), 7.0)
        live = learner.snapshot()
    with Learner.open(here / "advisor") as learner:
        assert learner.snapshot() == live
    with Learner.open(there / "advisor") as other:
        assert other.snapshot() == untouched


def test_a_program_runs_in_the_folder_that_it_was_given(tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "sim.py").write_text("import sys; print(len(sys.argv))")
    monkeypatch.chdir(tmp_path)
    problem = Program(f"{sys.executable} sim.py {{arm}} {{seed}}", [1, 2], folder="model")
    monkeypatch.chdir("/")
    assert problem.run(0, seed=1) == 3.0


@pytest.mark.parametrize("variable", ["ALLAIS_CACHE_DIR", "XDG_CACHE_HOME"])
def test_compiled_code_is_kept_in_one_place(variable, tmp_path):
    """A cache folder that is given relative is where the process began, wherever it goes later."""
    script = "import os, allais._kernels as k; print(k.cache_folder().is_absolute(), os.path.isabs(k.CACHE))"
    settings = {**os.environ, variable: "cache", "PYTHONPATH": str(Path(journal.__file__).parents[2])}
    if variable != "ALLAIS_CACHE_DIR":
        settings.pop("ALLAIS_CACHE_DIR", None)
    said = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=settings, capture_output=True, text=True)
    assert said.stdout.split() == ["True", "True"], said.stderr
