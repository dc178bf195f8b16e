"""Specs of the wrong kind, disks that are full or closed, names that look like markup, and interruptions."""

import dataclasses
import errno
import os
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
from typer.testing import CliRunner

from allais.cli.app import app
from allais.cli.options import Terminated, ending_of
from allais.errors import RunRefused, ToolFailed
from allais.paper.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[2]
LOTTERIES = """
[problem.lotteries]
gamble = "50:0.1,0:0.9"
sure = "7:1"

[preference]
gains = { type = "TverskyKahneman", eta = 0.61 }

[rewards]
type = "Bounded"
low = 0
high = 50

[policy]
type = "WLUCB"
delta = 0.05
"""
PROGRAM = """
[problem]
command = "echo {arm} {seed}"
arms = 2

[preference]
gains = { type = "TverskyKahneman", eta = 0.61 }

[policy]
type = "WSR"
budget = 10
"""


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def one_sentence(result, code=2):
    assert result.exit_code == code, result.output
    assert result.output.startswith("error: "), result.output
    assert result.output.count("\n") == 1, result.output
    return result.output


@pytest.mark.parametrize(
    ("spec", "old", "new", "line", "sentence"),
    [
        (LOTTERIES, "eta = 0.61", 'eta = "0.61"', 7, "eta must be a finite number; got '0.61'."),
        (LOTTERIES, "eta = 0.61", "eta = true", 7, "eta must be a finite number; got True."),
        (LOTTERIES, "low = 0", 'low = "0"', 11, "low must be a finite number; got '0'."),
        (LOTTERIES, "delta = 0.05", 'delta = "0.05"', 16, "delta must be a finite number; got '0.05'."),
        (LOTTERIES, "delta = 0.05", "delta = true", 16, "delta must be a finite number; got True."),
        (
            LOTTERIES,
            "delta = 0.05",
            'delta = 0.05\nband = "KL"',
            17,
            'policy.band needs a type, such as type = "KL"; got \'KL\'. Write { type = "KL" }.',
        ),
        (LOTTERIES, "delta = 0.05", "delta = 0.05\nband = 3", 17, "policy.band needs a type"),
        (LOTTERIES, "delta = 0.05", "delta = 0.05\nname = 3", 17, "a policy's name must be text; got 3."),
        (
            LOTTERIES,
            'gains = { type = "TverskyKahneman", eta = 0.61 }',
            'gains = "Prelec"',
            7,
            'preference.gains needs a type, such as type = "Prelec"; got \'Prelec\'. Write { type = "Prelec" }.',
        ),
        (PROGRAM, '"echo {arm} {seed}"', '["echo", "{arm}"]', 3, "command must be one text; got ['echo', '{arm}']."),
        (PROGRAM, '"echo {arm} {seed}"', "3", 3, "command must be one text; got 3."),
        (PROGRAM, "arms = 2", "arms = 2\nfield = 3", 5, "field must be one text; got 3."),
        (PROGRAM, "arms = 2", f"arms = {10**26}", 4, f"arms must be 1,000,000 at most; got {10**26}. Give fewer."),
    ],
)
def test_a_setting_of_the_wrong_kind_is_refused_with_its_line(tmp_path, spec, old, new, line, sentence):
    path = tmp_path / "spec.toml"
    assert spec.count(old) == 1
    path.write_text(spec.replace(old, new))
    assert f"{path}, line {line}: {sentence}" in one_sentence(run("best-arm", path))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("seed = " + "[" * 20_000 + "]" * 20_000, "nested too deeply. Flatten it."),
        ("x = " + "{x = " * 20_000 + "1" + "}" * 20_000, "nested too deeply. Flatten it."),
        ("seed = " + "9" * 5_000, "one has thousands of digits."),
    ],
)
def test_a_spec_that_python_cannot_read_is_refused(tmp_path, text, sentence):
    path = tmp_path / "spec.toml"
    path.write_text(text)
    for command in ("best-arm", "simulate"):
        assert sentence in one_sentence(run(command, path))


# -- disks ----------------------------------------------------------------------------------------


