"""Code on pages that is shown and not run, because it takes minutes or needs another library: it fits all the same."""

import ast
import builtins
import re
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SHOWN = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUN = re.compile(r"^(?:>>>|\.\.\.) ?(.*)$", re.MULTILINE)
FENCED = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if SHOWN.search(page.read_text("utf-8"))]


def names(tree: ast.AST, *kinds: type) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, kinds)}


def made(tree: ast.AST) -> set[str]:
    """Names that code imports, assigns, defines or takes as arguments."""
    found = names(tree, ast.Store)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update((one.asname or one.name).partition(".")[0] for one in node.names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_that_is_only_shown_has_its_imports_on_the_page(page):
    text = page.read_text("utf-8")
    known = set(dir(builtins)) | made(ast.parse("\n".join(RUN.findall(text))))
    for block in SHOWN.findall(text):
        tree = ast.parse(block)
        known |= made(tree)
        assert names(tree, ast.Load) <= known, (
            f"{page.name}: {sorted(names(tree, ast.Load) - known)} come from nowhere."
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_that_shown_code_imports_exist(page):
    for block in SHOWN.findall(page.read_text("utf-8")):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("allais"):
                module = import_module(node.module)
                assert [one.name for one in node.names if not hasattr(module, one.name)] == []


def test_python_on_a_page_stands_in_a_fence():
    """Without one, Markdown makes quotes of it."""
    for page in (*DOCS.rglob("*.md"), DOCS.parent / "README.md"):
        assert not re.search(r"^ *>>> ", FENCED.sub("", page.read_text("utf-8")), re.MULTILINE), page.name
