"""best_arm on executors: the same accounting on all of them, journals, limits and failures."""

import json
import math
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from allais import (
    LUCB,
    WLUCB,
    WSR,
    WUCB,
    Bandit,
    Bernoulli,
    Bounded,
    Failures,
    Holder,
    Preference,
    RunFailed,
    Simulator,
    TverskyKahneman,
    best_arm,
)
from allais.experiment import Outcome, Search
from allais.experiment.drive import _sorted_out
from tests.experiment.simulators import ARMS, always_lose, broken, coin, dying, slow_coin

PEOPLE = Preference(TverskyKahneman(0.8), TverskyKahneman(0.85))
BUDGET = WSR(PEOPLE, budget=60, rewards=Bounded(-1, 1))
SURE = LUCB(Bounded(-1, 1), delta=0.1)
COIN = Simulator(coin, ARMS)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_one_worker_gives_the_same_answer_through_threads_and_processes():
    answers = []
    for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
        with kind(1) as executor:
            answers.append(best_arm(COIN, SURE, seed=4, executor=executor))
    first, second = answers
    assert (first.arm, first.settled) == ("A", True)
    assert first.pulls == second.pulls
    assert first.intervals == second.intervals


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_a_phase_gives_the_same_answer_on_any_number_of_workers(kind):
    """W-SR waits for a whole phase, so even the order of arrival leaves no trace."""
    alone = best_arm(COIN, BUDGET, seed=4, journal=None, executor=ThreadPoolExecutor(1))
    with kind(2) as executor:
        answer = best_arm(COIN, BUDGET, seed=4, executor=executor)
    assert answer.arm == alone.arm == "A"
    assert answer.pulls == alone.pulls
    assert answer.learner.value() == alone.learner.value()


def test_every_worker_is_kept_busy():
    busy, most, gate = set(), [0], threading.Barrier(4, timeout=30)

    def meet(arm, rng):  # returns only when four are at work at the same time
        busy.add(threading.get_ident())
        most[0] = max(most[0], len(busy))
        gate.wait()
        busy.discard(threading.get_ident())
        return coin(arm, rng)

    with ThreadPoolExecutor(4) as executor:
        answer = best_arm(Simulator(meet, ARMS), SURE, seed=1, executor=executor, max_samples=40)
    assert most[0] == 4
    assert answer.samples == 40


def test_a_journal_holds_every_run_that_was_told(tmp_path):
    path = tmp_path / "runs.jsonl"
    with ThreadPoolExecutor(4) as executor:
        answer = best_arm(Simulator(slow_coin, ARMS), BUDGET, seed=1, executor=executor, journal=path)
    header, *runs = lines(path)
    assert header["arms"] == ARMS
    for name in ARMS:
        told = [run for run in runs if run["arm"] == name]
        assert sorted(run["index"] for run in told) == list(range(answer.pulls[name]))
        assert all(coin(name, np.random.default_rng(run["seed"])) == run["reward"] for run in told)
        assert all(run["seconds"] > 0.019 for run in told)


def test_a_journal_is_continued_exactly_and_with_other_workers(tmp_path):
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    with ThreadPoolExecutor(3) as executor:
        best = best_arm(COIN, SURE, seed=1, executor=executor, journal=whole)
    data = whole.read_bytes().splitlines(keepends=True)
    cut.write_bytes(b"".join(data[: len(data) // 2]))
    with ThreadPoolExecutor(2) as executor:
        again = best_arm(COIN, SURE, seed=1, executor=executor, journal=cut)
    assert cut.read_bytes().splitlines(keepends=True)[: len(data) // 2] == data[: len(data) // 2]
    assert again.arm == best.arm
    assert again.settled
    runs = [(run["arm"], run["index"]) for run in lines(cut)[1:]]
    assert len(set(runs)) == len(runs)
    rewards = {(run["arm"], run["index"]): run["reward"] for run in lines(whole)[1:]}
    assert all(rewards.get((run["arm"], run["index"]), run["reward"]) == run["reward"] for run in lines(cut)[1:])


def test_a_finished_journal_gives_its_answer_without_a_run(tmp_path):
    path = tmp_path / "runs.jsonl"
    with ThreadPoolExecutor(4) as executor:
        first = best_arm(COIN, SURE, seed=1, executor=executor, journal=path)
        before = path.read_bytes()
        again = best_arm(COIN, SURE, seed=1, executor=executor, journal=path)
    assert path.read_bytes() == before
    assert again.intervals == first.intervals
    assert again.settled


def test_one_worker_continues_to_the_very_answer_of_a_run_that_never_stopped(tmp_path):
    whole = best_arm(COIN, SURE, seed=1, journal=tmp_path / "whole.jsonl")
    for limit in (1, 7, 50, 10**6):
        part = best_arm(COIN, SURE, seed=1, journal=tmp_path / "parts.jsonl", max_samples=limit)
    assert part.settled
    assert part.intervals == whole.intervals
    assert part.pulls == whole.pulls


def test_a_torn_last_line_is_dropped_with_a_message_and_its_run_done_again(tmp_path):
    path = tmp_path / "runs.jsonl"
    whole = best_arm(COIN, BUDGET, seed=1, journal=path)
    for torn in (1, 30, 100):
        data = path.read_bytes()
        path.write_bytes(data[:-torn])
        with pytest.warns(UserWarning, match="cut off while it was written; it is dropped"):
            again = best_arm(COIN, BUDGET, seed=1, journal=path)
        assert again.learner.value() == whole.learner.value()
        assert len(path.read_bytes().splitlines()) == len(data.splitlines())


def test_a_journal_that_is_damaged_inside_is_refused(tmp_path):
    path = tmp_path / "runs.jsonl"
    best_arm(COIN, BUDGET, seed=1, journal=path)
    path.write_bytes(path.read_bytes().replace(b'"index": 3', b'"index": 4', 1))
    with pytest.raises(ValueError, match=r"torn at its end only; .* is damaged in line"):
        best_arm(COIN, BUDGET, seed=1, journal=path)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"seed": 2}, "seed"),
        ({"policy": WSR(PEOPLE, budget=61, rewards=Bounded(-1, 1))}, "policy"),
        ({"problem": Simulator(coin, ["A", "B"])}, "problem"),
    ],
)
def test_a_journal_of_another_experiment_is_refused(tmp_path, change, part):
    path = tmp_path / "runs.jsonl"
    best_arm(COIN, BUDGET, seed=1, journal=path)
    with pytest.raises(ValueError, match=f"has another {part}"):
        best_arm(**{"problem": COIN, "policy": BUDGET, "seed": 1, "journal": path, **change})


