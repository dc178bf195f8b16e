"""Results that are up to date are used again; anything else is run."""

import json
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from allais.cli.app import app
from allais.paper import runner
from allais.paper.experiments import Finding
from allais.paper.runner import keep, kept, path_of
from tests.paper.conftest import FAST
from tests.paper.made_up import FINDINGS, made_up


def run(*arguments):
    return CliRunner().invoke(app, ["paper", "run", *map(str, arguments)])


@pytest.fixture
def ran(monkeypatch):
    """Which experiments were run, and none of them really."""
    names = []

    def instead(experiments, scale, seed, folder, workers, *, watch):
        for experiment in experiments:
            names.append(experiment.name)
            (stored,) = (one for one in made_up(scale=scale, seed=seed) if one.name == experiment.name)
            keep(folder, stored)
            yield stored

    monkeypatch.setattr("allais.paper.runner.run_experiments", instead)
    return names


def test_a_second_call_runs_nothing_and_says_so(ran, tmp_path):
    first = run(*FAST, "--out", tmp_path)
    assert first.exit_code == 0, first.output
    assert sorted(ran) == sorted(FAST)
    assert "up to date" not in first.output
    ran.clear()
    second = run(*FAST, "--out", tmp_path)
    assert second.exit_code == 0
    assert ran == []
    assert "All results are up to date (the same program, scale and seed) and are used as they are." in second.output
    assert f"The report is in {tmp_path / 'quick-1' / 'report.html'}" in second.output.replace("\n", "")
    assert second.output.count("Of 9 claims of the paper 3 hold as printed") == 1


def test_what_is_missing_is_run_and_the_rest_is_used(ran, tmp_path):
    run("weight", "regret", "--out", tmp_path)
    ran.clear()
    result = run("weight", "regret", "budget", "--out", tmp_path)
    assert ran == ["budget"]
    assert "2 of 3 results are up to date" in result.output


@pytest.mark.parametrize("arguments", [("--seed", 2), ("--scale", "full"), ("--again",)], ids=lambda a: a[0])
def test_another_seed_or_scale_is_run_and_so_is_everything_on_demand(ran, tmp_path, arguments):
    names = FAST[:2]
    run(*names, "--out", tmp_path)
    ran.clear()
    assert run(*names, "--out", tmp_path, *arguments).exit_code == 0
    assert sorted(ran) == sorted(names)


def test_a_result_of_another_seed_or_scale_is_not_taken_for_this_one(folder):
    assert kept(folder, "weight", "quick", 1) is not None
    assert kept(folder, "weight", "quick", 2) is None
    assert kept(folder, "weight", "full", 1) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "{",
        lambda text: "[]",
        lambda text: '{"format": "allais paper"}',
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("0.61", "0.62", 1),  # a number in the outcome
        lambda text: text.replace('"allais paper"', '"something else"', 1),
        lambda text: text.replace('"version": "', '"version": "0.', 1),
        lambda text: text.replace('"sources": "', '"sources": "0', 1),
    ],
)
def test_a_damaged_result_or_one_of_another_program_is_run_again(ran, folder, tmp_path, damage):
    copy = shutil.copytree(folder, tmp_path / "quick-1")
    path = path_of(copy, "weight")
    path.write_text(damage(path.read_text()))
    assert kept(copy, "weight", "quick", 1) is None
    assert run("weight", "introduction", "--out", tmp_path).exit_code == 0
    assert ran == ["weight"]
    assert kept(copy, "weight", "quick", 1) is not None


def test_the_time_that_a_result_took_is_no_part_of_what_is_checked(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    document = json.loads(path_of(copy, "weight").read_text())
    document["seconds"] = 123.0
    path_of(copy, "weight").write_text(json.dumps(document))
    stored = kept(copy, "weight", "quick", 1)
    assert stored is not None
    assert stored.seconds == 123.0


def test_an_edit_of_the_program_makes_results_old_but_one_of_the_page_does_not(tmp_path):
    (tmp_path / "paper").mkdir()
    files = [tmp_path / "paper" / "report.py", tmp_path / "paper" / "problems.py"]
    for file in files:
        file.write_text("x = 1\n")
    names = [runner.digest(tmp_path)]
    for file in files:
        file.write_text("x = 2\n")
        runner.digest.cache_clear()
        names.append(runner.digest(tmp_path))
    assert names[0] == names[1] != names[2]
    package = runner.PACKAGE
    assert all((package / place).exists() for place in runner.SHOWING)


def test_a_call_with_nothing_to_do_loads_neither_compiled_code_nor_a_plotting_library(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "quick-1")
    code = (
        "import sys; from allais.cli.app import app\n"
        f"app(['paper', 'run', *{FAST!r}, '--check', '--out', {str(tmp_path)!r}], standalone_mode=False)\n"
        "print(sorted({'numba', 'matplotlib'} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "[]", said
    assert "All results are up to date" in said


def test_a_run_with_a_check_fails_when_a_finding_is_not_as_expected(ran, tmp_path, monkeypatch):
    assert run("weight", "--check", "--out", tmp_path).exit_code == 0
    (stored,) = (
        one for one in made_up((*FINDINGS, Finding("it rains", "so", "not so", False))) if one.name == "weight"
    )
    keep(tmp_path / "quick-1", stored)
    assert run("weight", "--out", tmp_path).exit_code == 0
    result = run("weight", "--check", "--out", tmp_path)
    assert result.exit_code == 1
    assert "1 is not. See: allais paper check" in " ".join(result.output.split())
