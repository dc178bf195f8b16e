"""Verdicts by a percentile and other preferences at once: sums of the ends of the parts, which share delta."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from allais.evidence import Test as Stream
from allais.evidence import forecast, verdict
from allais.evidence.comparisons import metric_of
from allais.evidence.data import Log
from allais.preferences import Preference, expected_value, mixed, quantile
from allais.preferences.utilities import PowerUtility

COLUMNS = {"group": "variant", "outcome": "ms"}
BY = "0.7*mean+0.3*p99"


def _log(factor, n, seed=1):
    rng = np.random.default_rng(seed)
    group = np.tile(["control", "canary"], n // 2)
    return {"variant": group, "ms": rng.lognormal(5.0, 0.5, size=n) * np.where(group == "canary", factor, 1.0)}


@pytest.mark.parametrize(("bounds", "promise"), [(None, "asymptotic"), ((0.0, 3_000.0), "proven")])
def test_a_clear_change_is_found_and_the_interval_holds_it(bounds, promise):
    found = verdict(_log(1.6, 20_000), **COLUMNS, by=BY, rarest=0.01, bounds=bounds, control="control")[0]
    value = 0.7 * math.exp(5.125) + 0.3 * math.exp(5.0 + 0.5 * 2.3263478740408408)
    assert (found.word, found.promise) == ("worse", promise)
    assert found.difference.low < 0.6 * value < found.difference.high
    assert found.relative.low < 0.6 < found.relative.high
    assert found.values[0].low < value < found.values[0].high
    assert "0.7 x the mean + 0.3 x percentile 99" in found.sentence


def test_two_percentiles_are_proven_without_bounds():
    assert verdict(_log(1.0, 2_000), **COLUMNS, by="0.5*median+0.5*p95")[0].promise == "proven"


def test_the_interval_is_the_sum_of_those_of_the_parts():
    log = _log(1.1, 4_000)
    views = [one.upto(4_000) for one in Log((0, 1), np.tile([0, 1], 2_000), log["ms"], None, None).sides]
    whole = metric_of(BY, True, None, 0.01, 0.05, 0.5)
    mean, p99 = (metric_of(by, True, None, 0.01, 0.0125, 0.5).compare(*views, {}) for by in ("mean", "p99"))
    found = whole.compare(*views, {})
    assert [part for part, _ in whole.parts] == pytest.approx([0.7, 0.3])
    assert list(found.difference) == pytest.approx(0.7 * np.array(mean.difference) + 0.3 * np.array(p99.difference))
    assert list(found.group) == pytest.approx(0.7 * np.array(mean.group) + 0.3 * np.array(p99.group))


def test_the_p_value_is_at_most_delta_where_no_difference_is_excluded():
    for factor, word in ((1.0, "not yet"), (1.6, "worse")):
        found = verdict(_log(factor, 20_000), **COLUMNS, by=BY, rarest=0.01, control="control")[0]
        assert (found.word, found.p_value <= 0.05) == (word, word == "worse")


def test_equal_groups_seldom_differ():
    """More than 16 alarms of 60 happen by luck in less than one run in a million, if 5 % may."""
    assert binom.sf(15, 60, 0.05) < 1e-6
    alarms = 0
    for seed in range(60):
        found = verdict(_log(1.0, 1_000, seed), **COLUMNS, by="0.5*mean+0.5*p90", rarest=0.02)
        alarms += found[0].word != "not yet"
    assert alarms <= 15


def test_a_stream_says_the_same_as_the_table():
    log = _log(1.5, 6_000)
    stream = Stream(["control", "canary"], by=BY, rarest=0.01)
    for group, ms in zip(log["variant"], log["ms"], strict=True):
        stream.add(group, ms)
    table = verdict(log, **COLUMNS, by=BY, rarest=0.01, control="control")
    assert stream.verdict()[0].values == table[0].values
    assert stream.verdict()[0].word == table[0].word == "worse"


def test_a_forecast_of_a_mixture_lies_between_those_of_its_parts():
    waits = np.random.default_rng(1).lognormal(size=5_000)
    mean, whole, p99 = (forecast(waits, by, change=0.15).units for by in ("mean", BY, "p99"))
    assert mean < whole < 1.5 * p99


def test_a_mixture_with_a_percentile_and_a_utility_is_refused():
    bent = [
        Preference(one.gains, one.losses, utility=PowerUtility(0.8), costs=True)
        for one in (expected_value(costs=True), quantile(0.9, costs=True))
    ]
    with pytest.raises(ValueError, match=r"compared in amounts; .* has a utility"):
        verdict(_log(1.0, 2_000), **COLUMNS, by=mixed((0.5, bent[0]), (0.5, bent[1])), rarest=0.01)