def test_what_is_no_journal_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes\nin two lines\n")
    with pytest.raises(ValueError, match="damaged in line 1"):
        best_arm(COIN, BUDGET, seed=1, journal=path)
    assert path.read_text() == "my notes\nin two lines\n"
    with pytest.raises(ValueError, match="a file in a folder that exists"):
        best_arm(COIN, BUDGET, seed=1, journal=tmp_path / "none" / "runs.jsonl")


def test_a_limit_of_runs_ends_with_the_best_known_answer():
    with ThreadPoolExecutor(4) as executor:
        answer = best_arm(COIN, SURE, seed=1, executor=executor, max_samples=21)
    assert not answer.settled
    assert answer.samples == 21
    assert answer.arm == "A"


def test_a_limit_of_hours_ends_at_once_though_runs_are_out():
    gate = threading.Event()

    def stuck(arm, rng):
        gate.wait(60)
        return coin(arm, rng)

    with ThreadPoolExecutor(2) as executor:
        answer = best_arm(Simulator(stuck, ARMS), SURE, seed=1, executor=executor, max_hours=0.2 / 3600)
        gate.set()
    assert not answer.settled
    assert answer.samples == 0


def test_the_reached_delta_is_the_one_at_which_the_intervals_would_just_have_parted():
    answer = best_arm(COIN, WLUCB(PEOPLE, Bounded(-1, 1), delta=1e-9, band=Holder()), seed=1, max_samples=3_800)
    reached = answer.reached_delta
    assert not answer.settled
    assert 1e-9 < reached < 1.0
    for factor, parts in ((1.01, True), (0.99, False)):
        policy = WLUCB(PEOPLE, Bounded(-1, 1), delta=min(reached * factor, 0.999), band=Holder())
        learner = policy.start(ARMS, seed=1)
        for name in ARMS:
            for outcome, count in zip(*answer.learner.outcomes(name), strict=True):
                learner.observe(name, [outcome] * int(count))
        learner._state.rounds[0] = answer.learner._state.rounds[0]
        assert learner.is_settled() == parts


def test_few_samples_support_no_confidence():
    assert best_arm(COIN, WLUCB(PEOPLE, Bounded(-1, 1), delta=0.1), seed=1, max_samples=9).reached_delta is None
    assert best_arm(COIN, BUDGET, seed=1).reached_delta is None  # a budget promises none


def test_a_failing_simulator_stops_unless_told_otherwise():
    problem = Simulator(broken, ARMS)
    with pytest.raises(RunFailed, match="raised ZeroDivisionError: no such plan"):
        best_arm(problem, BUDGET, seed=1, executor=ThreadPoolExecutor(2))


def test_failures_are_left_out_or_counted_and_always_reported(tmp_path):
    problem = Simulator(broken, ARMS)
    left_out = best_arm(problem, BUDGET, seed=1, failures=Failures(then="exclude"), journal=tmp_path / "a.jsonl")
    counted = best_arm(problem, BUDGET, seed=1, failures=Failures(then=-1), journal=tmp_path / "b.jsonl")
    assert left_out.samples == counted.samples
    for answer, reward in ((left_out, None), (counted, -1.0)):
        assert len(answer.failures) > 5
        assert {failure.reward for failure in answer.failures} == {reward}
    again = best_arm(problem, BUDGET, seed=1, failures=Failures(then="exclude"), journal=tmp_path / "a.jsonl")
    assert again.failures == left_out.failures
    assert again.pulls == left_out.pulls


