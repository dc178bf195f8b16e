"""`python -m tools.notebooks`: runs the notebooks of the examples again and stores what they print.

Those of the gallery's longer pages are made from their pages first.
"""

import doctest
import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
OF_PAGES = ("inventory", "other-policy", "questions")  # of the gallery
CODE = re.compile(r"^```pycon\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LONGEST = 600  # seconds for a cell; a first run compiles


def executed(path: Path) -> Any:
    """A notebook, run from top to bottom; the files that it writes are thrown away."""
    notebook = nbformat.read(path, 4)
    with tempfile.TemporaryDirectory() as folder:
        place = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=LONGEST, kernel_name="python3", resources=place, record_timing=False).execute()
    return notebook


def of_page(name: str) -> Any:
    """A page of the gallery as a notebook that was not run yet: its text, and its code without what it prints."""
    page = (ROOT / "docs" / "gallery" / f"{name}.md").read_text(encoding="utf-8")
    page = re.sub(r"^!\[.*?\]\(.*?\)\n\n", "", page, count=1, flags=re.MULTILINE)  # the picture is made below
    page = re.sub(r"\]\(\.\./", "](../../docs/", page)
    page = re.sub(r"\]\((?=[\w-]+\.md)", "](../../docs/gallery/", page)
    cells = [nbformat.v4.new_code_cell("%matplotlib inline")]
    for place, part in enumerate(CODE.split(page)):
        if place % 2 == 0:
            cells += [nbformat.v4.new_markdown_cell(part.strip())] if part.strip() else []
            continue
        lines = "".join(example.source for example in doctest.DocTestParser().get_examples(part))
        cells.append(nbformat.v4.new_code_cell(lines.rstrip()))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # else random, and every run would change the file
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def main() -> None:
    """Run all of them."""
    for name in OF_PAGES:
        nbformat.write(of_page(name), FOLDER / f"{name.replace('-', '_')}.ipynb")
    for path in sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(executed(path), path)
        print(path.name)


if __name__ == "__main__":
    main()
