"""The report: kept results, resuming, the same bytes for any number of workers, and the page in a real browser."""

import json
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
from allais.paper.experiments import BY_NAME
from allais.paper.findings import ExperimentResult, Finding, ResultTable
from allais.paper.html_report import html_report
from allais.paper.report import write_report
from allais.paper.runner import run_experiments
from allais.paper.store import Stored, keep, kept, path_of
from allais.report.numbers import with_error

FAST = ("introduction", "weight", "route-table")


def run(*arguments):
    return CliRunner().invoke(app, ["paper", *map(str, arguments)])


def without_times(text):
    return re.sub(r'<span class="time">.*?</span>|"seconds": [\d.]+', "", text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("paper")
    list(run_experiments([BY_NAME[name] for name in FAST], "quick", 1, place))
    write_report(place, "quick", 1)
    return place


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


def test_resuming_runs_only_what_is_missing(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    path_of(tmp_path / "copy", "weight").unlink()
    marker = json.loads(path_of(tmp_path / "copy", "introduction").read_text())
    marker["seconds"] = 123.0
    path_of(tmp_path / "copy", "introduction").write_text(json.dumps(marker))
    found = {
        stored.name: stored.seconds
        for stored in run_experiments(
            [BY_NAME[name] for name in FAST], "quick", 1, tmp_path / "copy", resume=True
        )
    }  # fmt: skip
    assert found["introduction"] == 123.0
    assert set(found) == set(FAST)
    assert path_of(tmp_path / "copy", "weight").exists()


def test_results_of_another_seed_or_scale_are_not_used(folder):
    assert kept(folder, "weight", "quick", 1) is not None
    assert kept(folder, "weight", "quick", 2) is None
    assert kept(folder, "weight", "full", 1) is None


def test_a_damaged_result_is_refused_in_a_sentence(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "quick-1")
    for text in ("{", "[]", '{"format": "allais paper"}'):
        path_of(copy, "weight").write_text(text)
        result = run("run", "weight", "--resume", "--out", tmp_path)
        assert result.exit_code == 2
        assert "a result must be one that was written here" in result.output
        assert "Traceback" not in result.output


def test_results_of_another_program_or_version_are_run_again(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    text = path_of(copy, "weight").read_text()
    for old, new in (('"allais paper"', '"something else"'), ('"version": "', '"version": "0.')):
        path_of(copy, "weight").write_text(text.replace(old, new, 1))
        assert kept(copy, "weight", "quick", 1) is None


def test_a_finding_that_differs_from_what_is_known_fails_the_check(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "quick-1")
    for name in BY_NAME.keys() - set(FAST):
        keep(copy, Stored(name, "quick", 1, 0.0, ExperimentResult((), (Finding("it is so", "so", "so", True),))))
    assert run("check", "--out", tmp_path).exit_code == 0
    wrong = Finding("it is so", "so", "not so", False)
    keep(copy, Stored("regret", "quick", 1, 0.0, ExperimentResult((), (wrong,))))
    result = run("check", "--out", tmp_path)
    assert result.exit_code == 1
    assert "it did not for 1. See the table." in result.output
    keep(
        copy,
        Stored("regret", "quick", 1, 0.0, ExperimentResult((), (Finding("it is so", "so", "so", True, erratum=3),))),
    )
    assert run("check", "--out", tmp_path).exit_code == 1  # a refuted claim that holds is as strange


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "regert"), "an experiment must be one that exists; got 'regert'. Did you mean 'regret'?"),
        (("run", "weight", "--scale", "big"), "scale must be one of quick, full; got 'big'. Choose one."),
        (("run", "weight", "--workers", "0"), "--workers must be 1 or more, or -1 for every core; got 0."),
        (("check", "--out", "nowhere"), "a check needs the results of every experiment; nowhere/quick-1 has none of"),
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
    assert "a folder is needed;" in result.output


def test_list_names_every_experiment():
    result = run("list")
    assert result.exit_code == 0
    assert all(name in result.output for name in BY_NAME)


@pytest.mark.skipif(os.name != "posix", reason="interrupts as on POSIX")
def test_an_interruption_keeps_what_is_finished_and_resume_goes_on(tmp_path):
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
    assert "continue with --resume" in said
    assert not path_of(folder, "estimator").exists()
    assert kept(folder, "weight", "full", 1) is not None
    again = ["run", "weight", "introduction", "--out", tmp_path, "--scale", "full", "--resume", "--workers", 1]
    result = run(*again)
    assert result.exit_code == 0
    assert f"The report is in {folder}" in result.output.replace("\n", "")


def test_an_experiment_that_fails_leaves_the_others_and_ends_in_a_sentence(tmp_path, monkeypatch):
    def fails(size, seed, done):
        raise ZeroDivisionError("nothing to divide")

    monkeypatch.setitem(BY_NAME["route-table"].__dict__, "run", fails)
    result = run("run", *FAST, "--workers", 1, "--out", tmp_path)
    assert result.exit_code == 1
    assert "the experiment route-table failed (ZeroDivisionError: nothing to divide)." in " ".join(
        result.output.split()
    )
    assert kept(tmp_path / "quick-1", "weight", "quick", 1) is not None
    assert (tmp_path / "quick-1" / "report.html").exists()


def test_the_page_needs_no_other_file(folder):
    text = (folder / "report.html").read_text()
    links = [link for link in re.findall(r'(?:src|href)="([^"]*)"', text) if not link.startswith("#")]
    assert links == ["data:,"]
    assert "@import" not in text
    assert "url(http" not in text


def test_text_on_the_page_is_escaped():
    finding = Finding("<b>claim</b>", "a & b", '"measured"', True)
    result = ExperimentResult(
        (("<i>", "</i>"),), (finding,), (ResultTable("<t>", ("<h>",), (("<c>",),)),), notes=("<n>",)
    )
    text = html_report([Stored("weight", "quick", 1, 1.0, result)])
    for raw in ("<b>claim", "<t>", "<h>", "<c>", "<n>"):
        assert raw not in text


def test_markdown_has_the_findings_and_its_figures_exist(folder):
    text = (folder / "results.md").read_text()
    figures = re.findall(r"\]\((figures/[^)]*)\)", text)
    assert figures
    assert all((folder / figure).exists() for figure in figures)
    assert "refuted (erratum 28)" in text


def test_numbers_show_the_digits_that_their_errors_leave():
    assert with_error(0.0, 0.0) == "0"
    assert with_error(1234.5, 100.0) == "1,230 ± 100"
    assert with_error(0.12346, 0.0012) == "0.1235 ± 0.0012"


def browser():
    return shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def chromium():
    path = browser()
    if path is None:
        if os.environ.get("ALLAIS_BROWSER") == "required":
            pytest.fail("these tests need chromium, and it was not found: install it, or leave ALLAIS_BROWSER out")
        pytest.skip("no chromium was found: the page is not looked at in a browser")
    from playwright.sync_api import sync_playwright

    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
               "--disable-sync"]  # fmt: skip
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=options)
        yield opened
        opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_reads_well_in_a_browser(chromium, folder, width, scheme):
    view = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said, asked = [], []
    view.on("console", lambda message: said.append(message.text))
    view.on("pageerror", lambda error: said.append(str(error)))
    view.on("request", lambda request: asked.append(request.url))
    view.goto((folder / "report.html").as_uri())
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert view.evaluate("document.documentElement.scrollWidth") <= width  # nothing to scroll sideways
    sizes = view.evaluate(
        """[...document.querySelectorAll("figure svg")].map(svg => {
            const text = svg.querySelector("text");
            return [svg.getBoundingClientRect().width, text.getBoundingClientRect().height,
                    getComputedStyle(text).fill, getComputedStyle(document.body).backgroundColor];
        })"""
    )
    assert len(sizes) == 3
    for wide, high, ink, ground in sizes:
        assert 0.5 * min(width, 480) < wide <= width
        assert high >= 9.0  # pixels: readable
        assert ink != ground
    view.close()


def test_the_links_of_the_summary_lead_to_sections(chromium, folder):
    view = chromium.new_page(viewport={"width": 1280, "height": 900})
    view.goto((folder / "report.html").as_uri())
    view.click('a[href="#route-table"]')
    assert view.evaluate("document.getElementById('route-table').getBoundingClientRect().top") < 200
    view.close()


def test_the_folder_of_a_report_holds_only_what_is_named(folder):
    assert {path.name for path in Path(folder).iterdir()} == {"results", "figures", "report.html", "results.md"}
