"""Verdicts about logs in which some outcomes are not finished: nothing is concluded that they might contradict."""

import math

import numpy as np
import pytest

from allais.evidence import verdict
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


@pytest.mark.parametrize(
    ("change", "settings", "sentence"),
    [
        ({}, {"by": "mean", "rarest": 0.01}, "are judged by percentiles; got 'mean', and [0-9]+ of 6,000 are not"),
        ({}, {"by": "cvar:0.1", "bounds": (0, 9_000)}, "are judged by percentiles; got 'cvar:0.1'"),
        ({"ms": np.ones(6_000)}, {}, "an outcome is known, or what it is at least or at most; row [0-9]+ has both"),
        ({"at_most": np.zeros(6_000)}, {}, "an outcome is known, or what it is at least or at most"),
        ({"ms": [None] * 6_000, "at_most": np.full(6_000, -1.0)}, {}, "ascend; row [0-9]+ has 450 and -1"),
        ({"at_least": [">= 5"] * 6_000}, {}, "'at_least' is a number; row 1 has '>= 5', of which only a part"),
        ({}, {"at_most": "most"}, "'most' is not"),
        ({"at_least": np.full(6_000, np.nan)}, {}, "an outcome is a finite number; row [0-9]+ has nan or nothing"),
    ],
)
def test_wrong_logs_of_unfinished_outcomes_are_refused_in_a_sentence(change, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        verdict({**_cut(log_of(), 450.0), **change}, **COLUMNS, **{"by": "p90", **settings})
