"""A learner is an interface, an engine and a journal; what is private to them is read by nobody else."""

import ast
from pathlib import Path

import pytest

import allais
from tests.sources import parsed

SOURCE = Path(allais.__file__).parent
INSIDE = SOURCE / "learner"


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def defined_in(tree):
    """The private names that a module gives to attributes, methods and functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and is_private(node.name):
            yield node.name
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                    name = one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "")
                    if is_private(name):
                        yield name


PRIVATE = {name for path in INSIDE.glob("*.py") for name in defined_in(parsed(path))}
OUTSIDE = [path for path in sorted(SOURCE.rglob("*.py")) if INSIDE not in path.parents]


def test_the_private_names_are_found():
    assert {"_engine", "_journal", "_write", "_apply"} <= PRIVATE


@pytest.mark.parametrize("package", sorted({path.relative_to(SOURCE).parts[0] for path in OUTSIDE}))
def test_no_module_outside_reads_a_private_name_of_a_learner(package):
    paths = [path for path in OUTSIDE if path.relative_to(SOURCE).parts[0] == package]
    own = {
        name for path in paths for name in defined_in(parsed(path))
    }  # a package may have a name of its own like that
    found = []
    for path in paths:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and is_private(node.attr):
                of = node.value
                holder = of.id if isinstance(of, ast.Name) else of.attr if isinstance(of, ast.Attribute) else ""
                strange = node.attr in PRIVATE - own and holder not in ("self", "cls")
                if strange or holder.endswith(("learner", "advisor", "twin")):
                    found.append(f"{path.relative_to(SOURCE)}:{node.lineno} {holder}.{node.attr}")
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("allais.learner"):
                names = [*node.module.split("."), *(one.name for one in node.names)]
                found += [
                    f"{path.relative_to(SOURCE)}:{node.lineno} imports {name}" for name in names if is_private(name)
                ]
    assert found == []
