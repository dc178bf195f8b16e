"""What a result depends on beside its scale and seed: the sources of the library, and the versions beneath it."""

from __future__ import annotations

import hashlib
import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
BENEATH = ("numpy", "scipy", "numba", "matplotlib", "eclipse-sumo")
# these show results and make none: a page in other words is no reason to run an experiment again
SHOWING = ("cli", "paper/page", *(f"paper/{name}.py" for name in (
    "html_report", "markdown_report", "report", "forecast", "costs", "docs_figures"
)))  # fmt: skip


@lru_cache
def digest(package: Path = PACKAGE) -> str:
    """A name for all of it; two results with the same one come from the same program."""
    found = hashlib.sha256(platform.python_version().encode())
    for name in BENEATH:
        found.update(f"{name} {_version(name)}\n".encode())
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package).as_posix()
        if not any(place == shown or place.startswith(f"{shown}/") for shown in SHOWING):
            found.update(place.encode() + b"\n" + path.read_bytes())
    return found.hexdigest()[:16]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
