"""`allais evaluate`: what it prints, writes and refuses."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

from allais.cli.app import app


@pytest.fixture
def log(tmp_path):
    rng, path = np.random.default_rng(1), tmp_path / "log.csv"
    rows = ["arm,outcome,propensity,rain"]
    for _ in range(2_000):
        slow, rain = rng.random() < 0.8, rng.random() < 0.5
        minutes = rng.normal(30.0 if slow else 20.0 + 15.0 * rain, 2.0)
        rows.append(f"{'ring' if slow else 'main'},{minutes:.2f},{0.8 if slow else 0.2},{'yes' if rain else 'no'}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)])


def test_a_function_of_the_context_is_evaluated_beside_what_was_done(log, tmp_path):
    (tmp_path / "policy.py").write_text('def choose(known):\n    return "ring" if known["rain"] == "yes" else "main"\n')
    page = tmp_path / "page.html"
    done = run(
        log, "--policy", f"{tmp_path / 'policy.py'}:choose", "--context", "rain", "--target", "logging", "--by", "mean",
        "--by", "p90", "--costs", "--bounds", "0,60", "--report", page,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    means = [float(row.split()[-8]) for row in done.output.splitlines() if " the mean " in row]
    assert means[1] == pytest.approx(25.0, abs=1.0)  # 6 standard errors
    text = page.read_text(encoding="utf-8")
    assert "would have been worth" in text
    assert "Proven intervals hold together" in text
    assert len(re.findall("<svg", text)) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "a target is what is evaluated; got none"),
        (("--target", "ring", "--arm", "road"), "a column must be in the table; 'road' is not"),
        (("--policy", "nowhere.py:choose"), "--policy is FILE.py:NAME, of a file that is there"),
        (("--target", "ring", "--bounds", "60"), "--bounds are two numbers"),
        (("--target", "ring", "--by", "p100"), "100"),
    ],
)
def test_a_mistake_gets_one_sentence(log, arguments, sentence):
    done = run(log, *arguments)
    assert done.exit_code == 2
    assert sentence in " ".join(done.output.split())


def test_a_file_that_raises_or_lacks_the_function_is_named(log, tmp_path):
    broken, empty = tmp_path / "broken.py", tmp_path / "empty.py"
    broken.write_text("1 / 0\n")
    empty.write_text("\n")
    assert "ZeroDivisionError" in run(log, "--policy", f"{broken}:choose").output
    assert "'choose'" in run(log, "--policy", f"{empty}:choose").output
