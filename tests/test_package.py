"""The package as a whole: its names, its documentation, its start, and the main job."""

import inspect
import subprocess
import sys

import allais


def test_every_public_name_is_documented():
    for name in allais.__all__:
        thing = getattr(allais, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for method, member in inspect.getmembers(thing):
                if not method.startswith("_") and (callable(member) or isinstance(member, property)):
                    assert inspect.getdoc(member), f"{name}.{method}"


def test_the_package_is_typed_and_knows_its_version():
    from importlib.metadata import version
    from importlib.resources import files

    assert (files("allais") / "py.typed").is_file()
    assert version("allais") == allais.__version__


def test_starting_up_loads_neither_pictures_nor_statistics():
    heavy = ("matplotlib", "scipy.stats", "scipy.optimize", "rich", "typer", "distributed")
    code = f"import sys, allais; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_main_job_says_where_its_report_is(tmp_path):
    command = [sys.executable, "-m", "allais.cli", "paper", "run", "weight", "--jobs", "1", "--out", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    page = tmp_path / "quick-1" / "report.html"
    assert f"The report is in {page}" in result.stdout
    assert "inverted S" in page.read_text()
