"""Where compiled code is kept: the user's cache folder, under a digest of the sources of kernels.

Numba's own check does not see an edit in a function that is called from another file; the digest does.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from allais._kernels.compiling import found_on_disk, undisturbed
from allais._kernels.late_calls import is_own

# What compiled code is made of, in the package's folder; an edit elsewhere leaves the cache as it is.
SOURCES = (
    *("_kernels", "bands", "linear", "numerics", "policies", "samples"),
    *("people/answers.py", "people/arrays.py", "people/curves.py", "simulation/record.py", "simulation/rollout.py"),
)


def cache_folder() -> Path:
    """Where compiled code is kept: ALLAIS_CACHE_DIR, or the user's cache folder."""
    chosen = os.environ.get("ALLAIS_CACHE_DIR")
    if chosen:
        root = Path(chosen)
    elif sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "allais" / "Cache"
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches" / "allais"
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "allais"
    return root.absolute() / f"kernels-{_digest()}"  # wherever the process goes later


def _digest() -> str:
    package = Path(__file__).parents[1]
    sources = hashlib.sha256(numba.__version__.encode())
    for place in SOURCES:
        for path in sorted((package / place).rglob("*.py")) or [package / place]:
            sources.update(path.read_bytes())
    return sources.hexdigest()[:16]


def _usable(folder: Path) -> str | None:
    """The folder, made if need be, or None where it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except OSError:
        return None


CACHE = _usable(cache_folder())


def is_kept(function: Callable[..., Any]) -> bool:
    """Whether a function's code goes to the folder.

    Without a folder, code is compiled in every process: numba's other folders do not see edits. So is a user's own
    kernel: the digest does not cover it, and one that was typed into a console has no file at all.
    """
    return CACHE is not None and function.__module__.startswith("allais.")


def compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Numba's dispatcher of a function, which reads code from the folder and writes it there."""
    made = _kept(function, options) if is_kept(function) else numba.njit(**options)(function)
    compile_for = made._compile_for_args  # what a call does whose arguments are of new types
    made._compile_for_args = lambda *arguments, **named: undisturbed(lambda: compile_for(*arguments, **named))
    return made


def _kept(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    before = numba.config.CACHE_DIR  # the setting is numba's own and global: put back what the user had
    numba.config.CACHE_DIR = CACHE
    try:
        made: Any = numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before
    # code for types from outside the package stays out of the cache: the digest does not cover them, and a
    # process that cannot import them could not even read the cache's index
    save = made._cache.save_overload

    def save_own(types: Any, code: Any) -> None:
        if all(map(is_own, getattr(types, "args", types))):
            with contextlib.suppress(OSError):  # a full disk costs the next process its compiled code, and no more
                save(types, code)

    made._cache.save_overload = save_own
    read = made._cache.load_overload
    made._cache.load_overload = lambda types, context: found_on_disk(lambda: read(types, context), Path(str(CACHE)))
    return made
