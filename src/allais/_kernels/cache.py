"""Where compiled code is kept: the user's cache folder, under a digest of the sources of kernels.

Numba's own check does not see an edit in a function that is called from another file; the digest does.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

import numba

# What compiled code is made of, in the package's folder; an edit elsewhere leaves the cache as it is.
SOURCES = (
    *("_kernels", "bands", "linear", "numerics", "policies", "samples"),
    *("people/data/arrays.py", "people/model/_kernels.py", "simulation/outcomes.py", "simulation/rollout.py"),
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