def test_a_reward_out_of_bounds_stops_and_is_not_written_down(tmp_path):
    path = tmp_path / "runs.jsonl"
    with pytest.raises(ValueError, match="between -1 and 0; got 1"):
        best_arm(COIN, WSR(PEOPLE, budget=60, rewards=Bounded(-1, 0)), seed=1, journal=path)
    assert all(run["reward"] == -1.0 for run in lines(path)[1:])


def test_an_executor_that_lost_its_workers_says_so():
    with ProcessPoolExecutor(1) as executor, pytest.raises(RunFailed, match="the executor is broken"):
        best_arm(Simulator(dying, ARMS), BUDGET, seed=1, executor=executor)


class Losing(ThreadPoolExecutor):
    """An executor that loses every first copy of a run."""

    def __init__(self, workers, times):
        super().__init__(workers)
        self.times, self.seen = times, {}

    def submit(self, function, problem, run, retries):
        self.seen[run] = self.seen.get(run, 0) + 1
        if self.seen[run] <= self.times:
            return super().submit(lost)
        return super().submit(function, problem, run, retries)


def lost():
    raise ConnectionError("the worker went away")


def test_a_run_whose_worker_died_is_sent_out_again_and_told_once():
    with Losing(3, times=2) as executor:
        answer = best_arm(COIN, BUDGET, seed=4, executor=executor)
    assert answer.pulls == best_arm(COIN, BUDGET, seed=4, executor=ThreadPoolExecutor(1)).pulls
    assert set(executor.seen.values()) == {3}
    with Losing(3, times=9) as executor, pytest.raises(RunFailed, match=r"was lost 3 times .*the worker went away"):
        best_arm(COIN, BUDGET, seed=4, executor=executor)


class Unknown(Executor):
    def submit(self, function, *arguments):
        raise AssertionError("nothing may be submitted")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: best_arm(COIN, BUDGET, seed=1, executor=Unknown()), "Unknown tells None. Give at_once="),
        (lambda: best_arm(COIN, BUDGET, seed=1, max_hours=-1), "max_hours must be above 0"),
        (lambda: best_arm(COIN, BUDGET, seed=1, journal="x", at_once=0), "at_once must be a whole number"),
        (lambda: best_arm(COIN, WUCB(PEOPLE, Bounded(-1, 1)), seed=1, executor=Unknown()), "a policy that stops"),
        (lambda: Failures(retries=-1), "retries must be a whole number, 0 or more; got -1"),
        (lambda: Failures(then="ignore"), 'Write "stop", "exclude", or the reward'),
        (lambda: Failures(then=math.nan), "must be finite; got nan"),
    ],
)
def test_what_cannot_be_driven_is_refused(make, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        make()


def test_a_lottery_bandit_runs_on_executors_too():
    with ThreadPoolExecutor(2) as executor:
        answer = best_arm(
            Bandit([Bernoulli(0.9), Bernoulli(0.1)]), LUCB(Bounded(0, 1), delta=0.1), seed=1, executor=executor
        )
    assert answer.arm == 0


def test_results_that_come_back_beside_a_failure_are_kept(tmp_path):
    path, gate = tmp_path / "runs.jsonl", threading.Barrier(3, timeout=30)

    def together(arm, rng):  # all three come back in one batch or in any order; one of them fails
        gate.wait()
        if arm == "B":
            raise ZeroDivisionError("no such plan")
        return 1.0

    with ThreadPoolExecutor(3) as executor, pytest.raises(RunFailed, match="no such plan"):
        best_arm(Simulator(together, ARMS), BUDGET, seed=1, executor=executor, journal=path)
    assert {run["arm"] for run in lines(path)[1:]} <= {"A", "C"}
    search = Search(BUDGET, ARMS, np.random.SeedSequence(1))
    runs = [search.ask() for _ in range(3)]
    back = [(runs[1], Outcome(None, 0.0, "it crashed")), (runs[0], Outcome(1.0, 0.0)), (runs[2], Outcome(7.0, 0.0))]
    finished, trouble = _sorted_out(search, Failures(), back)
    assert finished == [back[1]]
    assert str(trouble) == "it crashed"


def test_an_arm_without_a_run_is_not_recommended():
    """Its value would be 0, which beats every loss."""
    for policy in (WLUCB(PEOPLE, Bounded(-1, 1), delta=0.1), WSR(PEOPLE, budget=60)):
        answer = best_arm(Simulator(always_lose, ARMS), policy, seed=1, max_samples=2)
        assert answer.pulls[answer.arm] == 1
