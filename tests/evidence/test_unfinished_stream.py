"""A test that goes on takes outcomes that are not finished, and says at each look what the table of that look says."""

import math

import numpy as np
import pytest

from allais import PowerUtility, Preference
from allais.evidence import Test, verdict
from allais.weights import Identity


class Told:
    """What was told, as a table."""

    def __init__(self, groups, **settings):
        self.test, self.settings = Test(groups, **settings), settings
        self.table = {name: [] for name in ("g", "y", "at_least", "at_most", "who")}

    def add(self, group, outcome=math.nan, low=math.nan, high=math.nan, who=None):
        for column, cell in zip(self.table.values(), (group, outcome, low, high, who), strict=True):
            column.append(cell)
        ends = {name: end for name, end in (("at_least", low), ("at_most", high)) if not math.isnan(end)}
        return self.test.add(group, None if ends else outcome, who, **ends)

    def complete(self, row, outcome):
        self.test.complete(row, outcome)
        self.table["y"][row], self.table["at_least"][row], self.table["at_most"][row] = outcome, math.nan, math.nan

    def require_equal(self):
        found, users = self.test.verdict(), self.table["who"][0] is not None
        whole = verdict(self.table, group="g", outcome="y", user="who" if users else None, control="a", **self.settings)
        for one, other in zip(found, whole, strict=True):
            assert one.looks[-1].difference == other.looks[-1].difference
            assert one.values == other.values
            assert one.e_value == other.e_value
            assert one.vague == other.vague
        return found


@pytest.mark.parametrize("users", [False, True])
@pytest.mark.parametrize(
    ("settings", "sides"),
    [
        ({"by": ["p90", "median"]}, 3),
        ({"by": "mean", "rarest": 0.05}, 1),
        ({"by": ["cvar:0.2", "mean"], "bounds": (0, 3_000)}, 3),
        ({"by": "0.5*mean+0.5*p75", "rarest": 0.05}, 1),
    ],
)
def test_every_look_says_what_the_table_of_that_moment_says(settings, sides, users):
    told, rng, open_ones = Told(["a", "b"], **settings), np.random.default_rng(5), {}
    for i in range(500):
        who = f"{'ab'[i % 2]}{i // 2 % 90}" if users else None
        outcome, kind = float(rng.lognormal(5.0, 0.5) * (1.0 + 0.4 * (i % 2))), rng.integers(0, 4 * sides)
        if kind < sides:
            low = outcome * rng.uniform(0.2, 1.0) if kind != 1 else math.nan
            high = outcome * rng.uniform(1.0, 2.0) if kind else math.nan
            open_ones[told.add("ab"[i % 2], low=low, high=high, who=who)] = outcome
        else:
            told.add("ab"[i % 2], outcome, who=who)
        if open_ones and rng.random() < 0.15:
            row = next(iter(open_ones))
            told.complete(row, open_ones.pop(row))
        if i in (99, 240, 499):
            told.require_equal()
    assert told.test.unfinished == len(open_ones) > 20
    for row, outcome in open_ones.items():
        told.complete(row, outcome)
    assert told.test.unfinished == 0
    told.require_equal()


@pytest.mark.parametrize("users", [False, True])
def test_counts_follow_what_is_told_of_unfinished_outcomes(users):
    told, rng, open_ones = Told(["a", "b"], by="p75", no_worse_than="10%"), np.random.default_rng(6), {}
    for i in range(600):
        who, outcome = (f"{'ab'[i % 2]}{i // 2 % 70}" if users else None), float(rng.exponential(10.0))
        if rng.random() < 0.3:
            open_ones[told.add("ab"[i % 2], low=0.5 * outcome, who=who)] = outcome
        else:
            told.add("ab"[i % 2], outcome, who=who)
        if len(open_ones) > 20:
            told.complete(*open_ones.popitem())
    for question in told.test._questions:
        part = dict.fromkeys((0, 1), 0.0)
        for place, rows in told.test._of_user if users else ():
            part[place] += question.part(place, rows.values())
        for row in range(0 if users else len(told.test)):
            cut = told.test._open.get(row, (told.table["y"][row],) * 2)
            part[row % 2] += question.part(row % 2, [cut])
        assert question.below == pytest.approx(part[question.lower], abs=1e-9)
        assert question.upto == pytest.approx(part[question.upper], abs=1e-9)


