"""The source of the package, parsed once for all tests that read it."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


@cache
def parsed(path: Path) -> ast.Module:
    """A module as a tree, which nobody changes."""
    return ast.parse(path.read_text(encoding="utf-8"))
