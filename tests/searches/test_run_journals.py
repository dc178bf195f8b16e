"""Journals of runs: continued exactly, refused where damaged or of another search, and used by another policy."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from allais import (
    WSR,
    Bounded,
    Simulator,
    search,
)
from allais.errors import RunFailed
from allais.searches import Failures
from allais.searches.journal import changes
from tests.searches.simulators import ARMS, broken, coin, slow_coin
from tests.searches.test_drive import BUDGET, COIN, PEOPLE, SURE, lines


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
    with pytest.raises(ValueError, match=r"must match its checksums; .* is damaged in line"):
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
    with pytest.raises(ValueError, match=r"a journal must begin with its format; .* does not"):
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
        with pytest.raises(ValueError, match=r"must match its checksums; .* is damaged in line \d+\. Use a backup"):
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
