"""Verdicts with guardrails on other columns, and tables with mistakes as people make them."""

import numpy as np
import pandas as pd
import pytest

from allais.evidence import Guard, verdict
from allais.report import write_verdicts


def shop(n=8_000, slower=1.0, richer=1.0, seed=1):
    """Orders of two versions, in euros, and what each took in ms."""
    rng = np.random.default_rng(seed)
    new = np.arange(n) % 2 == 1
    euros = np.minimum(rng.lognormal(3.0, 0.5, n) * np.where(new, richer, 1.0), 500.0)
    ms = rng.lognormal(5.0, 0.4, n) * np.where(new, slower, 1.0)
    return pd.DataFrame({"version": np.where(new, "new", "old"), "euros": euros, "ms": ms})


def judged(table, *guards, **more):
    given = {"group": "version", "outcome": "euros", "by": "mean", "bounds": (0, 500), "costs": False, "unit": "euros"}
    return verdict(table, **{**given, **more}, control="old", guardrails=guards)


LATENCY = Guard("ms", "p90", "20%", unit="ms")


def test_a_group_is_better_by_one_column_and_keeps_its_guardrail_on_another():
    found = judged(shop(richer=1.3), LATENCY)
    assert [one.word for one in found] == ["better", "equal within the margin"]
    assert found.summary.startswith('"new" is better than "old" by the mean. ')
    assert 'euros with "old". The difference is between +' in found.summary
    assert '"new" keeps its guardrail. "new" and "old" are equal by percentile 90 of "ms", within the margin' in str(
        found
    )
    assert '9 of 10 outcomes of "ms" are at most' in found[1].sentence
    assert found.assumptions[:2] == ["More is better.", 'Less "ms" is better.']


def test_a_slower_group_is_worse_by_its_guardrail_and_few_outcomes_leave_it_open():
    worse = judged(shop(slower=1.4), LATENCY)
    assert worse[1].word == "worse"
    assert str(worse).startswith('"new" is worse by a guardrail, percentile 90 of "ms". ')
    assert '. "new" is worse than "old" by percentile 90 of "ms". 9 of 10 outcomes of "ms" are at most' in str(worse)
    few = judged(shop(400), LATENCY, Guard("ms", "mean", "5%", bounds=(0, 60_000)))
    assert 'It is not shown yet that "new" keeps its guardrails. Not decided yet' in str(few)


def test_all_metrics_share_delta_and_p_values_count_all_of_them():
    """With two metrics each has half of delta, whichever column it is about: as with two metrics of one column."""
    table = shop(slower=1.05)
    guarded = judged(table, LATENCY)
    both = verdict(table, group="version", outcome="ms", by=["p90", "p99"], no_worse_than="20%", control="old")
    assert guarded[1].difference == both[0].difference
    assert guarded[1].p_value == pytest.approx(both[0].p_value)
    assert guarded[0].metric.delta == guarded[1].metric.delta == 0.025
    alone = judged(table)
    assert guarded[0].p_value == pytest.approx(min(2.0 * alone[0].p_value, 1.0))


