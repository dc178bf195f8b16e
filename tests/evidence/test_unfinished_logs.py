"""Logs of decisions some of whose outcomes are not finished."""

from __future__ import annotations

import math

import numpy as np
import pytest
from typer.testing import CliRunner

from allais import expected_value, quantile
from allais.cli.app import app
from allais.evidence import evaluate, read_decisions


def _table(seed=1, n=4_000, cut=32.0):
    rng = np.random.default_rng(seed)
    arm = rng.choice(["slow", "fast"], size=n, p=[0.8, 0.2])
    outcome = rng.normal(np.where(arm == "slow", 30.0, 20.0), 3.0)
    table = {"arm": arm, "outcome": outcome, "propensity": np.where(arm == "slow", 0.8, 0.2)}
    longer = outcome > cut
    part = {**table, "outcome": np.where(longer, np.nan, outcome), "at_least": np.where(longer, cut, np.nan)}
    return table, part


MEAN, MEDIAN, P95 = expected_value(costs=True), quantile(0.5, costs=True), quantile(0.95, costs=True)


@pytest.mark.parametrize("bounds", [None, (0.0, 60.0)])
def test_unfinished_outcomes_leave_an_evaluation_open_where_they_matter(bounds):
    table, part = _table()
    targets = {"slow": "slow", "even": {"slow": 0.5, "fast": 0.5}, "now": "logging"}
    log = read_decisions(part)
    assert log.unfinished == np.isnan(part["outcome"]).sum() > 500
    found = evaluate(log, targets, [MEAN, MEDIAN, P95], bounds=bounds)
    whole = evaluate(read_decisions(table), targets, [MEAN, MEDIAN, P95], bounds=bounds)
    for one, other in zip(found.worths, whole.worths, strict=True):
        assert one.interval[0] <= other.interval[0] + 1e-9 or one.by != "percentile 50"
        # what they are at least is at most what they were; 0.5 are several standard errors of both
        assert one.interval[0] <= other.interval[0] + 0.5
        assert one.interval[1] >= other.interval[1] - 0.5
        assert one.interval[0] <= one.value <= one.interval[1]
        if one.by == "percentile 50":
            assert one.interval == pytest.approx(other.interval, abs=1e-9)
            assert one.value == other.value
        else:
            assert one.interval[1] > other.interval[1] + 1.0
            assert math.isinf(one.interval[1]) == (bounds is None)
        if bounds is not None:
            assert one.proven[0] <= other.proven[0] + 0.5
            assert one.proven[1] >= other.proven[1] - 0.5
    assert found.findings == (f"{log.unfinished} of 4000 outcomes are not finished: nothing is assumed of them.",)
    with pytest.raises(ValueError, match="a difference needs finished outcomes"):
        found.difference("slow", "now")


def test_an_arm_whose_outcomes_are_all_finished_is_evaluated_as_without_unfinished_ones():
    table, part = _table(cut=35.0)
    quick = np.array(part["arm"]) == "fast"
    assert not np.isnan(np.array(part["outcome"])[quick]).any()
    found, whole = (evaluate(read_decisions(one), "fast", [MEAN, P95]) for one in (part, table))
    for one, other in zip(found.worths, whole.worths, strict=True):
        assert one.interval == pytest.approx(other.interval, rel=1e-9)


def test_a_log_of_unfinished_outcomes_only_still_says_what_they_are_at_least():
    _, part = _table()
    table = {**part, "outcome": [None] * 4_000, "at_least": np.full(4_000, 7.0)}
    found = evaluate(read_decisions(table), "slow", MEAN).worths[0]
    assert found.value == pytest.approx(7.0)
    assert found.interval[1] == math.inf
    mixed_ends = {**table, "at_least": [7.0, None] * 2_000, "at_most": [None, 9.0] * 2_000}
    assert evaluate(read_decisions(mixed_ends), "slow", MEAN).worths[0].interval == (-math.inf, math.inf)


def test_wrong_rows_of_unfinished_outcomes_are_refused_in_a_sentence():
    table, part = _table()
    with pytest.raises(ValueError, match=r"row [0-9]+ has both\. Leave the outcome empty"):
        read_decisions({**part, "outcome": table["outcome"]})
    with pytest.raises(ValueError, match="'ends' is not"):
        read_decisions(part, at_least="ends")
    with pytest.raises(ValueError, match="some are not within 0 to 30"):
        evaluate(read_decisions(part), "slow", MEAN, bounds=(0.0, 30.0))


def test_a_command_reads_columns_of_what_is_known_so_far(tmp_path):
    _, part = _table()
    lines = [
        f"{a},{'' if np.isnan(o) else o},{p},{'' if np.isnan(c) else c}"
        for a, o, p, c in zip(*part.values(), strict=True)
    ]
    (tmp_path / "log.csv").write_text("\n".join(["arm,s,p,given_up_at", *lines]), encoding="utf-8")
    columns = ["--outcome", "s", "--at-least", "given_up_at"]
    command = ["evaluate", str(tmp_path / "log.csv"), "--target", "slow", "--by", "mean", "--propensity", "p", *columns]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "to inf" in done.output
    assert "outcomes are not finished: nothing is assumed of them." in done.output
    command = ["verdict", str(tmp_path / "log.csv"), "--group", "arm", "--by", "median", "--shares", "any", *columns]
    done = CliRunner().invoke(app, command)
    assert done.exit_code in (0, 1), done.output
    assert "by percentile 50" in done.output


@pytest.mark.parametrize("best", [True, False])
def test_intervals_stay_within_the_bounds_where_weights_happen_to_be_large(best):
    rng = np.random.default_rng(0)
    likely = rng.uniform(0.1, 0.9, 40)
    chosen = rng.random(40) < likely
    table = {"arm": np.where(chosen, "x", "y"), "outcome": np.ones(40) * (1.0 if best else -1.0)}
    log = read_decisions({**table, "propensity": np.where(chosen, likely, 1.0 - likely)})
    found = evaluate(log, {"x": "x"}, [expected_value()], bounds=(-1, 1), estimator="importance-weighted").worths[0]
    assert -1.0 <= found.interval[0] <= found.interval[1] <= 1.0


def test_contexts_are_as_long_as_the_other_columns():
    table = {"arm": ["a", "b"], "outcome": [1.0, 2.0], "propensity": [0.5, 0.5], "hour": [7]}
    with pytest.raises(ValueError, match=r"must be equally long; got .*'hour': 1"):
        read_decisions(table, context=["hour"])
