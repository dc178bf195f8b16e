"""The shape of the source: how many files, how long, which class stands on which, and what is imported late.

The targets and what does not reach them yet are in `pyproject.toml` (`tool.allais`): numbers there may only fall.
"""

import ast
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

from tests.sources import ROOT, parsed

SOURCE = ROOT / "src"
LIMITS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["allais"]
SHAPE, LATE = LIMITS["architecture"], LIMITS["late-imports"]


def named(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {named(path): path for path in sorted((SOURCE / "allais").rglob("*.py"))}


def within(found: dict[str, int], most: str) -> list[str]:
    """What goes beyond a limit, and beyond what is allowed to it by name."""
    limit, exceptions = SHAPE[most], SHAPE.get(f"{most}-exceptions", {})
    return [f"{name}: {number}" for name, number in found.items() if number > exceptions.get(name, limit)]


def test_the_source_has_few_files():
    assert len(MODULES) <= SHAPE["files"]


def test_a_package_has_few_modules_at_one_level():
    folders = Counter(named(path.parent / "__init__.py") for path in MODULES.values())
    assert within(folders, "modules-per-level") == []


def test_a_module_is_read_at_one_sitting():
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}
    assert within(lines, "lines-per-module") == []


@cache
def classes(module: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in parsed(MODULES[module]).body if isinstance(node, ast.ClassDef)}


@cache
def imported(module: str) -> dict[str, tuple[str, str]]:
    """What a module imports from modules of ours: where each name comes from, and what it is called there."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in reversed(list(ast.walk(parsed(MODULES[module]))))
        if isinstance(node, ast.ImportFrom) and node.module in MODULES
        for alias in node.names
    }


def home_of(module: str, name: str) -> tuple[str, str] | None:
    """Where a class that a module calls by this name is defined, if it is one of ours."""
    if name in classes(module):
        return module, name
    return home_of(*imported(module)[name]) if name in imported(module) else None


def ancestors(module: str, name: str) -> set[tuple[str, str]]:
    """All classes of ours that a class stands on, but for protocols, which are no code."""
    found = set()
    for base in classes(module)[name].bases:
        while isinstance(base, ast.Subscript):
            base = base.value
        above = home_of(module, base.id) if isinstance(base, ast.Name) else None
        if above is not None:
            found |= {above} | ancestors(*above)
    return found


def test_a_class_stands_on_few_others():
    numbers = {f"{module}.{name}": len(ancestors(module, name)) for module in MODULES for name in classes(module)}
    assert numbers["allais.policies.exp3.EXP3"] > 0
    assert within(numbers, "ancestors") == []


def imports(module: str, late: bool) -> list[str]:
    """The modules that a module imports: when it is loaded, or late, inside of functions."""

    def visit(node: ast.AST, inside: bool) -> list[str]:
        found = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.Import) and inside is late:
                found += [alias.name for alias in child.names]
            if isinstance(child, ast.ImportFrom) and inside is late and child.module is not None:
                full = [f"{child.module}.{alias.name}" for alias in child.names]
                found += [name if name in MODULES or child.module == "scipy" else child.module for name in full]
            found += visit(child, inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))
        return found

    return visit(parsed(MODULES[module]), False)


def covers(pattern: str, name: str) -> bool:
    return name == pattern or name.startswith(f"{pattern}.")


def test_imports_inside_of_functions_are_those_that_are_listed():
    for module in MODULES:
        for name in imports(module, late=True):
            listed = [
                *LATE["packages"],
                *(one for here, some in LATE["modules"].items() if covers(here, module) for one in some),
            ]
            assert any(covers(one, name) for one in listed), (
                f"{module} imports {name} inside of a function: import it at the top, or list why not."
            )


def test_modules_import_each_other_in_no_circle():
    graph = {
        module: {name for name in imports(module, late=False) if name in MODULES and name != module}
        for module in MODULES
    }
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, f"modules import each other in a circle: {' -> '.join((*way, module))}"
        if module not in done:
            for name in sorted(graph[module]):
                visit(name, (*way, module))
            done.add(module)

    for module in sorted(MODULES):
        visit(module, ())
