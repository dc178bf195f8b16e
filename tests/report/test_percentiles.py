"""Percentiles and guardrails in the words of reports, and `allais best-arm` with guardrails."""

import math

import pytest
from typer.testing import CliRunner

from allais import NPTS, WLUCB, Bandit, Bounded, Discrete, Guardrail, Normal, best_arm, expected_value, quantile
from allais.cli.app import app
from allais.policies.core.base import promise_in_words
from allais.preferences.valuation import certainty_equivalent_in_words, percentile_in_words
from allais.report import write_page
from allais.report.words import contrast, recommendation

FAST, STEADY = Discrete({50: 0.95, 600: 0.05}), Discrete({150: 0.9, 200: 0.1})
TAIL = Guardrail("p99", at_most=300)
MEAN = expected_value(costs=True)


@pytest.mark.parametrize(
    ("preference", "outcome", "unit", "sentence"),
    [
        (quantile(0.95, costs=True), 212.0, "ms per request", "19 of 20 requests take at most 212 ms"),
        (quantile(0.99, costs=True), 3.5, "hours per delivery", "99 of 100 deliveries take at most 3.5 hours"),
        (quantile(0.999, costs=True), 2.0, "errors per person", "999 of 1,000 people stay within 2 errors"),
        (quantile(0.1), 40.0, "francs per order", "9 of 10 orders bring at least 40 francs"),
        (quantile(0.95), 40.0, "francs per order", "1 of 20 orders brings at least 40 francs"),
        (quantile(0.05, costs=True), 40.0, "ms per request", "1 of 20 requests takes at most 40 ms"),
        (quantile(0.9, costs=True), 50.0, "km per hour", "9 of 10 outcomes are at most 50 km per hour"),
        (quantile(0.9, costs=True), 5.0, "", "9 of 10 outcomes are at most 5"),
        (quantile(0.123456, costs=True), 5.0, "", "12.3456% of the outcomes are at most 5"),
    ],
)
def test_a_percentile_is_said_in_the_users_words(preference, outcome, unit, sentence):
    assert percentile_in_words(preference, outcome, unit) == sentence
    value = float(preference.utilities(outcome))
    assert certainty_equivalent_in_words(preference, value, unit, subject="it") == sentence


def test_explanations_and_reasons_say_what_a_percentile_means():
    assert str(quantile(0.95, costs=True).explain(STEADY)).endswith("19 of 20 outcomes are at most 200")
    assert "9 of 10 outcomes are at most" in str(quantile(0.9, costs=True).explain(Normal(5, 1)))
    learner = NPTS(quantile(0.9, costs=True), Bounded(0, 1_000)).start(["a", "b"], seed=1)
    learner.observe("a", [100.0] * 19 + [300.0])
    why = learner.why("a", unit="ms per request")
    assert why == "a is worth most so far: 9 of 10 requests take at most 100 ms, by 20 outcomes"


def test_a_report_about_percentiles_speaks_of_shares(tmp_path):
    problem = Bandit([FAST, STEADY], ["fast", "steady"])
    answer = best_arm(WLUCB(quantile(0.99, costs=True), Bounded(0, 1_000), delta=0.05), problem, seed=1)
    text = recommendation(answer, "ms per request")
    assert text.startswith('Choose "steady". With it, 99 of 100 requests take at most 200 ms.')
    assert '"fast" has the best mean' in text
    assert "its percentile 99 is 600 ms" in text
    assert contrast(answer).startswith("Only percentile 99 counts here")
    assert "99 of 100 outcomes are at most 200" in str(answer)
    write_page(answer, tmp_path / "page.html", unit="ms per request")
    page = (tmp_path / "page.html").read_text()
    assert "percentile 99, in ms per request; less is better" in page


def test_a_report_says_what_was_shown_about_guardrails(tmp_path):
    problem = Bandit([FAST, STEADY], ["fast", "steady"])
    policy = WLUCB(MEAN, Bounded(0, 1_000), delta=0.05, guardrails=[TAIL])
    answer = best_arm(policy, problem, seed=1)
    text = recommendation(answer, "ms")
    assert "It was shown to keep the guardrails (percentile 99 at most 300 ms); out of play is 'fast'." in text
    assert '"fast" has the best mean, ' in text
    assert "but it breaks a guardrail." in text
    assert "with a chance below 0.025 an arm that keeps them was dropped" in promise_in_words(policy)
    none = best_arm(policy, Bandit([FAST, Discrete({100: 0.9, 400: 0.1})], ["fast", "bumpy"]), seed=1)
    assert recommendation(none, "ms") == (
        "Choose none of these. No option keeps the guardrails (percentile 99 at most 300 ms): each was shown to break "
        "one. The chance that one of them keeps the guardrails is below 2.5%."
    )
    assert str(none).startswith("none (settled at delta = 0.05, every arm breaks a guardrail")
    assert math.isnan(none.value)
    assert contrast(none) == ""
    for one in (answer, none):
        write_page(one, tmp_path / "page.html", unit="ms")
        assert "guardrails (percentile 99 at most 300" in (tmp_path / "page.html").read_text()


SPEC = """
seed = 1
unit = "ms per request"

[problem.lotteries]
fast = "50:0.95,600:0.05"
{other}

[preference]
name = "mean"
costs = true

[rewards]
type = "Bounded"
low = 0
high = 1000

[policy]
type = "WLUCB"
delta = 0.05
guardrails = [{{ preference = "p99", {limit} }}]
"""


@pytest.mark.parametrize(
    ("other", "limit", "code", "sentence"),
    [
        ('steady = "150:0.9,200:0.1"', "at_most = 300", 0, 'Choose "steady".'),
        ('bumpy = "100:0.9,400:0.1"', "at_most = 300", 4, "Choose none of these. No option keeps the guardrails"),
        ('steady = "150:0.9,200:0.1"', "at_mst = 300", 2, "has no key 'at_mst'. Did you mean 'at_most'?"),
        ('steady = "150:0.9,200:0.1"', "tolerance = 3", 2, "a guardrail has one limit, at_most or at_least"),
    ],
)
def test_best_arm_takes_guardrails_from_a_spec(other, limit, code, sentence, tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(SPEC.format(other=other, limit=limit))
    done = CliRunner().invoke(app, ["best-arm", str(path), "--report", str(tmp_path / "page.html")])
    assert sentence in done.output
    assert done.exit_code == code
