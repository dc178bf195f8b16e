"""The package as a whole: its names, its documentation, and its start."""

import ast
import dataclasses
import importlib
import inspect
import re
import subprocess
import sys

import pytest

import allais
from allais.settings import FAMILIES, family
from tests.sources import ROOT, parsed


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
    heavy = ("matplotlib", "scipy.special", "scipy.stats", "scipy.optimize", "numba", "rich", "typer", "distributed")
    code = f"import sys, allais; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_commands_start_without_what_they_run():
    """Help, and refusals of a wrong option, need no policies, learners or simulations."""
    heavy = ("allais.policies", "allais.learner", "allais.simulation", "allais.people", "allais.serve", "matplotlib")
    code = f"import sys, allais.cli.app; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_every_field_of_a_class_is_read_somewhere():
    """By the package, its templates, tests or pages. A name that two classes share counts for both."""
    fields, read = {}, set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                read.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                read.add(node.value)  # by getattr
            elif isinstance(node, ast.ClassDef):
                of_class = [one.target.id for one in node.body if isinstance(one, ast.AnnAssign)]
                fields.update({(node.name, name): path.name for name in of_class})
    for test in (ROOT / "tests").rglob("*.py"):  # to parse them would take longer than all else here
        read.update(re.findall(r"""[."'](\w+)\b(?! *=[^=])""", test.read_text(encoding="utf-8")))
    for page in [*(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.html"), *(ROOT / "src").rglob("*.j2")]:
        read.update(re.findall(r"\.(\w+)", page.read_text(encoding="utf-8")))
    assert ("Choice", "arm") in fields
    assert [key for key in fields if key[1] not in read] == []


@pytest.mark.parametrize("home", ["policies", "bands", "linear", "weights", "rewards"])
def test_files_may_name_every_setting_of_this_library(home):
    """A saved learner names its settings: one that is not known by name could not be opened again."""
    module = importlib.import_module(f"allais.{home}")
    kinds = [getattr(module, name) for name in getattr(module, "__all__", dir(module))]
    settings = {
        kind.__name__
        for kind in kinds
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and not inspect.isabstract(kind)
    }
    assert settings <= {name for one in FAMILIES if FAMILIES[one][0] == f"allais.{home}" for name in family(one)}
