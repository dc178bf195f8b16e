"""The example of tail routing runs, and does what its page says."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from allais import expected_value, quantile

EXAMPLE = Path(__file__).parents[2] / "examples" / "tail_routing" / "tail_routing.py"
P95 = quantile(0.95, costs=True)


@pytest.fixture(scope="module")
def tail():
    return runpy.run_path(str(EXAMPLE))


def played(tail, router, scenario, requests=1_500):
    providers = tail["SCENARIOS"][scenario]
    made = tail["ROUTERS"][router](list(providers), P95, 1)
    lost = tail["play"](made, [(providers, requests)], P95, 1)
    assert 0.0 <= lost[0] <= 2.0
    return made.learner


def test_the_steady_provider_is_the_best_by_p95_and_the_other_by_the_mean(tail):
    learner = played(tail, "NPTS, time-outs at least so long", "rare 1.5 s against steady 0.3 s")
    assert learner.recommend().arm == "B"
    assert max(learner.value(expected_value(costs=True)).items(), key=lambda one: one[1])[0] == "A"


def test_a_provider_that_hangs_is_found_out_only_if_time_outs_count(tail):
    ours = played(tail, "NPTS, time-outs at least so long", "requests that hang")
    forgetful = played(tail, "NPTS, time-outs ignored", "requests that hang")
    assert ours.recommend().arm == "A"
    assert ours.unfinished["C"] > 0
    assert forgetful.recommend().arm == "C"  # it seems to answer in 0.1 s, always


def test_lowest_latency_is_the_rule_that_its_documentation_describes(tail):
    router = tail["LowestLatency"](["A", "B"], P95, 1)
    first = router.choose()
    router.finished(first, 0.5)
    second = router.choose()
    assert second.arm != first.arm  # whoever has no latency yet comes first
    router.timed_out(second, 2.0)
    for _ in range(9):
        assert router.choose().arm == first.arm  # a time-out counts as 1,000 s
    for _ in range(10):
        router.finished(second, 0.1)
    assert router.choose().arm == second.arm  # the mean of the last 10


def test_the_example_prints_a_table(tail, monkeypatch, capsys):
    monkeypatch.setitem(tail["main"].__globals__, "SCENARIOS", {"hang": tail["SCENARIOS"]["requests that hang"]})
    monkeypatch.setattr(sys, "argv", ["tail_routing.py", "--by", "cvar", "--requests", "30", "--runs", "1"])
    tail["main"]()
    printed = capsys.readouterr().out
    assert printed.count("\n") == 8
    assert "round robin" in printed
    assert np.isfinite([float(x) for x in printed.splitlines()[-1].split()[-2:]]).all()
