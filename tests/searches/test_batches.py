"""Batches: many runs to one task, the same runs and answers, and nothing reported is lost."""

import json
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from allais import LUCB, WSR, Bandit, Bernoulli, Bounded, Preference, Program, Simulator, TverskyKahneman, search
from allais.cli.dry_run import Piloted
from allais.errors import RunFailed
from allais.searches import Failures, Outcome, Run, Search
from allais.searches.runs import MOST_RUNS, Pace, Task
from tests.searches.simulators import ARMS, broken, coin
from tests.searches.test_drive import Losing

PEOPLE = Preference(TverskyKahneman(0.8), TverskyKahneman(0.85))
BUDGET = WSR(PEOPLE, budget=200, rewards=Bounded(-1, 1))
COIN = Simulator(coin, ARMS)


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_a_policy_of_phases_gives_the_same_answer_for_any_batch(kind, tmp_path):
    alone = search(BUDGET, COIN, seed=4)
    with kind(2) as executor:
        for batch in (None, 1, 7, 50, 1_000):
            path = tmp_path / f"{batch}.jsonl"
            answer = search(BUDGET, COIN, seed=4, executor=executor, batch=batch, journal=path)
            assert answer.pulls == alone.pulls
            assert answer.intervals == alone.intervals
            runs = [json.loads(line) for line in path.read_text().splitlines()][1:]
            assert len({(run["arm"], run["index"]) for run in runs}) == len(runs) == answer.samples


def test_a_worker_gets_its_batch_and_the_last_runs_of_a_phase_are_shared_out():
    sizes = []

    class Noted(ThreadPoolExecutor):
        def submit(self, function, task):
            sizes.append(len(task.runs))
            return super().submit(function, task)

    with Noted(4) as executor:
        search(BUDGET, COIN, seed=4, executor=executor, batch=9)
    assert max(sizes) == 9
    assert sizes[-4:] != [9, 9, 9, 9]
    assert len(sizes) > 200 / 9


