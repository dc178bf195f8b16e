"""A search that is killed or ended: what is kept, and what is left running."""

import functools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from allais._checks import root_of
from allais.cli.specs import read_search
from allais.searches import Search
from allais.searches.journal import RunJournal, identity
from tests.cli.test_best_arm import COIN, ROOT, runs_of
from tests.problems.test_program import is_gone

# -- a coordinator that is killed -----------------------------------------------------------------


def started(spec, *arguments):
    command = [sys.executable, "-m", "allais.cli", "best-arm", str(spec), *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def answer_in(spec):
    """What the journal leads to, by repeating it: pulls and values."""
    experiment = read_search(spec)
    root = root_of(experiment.seed)
    search = Search(experiment.policy, experiment.problem.arms, root)
    with RunJournal(spec.with_suffix(".runs.jsonl"), identity(experiment.problem, experiment.policy, root)) as journal:
        journal.repeat(search)
    assert search.ask() is None
    return search.settled, search.learner.pulls, search.learner.value()


def killed_and_resumed(spec, workers, kills, seed, *more):
    """Kill the coordinator at random moments until it was killed so often, then let it finish; its last words."""
    rng, path = random.Random(seed), spec.with_suffix(".runs.jsonl")
    killed, before = 0, []
    while True:
        resume = ["--resume"] if path.exists() and path.stat().st_size else []
        process = started(spec, "--workers", str(workers), *more, *resume)
        if killed < kills:
            while process.poll() is None and (not path.exists() or len(path.read_bytes().splitlines()) <= len(before)):
                time.sleep(0.002)  # kills while it starts would show little
            time.sleep(rng.uniform(0.0, 0.25))
            process.send_signal(signal.SIGKILL)
        output, _ = process.communicate()
        if process.returncode == -signal.SIGKILL:
            killed += 1
        whole = [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        assert whole[: len(before)] == before  # nothing that was journalled is lost
        before = whole
        if process.returncode != -signal.SIGKILL:
            return killed, process.returncode, output


def written(spec, budget):
    spec.write_text(COIN.format(function="slow_coin", policy="WSR", setting=f"budget = {budget}"))
    return spec


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What a search says that nobody killed, and its answer: done once for each budget."""

    @functools.cache
    def done(budget):
        spec = written(tmp_path_factory.mktemp("whole") / "whole.toml", budget)
        return started(spec, "--workers", "4").communicate()[0], answer_in(spec)

    return done


def check_kills(whole, tmp_path, workers, kills, seed, budget, *more):
    spec = written(tmp_path / "killed.toml", budget)
    killed, code, output = killed_and_resumed(spec, workers, kills, seed, *more)
    assert killed == kills
    assert code == 0, output
    assert (output, answer_in(spec)) == whole(budget)
    runs = [(one["arm"], one["index"]) for one in runs_of(spec.with_suffix(".runs.jsonl"))]
    assert len(set(runs)) == len(runs)


@pytest.mark.parametrize("more", [(), ("--batch", "6")])
def test_a_coordinator_that_was_killed_loses_and_repeats_nothing_that_was_reported(whole, tmp_path, more):
    check_kills(whole, tmp_path, 2, 1, 1, 150, *more)  # seconds of runs, so that no load ends it sooner


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--batch", "6")])
def test_a_coordinator_killed_three_times_loses_and_repeats_nothing(whole, tmp_path, more):
    check_kills(whole, tmp_path, 2, 3, 1, 400, *more)


@pytest.mark.slow
def test_a_coordinator_killed_at_fifty_random_moments_loses_and_repeats_nothing(whole, tmp_path):
    check_kills(whole, tmp_path, workers=2, kills=50, seed=2, budget=1_500)


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds the workers in /proc")
def test_workers_end_when_their_coordinator_is_killed(tmp_path):
    spec = tmp_path / "coin.toml"
    spec.write_text(COIN.format(function="slow_coin", policy="WSR", setting="budget = 100000"))
    process = started(spec, "--workers", "2")
    path = spec.with_suffix(".runs.jsonl")
    while not path.exists() or len(path.read_bytes().splitlines()) < 10:
        time.sleep(0.01)
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    children = [int(pid) for task in tasks for pid in (task / "children").read_text().split()]
    assert len(children) == 3  # two workers, and the guard that ends what is left
    process.kill()
    process.communicate()
    assert is_gone(*children)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds what left its group in /proc")
@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("program", signal.SIGHUP),
        ("function", signal.SIGKILL),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                *(("program", number) for number in (signal.SIGTERM, signal.SIGKILL)),
                *(("function", number) for number in (signal.SIGTERM, signal.SIGHUP)),
            )
        ),
    ],
)
def test_a_search_that_is_ended_leaves_nothing_running(tmp_path, kind, number):
    spec = tmp_path / "coin.toml"
    text = COIN.format(function="starting_others", policy="WSR", setting="budget = 100")
    if kind == "program":
        command = f"{sys.executable} -m tests.searches.simulators {tmp_path}/{{arm}} {{seed}} others"
        text = text.replace('function = "tests.searches.simulators:starting_others"', f'command = "{command}"')
    text = text.replace('["A", "B", "C"]', f'["{tmp_path}/A", "{tmp_path}/B"]' if kind == "function" else '["A", "B"]')
    spec.write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-m", "allais.cli", "best-arm", str(spec), "--workers", "2"]
    ignored = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup, which ignores it
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGHUP, ignored)
    pids = []
    while len(pids) < 6:  # of two runs: itself, a child, and a child in a session of its own
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
        pids = [int(pid) for path in tmp_path.glob("*.pids") for pid in path.read_text().split()]
    process.send_signal(number)
    _, said = process.communicate(timeout=300)
    assert is_gone(*pids)
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number
        assert said == f"error: ended by {number.name}.\n"