def test_an_outcome_that_comes_later_decides():
    test, rng = Test(["a", "b"], by="median"), np.random.default_rng(1)
    open_ones = []
    for _ in range(400):
        test.add("a", float(rng.lognormal()))
        outcome = float(3.0 * rng.lognormal())
        open_ones.append((test.add("b", at_least=0.0), outcome))
    assert not test.decided
    for row, outcome in open_ones:
        test.complete(row, outcome)
    assert test.decided
    assert test.verdict()[0].word == "worse"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda test: test.add("a"), "an outcome must be a number, or unfinished"),
        (lambda test: test.add("a", 1.0, at_least=0.5), "an outcome is known, or bounded"),
        (lambda test: test.add("a", at_least=5.0, at_most=4.0), "between a lower and a higher end; got 5 and 4"),
        (lambda test: test.add("a", at_least=math.nan), "at_least must be finite; got nan"),
        (lambda test: test.add("a", at_least=math.inf), "at_least must be finite; got inf"),
        (lambda test: test.complete(1, 3.0), "must agree with what was told of it, at least 30; got 3"),
        (lambda test: test.complete(1, at_most=3.0), "told of it, at least 30; got at most 3"),
        (lambda test: test.complete(1), "an outcome must be a number, or unfinished"),
        (lambda test: test.complete(1, math.nan), "an outcome must be finite; got nan"),
        (lambda test: test.complete(0, 3.0), "an outcome is completed once, .* 0 is finished"),
        (lambda test: test.complete(7, 3.0), "7 was not added"),
        (lambda test: test.complete("1", 3.0), "'1' was not added"),
    ],
)
def test_wrong_calls_leave_no_trace(call, sentence):
    test = Test(["a", "b"], by="p90")
    test.add("a", 12.0)
    test.add("b", at_least=30.0)
    before = repr((test._outcomes, test._open, test._units, test._told, test._fresh))
    with pytest.raises((ValueError, TypeError), match=sentence):
        call(test)
    assert repr((test._outcomes, test._open, test._units, test._told, test._fresh)) == before
    test.complete(1, at_least=40.0)
    test.complete(1, 47.0)
    with pytest.raises(ValueError, match="1 is finished"):
        test.complete(1, 47.0)


@pytest.mark.parametrize(
    ("settings", "call", "sentence"),
    [
        ({"bounds": (0, 100)}, lambda test: test.add("a", 101.0), "must lie between 0 and 100; got 101"),
        ({"bounds": (0, 100)}, lambda test: test.add("a", at_least=101.0), "within 0 and 100; got at least 101"),
        ({"bounds": (0, 100)}, lambda test: test.complete(1, 101.0), "must lie between 0 and 100; got 101"),
        ({"rarest": 0.2}, lambda test: test.add("b", at_most=1.0), "one side, all at_least or all at_most; got both"),
        ({"rarest": 0.2}, lambda test: test.complete(1, at_most=50.0), "one side, all at_least or all at_most"),
        (
            {"by": Preference(Identity(), utility=PowerUtility(3.0, 3.0)), "rarest": 0.2},
            lambda test: test.add("a", 1e200),
            "the utility of outcomes must be finite; that of 1e[+]200 is not",
        ),
    ],
)
def test_what_no_look_can_judge_is_refused_before_it_is_in(settings, call, sentence):
    """A look comes after an outcome is in: what it refused would stay, and every later call with it."""
    test = Test(["a", "b"], **{"by": "mean", **settings})
    test.add("a", 12.0)
    test.add("b", at_least=30.0)
    before = repr((test._outcomes, test._open, test._units, test._told, test._fresh, test._sides))
    with pytest.raises(ValueError, match=sentence):
        call(test)
    assert repr((test._outcomes, test._open, test._units, test._told, test._fresh, test._sides)) == before
    for outcome in np.linspace(1.0, 60.0, 40):
        test.add("a", outcome)
        test.add("b", outcome)
    test.complete(1, 47.0)
    test.add("b", at_most=50.0)  # no other is open
    assert test.verdict()[0].word == "not yet"


@pytest.mark.parametrize("users", [False, True])
def test_a_wide_margin_is_not_met_by_what_may_be_anything(users):
    test = Test(["a", "b"], by="median", no_worse_than=5_000.0)
    for i in range(100):
        test.add("b", at_least=1.0, user=f"b{i}" if users else None)
    for i in range(100):
        test.add("a", 1.0 + 1e-5 * i, user=f"a{i}" if users else None)
    assert not test.decided
    for i in range(100):
        test.complete(i, 2.0)
    assert test.decided
    assert test.verdict()[0].word == "equal within the margin"
