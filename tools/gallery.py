"""`python -m tools.gallery FOLDER`: the pages of the gallery, typed as they stand, and the pictures that they make."""

import doctest
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

PAGES = Path(__file__).parents[1] / "docs" / "gallery"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def typed(page: Path) -> int:
    """Type a page in the current folder, which then has its picture; how many lines printed something else."""
    test = doctest.DocTestParser().get_doctest(page.read_text(encoding="utf-8"), {}, page.name, str(page), 0)
    return doctest.DocTestRunner(optionflags=OPTIONS).run(test).failed


def main(folder: str) -> None:
    """Type every page that has code, and keep the pictures."""
    target, wrong, began = Path(folder).absolute(), 0, time.perf_counter()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for page in sorted(PAGES.glob("*.md")):
            if page.stem == "index":
                continue
            started = time.perf_counter()
            wrong += typed(page)
            shutil.move(f"{page.stem}.png", target / f"{page.stem}.png")
            print(f"{page.stem}: {time.perf_counter() - started:.1f} s")
        os.chdir(target)
    print(f"in all: {time.perf_counter() - began:.1f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1])
