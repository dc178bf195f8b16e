"""Verdicts about logs in which some outcomes are not finished: nothing is concluded that they might contradict."""

import math

import numpy as np
import pytest

from allais import cvar, expected_value
from allais.evidence import verdict
from allais.evidence._estimates import estimates_of
from allais.evidence.data import read_log
from allais.samples.censored import Sweep
from allais.streams import CensoredSample
from tests.evidence.test_verdicts import COLUMNS
from tests.evidence.test_verdicts import _log as log_of


def _cut(log, at):
    """The same log, in which requests were given up after so long."""
    longer = log["ms"] > at
    return {**log, "ms": np.where(longer, np.nan, log["ms"]), "at_least": np.where(longer, at, np.nan)}


@pytest.mark.parametrize("users", [False, True])
def test_percentiles_below_every_time_out_are_judged_as_if_all_were_finished(users):
    who = {"user": np.arange(6_000) // 2 % 700 * 2 + np.arange(6_000) % 2} if users else {}
    whole, settings = log_of(1.3, **who), {**COLUMNS, **({"user": "user"} if users else {}), "by": ["median", "p90"]}
    found, wanted = verdict(_cut(whole, 450.0), **settings), verdict(whole, **settings)
    for one, other in zip(found, wanted, strict=True):
        assert (one.word, one.p_value) == (other.word, other.p_value)
        assert one.values == other.values
        assert one.relative == pytest.approx(tuple(other.relative), rel=1e-3)
        assert one.vague == ("", "")
    assert "are not finished: each counts where it is worse" in " ".join(found.assumptions)


@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_percentiles_among_what_is_at_most_stay_open_below(unit):
    log = log_of(1.3)
    quick = log["ms"] < 100.0
    part = {"ms": np.where(quick, np.nan, unit * log["ms"]), "at_most": np.where(quick, 100.0 * unit, np.nan)}
    found = verdict({**log, **part}, **COLUMNS, by=["p90", "p10"], control="control")
    whole = verdict({**log, "ms": unit * log["ms"]}, **COLUMNS, by=["p90", "p10"], control="control")
    assert found[0].word == whole[0].word == "worse"
    assert found[0].values == whole[0].values
    assert found[1].values[0].low == -math.inf
    assert found[1].values[0].high == pytest.approx(100.0 * unit)
    assert found[1].vague[0] == "at most "
    assert found[1].relative is None


def test_percentiles_among_the_time_outs_stay_open():
    found = verdict(_cut(log_of(1.3), 450.0), **COLUMNS, by="p99", unit="ms")[0]
    assert found.word == "not yet"
    assert found.values[1].high == found.difference.high == math.inf
    assert found.difference.low == -math.inf
    assert found.relative == (-1.0, 0.0, math.inf)
    assert 'It is at least 450 ms with "canary" and at least 450 ms with "control".' in found.sentence


def test_whatever_unfinished_outcomes_become_the_interval_holds_that_of_the_finishedlog_of():
    rng, whole = np.random.default_rng(4), log_of(1.3)
    unknown = rng.random(6_000) < 0.03
    below, above = rng.uniform(0.3, 1.0, 6_000), rng.uniform(1.0, 3.0, 6_000)
    side = rng.integers(0, 3, 6_000)  # at least, at most, between
    part = {
        **whole,
        "ms": np.where(unknown, np.nan, whole["ms"]),
        "low": np.where(unknown & (side != 1), below * whole["ms"], np.nan),
        "high": np.where(unknown & (side != 0), above * whole["ms"], np.nan),
    }
    found = verdict(part, **COLUMNS, by=["median", "p90"], at_least="low", at_most="high")
    for one, other in zip(found, verdict(whole, **COLUMNS, by=["median", "p90"]), strict=True):
        assert one.difference.low <= other.difference.low + 1e-9
        assert one.difference.high >= other.difference.high - 1e-9
        assert one.relative.low <= other.relative.low + 1e-9
        assert one.relative.high >= other.relative.high - 1e-9
        assert one.p_value >= other.p_value
        assert all(
            mine.low <= whole_.low <= whole_.high <= mine.high
            for mine, whole_ in zip(one.values, other.values, strict=True)
        )
        assert one.word == other.word == "worse"


def _at_random(log, seed=3, most=0.1):
    """The same log, in which some outcomes are cut off at a time that has nothing to do with them."""
    rng = np.random.default_rng(seed)
    cut = np.where(rng.random(log["ms"].size) < most, rng.uniform(0.0, 900.0, log["ms"].size), np.inf)
    longer = log["ms"] > cut
    return {**log, "ms": np.where(longer, np.nan, log["ms"]), "at_least": np.where(longer, cut, np.nan)}


@pytest.mark.parametrize("by", ["mean", "cvar:0.2", "tk:0.61", "0.5*mean+0.5*p75"])
@pytest.mark.parametrize("users", [False, True])
def test_within_bounds_values_hold_whatever_unfinished_outcomes_become(by, users):
    log = log_of(1.4, user=np.arange(6_000))
    settings = {**COLUMNS, "by": by, "bounds": (0.0, 9_000.0), **({"user": "user"} if users else {})}
    cut = _cut(log, 600.0)
    found, worst = verdict(cut, **settings)[0], verdict({**log, "ms": np.minimum(log["ms"], 600.0)}, **settings)[0]
    assert found.promise == "proven"
    assert found.vague[1] == "at least "
    assert f"is at least {found.values[1].value:.4g}"[:14] in found.sentence
    for mine, known, other in zip(found.values, worst.values, verdict(log, **settings)[0].values, strict=True):
        assert mine.value == pytest.approx(known.value)  # amounts are those of the ends that are known
        assert mine.low < known.value < other.value < mine.high


@pytest.mark.parametrize("by", ["mean", "cvar:0.2", "tk:0.61", "0.5*mean+0.5*p75"])
def test_without_bounds_values_are_those_of_the_product_limit(by):
    log = log_of(1.4)
    found = verdict(_at_random(log), **COLUMNS, by=by, rarest=0.05)[0]
    dropped = _at_random(log)
    kept = ~np.isnan(dropped["ms"])
    short = verdict({name: column[kept] for name, column in log.items()}, **COLUMNS, by=by, rarest=0.05)[0]
    whole = verdict(log, **COLUMNS, by=by, rarest=0.05)[0]
    assert found.word == whole.word == "worse"
    assert found.promise in ("asymptotic", "none")
    for one, other, biased in zip(found.values, whole.values, short.values, strict=True):
        assert one.value == pytest.approx(other.value, rel=0.03)
        assert biased.value < other.value
        assert other.low - 0.02 * other.value < one.value < other.high + 0.02 * other.value
    said = verdict(_at_random(log), **COLUMNS, by=by, rarest=0.05).assumptions
    assert "were cut off for other reasons" in " ".join(said)


def test_the_product_limit_of_a_group_has_the_interval_of_its_sample():
    """The same variance and skew as `Asymptotic` takes for a sample, and users of one outcome each change nothing."""
    cut = _at_random(log_of())
    log = read_log({**cut, "user": np.arange(6_000)}, "variant", "ms", None, None, None)
    by_user = read_log({**cut, "user": np.arange(6_000)}, "variant", "ms", "user", None, None)
    for preference in (expected_value(costs=True), cvar(0.2, costs=True)):
        found = estimates_of(preference, log.sides[1].upto(6_000), 60, 0.05)
        assert len(found) == 1
        mine = np.flatnonzero(log.group == 1)
        known = ~np.isnan(cut["ms"][mine])
        sample = CensoredSample(cut["ms"][mine][known], at_least=cut["at_least"][mine][~known])
        sweep = Sweep.of(preference, sample.places())
        assert found[0][:3] == pytest.approx((-sample.value(preference), *(np.array(sweep.cumulants()) * (1, -1))))
        assert estimates_of(preference, by_user.sides[1].upto(6_000), 60, 0.05)[0] == pytest.approx(found[0])


def test_a_tail_that_nobody_could_see_is_open_without_bounds():
    found = verdict(_cut(log_of(1.4), 400.0), **COLUMNS, by="mean", rarest=0.01)[0]
    assert found.word == "not yet"
    assert found.p_value == 1.0
    assert found.vague == ("at least ", "at least ")
    assert found.forecast is None
    assert found.values[1].high == found.difference.high == math.inf
    one_sided = log_of(1.4)
    slow = (np.array(one_sided["variant"]) == "canary") & (one_sided["ms"] > 400.0)
    part = {"ms": np.where(slow, np.nan, one_sided["ms"]), "at_least": np.where(slow, 400.0, np.nan)}
    sure = verdict({**one_sided, **part}, **COLUMNS, by="mean", rarest=0.01)[0]
    assert sure.word == "worse"  # the canary is worse already by what is known of it
    assert sure.difference.high == sure.relative.high == math.inf
    assert sure.p_value < 0.05


def test_nothing_is_foretold_where_more_outcomes_need_not_tell_more():
    found = verdict(_cut(log_of(1.02), 400.0), **COLUMNS, by=["mean", "p99", "median"], bounds=(0.0, 9_000.0))
    assert [one.word for one in found] == ["not yet"] * 3
    assert [one.forecast is None for one in found] == [True, True, False]


def test_cuts_on_both_sides_need_bounds_or_a_percentile():
    log = _at_random(log_of())
    quick = log["ms"] < 100.0
    both = {**log, "ms": np.where(quick, np.nan, log["ms"]), "at_most": np.where(quick, 100.0, np.nan)}
    with pytest.raises(ValueError, match="one side, all at_least or all at_most; got both"):
        verdict(both, **COLUMNS, by="mean", rarest=0.01)
    assert verdict(both, **COLUMNS, by="mean", bounds=(0, 9_000))[0].promise == "proven"


@pytest.mark.parametrize(
    ("change", "settings", "sentence"),
    [
        (
            {"at_most": np.full(6_000, 900.0), "at_least": np.full(6_000, np.nan)},
            {"by": "mean", "rarest": 0.01},
            "an outcome is known, or what it is at least or at most",
        ),
        ({}, {"by": "cvar:0.1", "bounds": (0, 400)}, "lie within their bounds, 0 to 400; got"),
        (
            {"x": np.arange(6_000.0) % 7},
            {"by": "mean", "rarest": 0.01, "covariates": ["x"]},
            "covariates sharpen means of finished outcomes; [0-9]+ of 6,000 are not",
        ),
        ({"ms": np.ones(6_000)}, {}, "an outcome is known, or what it is at least or at most; row [0-9]+ has both"),
        ({"at_most": np.zeros(6_000)}, {}, "an outcome is known, or what it is at least or at most"),
        ({"ms": [None] * 6_000, "at_most": np.full(6_000, -1.0)}, {}, "ascend; row [0-9]+ has 450 and -1"),
        ({"at_least": [">= 5"] * 6_000}, {}, "'at_least' is a number; row 1 has '>= 5', of which only a bound"),
        ({}, {"at_most": "most"}, "'most' is not"),
        ({"at_least": np.full(6_000, np.nan)}, {}, "an outcome is a finite number; row [0-9]+ has nan or nothing"),
    ],
)
def test_wrong_logs_of_unfinished_outcomes_are_refused_in_a_sentence(change, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        verdict({**_cut(log_of(), 450.0), **change}, **COLUMNS, **{"by": "p90", **settings})


def test_ratios_reach_to_their_worse_end_where_one_amount_may_be_negative():
    """-8 is a lower multiple of 45 than of 52."""
    rng, even = np.random.default_rng(1), np.arange(2_000) % 2 == 0
    outcomes = np.where(even, rng.normal(50.0, 5.0, 2_000), rng.normal(-5.0, 5.0, 2_000))
    outcomes[:6], at_least = math.nan, np.where(np.arange(2_000) < 6, -90.0, math.nan)
    table = {"g": np.where(even, "a", "b"), "y": outcomes, "at_least": at_least}
    found = verdict(table, group="g", outcome="y", by="mean", bounds=(-100, 100))[0]
    (low, _, high), (least, _, most) = found.values
    assert least < most < 0.0 < low < high
    assert found.relative[::2] == pytest.approx((least / low - 1.0, most / high - 1.0))


def test_what_is_told_of_an_unfinished_outcome_may_lie_beyond_the_bounds():
    table = {"g": ["a", "b"] * 100, "y": [math.nan, 2.0] * 100, "at_least": [0.0, math.nan] * 100}
    found = verdict(table, group="g", outcome="y", by="mean", bounds=(1, 3))[0]
    low, value, high = found.values[0]
    assert 1.0 <= low <= value <= high <= 3.0


def test_amounts_between_what_is_known_from_below_and_from_above_are_about_so_much():
    rng = np.random.default_rng(1)
    outcomes, at_least, at_most = rng.uniform(size=400), np.full(400, math.nan), np.full(400, math.nan)
    outcomes[:80], at_least[:40], at_most[40:80] = math.nan, 0.3, 0.6
    table = {"g": ["a", "b"] * 200, "y": outcomes, "at_least": at_least, "at_most": at_most}
    found = verdict(table, group="g", outcome="y", by="mean", bounds=(0, 1))[0]
    assert found.vague == ("about ", "about ")
    assert 'with "b" and about 0.' in found.sentence


def test_columns_that_are_left_out_or_given_are_as_long_as_the_others():
    with pytest.raises(ValueError, match=r"must be equally long; got .*'at_least': 1"):
        verdict({"g": ["a", "b"], "y": [math.nan, 1.0], "at_least": [1.0]}, group="g", outcome="y", by="median")
