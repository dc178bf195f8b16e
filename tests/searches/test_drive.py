"""best_arm on executors: the same accounting on all of them, journals, limits and failures."""

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
from allais.learner import Learner
from allais.searches import Failures, Outcome, Run, Search
from allais.searches.drive import _sorted_out
from allais.searches.journal import changes
from allais.searches.runs import perform
from tests.searches.simulators import ARMS, always_lose, broken, coin, dying, slow_coin

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
    busy, most, gate = set(), [0], threading.Barrier(4, timeout=30)

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


def test_a_journal_holds_every_run_that_was_told(tmp_path):
    path = tmp_path / "runs.jsonl"
    with ThreadPoolExecutor(4) as executor:
        answer = search(BUDGET, Simulator(slow_coin, ARMS), seed=1, executor=executor, journal=path)
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
        best = search(SURE, COIN, seed=1, executor=executor, journal=whole)
    data = whole.read_bytes().splitlines(keepends=True)
    cut.write_bytes(b"".join(data[: len(data) // 2]))
    with ThreadPoolExecutor(2) as executor:
        again = search(SURE, COIN, seed=1, executor=executor, journal=cut)
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
        first = search(SURE, COIN, seed=1, executor=executor, journal=path)
        before = path.read_bytes()
        again = search(SURE, COIN, seed=1, executor=executor, journal=path)
    assert path.read_bytes() == before
    assert again.intervals == first.intervals
    assert again.settled


def test_one_worker_continues_to_the_very_answer_of_a_run_that_never_stopped(tmp_path):
    whole = search(SURE, COIN, seed=1, journal=tmp_path / "whole.jsonl")
    for limit in (1, 7, 50, 10**6):
        part = search(SURE, COIN, seed=1, journal=tmp_path / "parts.jsonl", max_runs=limit)
    assert part.settled
    assert part.intervals == whole.intervals
    assert part.pulls == whole.pulls


def test_a_torn_last_line_is_dropped_with_a_message_and_its_run_done_again(tmp_path):
    path = tmp_path / "runs.jsonl"
    whole = search(BUDGET, COIN, seed=1, journal=path)
    for torn in (1, 30, 100):
        data = path.read_bytes()
        path.write_bytes(data[:-torn])
        with pytest.warns(UserWarning, match="cut off while it was written; it is dropped"):
            again = search(BUDGET, COIN, seed=1, journal=path)
        assert again.learner.value() == whole.learner.value()
        assert len(path.read_bytes().splitlines()) == len(data.splitlines())


def test_a_journal_that_is_damaged_inside_is_refused(tmp_path):
    path = tmp_path / "runs.jsonl"
    search(BUDGET, COIN, seed=1, journal=path)
    path.write_bytes(path.read_bytes().replace(b'"index": 3', b'"index": 4', 1))  # a sum that does not fit
    with pytest.raises(ValueError, match=r"as it was written; .* is damaged in line"):
        search(BUDGET, COIN, seed=1, journal=path)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"seed": 2}, "another seed: 1 before, 2 now"),
        ({"problem": Simulator(slow_coin, ARMS)}, r"another problem: Simulator\('coin', .* before, Simulator\('slow"),
        ({"problem": Simulator(coin, ["A", "B"])}, r'another arms: \["A", "B", "C"\] before, \["A", "B"\] now'),
    ],
)
def test_a_journal_of_another_experiment_is_refused(tmp_path, change, part):
    path = tmp_path / "runs.jsonl"
    search(BUDGET, COIN, seed=1, journal=path)
    with pytest.raises(ValueError, match=part):
        search(**{"problem": COIN, "policy": BUDGET, "seed": 1, "journal": path, **change})


def test_two_long_texts_are_shown_where_they_differ():
    arms = [f"plan number {k}" for k in range(100)]
    (text,) = changes(arms, [*arms[:70], "another plan", *arms[71:]])
    assert "number 69" in text
    assert '"plan number 70"' in text
    assert '"another plan"' in text
    assert len(text) < 200


@pytest.mark.parametrize(
    "content",
    [
        b"my notes\nin two lines\n",
        b"one line\n",
        b"no end",
        b'{"format": "allais learner", "version": 1}\n',
        b'{"format": "all',
        b"\n",
        b"\x00" * 100,
    ],
)
def test_what_is_no_journal_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a journal begins with what it is of; .* does not"):
        search(BUDGET, COIN, seed=1, journal=path)
    assert path.read_bytes() == content


