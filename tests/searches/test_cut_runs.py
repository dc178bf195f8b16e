"""Runs that were cut off count as at least what is known of them: programs, simulators, journals, pages."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from allais import WLUCB, WSR, Bounded, Program, Simulator, expected_value, search
from allais.errors import RunCut, RunFailed
from allais.report.effort import explained
from allais.report.words import by_mean, recommendation
from allais.searches import Failures
from allais.searches.forecast import chances

POLICY = WLUCB(expected_value(costs=True), Bounded(0, 10), delta=0.1)
AT_LEAST = Failures(then="at least")


def trip(arm: str, rng: np.random.Generator) -> float:
    """Minutes of a trip; whoever takes longer than 6 minutes is not waited for."""
    minutes = float(rng.integers(2, 5) if arm == "metro" else rng.integers(7, 9))
    if minutes > 6.0:
        raise RunCut("a trip must end within 6 minutes; it did not.", at_least=6.0)
    return minutes


def test_a_search_settles_on_runs_that_were_cut_off_and_says_how_many(tmp_path):
    problem = Simulator(trip, ["metro", "bus"])
    answer = search(POLICY, problem, seed=1, failures=AT_LEAST, journal=tmp_path / "runs.jsonl")
    assert answer.arm == "metro"
    assert answer.settled
    assert answer.promise == "proven"
    assert not answer.excluded
    cut = sum(one.at_least == 6.0 for one in answer.failures)
    assert cut == answer.learner.unfinished["bus"] > 5
    assert answer.pulls["bus"] == 0
    text = recommendation(answer)
    assert by_mean(answer.learner).means["bus"] == 6.0
    assert chances(answer) == {"metro": 1.0, "bus": 0.0}
    assert explained(answer.learner, "bus").labels
    assert f"{cut:,} of the {cut:,} runs of 'bus' failed and count as at least 6" in text.replace('"', "'")


def test_a_journal_goes_on_alike_after_runs_were_cut_off(tmp_path):
    problem = Simulator(trip, ["metro", "bus"])
    whole = search(POLICY, problem, seed=1, failures=AT_LEAST)
    search(POLICY, problem, seed=1, failures=AT_LEAST, journal=tmp_path / "runs.jsonl", max_runs=9)
    again = search(POLICY, problem, seed=1, failures=AT_LEAST, journal=tmp_path / "runs.jsonl")
    assert again.pulls == whole.pulls
    assert again.learner.unfinished == whole.learner.unfinished
    assert again.intervals == whole.intervals


def test_a_program_that_is_ended_at_its_time_limit_lasts_at_least_so_long(tmp_path):
    script = tmp_path / "trip.py"
    script.write_text("import sys, time\ntime.sleep(0 if sys.argv[1] == 'quick' else 600)\nprint(0.1)\n")
    problem = Program(f"{sys.executable} {script} {{arm}} {{seed}}", ["quick", "slow"], time_limit=5.0)
    answer = search(POLICY, problem, seed=1, failures=AT_LEAST, max_runs=2)
    assert answer.learner.unfinished == {"quick": 0, "slow": 1}
    assert answer.learner.left_open()["slow"] == (-10.0, -5.0, -5.0)
    assert [one.at_least for one in answer.failures] == [5.0]


def test_other_failures_stop_the_search():
    def broken(arm: str, rng: np.random.Generator) -> float:
        raise RuntimeError("no disk")

    with pytest.raises(RunFailed, match="no disk"):
        search(POLICY, Simulator(broken, ["metro", "bus"]), seed=1, failures=AT_LEAST)


def test_a_policy_without_a_use_for_cut_runs_is_refused_before_any_run():
    policy = WSR(expected_value(costs=True), budget=20)
    with pytest.raises(ValueError, match="WSR learns from finished outcomes only; got at least 0"):
        search(policy, Simulator(trip, ["metro", "bus"]), seed=1, failures=AT_LEAST)


def test_cut_runs_may_still_be_left_out_or_counted_as_a_number():
    problem = Simulator(trip, ["metro", "bus"])
    answer = search(POLICY, problem, seed=1, failures=Failures(then=10.0), max_runs=200)
    assert answer.pulls["bus"] > 0
    assert {one.reward for one in answer.failures} == {10.0}
    with pytest.raises(ValueError, match='"at least", or the reward'):
        Failures(then="at most")
