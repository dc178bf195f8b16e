"""What a notebook shows of a result: a table, a frame and a picture, from one definition of its rows."""

import html
import importlib
import pkgutil
from functools import cache

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest

import allais
from allais import Bandit, Bernoulli, Bounded, Discrete, evidence
from allais.evidence import evaluate, read_decisions, verdict
from allais.people.inference.summary import Group, PopulationTable
from allais.preferences import showing
from tests.searches.test_optuna import finished

mpl.use("Agg")
GAINS, UNIT = allais.expected_value(), Bounded(0, 1)
PROBLEM = Bandit([Bernoulli(0.2), Bernoulli(0.9)], arms=["<old>", "new"])
NAMES = (
    "preference",
    "explanation",
    "answer",
    "learner",
    "results",
    "comparison",
    "verdicts",
    "verdict",
    "evaluation",
    "stream",
    "test",
    "shared memory",
    "fit",
    "fits",
    "groups",
    "population",
    "interview",
    "people prefer",
    "study",
    "raced",
)


@cache
def results():
    """Something of every kind that shows itself, made when the first test needs it."""
    rng = np.random.default_rng(1)
    table = {"version": ["old", "new"] * 2_000, "ms": rng.lognormal(5, 0.5, 4_000), "day": np.arange(4_000.0) * 100}
    verdicts = verdict(table, group="version", outcome="ms", by=["p95", "median"], time="day", control="old")
    log = {"arm": ["a", "b"] * 200, "outcome": rng.random(400), "propensity": [0.5] * 400}
    answer = allais.best_arm(allais.TopTwo(GAINS, allais.Finite([0, 1]), delta=0.05), PROBLEM, seed=1)
    stream = allais.ValueStream(GAINS)
    stream.add_many(rng.random(200))
    choices = allais.people.Choices.lottery_or_sure(
        {"person": ["a"] * 6, "win": [10] * 6, "probability": [0.2, 0.4, 0.4, 0.5, 0.6, 0.9], "sure": [4] * 6,
         "took_lottery": [0, 0, 1, 0, 1, 1]}
    )  # fmt: skip
    fixed = allais.people.Family(alpha=0.88, loss_aversion=1.0)
    fit = allais.people.fit(choices, fixed, prior=True)
    interview = allais.people.Interview(fixed, seed=1, questions=3, unit="euros")
    while not interview.settled:
        interview.tell(interview.ask(), "A")
    test = evidence.Test(["old", "new"], by="median")
    for number in range(40):
        test.add(("old", "new")[number % 2], 5.0 + number % 7)
    shared = allais.simulate(
        allais.NPTS(GAINS, UNIT), PROBLEM, 50, n_runs=2, seed=1, people={"<ann>": GAINS, "bob": allais.cvar(0.1)}
    )
    population = PopulationTable((Group("eta", "log odds", 0.6, 0.5, 0.7, 0.4, 0.2, 0.6),))
    return {
        "preference": allais.Preference.tversky_kahneman(),
        "explanation": GAINS.explain(Discrete({50: 0.1, 0: 0.9})),
        "answer": answer,
        "learner": answer.learner,
        "results": allais.simulate(allais.UCB1(UNIT), PROBLEM, n_rounds=100, n_runs=2, seed=1),
        "comparison": allais.compare([allais.UCB1(UNIT), allais.NPTS(GAINS, UNIT)], PROBLEM, 100, n_runs=2, seed=1),
        "verdicts": verdicts,
        "verdict": verdicts[0],
        "evaluation": evaluate(read_decisions(log), {"always a": "a", "mixed": {"a": 0.5, "b": 0.5}}, by=[GAINS]),
        "stream": stream,
        "test": test,
        "shared memory": shared,
        "fit": fit,
        "fits": allais.people.compare({"people": fixed, "steeper": allais.people.Family(alpha=0.5)}, choices, folds=2),
        "groups": allais.people.groups(choices, fixed, n_types=1, seed=1),
        "population": population,
        "interview": interview,
        "people prefer": allais.people.recommend(answer.learner, fit, seed=1),
        "study": allais.people.study(2, 3, n_rounds=50, n_runs=1),
        "raced": allais.searches.from_optuna(
            finished(1, 2), lambda trial: trial.suggest_float("x", 0, 9) + 0.01, top=2
        ),
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_a_table_in_html_and_every_number_is_in_the_frame(name):
    one = results()[name]
    shown, rows = one._repr_html_(), showing.rows_of(one)
    assert shown.count("<tr>") == len(rows) + 1
    assert all(html.escape(line) in shown for line in one.headline.splitlines())
    for backend, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        frame = one.to_frame(backend)
        assert isinstance(frame, kind)
        assert list(frame.columns) == list(rows[0])
        for column in frame.columns:
            want = [row[column] for row in rows]
            numbers = [cell for cell in want if isinstance(cell, float)]
            np.testing.assert_array_equal([cell for cell in frame[column] if isinstance(cell, float)], numbers)
    assert isinstance(one.to_frame(), pd.DataFrame)  # the first that is installed


@pytest.mark.parametrize("name", [name for name in NAMES if name != "fit"])
def test_a_result_draws_itself(name):
    one = results()[name]
    ax = one.plot()
    assert ax.lines or ax.patches
    assert one.plot(ax=ax) is ax
    mpl.pyplot.close(ax.figure)


def test_every_public_class_with_rows_is_shown():
    places = [allais, *(importlib.import_module(f"allais.{one.name}") for one in pkgutil.iter_modules(allais.__path__))]
    named = {getattr(place, name) for place in places for name in getattr(place, "__all__", ())}
    has_rows = {one for one in named if isinstance(one, type) and (hasattr(one, "rows") or hasattr(one, "frame_rows"))}
    shown = has_rows - {allais.forests.OutcomeForest}  # whose rows are contexts
    assert len(shown) >= len(NAMES)
    for one in shown:
        assert all(hasattr(one, name) for name in ("_repr_html_", "to_frame", "plot", "headline")), one


def test_a_row_of_a_picture_is_named_and_ends_where_its_interval_does():
    ax = results()["answer"].plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["new", "<old>"]  # the best first
    line, dot = ax.lines[:2]
    row = results()["answer"].rows()[0]
    assert (*line.get_xdata(), *dot.get_xdata()) == (row["value low"], row["value high"], row["value"])


def test_what_all_rows_have_is_said_once_above_them():
    ax = results()["evaluation"].plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["always a", "mixed"]
    assert ax.get_title() == "the mean"
    mpl.pyplot.close(ax.figure)


def test_names_are_escaped_and_a_long_table_says_what_it_leaves_out():
    assert "&lt;old&gt;" in results()["answer"]._repr_html_()
    assert "<old>" not in results()["answer"]._repr_html_()
    learner = allais.NPTS(GAINS, UNIT).start(range(50), seed=1)
    shown = learner._repr_html_()
    assert shown.count("<tr>") == 21
    assert "30 more rows" in shown
    assert len(learner.to_frame()) == 50
    assert len(learner.plot().get_yticklabels()) == 40


def test_costs_are_in_the_unit_of_outcomes_and_the_least_comes_first():
    policy = allais.WLUCB(allais.expected_value(reference=80, costs=True), Bounded(0, 100), delta=0.1)
    learner = policy.start(["slow", "fast"], seed=1)
    learner.observe("slow", [70.0, 72.0])
    learner.observe("fast", [30.0, 32.0])
    rows = learner.rows()
    assert [row["arm"] for row in rows] == ["fast", "slow"]
    assert (rows[0]["value"], rows[1]["value"]) == (31.0, 71.0)
    assert rows[0]["value low"] <= 31.0 <= rows[0]["value high"]


def test_arms_of_several_types_make_a_column_of_text():
    learner = allais.NPTS(GAINS, UNIT).start([1, "two", (3, 4)], seed=1)
    assert set(learner.to_frame("polars")["arm"]) == {"1", "two", "(3, 4)"}


def test_what_cannot_be_shown_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="pandas, polars, pyarrow; got 'excel'"):
        results()["answer"].to_frame("excel")
    monkeypatch.setattr(showing, "find_spec", lambda name: None)
    with pytest.raises(allais.errors.MissingExtra, match="a data frame needs pandas"):
        results()["answer"].to_frame()


def test_a_fit_draws_its_curves_and_a_stream_without_samples_shows_only_its_line():
    figure = results()["fit"].plot()
    assert figure.axes
    mpl.pyplot.close(figure)
    assert allais.ValueStream(GAINS)._repr_html_() == "<p>0 samples</p>"
    for empty in (allais.ValueStream(GAINS), evidence.Test(["old", "new"], by="median")):
        with pytest.raises(ValueError, match="nothing to draw yet"):
            empty.plot()
