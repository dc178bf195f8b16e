"""The notebooks of the examples: run again, they print what is stored in them."""

import ast
from importlib import import_module

import nbformat
import pytest
from tools.notebooks import FOLDER, NOTEBOOKS, OF_PAGES, executed, of_page

LARGEST = 200_000  # bytes; pictures are small, so that the repository stays so


def printed(cell) -> str:
    """What a cell printed and returned, without its pictures."""
    texts = [one["text"] for one in cell["outputs"] if one["output_type"] == "stream"]
    texts += [one["data"]["text/plain"] for one in cell["outputs"] if one["output_type"] == "execute_result"]
    return "".join(texts)


def pictures(cell) -> int:
    return sum("image/png" in one.get("data", {}) for one in cell["outputs"])


def code_of(notebook) -> list:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_there_are_six():
    names = ["inventory", "other_policy", "own_simulator", "paper_story", "questions", "tutorial"]
    assert [path.stem for path in NOTEBOOKS] == names


@pytest.mark.parametrize("name", OF_PAGES)
def test_a_notebook_of_the_gallery_has_the_code_of_its_page(name):
    stored = nbformat.read(FOLDER / f"{name.replace('-', '_')}.ipynb", 4)
    assert [cell["source"] for cell in stored["cells"]] == [cell["source"] for cell in of_page(name)["cells"]]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_was_run_from_top_to_bottom_and_is_small(path):
    cells = code_of(nbformat.read(path, 4))
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert all(one["output_type"] != "error" for cell in cells for one in cell["outputs"])
    assert sum(map(pictures, cells)) >= 1
    assert path.stat().st_size < LARGEST


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_a_notebook_imports_is_there(path):
    lines = [line for cell in code_of(nbformat.read(path, 4)) for line in cell["source"].splitlines()]
    code = "\n".join(line for line in lines if not line.startswith("%"))
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    assert any(node.module.startswith("allais") for node in imports)
    for node in imports:
        assert [one.name for one in node.names if not hasattr(import_module(node.module), one.name)] == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # of the notebook's own tools
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_again_what_is_stored_in_it(path):
    stored, again = nbformat.read(path, 4), executed(path)
    for before, after in zip(code_of(stored), code_of(again), strict=True):
        assert printed(after) == printed(before), before["source"]
        assert pictures(after) == pictures(before), before["source"]
