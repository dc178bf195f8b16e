"""The cache of compiled code is under a digest of all sources that compiled code is made of, and of no others."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import allais
from allais._kernels import compiling
from tests.sources import parsed

PACKAGE = Path(allais.__file__).parent
MAKERS = {"kernel", "late", "loop", "loose_kernel", "routine", "verb", "by_reference", "of"}


def is_covered(path: Path) -> bool:
    return any(path == PACKAGE / place or PACKAGE / place in path.parents for place in compiling.SOURCES)


def name_of(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def used_by_kernels(path: Path) -> set[str] | None:
    """The modules of this package from which a module's kernels use names; None where it has no kernels."""
    tree = parsed(path)
    kernels = [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.FunctionDef | ast.ClassDef) and MAKERS & set(map(name_of, one.decorator_list))
    ]
    if not kernels:
        return None
    # methods of a NamedTuple are Python's; annotations are erased
    bodies = [line for kernel in kernels if isinstance(kernel, ast.FunctionDef) for line in kernel.body]
    names = {one.id for line in bodies for one in ast.walk(line) if isinstance(one, ast.Name)}
    imports = [one for one in tree.body if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("allais")]
    return {str(one.module) for one in imports if names & {alias.asname or alias.name for alias in one.names}}


def source_of(module: str) -> Path:
    place = PACKAGE.joinpath(*module.split(".")[1:])
    return place.with_suffix(".py") if place.with_suffix(".py").exists() else place / "__init__.py"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_the_digest_covers_every_kernel_and_all_that_kernels_use(path):
    used = used_by_kernels(path)
    if used is None or path == PACKAGE / "extend.py":  # which gives users the decorators
        return
    assert is_covered(path)
    assert all(is_covered(source_of(module)) for module in used)


@pytest.mark.parametrize(("edited", "same"), [("serve/running.py", True), ("bands/kl.py", False)])
def test_an_edit_outside_of_kernels_leaves_the_compiled_code_as_it_is(tmp_path, edited, same):
    shutil.copytree(PACKAGE, tmp_path / "allais", ignore=shutil.ignore_patterns("__pycache__"))
    code = "from allais._kernels import cache_folder; print(cache_folder().name)"

    def folder() -> str:
        run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        return run.stdout

    before = folder()
    with (tmp_path / "allais" / edited).open("a", encoding="utf-8") as file:
        file.write("# an edit\n")
    assert (folder() == before) == same