def test_a_page_has_the_guardrail_too(tmp_path):
    write_verdicts(judged(shop(slower=1.4), LATENCY), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "is worse by a guardrail" in text
    assert "new, by percentile 90 of &#34;ms&#34;" in text


def test_what_unfinished_outcomes_are_at_least_says_nothing_about_the_columns_of_guardrails():
    """Taken for the guardrail's own, an order that is not paid yet would count as one of 5,000 euros."""
    table = shop(2_000)
    late = np.arange(2_000) % 20 < 2
    table["at_least"] = np.where(late, 5_000.0, np.nan)
    table["ms"] = table["ms"].mask(late)
    aim = {"group": "version", "outcome": "ms", "by": "p90", "bounds": None, "costs": True, "unit": "ms"}
    guard = Guard("euros", "p90", "20%", costs=False)
    found = judged(table, guard, Guard("ms", "p50", "50%"), **aim)
    assert found.log.reach is not None
    whole = verdict(table[["version", "euros"]], group="version", outcome="euros", by="p90", control="old", costs=False)
    assert found[1].difference.value == whole[0].difference.value
    assert found[2].difference.value == pytest.approx(0.0, abs=20.0)  # of the same column: they do count there
    table["euros"] = table["euros"].mask(late)
    with pytest.raises(ValueError, match="an outcome is a finite number; row 1 has nan or nothing"):
        judged(table, guard, **aim)


@pytest.mark.parametrize(
    ("guard", "sentence"),
    [
        (Guard("mss", "p90", "5%"), "a column must be in the table; 'mss' is not. Did you mean 'ms'"),
        (Guard("ms", "p90", "-5%"), "a margin says how much worse is still fine, so it is above 0"),
        (Guard("ms", "p100", "5%"), "a percentile lies above 0 and below 100"),
        (Guard("ms", "mean", "5%"), "without bounds of the outcomes, 'mean' is judged asymptotically"),
        (Guard("ms", "mean", "5%", bounds=(0, 100)), "outcomes lie within their bounds, 0 to 100; got "),
    ],
)
def test_a_wrong_guardrail_is_refused_in_a_sentence(guard, sentence):
    with pytest.raises(ValueError, match=sentence):
        judged(shop(100), guard)


def test_guardrails_are_guards():
    for given in (LATENCY, [("ms", "p90", "20%")]):
        with pytest.raises(TypeError, match=r"guardrails are a list, \[Guard.*; got .*'p90'"):
            verdict(shop(100), group="version", outcome="euros", by="p90", guardrails=given)


ROWS = [f"{('old', 'new')[i % 2]},{100 + i % 7}" for i in range(60)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("version,ms\n" + "\n".join([*ROWS[:9], "old,slow", *ROWS]), "an outcome is a number; line 11 has 'slow'"),
        ("version,ms\n\n,\n" + "\n".join([*ROWS[:9], "old,slow", *ROWS]), "line 13 has 'slow'"),
        ('version,ms\n"new",\n' + "\n".join(ROWS), "an outcome is a finite number; line 2 has nan or nothing"),
        ('version,ms\n"old\n(2)",5\n,7\n' + "\n".join(ROWS), "every outcome has a group; line 4 has none"),
        ("version,ms\n" + "\n".join(ROWS) + "\nNew,5\n", "a group has one name; 'new' and 'New' are alike"),
        ("version,ms\n" + "\n".join(ROWS) + "\n old,5\n", "a group has one name; 'old' and ' old' are alike"),
        ('version,ms\n"",""\n' + "\n".join([*ROWS, "old,slow"]), "an outcome is a number; .* 6[123] has 'slow'"),
        ("version,ms\n", "the table has no row below its header"),
        ('version,ms\nold,"7,5"\n' + "\n".join(ROWS), "line 2 has '7,5'. Write numbers with a point."),
        ("", "is empty"),
        ("version;ms\n" + "\n".join(ROWS).replace(",", ";"), "columns are separated by commas"),
    ],
)
def test_a_mistake_in_a_file_is_found_by_its_line(tmp_path, text, sentence):
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
        verdict(path, group="version", outcome="ms", by="median")


def test_empty_lines_count_for_lines_and_for_nothing_else(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("\ufeffversion,ms\n\n" + "\n".join(ROWS) + "\n\n,\n", encoding="utf-8")
    assert verdict(path, group="version", outcome="ms", by="median").log.outcome.size == 60


def test_times_out_of_order_are_named_by_lines(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("version,ms,t\nold,1,5\nnew,2,4\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 3 is before line 2"):
        verdict(path, group="version", outcome="ms", by="median", time="t")
    path.write_text("version,ms,t\nold,1,2026-01-01\nnew,2,soon\n", encoding="utf-8")
    with pytest.raises(ValueError, match="a number of seconds; line 3 has 'soon'"):
        verdict(path, group="version", outcome="ms", by="median", time="t")


def test_parquet_has_rows_and_no_lines(tmp_path):
    table = pd.DataFrame({"version": ["old", "new", None] * 9, "ms": np.arange(27.0)})
    table.to_parquet(tmp_path / "log.parquet")
    with pytest.raises(ValueError, match="row 3 has none"):
        verdict(tmp_path / "log.parquet", group="version", outcome="ms", by="median")
