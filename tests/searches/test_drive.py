"""best_arm on executors: the same accounting on all of them, journals, limits and failures."""

import itertools
import json
import math
import re
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
    Preference,
    Simulator,
    TverskyKahneman,
    best_arm,
    search,
)
from allais.bands import Holder
from allais.errors import RunFailed
from allais.learner._engine import Engine
from allais.searches import Failures, Outcome, Run, Search
from allais.searches.best_option import _taken_in
from allais.searches.runs import perform
from tests.searches.simulators import ARMS, always_lose, broken, coin, dying

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
            answers.append(search(SURE, COIN, seed=4, executor=executor))
    first, second = answers
    assert (first.arm, first.settled) == ("A", True)
    assert first.pulls == second.pulls
    assert first.intervals == second.intervals


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_a_phase_gives_the_same_answer_on_any_number_of_workers(kind):
    """W-SR waits for a whole phase, so even the order of arrival leaves no trace."""
    alone = search(BUDGET, COIN, seed=4, journal=None, executor=ThreadPoolExecutor(1))
    with kind(2) as executor:
        answer = search(BUDGET, COIN, seed=4, executor=executor)
    assert answer.arm == alone.arm == "A"
    assert answer.pulls == alone.pulls
    assert answer.learner.value() == alone.learner.value()


def test_every_worker_is_kept_busy():
    busy, most, gate = set(), [0], threading.Barrier(4, timeout=300)

    def meet(arm, rng):  # returns only when four are at work at the same time
        busy.add(threading.get_ident())
        most[0] = max(most[0], len(busy))
        gate.wait()
        busy.discard(threading.get_ident())
        return coin(arm, rng)

    with ThreadPoolExecutor(4) as executor:
        answer = search(SURE, Simulator(meet, ARMS), seed=1, executor=executor, max_runs=40)
    assert most[0] == 4
    assert answer.samples == 40


def test_a_limit_of_runs_ends_with_the_best_known_answer():
    with ThreadPoolExecutor(4) as executor:
        answer = search(SURE, COIN, seed=1, executor=executor, max_runs=21)
    assert not answer.settled
    assert answer.samples == 21
    assert answer.arm == "A"


def test_a_limit_of_hours_ends_at_once_though_runs_are_out():
    gate = threading.Event()

    def stuck(arm, rng):
        gate.wait(60)
        return coin(arm, rng)

    with ThreadPoolExecutor(2) as executor:
        answer = search(SURE, Simulator(stuck, ARMS), seed=1, executor=executor, max_hours=0.2 / 3600)
        gate.set()
    assert not answer.settled
    assert answer.samples == 0


def test_the_reached_delta_is_the_one_at_which_the_intervals_would_just_have_parted():
    answer = best_arm(WLUCB(PEOPLE, Bounded(-1, 1), delta=1e-9, band=Holder()), COIN, seed=1, max_samples=3_800)
    reached = answer.reached_delta
    assert not answer.settled
    assert 1e-9 < reached < 1.0
    for factor, parts in ((1.01, True), (0.99, False)):
        policy = WLUCB(PEOPLE, Bounded(-1, 1), delta=min(reached * factor, 0.999), band=Holder())
        learner = policy.start(ARMS, seed=1)
        for name in ARMS:
            for outcome, count in zip(*answer.learner.outcomes(name), strict=True):
                learner.observe(name, [outcome] * int(count))
        learner.state.own.rounds[0] = answer.learner.state.own.rounds[0]
        assert learner.is_settled() == parts


def test_few_samples_support_no_confidence():
    assert best_arm(WLUCB(PEOPLE, Bounded(-1, 1), delta=0.1), COIN, seed=1, max_samples=9).reached_delta is None
    assert best_arm(BUDGET, COIN, seed=1).reached_delta is None  # a budget promises none


def test_a_failing_simulator_stops_unless_told_otherwise():
    problem = Simulator(broken, ARMS)
    with pytest.raises(RunFailed, match="raised ZeroDivisionError: no such plan"):
        search(BUDGET, problem, seed=1, executor=ThreadPoolExecutor(2))


