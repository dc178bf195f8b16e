"""`allais people fit`, and preference files wherever a preference is."""

import numpy as np
import pytest
from typer.testing import CliRunner

from allais import PowerUtility, Preference, TverskyKahneman
from allais.cli.app import app
from allais.cli.specs import read_comparison, read_search
from allais.people import Fitted

SPEC = 'preference = "ann.json"\n\n[problem.lotteries]\ngamble = "50:0.1,0:0.9"\nsure = "7:1"\n\n'


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(1)
    lines = ["person,win,probability,sure,took_lottery"]
    for i in range(120):
        p, sure = rng.integers(1, 10) / 10, rng.integers(2, 9)
        lines.append(f"{i % 2},13,{p},{sure},{int(13 * p - sure + rng.logistic() > 0)}")
    (tmp_path / "choices.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "choices.csv"


def test_a_table_becomes_a_preference_file_that_values_lotteries(table, tmp_path):
    out = tmp_path / "ann.json"
    done = run("people", "fit", table, "--shape", "lottery-or-sure", "--set", "loss_aversion=1", "--out", out)
    assert done.exit_code == 0, done.output
    assert "eta" in done.output
    fitted = Fitted.load(out)
    assert fitted.family.fixed["loss_aversion"] == 1.0
    valued = run("value", "13:0.5,0:0.5", "5:1", "--preference", out)
    assert f"feels like {fitted.preference.certainty_equivalent(_even()):.6g} for sure" in valued.output


def test_who_took_what_is_worse_in_everything_is_said(table):
    with table.open("a") as file:
        file.write("0,13,1.0,5,0\n1,13,1.0,5,1\n")
    done = run("people", "fit", table, "--shape", "lottery-or-sure", "--set", "loss_aversion=1", "--method", "mode")
    assert (
        "In 1 of 2 choices with an option that is worse in everything, that option was taken, by 1 of 2 people"
        in done.output
    )


def _even():
    from allais import Discrete

    return Discrete({13: 0.5, 0: 0.5})


def test_every_way_of_fitting_and_a_picture(table, tmp_path):
    for method in ("likelihood", "mode"):
        words = ("people", "fit", table, "--shape", "lottery-or-sure", "--family", "prelec", "--set", "loss_aversion=1")
        done = run(*words, "--set", "lapse=free", "--method", method, "--by-person", "--sure", "--probit")
        assert done.exit_code == 0, done.output
        assert "2 people" in done.output
    picture = tmp_path / "x.png"
    run("people", "fit", table, "--shape", "lottery-or-sure", "--set", "loss_aversion=1", "--plot", picture)
    assert picture.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--shape", "square"), "--shape must be one of"),
        (("--shape", "lottery-or-sure", "--method", "guess"), "--method must be one of"),
        (("--shape", "lottery-or-sure", "--family", "prelex"), "Did you mean 'prelec'?"),
        (("--shape", "lottery-or-sure", "--set", "alpha"), "--set is written utility_alpha=0.88"),
        (
            ("--shape", "lottery-or-sure", "--set", "alhpa=1"),
            "this family has the parameters weight_eta",
        ),
        (("--shape", "lottery-or-sure", "--column", "wins=win"), "got 'wins'. Did you mean 'win'?"),
        (("--shape", "lottery-or-sure", "--column", "win"), "--column is written win=prize; got 'win'"),
        (("--shape", "lottery-or-sure", "--column", "win=prize"), "a column must be in the table; 'prize' is not"),
        (("--shape", "table"), "--shape table needs --option"),
        (("--shape", "table", "--option", "left"), "--option is written left=x:p,0:rest; got 'left'"),
        (("--shape", "table", "--option", "left=x:", "--option", "right=7"), "an option is written x:p,0:rest"),
        (("--shape", "lines", "--option", "left=7"), "--option belongs to --shape table"),
        (("--shape", "certainty-equivalents"), "--shape certainty-equivalents needs --lottery"),
        (("--shape", "lottery-or-sure", "--out", "/nowhere/x.json"), "cannot be written: its folder does not exist"),
        (("--shape", "mixed-gambles"), "'gain' is not"),
        (("--shape", "lottery-or-sure", "--method", "hierarchical", "--by-person"), "Leave --by-person out"),
    ],
)
def test_a_wrong_word_is_refused_in_a_sentence(table, words, sentence):
    done = run("people", "fit", table, *words)
    assert done.exit_code == 2
    assert sentence in done.output


def test_all_rows_that_cannot_be_read_are_listed(table):
    lines = table.read_text().splitlines()
    lines[3] = "0,13,2.0,5,1"
    lines[7] = "0,13,0.5,five,1"
    table.write_text("\n".join(lines) + "\n")
    done = run("people", "fit", table, "--shape", "lottery-or-sure")
    assert done.exit_code == 2
    first, *listed = done.stderr.splitlines()
    assert first.startswith("error: 2 of 120 rows cannot be read")
    assert [line.partition(":")[0] for line in listed] == ["  line 4", "  line 8"]