def test_a_search_with_batches_continues_from_its_journal_and_repeats_none(tmp_path):
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    policy = LUCB(Bounded(-1, 1), delta=0.01)
    with ThreadPoolExecutor(2) as executor:
        best = search(policy, COIN, seed=1, executor=executor, batch=8, journal=whole)
        data = whole.read_bytes().splitlines(keepends=True)
        assert len(data) > 40
        for kept in (1, 5, 13, len(data) // 2, len(data) - 1):  # in the middle of a batch, too
            cut.write_bytes(b"".join(data[:kept]))
            again = search(policy, COIN, seed=1, executor=executor, batch=8, journal=cut)
            assert (again.arm, again.settled) == (best.arm, True)
            assert cut.read_bytes().startswith(b"".join(data[:kept]))
            runs = [json.loads(line) for line in cut.read_text().splitlines()][1:]
            assert len({(run["arm"], run["index"]) for run in runs}) == len(runs)


def test_a_failure_in_a_batch_keeps_what_came_back_beside_it(tmp_path):
    path = tmp_path / "runs.jsonl"
    problem = Simulator(broken, ARMS)
    with ThreadPoolExecutor(1) as executor, pytest.raises(RunFailed, match="no such plan"):
        search(BUDGET, problem, seed=1, executor=executor, batch=20, journal=path)
    first = Search(BUDGET, ARMS, np.random.SeedSequence(1)).ask_some(20)
    outcomes = Task(problem, first, 0).perform()
    good = {(ARMS[run.arm], run.number) for run, one in zip(first, outcomes, strict=True) if one.failure is None}
    runs = [json.loads(line) for line in path.read_text().splitlines()][1:]
    assert 0 < len(good) < 20
    assert {(run["arm"], run["index"]) for run in runs} == good
    answer = search(BUDGET, problem, seed=1, batch=20, journal=path, failures=Failures(then=-1))
    assert answer.failures


def test_the_runs_of_a_lost_batch_are_sent_again_each_on_its_own():
    with Losing(3, times=1) as executor:
        answer = search(BUDGET, COIN, seed=4, executor=executor, batch=10)
    assert answer.pulls == search(BUDGET, COIN, seed=4).pulls
    assert set(executor.seen.values()) == {2}


def test_a_task_that_takes_long_comes_back_as_far_as_it_is_done(monkeypatch):
    alone = search(BUDGET, COIN, seed=4)
    monkeypatch.setattr("allais.searches.runs.LONGEST", 0.0)
    runs = [Run(0, number, number) for number in range(5)]
    assert len(Task(COIN, runs, 0).perform()) == 1
    done = []

    def counted(arm, rng):
        done.append(arm)
        return coin(arm, rng)

    with ThreadPoolExecutor(2) as executor:
        answer = search(BUDGET, Simulator(counted, ARMS), seed=4, executor=executor, batch=10)
    assert answer.intervals == alone.intervals
    assert len(done) == answer.samples


@pytest.mark.parametrize(
    "made",
    [
        lambda: Simulator(coin, [f"option {arm}" for arm in range(50_000)]),
        lambda: Bandit([Bernoulli(arm / 50_000) for arm in range(50_000)]),
        lambda: Program("echo {arm} {seed}", arms=50_000),
        lambda: Piloted(Simulator(coin, 50_000), {(arm, 7): 0.5 for arm in range(50_000)}),
    ],
    ids=["simulator", "bandit", "program", "pilot"],
)
def test_a_task_carries_the_arms_of_its_runs_only(made):
    problem = made()
    task = Task(problem, [Run(49_000, 3, 7), Run(12, 0, 9), Run(49_000, 4, 11)], 0)
    sent = pickle.dumps(task)
    assert len(sent) < 2_000
    there = pickle.loads(sent)
    assert [there.problem.arms[run.arm] for run in there.runs] == [problem.arms[run.arm] for run in task.runs]
    assert [run[1:] for run in there.runs] == [run[1:] for run in task.runs]
    if isinstance(problem, Piloted):
        assert there.problem.run(there.runs[0].arm, 7) == 0.5


class ByPlace(Simulator):
    """A subclass that knows its arms by their places."""

    def run(self, arm, seed):
        return float(arm)


def test_a_subclass_that_may_know_its_arms_by_their_places_is_sent_whole():
    there = pickle.loads(pickle.dumps(Task(ByPlace(coin, ARMS), [Run(2, 0, 1)], 0)))
    assert there.perform()[0].reward == 2.0


def test_a_batch_is_as_long_as_its_runs_are_short_and_small_beside_what_was_told():
    quick, slow = [Outcome(1.0, 1e-7)], [Outcome(1.0, 60.0)]
    for seconds, told, size in ((quick, 10**6, MOST_RUNS), (slow, 10**6, 1), (quick, 160, 10), (quick, 0, 1)):
        pace = Pace(workers=2, n_arms=2)
        assert pace.size(told) == 1  # nothing is known yet
        pace.note(seconds)
        assert pace.size(told) == size
    alone = Pace(workers=1, n_arms=2)
    alone.note(quick)
    assert alone.size(10**6) == 1
    assert Pace(workers=1, n_arms=2, batch=5).size(0) == 5
    with pytest.raises(ValueError, match="batch must be a whole number"):
        search(BUDGET, COIN, seed=1, batch=0)


def test_a_search_of_many_options_keeps_nothing_for_options_without_runs_out():
    search_of_many = Search(WSR(PEOPLE, budget=100_000), range(20_000), np.random.SeedSequence(1))
    runs = search_of_many.ask_some(50)
    assert len(search_of_many._in_order) == len(search_of_many._seeds._first) == 50
    assert len(search_of_many.out) == 50
    for run in runs:
        search_of_many.take_in(run, Outcome(1.0, 0.0))
    assert not search_of_many._in_order
    assert not search_of_many._arrived
