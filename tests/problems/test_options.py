"""Options as data: grids, tables and dictionaries, from the spec to the page, and a finer grid on the same runs."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from allais import (
    Bandit,
    Bernoulli,
    Bounded,
    PairwiseScreening,
    PatientRejects,
    Program,
    Simulator,
    best_arm,
    expected_value,
    search,
    testing,
)
from allais.cli.app import app
from allais.cli.specs import read_search
from allais.problems import Option, grid, table
from allais.report import write_page
from allais.searches import contenders, finer, finished_runs

SCREENING = PairwiseScreening(expected_value(), delta=0.05, tolerance=0.5, rarest=0.25)


def hill(s, S, rng):  # noqa: N803
    return float(rng.normal(-(((s - 33) / 8.0) ** 2) - ((S - 71) / 12.0) ** 2, 0.5))


def test_a_grid_has_every_combination_and_functions_get_the_numbers():
    problem = Simulator(hill, grid(s=[10, 30], S=np.array([40, 80])))
    assert problem.arms == ("s=10, S=40", "s=10, S=80", "s=30, S=40", "s=30, S=80")
    assert problem.arms[3].settings == {"s": 30, "S": 80}
    assert type(problem.arms[3].settings["S"]) is int
    testing.check_problem(problem, draws=3)
    assert problem.run(3, 1) == hill(30, 80, np.random.default_rng(1))
    copy = pickle.loads(pickle.dumps(problem.part([3, 0])))
    assert copy.arms[0].settings == {"s": 30, "S": 80}


def as_dictionaries(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, as_dictionaries])
def test_a_table_and_dictionaries_are_options(frame):
    problem = Simulator(hill, frame({"s": [10, 30], "S": [40, 80]}))
    assert problem.arms == ("s=10, S=40", "s=30, S=80")
    named = Simulator(hill, frame({"arm": ["small", "large"], "s": [10, 30], "S": [40, 80]}))
    assert named.arms == ("small", "large")
    assert named.arms[1].settings == {"s": 30, "S": 80}
    assert repr(named) != repr(Simulator(hill, frame({"arm": ["small", "large"], "s": [10, 31], "S": [40, 80]})))


def test_a_csv_file_has_numbers_where_a_column_has_only_these(tmp_path):
    (tmp_path / "plans.csv").write_text("s,S,mode\n10,0.5,fast\n30,2,7\n")
    assert [one.settings for one in table(tmp_path / "plans.csv")] == [
        {"s": 10, "S": 0.5, "mode": "fast"},
        {"s": 30, "S": 2.0, "mode": "7"},
    ]


def test_a_command_gets_each_setting_as_one_word():
    shown = "import sys; print(len(sys.argv)); print(float(sys.argv[1]) * 1000 + len(sys.argv[2]))"
    command = f"{sys.executable} -c '{shown}' {{s}} {{mode}} {{seed}}"
    problem = Program(command, grid(s=[-2, 0.5], mode=["a; b $(c)"]))
    assert [problem.run(arm, 7) for arm in (0, 1)] == [-1991.0, 509.0]
    assert problem.part([1]).run(0, 7) == 509.0


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: grid(), "a grid needs settings; got none"),
        (lambda: grid(s=[]), "s must have at least one setting; got an empty list"),
        (lambda: grid(s=[20, 20]), "s must list each setting once; got 20 twice"),
        (lambda: grid(s=[[1]]), "s must be a number, a text, or true or false"),
        (lambda: grid(s=[float("nan")]), "s must be finite; got nan"),
        (lambda: grid(rng=[1]), "rng, seed, arm have a meaning of their own; got 'rng'"),
        (lambda: grid(**{"max wait": [1]}), "a setting's name must be an identifier"),
        (lambda: grid(s=range(2_000), S=range(2_000)), "1,000,000 options at most; got 4,000,000"),
        (lambda: Simulator(hill, {"s": [1], "S": [2]}), "Write allais.problems.grid"),
        (lambda: Simulator(hill, [{"s": 1, "S": 2}, {"s": 1}]), "the first has s, S, and number 2 has s"),
        (lambda: Simulator(hill, [{"s": 1, "S": 2}] * 2), "arms must have distinct names; got 's=1, S=2' twice"),
        (lambda: Simulator(hill, [{"s": 1, "S": 2}, "other"]), "all dictionaries or all names; got 'other'"),
        (lambda: Simulator(hill, grid(s=[1, 2])), r"missing a required argument: 'S'\). Write def hill\(s, rng\)"),
        (lambda: Simulator(hill, pd.DataFrame({"s": [], "S": []})), "needs at least one row"),
        (lambda: Program("./sim {x} {seed}", grid(s=[1, 2])), r"may hold \{s\}, \{arm\} and \{seed\}; got \{x\}"),
        (lambda: Program("./sim {s}", grid(s=[1, 2])), r"needs \{seed\}"),
        (lambda: Program("./sim {s} {seed}", grid(s=[1], S=[1, 2])), "the same for 's=1, S=1' and 's=1, S=2'"),
        (lambda: Program("./sim {s} {seed}", grid(s=["-rf"])), r"got '-rf'. Rename it, or write --option=\{s\}"),
        (lambda: finer(best_arm(PatientRejects(expected_value(), budget=40), COINS, seed=1)), "have names only"),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(make, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


COINS = Bandit([Bernoulli(0.9), Bernoulli(0.2)])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "begins with the names of its columns; .* is empty"),
        ("s,S\n", "needs at least one row"),
        ("s,S\n1,2\n1\n", "every row must have 2 cells, as the header has; .* has 1 in line 3"),
        ("s,s\n1,2\n", "has 's' twice"),
        ("s,S\n1,2\n1,2\n", None),
    ],
)
def test_a_broken_csv_is_refused_with_its_line(tmp_path, text, sentence):
    path = tmp_path / "plans.csv"
    path.write_text(text)
    if sentence is None:
        with pytest.raises(ValueError, match="got 's=1, S=2' twice"):
            Simulator(hill, table(path))
        return
    with pytest.raises(ValueError, match=sentence):
        table(path)


SPEC = """
unit = "euros"