def test_rows_that_are_left_out_are_counted(table):
    with table.open("a") as file:
        file.write("0,13,0.5,5,n/a\n")
    words = ("people", "fit", table, "--shape", "lottery-or-sure", "--set", "loss_aversion=1", "--method", "mode")
    assert "took_lottery must not be empty; got 'n/a'" in run(*words).output
    done = run(*words, "--drop-missing")
    assert "1 row with an empty cell was left out." in done.output
    assert "posterior mode of 120 answers" in done.output


def numbers(output):
    return [line.split()[:2] for line in output.splitlines() if line.startswith("  ")]


def test_any_shape_is_read_by_the_names_of_its_columns_and_rates_are_fitted_as_answers(table, tmp_path):
    """The same answers, one by one, as counts, as shares and as a table of any columns, are the same fit."""
    asked, took = {}, {}
    for line in table.read_text().splitlines()[1:]:
        _, _, p, sure, one = line.split(",")
        asked[p, sure] = asked.get((p, sure), 0) + 1
        took[p, sure] = took.get((p, sure), 0) + int(one)
    rows = [f"all,13,{p},{sure},{took[p, sure]},{n},{took[p, sure] / n:.2f}" for (p, sure), n in asked.items()]
    rates = tmp_path / "rates.csv"
    rates.write_text("\n".join(["group,prize,p,safe,k,n,share", *rows]) + "\n")
    words = ("--set", "loss_aversion=1", "--set", "utility_alpha=0.9", "--method", "mode")
    each = run("people", "fit", table, "--shape", "lottery-or-sure", *words)
    named = ["--column=person=group", "--column=win=prize", "--column=probability=p", "--column=sure=safe"]
    counts = ("--column=took_lottery=k", "--column=of=n")
    shares = ("--column=took_lottery=share", "--column=rate_of=n")
    free_form = ("--column=person=group", "--column=chosen=k", "--column=of=n", "--option=lottery=prize:p,0:rest",
                 "--option=sure=safe")  # fmt: skip
    for shape, more in (("lottery-or-sure", (*named, *counts)), ("lottery-or-sure", (*named, *shares)),
                        ("table", free_form)):  # fmt: skip
        done = run("people", "fit", rates, "--shape", shape, *more, *words)
        assert done.exit_code == 0, done.output
        assert "posterior mode of 120 answers" in done.output
        assert numbers(done.output) == numbers(each.output) != []


def test_certainty_equivalents_are_read_too(tmp_path):
    lines = ["who,x,p,worth", *(f"ann,100,{p},{100 * p**0.9:.1f}" for p in (0.1, 0.3, 0.5, 0.7, 0.9))]
    (tmp_path / "ce.csv").write_text("\n".join(lines) + "\n")
    done = run(
        "people", "fit", tmp_path / "ce.csv", "--shape", "certainty-equivalents", "--lottery", "x:p,0:rest",
        "--column", "person=who", "--column", "amount=worth", "--set", "noise=free", "--set", "loss_aversion=1",
        "--set", "temperature=1", "--method", "mode",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "posterior mode of 5 answers" in done.output


def test_types_and_families_are_compared_on_the_command_line(table):
    words = ("--shape", "lottery-or-sure", "--set", "loss_aversion=1")
    done = run("people", "groups", table, *words, "--set", "utility_alpha=1")
    assert done.exit_code == 0, done.output
    assert "of one continuous population:" in done.output
    done = run("people", "compare", table, *words, "--family", "tk", "--family", "mean", "--folds", 2)
    assert done.exit_code == 0, done.output
    assert "log likelihood of 120 answers, trials held out" in done.output
    wrong = run("people", "compare", table, *words, "--family", "tk", "--held-out", "questions")
    assert "held_out is one of trials, people; got 'questions'" in wrong.output
    wrong = run("people", "compare", table, *words, "--family", "tk", "--folds", 99)
    assert "from 2 to the number of answers of 0, who gave the fewest (60); got 99" in wrong.output
    wrong = run("people", "groups", table, *words, "--types", 3)
    assert "n_types must be from 1 to the number of people; got 3" in wrong.output


def test_a_spec_may_name_a_preference_file_beside_it(tmp_path):
    Preference(TverskyKahneman(0.5), utility=PowerUtility(0.7, 1.5)).save(tmp_path / "ann.json")
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC + '[policy]\ntype = "WSR"\nbudget = 50\n')
    assert read_search(spec).policy.preference.gains == TverskyKahneman(0.5)
    spec.write_text(SPEC + '[rewards]\ntype = "Bounded"\nlow = 0\nhigh = 50\n\n[[policies]]\ntype = "NPTS"\n')
    assert read_comparison(spec).judge.utility == PowerUtility(0.7, 1.5)
    (tmp_path / "ann.json").unlink()
    with pytest.raises(ValueError, match=r"line 1: a preference is read from a file; .*ann.json does not exist"):
        read_comparison(spec)


def test_a_preference_file_and_a_weight_exclude_each_other(tmp_path):
    Preference(TverskyKahneman(0.5)).save(tmp_path / "ann.json")
    done = run("value", "5:1", "--preference", tmp_path / "ann.json", "--weight", "tk:0.61")
    assert done.exit_code == 2
    assert "--weight and a preference file exclude each other" in done.output
