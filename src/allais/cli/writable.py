"""Where a command may write, found out before minutes are spent on what would be written."""

from __future__ import annotations

import tempfile
from pathlib import Path

from allais._system.extras import extra

PICTURES = (".png", ".svg", ".pdf")


def require_writable(path: Path) -> None:
    """Refuse a file that cannot be written."""
    if path.is_dir():
        raise ValueError(f"a file is written; {path} is a folder. Name a file in it.")
    if not path.parent.is_dir():
        raise ValueError(f"a file needs a folder that exists; got {path}. Make {path.parent} first.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ValueError(
            f"a file needs a folder that can be written to; {path.parent} cannot ({error.strerror}). Choose another."
        ) from None


def require_picture(path: Path) -> None:
    """Refuse a picture that cannot be written."""
    if path.suffix.lower() not in PICTURES:
        raise ValueError(f"a picture ends in {', '.join(PICTURES)}; got {path}. Rename it.")
    require_writable(path)
    with extra("plot", "a picture"):
        import matplotlib  # noqa: F401


def made(folder: Path) -> Path:
    """The folder, made if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"a folder is needed; {folder} cannot be one ({error.strerror}). Choose another.") from None
    return folder
