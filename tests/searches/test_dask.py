"""Dask: a scheduler and two workers on loopback, the same numbers, and a worker that dies."""

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import allais.cli.best_arm
from allais import WSR, WUCB, Bandit, Bounded, Discrete, Preference, Simulator, TverskyKahneman, search, simulate
from allais.searches.pool import PATIENCE, ClusterLost
from tests.cli.test_best_arm import COIN, ROOT, run
from tests.searches.simulators import ARMS, coin, slow_coin
from tests.simulation.test_runs import same

pytestmark = pytest.mark.filterwarnings("ignore")  # of the scheduler, not of this library
PEOPLE = Preference(TverskyKahneman(0.8), TverskyKahneman(0.85))
BUDGET = WSR(PEOPLE, budget=120, rewards=Bounded(-1, 1))


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    quiet = {"silence_logs": 50, "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", **quiet) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_simulate_gives_the_same_numbers_through_threads_processes_and_dask(client):
    problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    policy = WUCB.as_printed(Preference(TverskyKahneman(0.61)), Bounded(0, 50))
    alone = simulate(policy, problem, 2_000, 10, seed=5)
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2) as processes, client.get_executor() as cluster:
        for executor in (threads, processes, cluster):
            same(alone, simulate(policy, problem, 2_000, 10, seed=5, executor=executor))


def test_a_cluster_gives_the_recommendation_and_the_accounting_of_one_machine(client):
    with ThreadPoolExecutor(2) as threads, client.get_executor() as cluster:
        here = search(BUDGET, Simulator(coin, ARMS), seed=4, executor=threads)
        there = search(BUDGET, Simulator(coin, ARMS), seed=4, executor=cluster)
    assert there.arm == here.arm
    assert there.pulls == here.pulls
    assert there.learner.value() == here.learner.value()


def test_the_command_line_runs_on_a_cluster_and_says_what_it_says_here(client, tmp_path):
    spec = tmp_path / "coin.toml"
    spec.write_text(COIN.format(function="coin", policy="WSR", setting="budget = 60"))
    here = run(spec)
    there = run(spec, "--cluster", client.scheduler.address, "--journal", tmp_path / "cluster.jsonl")
    assert there.exit_code == here.exit_code == 0
    assert there.output == here.output


def test_a_worker_killed_in_mid_run_loses_no_run_and_none_is_told_twice(client, tmp_path):
    path = tmp_path / "runs.jsonl"
    victim = next(iter(client.run(os.getpid).values()))

    def kill():
        while not path.exists() or len(path.read_bytes().splitlines()) < 20:
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with client.get_executor() as cluster:
        answer = search(BUDGET, Simulator(slow_coin, ARMS), seed=4, executor=cluster, journal=path)
    killer.join()
    with ThreadPoolExecutor(2) as threads:
        here = search(BUDGET, Simulator(coin, ARMS), seed=4, executor=threads)
    assert answer.failures == ()
    assert answer.pulls == here.pulls
    assert answer.learner.value() == here.learner.value()
    runs = [json.loads(line) for line in path.read_text().splitlines()][1:]
    assert len({(run["arm"], run["index"]) for run in runs}) == len(runs) == answer.samples
    assert victim not in client.run(os.getpid).values()


# -- a cluster that can no longer be reached ------------------------------------------------------


