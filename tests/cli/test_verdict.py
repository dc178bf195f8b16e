"""`allais verdict`: what it prints, writes and refuses."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

from allais.cli.app import app
from allais.evidence import verdict
from allais.report import write_verdicts


@pytest.fixture
def log(tmp_path):
    rng, path = np.random.default_rng(1), tmp_path / "log.csv"
    rows = ["day,variant,ms,user"]
    for i in range(4_000):
        group = ("control", "canary")[i % 2]
        ms = rng.lognormal(5.0, 0.5) * (1.4 if group == "canary" else 1.0)
        rows.append(f"2026-11-{1 + i // 400:02} {10 + i % 400 // 100}:00,{group},{ms:.1f},{group}{i % 900}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["verdict", *map(str, arguments)])


def test_a_slow_canary_is_called_worse_with_a_page_and_an_exit_code(log, tmp_path):
    page = tmp_path / "page.html"
    asked = ("--group", "variant", "--outcome", "ms", "--by", "p95", "--by", "mean", "--rarest", 0.02)
    result = run(log, *asked, "--no-worse-than", "5%", "--time", "day", "--report", page)
    assert result.exit_code == 1, result.output
    assert result.output.startswith('"canary" is worse than "control" by percentile 95. 19 of 20 outcomes are at most ')
    text = page.read_text(encoding="utf-8")
    answer = re.search(r'<p class="answer">(.*?)</p>', text, re.DOTALL)[1]
    assert answer.startswith("&#34;canary&#34; is worse than")
    parts = ["The distributions", "The difference over time", "The sample ratio", "What was assumed"]
    assert [text.index(f"<h2>{part}</h2>") for part in parts] == sorted(
        text.index(f"<h2>{part}</h2>") for part in parts
    )
    assert text.index(answer) < text.index("<svg")
    assert text.count("<svg") >= 5
    assert not re.search(r"\b(nan|inf)\b", re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL))


def test_names_on_a_page_are_escaped_and_a_page_of_few_outcomes_is_whole(tmp_path):
    table = {"g": ["<b>", "c"] * 20, "y": np.arange(40.0)}
    write_verdicts(verdict(table, group="g", outcome="y", by="p99"), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<b>" not in text
    assert "too few outcomes" in text
    assert "The difference over time" not in text


def test_nothing_decided_and_nothing_worse_is_no_failure(log):
    asked = ("--group", "variant", "--outcome", "ms", "--by", "p50", "--control", "canary", "--user", "user")
    result = run(log, *asked)
    assert result.exit_code == 0, result.output
    assert '"control" is better than "canary"' in result.output
    gains = run(log, *asked, "--more-is-better", "--shares", "control=1,canary=1", "--bounds", "0,10000")
    assert gains.exit_code == 1


def test_the_direction_is_that_of_the_unit_or_must_be_given(tmp_path):
    rng, log = np.random.default_rng(1), tmp_path / "log.csv"
    rows = [
        f"{group},{rng.lognormal(4.0, 0.5) * more:.2f}"
        for _ in range(4_000)
        for group, more in (("old", 1.0), ("new", 1.3))
    ]
    log.write_text("\n".join(["variant,revenue", *rows]) + "\n", encoding="utf-8")
    asked = ("--group", "variant", "--outcome", "revenue", "--by", "p50", "--control", "old")
    refused = run(log, *asked)
    assert refused.exit_code == 2
    assert "the column 'revenue' does not say it. Add --less-is-better or --more-is-better" in " ".join(
        refused.output.split()
    )
    assert run(log, *asked, "--more-is-better").output.startswith('"new" is better than "old"')
    mistaken = run(log, *asked, "--costs").output
    assert mistaken.startswith('"new" is worse than "old"')
    assert 'Less "revenue" is better here, as you said.' in mistaken


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--by", "p100"), "a percentile lies above 0 and below 100"),
        (("--by", "95"), "For the percentile write p95."),
        (("--by", "mean"), "neither bounds nor rarest"),
        (("--by", "p95", "--no-worse-than", "-5%"), "Leave the sign out"),
        (("--by", "p95", "--bounds", "0"), "Write 0,60000"),
        (("--by", "p95", "--shares", "control"), "control=9,canary=1"),
        (("--by", "p95", "--user", "variants"), "Did you mean 'variant'?"),
        (("--by", "p95", "--report", "/nowhere/page.html"), "its folder does not exist"),
    ],
)
def test_mistakes_end_in_a_sentence(log, options, sentence):
    result = run(log, "--group", "variant", "--outcome", "ms", *options)
    assert result.exit_code == 2, result.output
    assert result.output.startswith("error: ")
    assert sentence in result.output
    assert result.output.count("\n") == 1


def test_a_guardrail_is_a_metric_of_another_column(log, tmp_path):
    asked = ("--group", "variant", "--outcome", "day2", "--by", "median", "--less-is-better")
    rows = log.read_text(encoding="utf-8").splitlines()
    wide = tmp_path / "wide.csv"
    wide.write_text("\n".join([rows[0] + ",day2"] + [f"{row},{i % 9}" for i, row in enumerate(rows[1:])]) + "\n")
    result = run(wide, *asked, "--guardrail", "ms:p90:5%")
    assert result.exit_code == 1
    assert result.output.startswith('"canary" is worse by a guardrail, percentile 90 of "ms". Not decided yet')
    result = run(wide, *asked, "--guardrail", "ms:p90:100%:less")
    assert result.exit_code == 0
    assert '"canary" keeps its guardrail.' in result.output
    for wrong, sentence in (
        ("ms:p90", "a guardrail is COLUMN:METRIC:MARGIN, such as ms:p99:5%; got 'ms:p90'"),
        ("day2:p90:5%", "Write day2:p90:5%:less, or day2:p90:5%:more."),
    ):
        refused = run(wide, *asked, "--guardrail", wrong)
        assert refused.exit_code == 2
        assert sentence in refused.output


def test_a_column_that_is_not_there_is_said_before_its_direction_is_asked_for(log):
    refused = run(log, "--group", "variant", "--outcome", "revenue", "--by", "p95")
    assert refused.exit_code == 2
    assert "a column must be in the table; 'revenue' is not" in refused.output