def test_failures_are_left_out_or_counted_and_always_reported(tmp_path):
    problem = Simulator(broken, ARMS)
    left_out = search(BUDGET, problem, seed=1, failures=Failures(then="exclude"), journal=tmp_path / "a.jsonl")
    counted = search(BUDGET, problem, seed=1, failures=Failures(then=-1), journal=tmp_path / "b.jsonl")
    assert left_out.samples == counted.samples
    for answer, reward in ((left_out, None), (counted, -1.0)):
        assert len(answer.failures) > 5
        assert {failure.reward for failure in answer.failures} == {reward}
    again = search(BUDGET, problem, seed=1, failures=Failures(then="exclude"), journal=tmp_path / "a.jsonl")
    assert again.failures == left_out.failures
    assert again.pulls == left_out.pulls


def test_a_traceback_is_kept_in_a_log_beside_the_journal_and_named(tmp_path):
    path, log = tmp_path / "runs.jsonl", tmp_path / "runs.failures.log"
    with ProcessPoolExecutor(1) as executor, pytest.raises(RunFailed) as failed:
        search(BUDGET, Simulator(broken, ARMS), seed=1, executor=executor, journal=path)
    assert re.fullmatch(
        r"a simulator must return a number; run \d+ of '[ABC]' \(seed \d+\) raised ZeroDivisionError: no such plan "
        rf"\(simulators.py, line \d+\)\. The traceback is in {re.escape(str(log))}\.",
        str(failed.value),
    )
    text = log.read_text()
    assert 'raise ZeroDivisionError("no such plan")' in text
    assert "in broken" in text
    with pytest.raises(RunFailed) as failed:  # without a journal the error has it
        search(BUDGET, Simulator(broken, ARMS), seed=1, executor=ThreadPoolExecutor(1))
    assert "in broken" in failed.value.__notes__[0]


def test_a_log_ends_where_it_would_grow_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("allais.searches.runs.MOST_BYTES", 2_000)
    search(BUDGET, Simulator(broken, ARMS), seed=1, failures=Failures(then=-1), journal=tmp_path / "runs.jsonl")
    assert 2_000 < (tmp_path / "runs.failures.log").stat().st_size < 6_000


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit(3)", "raised SystemExit: 3 (own.py, line 2)."),
        ("raise KeyError", "raised KeyError (own.py, line 2)."),
        ("raise ValueError('two\\nlines.')", "raised ValueError: two lines. (own.py, line 2)."),
        ("raise ValueError('x' * 5000)", "xxx... (own.py, line 2)."),
        (
            "return 'seven'",
            "raised ValueError: what a simulator returns must be a number; got 'seven'. Return a float.",
        ),
        ("return '7'", "must be a number; got '7'. Return a float."),
        ("return True", "must be a number; got True. Return a float."),
        ("return rng.normal(0, -1)", "(own.py, line 2)."),
    ],
)
def test_an_exception_is_one_sentence_with_the_users_line(tmp_path, monkeypatch, code, said):
    (tmp_path / "own.py").write_text(f"def f(arm, rng):\n    {code}\n")
    scope = {}
    exec(compile((tmp_path / "own.py").read_text(), str(tmp_path / "own.py"), "exec"), scope)
    outcome = perform(Simulator(scope["f"], ARMS), Run(0, 4, 7), 0)
    assert outcome.failure.startswith("a simulator must return a number; run 4 of 'A' (seed 7) raised ")
    assert outcome.failure.endswith(said)
    assert "\n" not in outcome.failure
    assert outcome.details.startswith("Traceback")


def test_an_executor_that_lost_its_workers_says_so():
    with ProcessPoolExecutor(1) as executor, pytest.raises(RunFailed, match="the executor is broken"):
        search(BUDGET, Simulator(dying, ARMS), seed=1, executor=executor)


class Losing(ThreadPoolExecutor):
    """An executor that loses every first copy of a run."""

    def __init__(self, workers, times):
        super().__init__(workers)
        self.times, self.seen = times, {}

    def submit(self, function, task):
        for run in task.runs:
            self.seen[run] = self.seen.get(run, 0) + 1
        if self.seen[task.runs[0]] <= self.times:
            return super().submit(lost)
        return super().submit(function, task)