class Parts:
    """A scheduler and workers, each a process that can be killed."""

    def __init__(self, folder):
        self._folder, self._started = folder, []
        self.address = ""
        self.scheduler = self.start_scheduler()
        self.worker = self.start_worker()

    def start_scheduler(self):
        file = self._folder / f"scheduler-{len(self._started)}.json"
        port = self.address.rpartition(":")[2] or "0"
        process = self._start("dask_scheduler", "--host", "127.0.0.1", "--port", port, "--scheduler-file", file)
        while not file.exists() or not file.read_text():
            assert process.poll() is None
            time.sleep(0.05)
        self.address = json.loads(file.read_text())["address"]
        return process

    def start_worker(self):
        return self._start("dask_worker", self.address, "--no-nanny", "--nthreads", "1")

    def _start(self, name, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.{name}", "--no-dashboard", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._started.append(subprocess.Popen(command, cwd=self._folder, env=environment, **silent))
        return self._started[-1]

    def executor(self):
        from distributed import Client

        self._client = Client(self.address, timeout=3, set_as_default=False)
        self._client.wait_for_workers(1, timeout=120)
        return self._client.get_executor()

    def end(self):
        self._client.close()
        for process in self._started:
            process.kill()
            process.wait()


@pytest.fixture
def parts(tmp_path):
    pytest.importorskip("distributed")
    parts = Parts(tmp_path)
    yield parts
    parts.end()


def after_some_runs(action):
    """A view that does something once, when a few results are there."""
    done = []

    def watch(search, finished):
        if search.learner.samples >= 5 and not done:
            done.append(True)
            action()

    return watch


def finish_here_and_compare(path):
    """Resume without a cluster: the same answer as if nothing had happened, and no run twice."""
    problem = Simulator(slow_coin, ARMS)
    with ThreadPoolExecutor(2) as threads:
        resumed = search(BUDGET, problem, seed=4, executor=threads, journal=path)
        alone = search(BUDGET, problem, seed=4, executor=threads)
    assert resumed.pulls == alone.pulls
    assert resumed.learner.value() == alone.learner.value()
    runs = [(run["arm"], run["index"]) for run in map(json.loads, path.read_text().splitlines()[1:])]
    assert len(set(runs)) == len(runs) == resumed.samples


@pytest.mark.parametrize(
    ("victim", "number", "said"),
    [
        ("scheduler", signal.SIGKILL, "a scheduler must answer; tcp://.* no longer does. Start it again"),
        pytest.param(
            *("scheduler", signal.SIGSTOP, "a scheduler must answer; tcp://.* no longer does. Start it again"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("worker", signal.SIGKILL, "a cluster must have workers; tcp://.* has none left. Start some: dask worker"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_cluster_that_is_lost_is_said_and_the_search_can_be_resumed(parts, tmp_path, victim, number, said):
    path = tmp_path / "runs.jsonl"
    kill = after_some_runs(lambda: getattr(parts, victim).send_signal(number))
    problem, executor = Simulator(slow_coin, ARMS), parts.executor()
    with (
        pytest.warns(UserWarning, match=r"\d\d:\d\d:\d\d: a .*; the search waits, 1 s at most"),
        pytest.raises(ClusterLost, match=said),
    ):
        search(BUDGET, problem, seed=4, executor=executor, journal=path, patience=1.0, watch=kill)
    finish_here_and_compare(path)


@pytest.mark.slow
def test_a_search_waits_for_new_workers_if_it_is_told_to(parts, tmp_path):
    def replace():
        parts.worker.kill()
        parts.worker.wait()
        threading.Timer(5.0, parts.start_worker).start()  # after the loss was noticed

    path, executor = tmp_path / "runs.jsonl", parts.executor()
    problem, watch = Simulator(slow_coin, ARMS), after_some_runs(replace)
    with (
        pytest.warns(UserWarning, match="has none left; the search waits, until it is back"),
        pytest.warns(UserWarning, match="is back; the search goes on"),
    ):
        search(BUDGET, problem, seed=4, executor=executor, journal=path, patience=math.inf, watch=watch)
    finish_here_and_compare(path)


@pytest.mark.slow
def test_the_command_line_goes_on_when_a_scheduler_is_started_again(parts, tmp_path, monkeypatch):
    monkeypatch.setattr("allais.cli.best_arm.ANSWER_WITHIN", 2.0)
    spec = tmp_path / "coin.toml"
    spec.write_text(COIN.format(function="slow_coin", policy="WSR", setting="budget = 200"))
    journal = spec.with_suffix(".runs.jsonl")
    parts.executor()

    def again():
        while not journal.exists() or len(journal.read_bytes().splitlines()) < 10:
            time.sleep(0.05)
        parts.scheduler.kill()
        parts.scheduler.wait()
        time.sleep(10.0)  # longer than the client tries
        parts.worker.kill()
        parts.start_scheduler()
        parts.start_worker()

    thread = threading.Thread(target=again)
    thread.start()
    result = run(spec, "--cluster", parts.address, "--patience", "inf")
    thread.join()
    assert result.exit_code == 0, result.output
    assert "is back; the search goes on" in result.output
    here = run(spec, "--journal", tmp_path / "here.jsonl")
    assert result.output.splitlines()[-2:] == here.output.splitlines()[-2:]


def test_patience_is_a_number_and_the_command_line_has_that_of_the_library():
    assert allais.cli.best_arm.PATIENCE == PATIENCE
    for patience in (-1, math.nan, "long", True):
        with pytest.raises(ValueError, match="patience must be a number of seconds, 0 or more"):
            search(BUDGET, Simulator(coin, ARMS), seed=1, patience=patience)
