"""`python -m tools.notebooks`: runs the notebooks of the examples again and stores what they print."""

import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples" / "notebooks").glob("*.ipynb"))
LONGEST = 600  # seconds for a cell; a first run compiles


def executed(path: Path) -> Any:
    """A notebook, run from top to bottom; the files that it writes are thrown away."""
    notebook = nbformat.read(path, 4)
    with tempfile.TemporaryDirectory() as folder:
        place = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=LONGEST, kernel_name="python3", resources=place, record_timing=False).execute()
    return notebook


def main() -> None:
    """Run all of them."""
    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)
        print(path.name)


if __name__ == "__main__":
    main()