def test_a_journal_is_a_file_and_its_log_is_no_other_file(tmp_path):
    with pytest.raises(ValueError, match="a file in a folder that exists"):
        search(BUDGET, COIN, seed=1, journal=tmp_path / "none" / "runs.jsonl")
    with pytest.raises(ValueError, match="a journal is a file"):
        search(BUDGET, COIN, seed=1, journal="/dev/null")
    (tmp_path / "runs.failures.log").write_text("a diary")
    with pytest.raises(ValueError, match=r"exists and is something else\. Move it away"):
        search(BUDGET, COIN, seed=1, journal=tmp_path / "runs.jsonl")
    assert (tmp_path / "runs.failures.log").read_text() == "a diary"
    assert not (tmp_path / "runs.jsonl").exists()


@pytest.mark.parametrize("damage", [b"\r", b"\n", b"x"])
def test_a_line_that_ends_was_acknowledged_so_damage_in_it_is_refused_and_nothing_is_cut_off(tmp_path, damage):
    path = tmp_path / "runs.jsonl"
    search(BUDGET, COIN, seed=1, journal=path)
    data = path.read_bytes()
    last = data.rindex(b"\n", 0, len(data) - 1) + 1
    for place in (40, len(data) // 2, last, last + 20, len(data) - 2):
        damaged = data[:place] + damage + data[place + 1 :]
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"as it was written; .* is damaged in line \d+\. Use a backup"):
            search(BUDGET, COIN, seed=1, journal=path)
        assert path.read_bytes() == damaged


def test_a_journal_without_its_damaged_line_goes_on_with_all_other_runs(tmp_path):
    path = tmp_path / "runs.jsonl"
    whole = search(BUDGET, COIN, seed=1, journal=path)
    kept = path.read_bytes().splitlines(keepends=True)
    del kept[7]
    path.write_bytes(b"".join(kept))
    done = []

    def counted(arm, rng):
        done.append(arm)
        return coin(arm, rng)

    counted.__qualname__ = "coin"
    with pytest.warns(UserWarning, match="do not lead to the same choices"):
        again = search(BUDGET, Simulator(counted, ARMS), seed=1, journal=path)
    assert len(done) == 1
    assert again.intervals == whole.intervals


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
        learner._state.own.rounds[0] = answer.learner._state.own.rounds[0]
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


class Counted(Simulator):
    """Counts the runs of the simulator, and looks like any other that does not."""

    def __init__(self, f=coin):
        super().__init__(f, ARMS)
        self.done = []

    def run(self, arm, seed):
        self.done.append((arm, seed))
        return super().run(arm, seed)


NARROW = WSR(PEOPLE, budget=60, rewards=Bounded(-1, 0))


def test_a_reward_out_of_bounds_names_its_run_which_is_used_once_the_bounds_are_wider(tmp_path):
    path, first, second, fresh = tmp_path / "runs.jsonl", Counted(), Counted(), Counted()
    message = r"^run (\d) of '([ABC])' \(seed (\d+)\): rewards must lie between -1 and 0; got 1\. Widen Bounded"
    with pytest.raises(RunFailed, match=message) as refused:
        search(NARROW, first, seed=1, journal=path)
    number, arm, seed = re.match(message, str(refused.value)).groups()
    *kept, last = lines(path)[1:]
    assert all(run["reward"] == -1.0 for run in kept)
    assert (last["index"], last["arm"], last["seed"], last["refused"]) == (int(number), arm, int(seed), True)
    with pytest.raises(ValueError, match=message):  # nothing has changed: the run is done again, as it may be repaired
        search(NARROW, Counted(), seed=1, journal=path)
    with pytest.warns(
        UserWarning, match=r"another policy \(rewards.high: 0.0 before, 1.0 now\); its (\d+ )?finished runs? "
    ):
        answer = search(BUDGET, second, seed=1, journal=path)
    assert set(first.done).isdisjoint(second.done)
    alone = search(BUDGET, fresh, seed=1, journal=tmp_path / "fresh.jsonl")
    assert answer.intervals == alone.intervals
    assert answer.pulls == alone.pulls
    assert sorted(first.done + second.done) == sorted(fresh.done)
    again = search(BUDGET, Counted(), seed=1, journal=path)  # and the journal of both repeats without a word
    assert again.intervals == alone.intervals