def lost():
    raise ConnectionError("the worker went away")


def test_a_run_whose_worker_died_is_sent_out_again_and_told_once():
    with Losing(3, times=2) as executor:
        answer = search(BUDGET, COIN, seed=4, executor=executor)
    assert answer.pulls == search(BUDGET, COIN, seed=4, executor=ThreadPoolExecutor(1)).pulls
    assert set(executor.seen.values()) == {3}
    with Losing(3, times=9) as executor, pytest.raises(RunFailed, match=r"was lost 3 times .*the worker went away"):
        search(BUDGET, COIN, seed=4, executor=executor)


class Unknown(Executor):
    def submit(self, function, *arguments):
        raise AssertionError("nothing may be submitted")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: search(BUDGET, COIN, seed=1, executor=Unknown()), "Unknown tells None. Give workers="),
        (lambda: search(BUDGET, COIN, seed=1, max_hours=-1), "max_hours must be above 0"),
        (lambda: search(BUDGET, COIN, seed=1, journal="x", workers=0), "workers must be a whole number"),
        (
            lambda: search(WUCB.as_printed(PEOPLE, Bounded(-1, 1)), COIN, seed=1, executor=Unknown()),
            "a policy that stops",
        ),
        (lambda: Failures(retries=-1), "retries must be a whole number, 0 or more; got -1"),
        (lambda: Failures(then="ignore"), 'Write "stop", "exclude", "at least", or the reward'),
        (lambda: Failures(then=math.nan), "must be finite; got nan"),
    ],
)
def test_what_cannot_be_driven_is_refused(make, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        make()


def test_a_lottery_bandit_runs_on_executors_too():
    with ThreadPoolExecutor(2) as executor:
        answer = search(
            LUCB(Bounded(0, 1), delta=0.1), Bandit([Bernoulli(0.9), Bernoulli(0.1)]), seed=1, executor=executor
        )
    assert answer.arm == 0


def test_results_that_come_back_beside_a_failure_are_kept(tmp_path):
    path, gate, begun = tmp_path / "runs.jsonl", threading.Barrier(3, timeout=300), itertools.count()

    def together(arm, rng):  # the first three come back in one batch or in any order; one of them fails
        if next(begun) < 3:
            gate.wait()
        if arm == "B":
            raise ZeroDivisionError("no such plan")
        return 1.0

    with ThreadPoolExecutor(3) as executor, pytest.raises(RunFailed, match="no such plan"):
        search(BUDGET, Simulator(together, ARMS), seed=1, executor=executor, journal=path)
    assert {run["arm"] for run in lines(path)[1:]} <= {"A", "C"}
    progress = Search(BUDGET, ARMS, np.random.SeedSequence(1))
    runs = [progress.ask() for _ in range(3)]
    back = [(runs[1], Outcome(None, 0.0, "it crashed")), (runs[0], Outcome(1.0, 0.0)), (runs[2], Outcome(7.0, 0.0))]
    kept = []
    with pytest.raises(RunFailed, match="it crashed"):
        _taken_in(progress, Failures(), None, back, kept.extend)
    assert kept == back[1:]  # the run beyond the bounds, too
    assert progress.told == 1


def test_an_arm_without_a_run_is_not_recommended():
    """Its value would be 0, which beats every loss."""
    for policy in (WLUCB(PEOPLE, Bounded(-1, 1), delta=0.1), WSR(PEOPLE, budget=60)):
        answer = best_arm(policy, Simulator(always_lose, ARMS), seed=1, max_samples=2)
        assert answer.pulls[answer.arm] == 1


def test_a_reward_is_checked_once_on_its_way(tmp_path, monkeypatch):
    checked, seen = Engine.checked, []

    def counting(self, arm, reward):
        seen.append(reward)
        return checked(self, arm, reward)

    monkeypatch.setattr(Engine, "checked", counting)
    answer = search(BUDGET, COIN, seed=1, journal=tmp_path / "runs.jsonl")
    assert len(seen) == answer.samples > 0
    search(BUDGET, COIN, seed=1, journal=tmp_path / "runs.jsonl")  # what a file says is checked again
    assert len(seen) == 2 * answer.samples
