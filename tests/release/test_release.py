"""A release: one version everywhere, a citation that can be read, and the same commands on every system."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from tools.type_readme import lines_of, type_readme

import allais

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_the_version_is_the_same_everywhere():
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/allais/__init__.py"  # its only source
    assert re.fullmatch(r"\d+\.\d+\.\d+", allais.__version__)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == allais.__version__
    headings = re.findall(r"^## (.+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert next(heading for heading in headings if "released" not in heading) == allais.__version__


def test_the_citation_has_what_its_format_asks_for():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["license"] == PROJECT["project"]["license"]
    (paper,) = citation["references"]
    for entry in (citation, paper):
        assert entry["title"]
        assert all("name" in one or {"family-names", "given-names"} <= set(one) for one in entry["authors"])
    assert len(paper["authors"]) == 6
    for author in paper["authors"]:
        assert author["family-names"] in README  # the same people as on the first page


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_targets_of_make_and_nothing_else(path):
    commands = [step["run"] for step in steps(yaml.safe_load(path.read_text(encoding="utf-8"))) if "run" in step]
    assert commands
    for command in commands:
        tool, target = command.split()
        assert tool == "make"
        assert target in TARGETS, f"a workflow must call targets that exist; {target} is none."


def test_every_system_and_python_is_checked():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8"))
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    assert [system.partition("-")[0] for system in matrix["os"]] == ["ubuntu", "macos", "windows"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    claimed = [one.rpartition(" ")[2] for one in PROJECT["project"]["classifiers"] if "Python :: 3." in one]
    assert claimed == matrix["python"]
    assert PROJECT["project"]["requires-python"] == f">={claimed[0]}"
    run = [step["run"] for step in workflow["jobs"]["test"]["steps"] if "run" in step]
    assert run == ["make test", "make dist"]


def test_the_readme_says_how_to_install_where_the_command_is_and_how_long_make_takes():
    assert lines_of(README, "pip") == ['pip install ".[cli,plot]"']
    assert "not on PyPI yet" in README
    assert ".venv/bin/allais" in README
    assert re.findall(r"^make (\w+) +# about \d+ minutes", README, re.MULTILINE) == ["paper", "test"]
    assert len(re.findall(r"^!\[", README, re.MULTILINE)) == 1  # one picture
    assert len(re.findall(r"^\|---", README, re.MULTILINE)) == 1  # one table


def test_lines_that_are_typed_are_those_of_the_readme():
    commands = lines_of(README, "allais")
    assert [command.split()[1] for command in commands] == ["value", "weight", "simulate", "best-arm", "paper"]


@pytest.mark.slow
def test_the_readme_runs_as_typed_in_an_empty_environment(tmp_path):
    assert type_readme(str(ROOT), tmp_path) == 6


@pytest.mark.slow
def test_a_wheel_and_its_sources_are_built_and_hold_what_they_should(tmp_path):
    build = [sys.executable, "-m", "build", "--outdir", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,), (sources,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    assert wheel.name == f"allais-{allais.__version__}-py3-none-any.whl"
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sources)], check=True)
    names = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", str(wheel)], check=True, capture_output=True, text=True
    ).stdout
    assert "allais/py.typed" in names
    assert "allais/cli/" in names
    for kind in ("*.j2", "*.css", "*.js"):
        for path in (ROOT / "src").rglob(kind):
            assert path.relative_to(ROOT / "src").as_posix() in names
    assert "tests/" not in names
