"""The report: commands, interruptions, and the same bytes for any number of workers."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from allais.cli.app import app
from allais.paper.experiments import BY_NAME, ExperimentResult, Finding
from allais.paper.report import write_report
from allais.paper.runner import Stored, keep, kept, path_of, run_experiments
from allais.report.markup import with_error
from tests.paper.conftest import FAST


def run(*arguments):
    return CliRunner().invoke(app, ["paper", *map(str, arguments)])


def without_times(text):
    return re.sub(r'<span class="time">.*?</span>|"seconds": [\d.]+', "", text)


def test_the_same_seed_gives_the_same_bytes_for_any_number_of_workers(folder, tmp_path):
    folder = shutil.copytree(folder, tmp_path / "one")
    tmp_path = tmp_path / "two"
    random = BY_NAME["setup-regret"]  # which draws
    list(run_experiments([random], "quick", 1, folder))
    list(run_experiments([random, *(BY_NAME[name] for name in FAST)], "quick", 1, tmp_path, workers=2))
    for place in (folder, tmp_path):
        write_report(place, "quick", 1)
    names = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert len(names) > 2 * len(FAST)
    for name in names:
        assert without_times((folder / name).read_text()) == without_times((tmp_path / name).read_text()), name


def test_a_finding_that_differs_from_what_is_expected_fails_the_check(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "quick-1")
    for name in BY_NAME.keys() - set(FAST):
        keep(copy, Stored(name, "quick", 1, 0.0, ExperimentResult((), (Finding("it is so", "so", "so", True),))))
    assert run("check", "--out", tmp_path).exit_code == 0
    wrong = Finding("it is so", "so", "not so", False)
    keep(copy, Stored("regret", "quick", 1, 0.0, ExperimentResult((), (wrong,))))
    result = run("check", "--out", tmp_path)
    assert result.exit_code == 1
    assert "1 is not. See the table." in result.output
    keep(
        copy,
        Stored("regret", "quick", 1, 0.0, ExperimentResult((), (Finding("it is so", "so", "so", True, erratum=3),))),
    )
    assert run("check", "--out", tmp_path).exit_code == 1  # a printed error that comes out right is as strange


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "regert"), "there is no experiment 'regert'. Did you mean 'regret'?"),
        (("run", "weight", "--scale", "big"), "scale must be one of quick, full; got 'big'. Choose one."),
        (("run", "weight", "--workers", "0"), "--workers must be 1 or more, or -1 for every core; got 0."),
        (
            ("check", "--out", "nowhere"),
            "a check needs an up-to-date result of every experiment; nowhere/quick-1 has none of",
        ),
    ],
)
def test_bad_arguments_end_in_one_sentence_and_exit_code_2(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_an_unwritable_folder_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("run", "weight", "--out", tmp_path / "file")
    assert result.exit_code == 2
    assert "cannot be made a folder" in result.output


def test_list_names_every_experiment():
    result = run("list")
    assert result.exit_code == 0
    assert all(name in result.output for name in BY_NAME)


@pytest.mark.skipif(os.name != "posix", reason="interrupts as on POSIX")
def test_an_interruption_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path):
    arguments = [
        "run",
        "weight",
        "introduction",
        "estimator",
        "--out",
        str(tmp_path),
        "--workers",
        "2",
        "--scale",
        "full",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "allais.cli", "paper", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests that run in the background ignore it
    )  # fmt: skip
    deadline = time.monotonic() + 300.0
    folder = tmp_path / "full-1"
    while not path_of(folder, "weight").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    try:
        said = process.communicate(timeout=120)[0].decode()
    finally:
        process.kill()
    assert process.returncode == 130, said  # the estimator takes minutes at full scale
    assert "the same command goes on from there" in said
    assert not path_of(folder, "estimator").exists()
    assert kept(folder, "weight", "full", 1) is not None
    again = ["run", "weight", "introduction", "--out", tmp_path, "--scale", "full", "--workers", 1]
    result = run(*again)
    assert result.exit_code == 0
    assert "results are up to date" in result.output
    assert f"The report is in {folder}" in result.output.replace("\n", "")


def test_an_experiment_that_fails_leaves_the_others_and_ends_in_a_sentence(tmp_path, monkeypatch):
    def fails(size, seed, done):
        raise ZeroDivisionError("nothing to divide")

    monkeypatch.setattr("allais.paper.experiments.routing.run_route_table", fails)
    result = run("run", *FAST, "--workers", 1, "--out", tmp_path)
    assert result.exit_code == 1
    assert "the experiment route-table failed (ZeroDivisionError: nothing to divide)." in " ".join(
        result.output.split()
    )
    assert kept(tmp_path / "quick-1", "weight", "quick", 1) is not None
    assert (tmp_path / "quick-1" / "report.html").exists()


def test_markdown_has_the_findings_and_its_figures_exist(folder):
    text = (folder / "results.md").read_text()
    figures = re.findall(r"\]\((figures/[^)]*)\)", text)
    assert figures
    assert all((folder / figure).exists() for figure in figures)
    assert "misprint ([erratum 28](errata.md#28-figure-1-and-words))" in text
    assert "refuted" not in text


def test_numbers_show_the_digits_that_their_errors_leave():
    assert with_error(0.0, 0.0) == "0"
    assert with_error(1234.5, 100.0) == "1,230 ± 100"
    assert with_error(0.12346, 0.0012) == "0.1235 ± 0.0012"


def test_the_folder_of_a_report_holds_only_what_is_named(folder):
    assert {path.name for path in Path(folder).iterdir()} == {"results", "figures", "report.html", "results.md"}
    assert "inverted S" in (folder / "report.html").read_text()


def test_a_report_that_is_there_already_is_left_as_it_is(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "report.html").write_text("something else")
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*") if path.is_file()}
    write_report(copy, "quick", 1)
    assert [path.name for path, time in before.items() if path.stat().st_mtime_ns != time] == ["report.html"]
    assert (copy / "report.html").read_text() == (folder / "report.html").read_text()
