"""A test that goes on: it agrees with the table of the same outcomes, and refuses wrong ones without a trace."""

import math

import numpy as np
import pytest

from allais.evidence import Test, verdict


def _fill(test, factor=1.0, n=2_000, seed=1, **more):
    rng = np.random.default_rng(seed)
    ms = rng.lognormal(5.0, 0.5, size=n)
    ms[1::2] *= factor
    for i, outcome in enumerate(ms):
        test.add(test.groups[i % 2], float(outcome), **{name: value(i) for name, value in more.items()})
    return {
        "g": np.array(test.groups)[np.arange(n) % 2],
        "y": ms,
        **{k: [v(i) for i in range(n)] for k, v in more.items()},
    }


@pytest.mark.parametrize("by", ["p90", "mean"])
def test_a_stream_says_what_a_table_says(by):
    test = Test(["a", "b"], by=by, rarest=0.02)
    table = _fill(test, 1.05)
    last = test.verdict()[0]
    whole = verdict(table, group="g", outcome="y", by=by, rarest=0.02)[0]
    assert last.looks[-1].difference == pytest.approx(whole.looks[-1].difference)
    assert last.e_value == pytest.approx(whole.e_value)
    assert last.p_value <= whole.p_value


def test_a_stream_with_users_says_what_a_table_says():
    test = Test(["a", "b"], by="p75")
    table = _fill(test, 1.1, user=lambda i: (i // 2) % 300 * 2 + i % 2)
    last, whole = test.verdict()[0], verdict(table, group="g", outcome="y", by="p75", user="user")[0]
    assert last.looks[-1].difference == pytest.approx(whole.looks[-1].difference)
    for question in test._questions:
        part = dict.fromkeys((0, 1), 0.0)
        for place, outcomes in test._of_user:
            part[place] += question.part(place, outcomes.values())
        assert question.below == pytest.approx(part[question.lower], abs=1e-9)
        assert question.upto == pytest.approx(part[question.upper], abs=1e-9)


def test_a_change_is_noticed_without_asking():
    test = Test({"a": 1, "b": 1}, by="median")
    _fill(test, 1.5)
    assert test.decided
    assert test.verdict()[0].word == "worse"
    margin = Test(["a", "b"], by="median", no_worse_than="30%")
    _fill(margin, 1.0)
    assert margin.decided
    assert margin.verdict()[0].word in ("no worse than the margin", "equal within the margin")
    gains = Test(["a", "b"], by="median", no_worse_than=60.0, costs=False)
    _fill(gains, 1.0)
    assert gains.decided


def test_every_outcome_is_looked_at_as_a_search_would():
    """While no witness has fallen nothing is decided, and a decision is one that the interval shares."""
    test = Test(["a", "b"], by="p75")
    rng = np.random.default_rng(2)
    for _ in range(800):
        test.add("a", rng.normal())
        test.add("b", rng.normal() + 0.45)
        if test.decided:
            break
    assert test.decided
    first = test.verdict()[0]
    assert first.difference.low > 0.0
    assert len(first.looks) >= 2


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("c", 1.0), "belongs to a group of the test"),
        (("a", math.nan), "must be finite; got nan"),
        (("a", math.inf), "must be finite; got inf"),
        (("a", "fast"), "outcome"),
        (("a", 1.0, None, 5.0), "users are given for all outcomes"),
        (("b", 1.0, "x", 5.0), "a user stays in one group; 'x' was in 'a'"),
        (("a", 1.0, "y", 1.0), "times ascend"),
        (("a", 1.0, "y"), "times are given for all"),
        (("a", 1.0, "y", "soon"), "a time is a date"),
    ],
)
def test_wrong_outcomes_leave_no_trace(given, sentence):
    test = Test(["a", "b"], by="p90")
    for i in range(40):
        test.add("ab"[i % 2], float(i), user=f"{'xz'[i % 2]}", time=2.0)
    before = repr(_state(test))
    with pytest.raises((ValueError, TypeError), match=sentence):
        test.add(*given)
    assert repr(_state(test)) == before
    test.add("a", 3.0, user="x", time=2.0)
    assert len(test) == 41


def _state(test):
    questions = [(one.x, one.below, one.upto, one.searched, one.decided) for one in test._questions]
    return test._codes, test._outcomes, test._times, test._users, test._of_user, test._units, test._numbers, questions


def test_wrong_settings_are_refused_in_a_sentence():
    for groups in (["a"], "ab", ["a", "a"]):
        with pytest.raises(ValueError, match="two groups or more, each named once"):
            Test(groups)
    with pytest.raises(ValueError, match="neither bounds nor rarest"):
        Test(["a", "b"])
    with pytest.raises(ValueError, match="two units or more; 'a' has fewer"):
        Test(["a", "b"], by="p90").verdict()


def test_times_become_days():
    test = Test(["a", "b"], by="median")
    _fill(test, n=200, time=lambda i: 43_200.0 * i)
    assert test.verdict()[0].looks[-1].day == pytest.approx(99.5)
