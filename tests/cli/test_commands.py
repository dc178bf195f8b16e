"""`allais value`, `allais weight`, `allais simulate`: what they print, draw and refuse."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import allais
from allais import Preference, TverskyKahneman
from allais.cli.app import app
from allais.lotteries.finite import lottery_of
from allais.preferences.named import SHORTHANDS, weight_of
from allais.simulation import Results

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "lotteries" / "lotteries.toml"


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def refused(result, sentence):
    assert result.exit_code == 2, result.output
    assert result.output.startswith("error: ")
    assert sentence in result.output
    assert result.output.count("\n") == 1
    assert "Traceback" not in result.output


def test_value_prints_what_each_feels_like_and_who_prefers_what():
    result = run("value", "50:0.1,0:0.9", "7:1")
    assert result.exit_code == 0
    assert "feels like 9.31513 for sure" in result.output
    assert "People prefer 50:0.1,0:0.9; the mean prefers 7:1." in result.output


def test_value_takes_losses_costs_a_reference_and_another_weight():
    assert "feels like -9.31513 for sure" in run("value", "-50:0.1,0:0.9").output
    assert "feels like 73.9244 for sure" in run("value", "68:0.99,168:0.01", "--reference", 80, "--costs").output
    mixed = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69)).value(lottery_of("-5:0.5,5:0.5"))
    assert f"feels like {mixed:.6g} for sure" in run("value", "-5:0.5,5:0.5", "--losses", "tk:0.69").output


def test_value_under_a_utility_is_a_sure_amount_in_the_users_unit(tmp_path):
    path = tmp_path / "ann.json"
    Preference.tversky_kahneman(reference=2).save(path)
    result = run("value", "8:1", "2:1", "--preference", path, "--unit", "francs")
    assert "8:1  mean 8, feels like 8 francs for sure" in result.output
    assert "2:1  mean 2, feels like 2 francs for sure" in result.output
    assert "People prefer 8:1; so does the mean." in result.output
    assert "weighted utility" in result.output  # which is not in francs, and says so


def test_simulate_says_first_which_arm_is_best_for_whom_and_what_all_are_worth(tmp_path):
    spec = tmp_path / "spec.toml"
    text = EXAMPLE.read_text().replace("20_000", "20").replace("runs = 100", 'runs = 2\nunit = "minutes"')
    spec.write_text(
        text.replace("costs = true\n\n[rewards]", "utility.type = 'PowerUtility'\ncosts = true\n\n[rewards]")
    )
    lines = run("simulate", spec, "--workers", 1).output.splitlines()
    assert lines[0] == (
        'For people who go by Tversky-Kahneman 0.61, Power Utility 0.88 2.25, where less is better, "sure" is best; '
        'by the mean "gamble".'
    )
    assert lines[1:3] == [
        "  gamble  feels like 7.408 minutes for sure, mean 5 minutes",
        "  sure    feels like 7 minutes for sure, mean 7 minutes",
    ]


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_value_and_weight_draw_into_a_file(tmp_path, suffix):
    for arguments in (("value", "50:0.1,0:0.9"), ("weight", "tk:0.61", "prelec:0.65")):
        path = tmp_path / f"{arguments[0]}{suffix}"
        assert run(*arguments, "--plot", path).exit_code == 0
        assert path.stat().st_size > 1_000


def test_weight_draws_every_family():
    for name in SHORTHANDS:
        text = {"identity": "identity", "gonzalez-wu": "gonzalez-wu:0.44,0.77"}.get(name, f"{name}:0.5")
        assert run("weight", text).exit_code == 0
        assert weight_of(text)(1.0) == 1.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("value", "50:0.1,0:0.8"), "probabilities must sum to 1; got a sum of 0.9."),
        (("value", "50"), "a lottery is outcomes and probabilities"),
        (("value", "50:x"), "got '50:x' in '50:x'. Write numbers."),
        (("value", "50:0.5,50:0.5"), "an outcome is given once; got 50 twice"),
        (("value", "1:1", "--weight", "tkk:0.6"), "Did you mean 'tk'?"),
        (
            ("value", "1:1", "--weight", "cvar:0.1"),
            "there is no weight 'cvar'. Write tail-average:A, which is the weight",
        ),
        (("value", "1:1", "--weight", "tk:x"), "parameters of a weight are numbers"),
        (("value", "1:1", "--plot", "x.doc"), "a picture ends in .png, .svg, .pdf; got x.doc."),
        (("value", "1:1", "--plot", "nowhere/x.png"), "nowhere/x.png cannot be written: its folder does not exist."),
        (("value", "1:1", "--wieght", "tk:0.5"), "there is no option '--wieght'. Did you mean '--weight'?"),
        (("weight", "tk:0.6,0.7"), "the weight tk is written tk:eta; got 'tk:0.6,0.7'."),
        (("weight", "tk:2"), "eta must"),
        (("weight", *["tk:0.61"] * 7), "at most 6 curves are drawn at once; got 7."),
        (("simulate", "nothing.toml"), "a spec is a TOML file; nothing.toml cannot be read"),
    ],
)
def test_bad_input_ends_in_one_sentence_and_exit_code_2(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(run(*arguments), sentence)


@pytest.mark.parametrize(
    ("words", "former", "now"),
    [
        (("simulate", "spec.toml"), "--jobs", "--workers"),
        (("paper", "run"), "--jobs", "--workers"),
        (("traffic", "record", "x.npz"), "--jobs", "--workers"),
        (("traffic", "run"), "--output", "--out"),
        (("traffic", "run"), "--quick", "--scale quick"),
    ],
)
def test_an_option_by_its_former_name_is_refused_with_the_present_one(words, former, now, monkeypatch):
    monkeypatch.setattr("allais.traffic.sumo.program", lambda name: name)  # none is needed to read the words
    refused(run(*words, former), f"the option {former} is now called {now}. Write that instead.")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("simulate", "spec.toml", "--wrkers", "2"), "there is no option '--wrkers'. Did you mean '--workers'?"),
        (("best-arm",), "missing argument 'spec'. See: "),
        (("best-arm", "spec.toml", "--workers", "two"), "invalid value for '--workers'"),
        (("best-arm", "spec.toml", "--workers", "0"), "--workers must be 1 or more, or -1 for every core; got 0."),
        (("simulte",), "no such command 'simulte'."),
        (("--verison",), "there is no option '--verison'. Did you mean '--version'?"),
    ],
)
def test_wrong_words_end_in_one_sentence_too(words, sentence):
    refused(run(*words), sentence)


def test_the_version_is_said():
    result = run("--version")
    assert (result.exit_code, result.output) == (0, f"allais {allais.__version__}\n")


def test_a_command_without_words_shows_its_help():
    for words in ((), ("paper",), ("traffic",)):
        assert "Usage: " in run(*words).output


def test_help_loads_no_compiled_code():
    code = "import sys, allais.cli.app; print(sorted({'numba', 'matplotlib', 'allais.people'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_simulate_compares_the_policies_of_a_spec(tmp_path):
    spec = tmp_path / "spec.toml"
    spec.write_text(EXAMPLE.read_text().replace("20_000", "500").replace("runs = 100", "runs = 5"))
    out, plot = tmp_path / "out", tmp_path / "regret.png"
    result = run("simulate", spec, "--workers", 1, "--out", out, "--plot", plot)
    assert result.exit_code == 0, result.output
    assert all(name in result.output for name in ("NPTS", "W-UCB", "UCB1"))
    assert plot.stat().st_size > 1_000
    kept = Results.load(out / "NPTS.results.npz")
    (out / "W-UCB.results.npz").unlink()
    again = run("simulate", spec, "--workers", 2, "--out", out, "--resume")
    assert again.output.splitlines()[3:6] == result.output.splitlines()[3:6]
    assert kept.samples.size == 5


def test_simulate_resumes_only_what_its_own_spec_made(tmp_path):
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text(EXAMPLE.read_text().replace("20_000", "100").replace("runs = 100", "runs = 2"))
    assert run("simulate", spec, "--workers", 1, "--out", out).exit_code == 0
    spec.write_text(spec.read_text().replace("seed = 1", "seed = 2"))
    for resume in ([], ["--resume"]):
        refused(run("simulate", spec, "--out", out, *resume), "a folder holds the results of one spec")
    refused(run("simulate", spec, "--resume"), "--resume needs --out")


@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_results_of_others_are_never_deleted(tmp_path, resume):
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text(EXAMPLE.read_text().replace("20_000", "100").replace("runs = 100", "runs = 2"))
    out.mkdir()
    for name in ("mine.results.npz", "NPTS.results.npz"):
        (out / name).write_text("a year of work")
    refused(run("simulate", spec, "--workers", 1, "--out", out, *resume), "has NPTS.results.npz and no spec.toml")
    assert sorted(path.name for path in out.iterdir()) == ["NPTS.results.npz", "mine.results.npz"]
    (out / "NPTS.results.npz").unlink()
    assert run("simulate", spec, "--workers", 1, "--out", out, *resume).exit_code == 0
    assert run("simulate", spec, "--workers", 1, "--out", out).exit_code == 0
    assert (out / "mine.results.npz").read_text() == "a year of work"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('type = "NPTS"', 'type = "NPTSS"', "line 21: 'NPTSS' is no policy type. Did you mean 'NPTS'?"),
        ('type = "UCB1"', 'type = "OFUL"', "line 27: 'OFUL' is no policy type."),
        ('sure = "7:1"', 'sure = "7:2"', "line 9: probabilities must sum to 1"),
        ('sure = "7:1"', "sure = 7", "line 9: problem.lotteries.sure needs a type"),
        ('sure = "7:1"', 'sure = { type = "Normal", sdd = 1 }', "line 9: [problem.lotteries.sure] has no key 'sdd'"),
        ("rounds =", "ronds =", "line 4: a spec has no key 'ronds'. Did you mean 'rounds'?"),
        ("rounds = 20_000", "rounds = 0", "line 4: rounds must be a whole number, 1 or more; got 0."),
        ("high = 50", "hihg = 50", "line 18: [rewards] has no key 'hihg'. Did you mean 'high'?"),
        ("eta = 0.61", "eta = 3", "line 12: eta must"),
        ("[[policies]]", "[[polices]]", "a spec has no key 'polices'. Did you mean 'policies'?"),
        ("[rewards]", "[rewards", "a spec must be TOML"),
        ('type = "NPTS"', 'type = ["NPTS"]', "line 21: ['NPTS'] is no policy type."),
        ('type = "NPTS"', 'type = "NPTS"\nrewards = 3', "line 22: [policies.0] has no key 'rewards'."),
        ('type = "NPTS"', 'type = "NPTS"\nname = "../x"', "line 22: a policy's name must do for a file; got '../x'."),
        ('type = "NPTS"', 'type = "NPTS"\nname = 3', "line 22: a policy's name must be text; got 3."),
        ("high = 50", "high = 20", "rewards must lie between 0 and 20"),
        (
            'sure = "7:1"',
            'sure = { type = "Normal" }',
            "arm 'sure' can pay anything from -inf to inf",
        ),
    ],
)
def test_a_wrong_spec_is_refused_with_its_line_and_the_nearest_name(tmp_path, old, new, sentence):
    spec = tmp_path / "spec.toml"
    assert old in EXAMPLE.read_text()
    spec.write_text(EXAMPLE.read_text().replace(old, new))
    refused(run("simulate", spec), sentence)


def test_policies_that_are_no_tables_are_refused(tmp_path):
    spec = tmp_path / "spec.toml"
    spec.write_text("policies = [3]\n" + EXAMPLE.read_text().split("[[policies]]")[0])
    refused(run("simulate", spec), 'policies.0 needs a type, such as type = "EXP3"; got 3.')


def test_places_that_cannot_be_written_are_refused_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    inside = tmp_path / "file" / "x.png"
    refused(run("simulate", EXAMPLE, "--plot", inside), "cannot be written: its folder does not exist")
    refused(run("simulate", EXAMPLE, "--out", inside), "cannot be made a folder")
    refused(
        run("value", "1:1", "--plot", tmp_path / "folder.png" / "x.png"), "cannot be written: its folder does not exist"
    )


def test_a_warning_is_a_note_without_a_line_of_code():
    command = [sys.executable, "-m", "allais.cli", "value", "5:0.5,0:0.5", "--weight", "tk:0.1"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)  # here a warning is an error
    assert found.stderr.startswith("note: ")
    assert ".py" not in found.stderr


def test_best_arm_takes_lotteries_too(tmp_path):
    spec = tmp_path / "lotteries.toml"
    spec.write_text(
        """
[problem.lotteries]
gamble = "9:0.5,10:0.5"
sure = "7:1"

[preference]
gains = { type = "TverskyKahneman", eta = 0.61 }
costs = true

[policy]
type = "WSR"
budget = 40
"""
    )
    result = run("best-arm", spec)
    assert result.exit_code == 0, result.output
    assert 'Choose "sure".' in result.output


def test_the_page_about_the_command_line_shows_what_commands_print():
    text = (ROOT / "docs" / "how-to" / "command-line.md").read_text(encoding="utf-8")
    shown = re.findall(r"```console\n\$ allais (.*?)\n(.*?)```", text, flags=re.DOTALL)
    assert len(shown) == 2
    for command, output in shown:
        printed = run(*shlex.split(command)).output
        assert [line.rstrip() for line in printed.splitlines()] == output.splitlines()
    commands = re.findall(
        r"^allais ([a-z-]+)(?: (run|list|check))?", text + (ROOT / "README.md").read_text(), re.MULTILINE
    )
    assert len(commands) > 5
    for name, sub in commands:
        assert run(name, *([sub] if sub else []), "--help").exit_code == 0, name
