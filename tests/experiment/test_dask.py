"""Dask: a scheduler and two workers on loopback, the same numbers, and a worker that dies."""

import json
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from allais import WSR, WUCB, Bandit, Bounded, Discrete, Preference, Simulator, TverskyKahneman, best_arm, simulate
from tests.cli.test_best_arm import COIN, run
from tests.experiment.simulators import ARMS, coin, slow_coin
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
    policy = WUCB(Preference(TverskyKahneman(0.61)), Bounded(0, 50))
    alone = simulate(policy, problem, 2_000, 10, seed=5)
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2) as processes, client.get_executor() as cluster:
        for executor in (threads, processes, cluster):
            same(alone, simulate(policy, problem, 2_000, 10, seed=5, executor=executor))


def test_a_cluster_gives_the_recommendation_and_the_accounting_of_one_machine(client):
    with ThreadPoolExecutor(2) as threads, client.get_executor() as cluster:
        here = best_arm(Simulator(coin, ARMS), BUDGET, seed=4, executor=threads)
        there = best_arm(Simulator(coin, ARMS), BUDGET, seed=4, executor=cluster)
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
        answer = best_arm(Simulator(slow_coin, ARMS), BUDGET, seed=4, executor=cluster, journal=path)
    killer.join()
    with ThreadPoolExecutor(2) as threads:
        here = best_arm(Simulator(coin, ARMS), BUDGET, seed=4, executor=threads)
    assert answer.failures == ()
    assert answer.pulls == here.pulls
    assert answer.learner.value() == here.learner.value()
    runs = [json.loads(line) for line in path.read_text().splitlines()][1:]
    assert len({(run["arm"], run["index"]) for run in runs}) == len(runs) == answer.samples
    assert victim not in client.run(os.getpid).values()