def command(*arguments, **settings):
    words = [sys.executable, "-m", "allais.cli", *map(str, arguments)]
    return subprocess.run(words, capture_output=False, text=True, stderr=subprocess.PIPE, check=False, **settings)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "arguments",
    [("value", "50:0.1,0:0.9"), pytest.param(("weight",), marks=pytest.mark.slow), ("paper", "list")],
    ids=lambda a: a[0],
)
def test_an_output_that_is_full_ends_in_one_sentence(arguments):
    with open("/dev/full", "w") as full:
        done = command(*arguments, stdout=full)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("error: the disk is full.")


def test_a_reader_that_has_seen_enough_is_no_error():
    done = command("weight", stdout=_closed_pipe())
    assert done.stderr == ""


def _closed_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (("value", "50:0.1,0:0.9", "--plot", "x.png"), "x.png"),
        (("weight", "--plot", "x.svg"), "x.svg"),
        (("paper", "run", "weight", "--workers", "1", "--out", "out"), "out/quick-1"),
    ],
    ids=lambda a: a[0] if isinstance(a, tuple) else None,
)
def test_a_disk_that_is_full_ends_in_one_sentence_with_the_file(tmp_path, monkeypatch, arguments, written):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.chdir(tmp_path)
    paper = arguments[0] == "paper"  # its experiments draw in memory, and its results are written
    monkeypatch.setattr("allais.paper.runner.write_atomically" if paper else "matplotlib.figure.Figure.savefig", full)
    last = run(*arguments).output.strip().splitlines()[-1]
    assert last == (f"error: the disk of {written} is full. Free some space, and try again.")


@pytest.mark.skipif(not hasattr(os, "O_DIRECTORY"), reason="needs folders that can be closed")
@pytest.mark.parametrize("arguments", [(), ("--dry-run",)], ids=["search", "dry run"])
def test_a_folder_that_is_closed_is_refused_before_anything_runs(tmp_path, monkeypatch, arguments):
    def closed(*_, **__):  # rights do not stop an administrator, who may run these tests
        raise OSError(errno.EROFS, "Read-only file system")

    path = tmp_path / "spec.toml"
    path.write_text(LOTTERIES)
    monkeypatch.setattr("allais.cli.options.tempfile.TemporaryFile", closed)
    monkeypatch.setattr("allais.searches.runs.perform", None)  # nothing may run
    said = one_sentence(run("best-arm", path, *arguments))
    assert f"the folder {tmp_path} cannot be written to (Read-only file system)" in said


def test_a_full_disk_under_the_compiled_code_costs_no_run(tmp_path, monkeypatch):
    from allais import _kernels

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    def twice(x):
        return 2 * x

    twice.__module__ = "allais.twice"  # only the library's own kernels are kept on disk
    twice = _kernels.kernel(twice)
    monkeypatch.setattr(twice.inner._cache._impl.__class__, "reduce", full)
    assert twice(4) == 8


# -- names ----------------------------------------------------------------------------------------


def test_what_to_install_is_printed_whole(tmp_path, monkeypatch):
    sentence, out = "Run in the folder of allais: pip install '.[traffic]'.", tmp_path / "a [b]"
    lacking = [
        one if one.name == "weight" else dataclasses.replace(one, missing=lambda: sentence) for one in EXPERIMENTS
    ]
    monkeypatch.setattr("allais.paper.experiments.EXPERIMENTS", lacking)
    for arguments in (("run", "--workers", 1), ("check",)):
        result = run("paper", *arguments, "--out", out)
        assert result.exit_code == 0, result.output
        assert f"- regret is left out: {sentence}" in result.output
    assert f"The report is in {out}" in run("paper", "run", "--out", out).output