[problem]
function = "plans_of_a_test:cost"
{arms}

[preference]
name = "mean"

[policy]
type = "PatientRejects"
budget = 320
"""
MODULE = """
PLANS = [{"s": 10, "S": 40}, {"s": 30, "S": 80}]
def cost(s, S, rng):
    return float(rng.normal(-((s - 33) / 8.0) ** 2 - ((S - 71) / 12.0) ** 2, 0.5))
"""


@pytest.fixture
def spec(tmp_path, monkeypatch):
    (tmp_path / "plans_of_a_test.py").write_text(MODULE)
    (tmp_path / "plans.csv").write_text("s,S\n10,40\n30,80\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "plans_of_a_test", raising=False)

    def write(arms):
        path = tmp_path / "plans.toml"
        path.write_text(SPEC.format(arms=arms))
        return path

    return write


GRID = "[problem.grid]\ns = [10, 30, 50]\nS = [40, 80, 120]"


@pytest.mark.parametrize(
    "arms",
    ["[problem.grid]\ns = [10, 30]\nS = 80", 'arms = "plans.csv"', 'arms = "plans_of_a_test:PLANS"',
     "arms = [{ s = 10, S = 40 }, { s = 30, S = 80 }]"],
)  # fmt: skip
def test_a_spec_describes_options_by_numbers(spec, arms):
    problem = read_search(spec(arms)).problem
    assert problem.n_arms == 2
    assert problem.arms[1].settings == {"s": 30, "S": 80}


@pytest.mark.parametrize(
    ("arms", "line", "sentence"),
    [
        ("[problem.grid]\ns = []", 7, "s must have at least one setting"),
        ("[problem.grid]\ns = [1, 2]", 4, "missing a required argument: 'S'"),
        ('arms = ["A"]\n' + GRID, 7, "options are a grid or a list of arms; got both"),
        ("grid = 3", 6, "grid must be a table of lists"),
        ('arms = "none.csv"', 6, "does not exist"),
        ('arms = "plans_of_a_test:PLAN"', 6, "has no list 'PLAN'. Did you mean 'PLANS'"),
        ('arms = "no_such:PLANS"', 6, "'no_such' cannot be imported"),
    ],
)
def test_a_wrong_spec_is_refused_with_its_line(spec, arms, line, sentence):
    with pytest.raises(ValueError, match=rf"line \d+: .*{sentence}") as caught:
        read_search(spec(arms))
    assert f"line {line}:" in str(caught.value)


def test_a_finer_grid_lies_around_the_contenders_and_uses_their_runs_again(tmp_path):
    book = tmp_path / "runs.jsonl"
    problem = Simulator(hill, grid(s=[10, 30, 50], S=[40, 80, 120]))
    answer = search(SCREENING, problem, seed=1, journal=book)
    assert answer.arm == "s=30, S=80"
    assert contenders(answer)[0] == answer.arm
    more = finer(answer)
    assert more[:9] == list(problem.arms)
    assert {"s=20, S=60", "s=40, S=80", "s=30, S=100"} <= set(more[9:])
    assert finer(answer, keep=lambda s, **_: s > 25) == [*problem.arms, *(m for m in more[9:] if m.settings["s"] > 25)]
    before = finished_runs(book)
    with pytest.warns(UserWarning, match=f"holds 9 of these options; its {before} finished runs are used again"):
        closer = search(SCREENING, Simulator(hill, more), seed=1, journal=book)
    assert finished_runs(book) < before + closer.samples  # some were there
    again = search(SCREENING, Simulator(hill, more), seed=1, journal=book)
    assert (again.arm, again.pulls) == (closer.arm, closer.pulls)
    with pytest.raises(ValueError, match="has another arms"):
        search(SCREENING, problem, seed=1, journal=book)
    with pytest.raises(ValueError, match="has another problem"):
        search(SCREENING, Simulator(lambda **_: 0.0, [*more, Option({"s": 1, "S": 2})]), seed=1, journal=book)


def test_a_grid_between_whole_numbers_ends_and_texts_stay():
    problem = Simulator(lambda n, kind, rng: float(rng.normal(n, 0.1)), grid(n=[1, 2], kind=["a", "b"]))
    answer = best_arm(PatientRejects(expected_value(), budget=80), problem, seed=1)
    assert finer(answer) == list(problem.arms)


@pytest.mark.filterwarnings("ignore:.*holds 9 of these options")
def test_the_command_line_makes_a_grid_finer_and_its_page_draws_the_settings(spec, tmp_path):
    def run(path, *more):
        return CliRunner().invoke(app, ["best-arm", str(path), *map(str, more)])

    page = tmp_path / "page.html"
    done = run(spec(GRID), "--finer", 1, "--report", page)
    assert done.exit_code == 0, done.output
    assert "options more lie around the" in done.output
    coarse, fine = tmp_path / "plans.runs.jsonl", tmp_path / "plans.runs.finer-1.jsonl"
    assert 300 < finished_runs(coarse) <= 320
    assert finished_runs(fine) > finished_runs(coarse)
    text = page.read_text()
    assert "By their settings" in text
    assert "<rect" in text
    before = fine.read_bytes()
    again = run(spec(GRID), "--finer", 1)
    assert again.exit_code == 0, again.output
    assert fine.read_bytes() == before  # nothing was run again
    assert done.output.count("Choose ") == again.output.count("Choose ") == 2
    refused = run(spec('arms = "plans.csv"'), "--finer", 1)
    assert refused.exit_code == 2
    assert "--finer is for a grid of numbers" in refused.output.replace("\n", " ")


def test_a_page_draws_one_number_as_a_curve_folds_the_rest_and_says_where_the_end_is(tmp_path):
    problem = Simulator(lambda s, rng: float(rng.normal(s, 1.0)), grid(s=range(0, 100, 10)))
    answer = best_arm(SCREENING, problem, seed=1)
    write_page(answer, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "7 other options, of lower value" in text
    assert "The best s is at the end of what was tried: 90." in text
    assert "<rect" not in text
    assert answer.rows()[0]["s"] == 90
    assert answer.to_frame()["s"].tolist()[0] == 90


def test_the_example_of_a_grid_can_be_read():
    problem = read_search(Path(__file__).parents[2] / "examples" / "inventory" / "grid.toml").problem
    assert problem.n_arms == 16
    assert problem.run(5, 7) > 0.0


def test_bounds_and_budgets_work_with_options():
    answer = best_arm(
        PatientRejects(expected_value(), budget=60, rewards=Bounded(0, 1)),
        Simulator(lambda p, rng: float(rng.random() < p), grid(p=[0.1, 0.9])),
        seed=1,
    )
    assert answer.arm.settings == {"p": 0.9}