def test_a_policy_that_changes_back_and_forth_repeats_no_run(tmp_path):
    path, problem = tmp_path / "runs.jsonl", Counted()
    with ThreadPoolExecutor(3) as executor:
        search(SURE, problem, seed=1, executor=executor, journal=path, max_runs=30)
        for policy, limit in ((BUDGET, 25), (SURE, 50), (BUDGET, 1_000)):
            with pytest.warns(UserWarning, match="finished runs are used again"):
                answer = search(policy, problem, seed=1, executor=executor, journal=path, max_runs=limit)
            assert answer.samples <= limit
    assert len(set(problem.done)) == len(problem.done)
    assert answer.intervals == search(BUDGET, COIN, seed=1, journal=tmp_path / "fresh.jsonl").intervals


def test_bounds_that_rule_out_what_a_journal_holds_are_refused_before_anything_runs(tmp_path):
    path, problem = tmp_path / "runs.jsonl", Counted()
    search(BUDGET, COIN, seed=1, journal=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"rules out now \(rewards.high: 1.0 before, 0.0 now\): run \d of '"):
        search(NARROW, problem, seed=1, journal=path)
    assert path.read_bytes() == before
    assert problem.done == []


def test_failed_runs_are_done_again_when_the_policy_changes(tmp_path):
    path = tmp_path / "runs.jsonl"
    search(BUDGET, Counted(broken), seed=1, failures=Failures(then="exclude"), journal=path)
    problem = Counted(broken)
    failed = {(ARMS.index(run["arm"]), run["seed"]) for run in lines(path)[1:] if "failure" in run}
    larger = WSR(PEOPLE, budget=70, rewards=Bounded(-1, 1))
    with pytest.warns(UserWarning, match=r"budget: 60 before, 70 now"):
        answer = search(larger, problem, seed=1, failures=Failures(then=-1), journal=path)
    assert {(ARMS.index(one.arm), one.seed) for one in answer.failures} <= set(problem.done)
    assert failed & set(problem.done)
    assert {one.reward for one in answer.failures} == {-1.0}


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
    monkeypatch.setattr("allais.searches.limit.MOST_BYTES", 2_000)
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
        answer = search(
            LUCB(Bounded(0, 1), delta=0.1), Bandit([Bernoulli(0.9), Bernoulli(0.1)]), seed=1, executor=executor
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
        search(BUDGET, Simulator(together, ARMS), seed=1, executor=executor, journal=path)
    assert {run["arm"] for run in lines(path)[1:]} <= {"A", "C"}
    progress = Search(BUDGET, ARMS, np.random.SeedSequence(1))
    runs = [progress.ask() for _ in range(3)]
    back = [(runs[1], Outcome(None, 0.0, "it crashed")), (runs[0], Outcome(1.0, 0.0)), (runs[2], Outcome(7.0, 0.0))]
    finished, refused, trouble = _sorted_out(progress, Failures(), back)
    assert finished == [back[1]]
    assert refused == [back[2]]
    assert str(trouble) == "it crashed"


def test_an_arm_without_a_run_is_not_recommended():
    """Its value would be 0, which beats every loss."""
    for policy in (WLUCB(PEOPLE, Bounded(-1, 1), delta=0.1), WSR(PEOPLE, budget=60)):
        answer = best_arm(policy, Simulator(always_lose, ARMS), seed=1, max_samples=2)
        assert answer.pulls[answer.arm] == 1


def test_a_reward_is_checked_once_on_its_way(tmp_path, monkeypatch):
    checked, seen = Learner._checked, []

    def counting(self, arm, reward):
        seen.append(reward)
        return checked(self, arm, reward)

    monkeypatch.setattr(Learner, "_checked", counting)
    answer = search(BUDGET, COIN, seed=1, journal=tmp_path / "runs.jsonl")
    assert len(seen) == answer.samples > 0
    search(BUDGET, COIN, seed=1, journal=tmp_path / "runs.jsonl")  # what a file says is checked again
    assert len(seen) == 2 * answer.samples
