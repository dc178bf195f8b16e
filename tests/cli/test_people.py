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
    assert "In 1 of 2 choices with an option that is worse in everything it was taken, by 1 of 2 people" in done.output


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
        (("--shape", "lottery-or-sure", "--set", "alpha"), "--set is written alpha=0.88"),
        (("--shape", "mixed-gambles"), "'gain' is not"),
        (("--shape", "lottery-or-sure", "--method", "hierarchical", "--by-person"), "Leave --by-person out"),
    ],
)
def test_a_wrong_word_is_refused_in_a_sentence(table, words, sentence):
    done = run("people", "fit", table, *words)
    assert done.exit_code == 2
    assert sentence in done.output


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
    assert "a preference file says what --weight would" in done.output