def test_a_finding_with_brackets_is_printed_whole(tmp_path, monkeypatch):
    from allais.paper.experiments import ExperimentResult, Finding
    from allais.paper.runner import Stored, keep

    finding = Finding("rewards in [0, 1] and [/x]", "none", "[a] :car:", holds=True)
    keep(tmp_path / "quick-1", Stored("weight", "quick", 1, 2.0, ExperimentResult((), (finding,))))
    monkeypatch.setattr("allais.paper.experiments.EXPERIMENTS", [one for one in EXPERIMENTS if one.name == "weight"])
    said = run("paper", "check", "--out", tmp_path).output
    assert "rewards in [0, 1] and [/x]" in said
    assert "[a] :car:" in said


def test_a_policy_of_any_name_is_shown_as_it_is(tmp_path):
    path = tmp_path / "spec.toml"
    policies = "".join(
        f'[[policies]]\ntype = "WSR"\nbudget = 20\nname = "{name}"\n' for name in ("plan [a]", "[bold]", ":car:")
    )
    path.write_text("rounds = 20\nruns = 2\n" + LOTTERIES.split("[policy]")[0] + policies)
    result = run("simulate", path, "--workers", "1")
    assert result.exit_code == 0, result.output
    shown = [line.split("│")[1].strip() for line in result.output.splitlines() if line.count("│") > 3]
    assert shown == ["plan [a]", "[bold]", ":car:"]


# -- interruptions --------------------------------------------------------------------------------

IN_THREADS = """
import os, signal, sys
import numpy as np
import allais

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored, in the background
RUNS, begun = 64, set()

class Coins(allais.Bandit):
    def draw(self, arm, rng, size):
        begun.add(id(rng.bit_generator.seed_seq))
        kept.append(rng)  # so that no id comes twice
        if len(begun) == 3:  # the first is the one that compiles
            os.kill(os.getpid(), signal.SIGINT)
        return super().draw(arm, rng, size)

kept = []
problem = Coins([allais.Bernoulli(0.4), allais.Bernoulli(0.6)])
try:
    allais.simulate(allais.UCB1(allais.Bounded(0, 1)), problem, n_rounds=5_000_000, n_runs=RUNS, seed=1, n_jobs=2)
except KeyboardInterrupt:
    print("interrupted", len(begun) < RUNS)
"""

IN_PROCESSES = """
import os, signal, sys, time
import allais

signal.signal(signal.SIGINT, signal.default_int_handler)
RUNS = 40

def coin(arm, rng):
    with open("begun", "a") as file:
        file.write("x")
        file.flush()
    if os.path.getsize("begun") == 5:
        os.kill(os.getppid(), signal.SIGINT)
    time.sleep(0.02)
    return rng.random()

problem = allais.Simulator(coin, ["A", "B"])
try:
    allais.simulate(allais.UCB1(allais.Bounded(0, 1)), problem, n_rounds=20, n_runs=RUNS, seed=1, n_jobs=2)
except KeyboardInterrupt:
    import multiprocessing
    print("interrupted", os.path.getsize("begun") < 20 * RUNS, multiprocessing.active_children())
"""


@pytest.mark.parametrize(("script", "said"), [(IN_THREADS, "interrupted True"), (IN_PROCESSES, "interrupted True []")])
def test_an_interruption_ends_a_simulation_before_its_runs_are_done(tmp_path, script, said):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout.strip() == said, done.stdout + done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("error", "sentence", "code"),
    [
        (
            BrokenProcessPool("gone"),
            "a worker process died, perhaps for lack of memory. Free some, or use --workers 1.",
            1,
        ),
        (RunRefused("run 3 of 'A': rewards must lie between 0 and 1; got 2"), "run 3 of 'A'", 1),
        (ToolFailed("sumo must end well; it failed (signal 9)."), "sumo must end well", 2),
        (Terminated(15), "ended by SIGTERM.", 143),
    ],
)
def test_every_kind_of_error_has_its_ending(error, sentence, code):
    said, ended = ending_of(error)
    assert sentence in said
    assert ended == code
    assert ending_of(ZeroDivisionError()) is None  # ours: it shows its traceback


def test_an_interrupted_command_says_so_and_ends_with_130(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("allais.cli.value.lottery_of", interrupted)
    assert one_sentence(run("value", "50:0.1,0:0.9"), code=130) == "error: interrupted.\n"
