"""Arrays in one file, with a readable header that has a format and a version."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from allais.errors import MissingFile
from allais.files.atomic import write_atomically


def write_arrays(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write arrays to one file, NumPy's zip, with a readable header that has a format and a version."""
    memory = io.BytesIO()
    np.savez_compressed(memory, header=np.array(json.dumps(header)), **arrays)
    write_atomically(path, memory.getvalue())


def read_arrays(path: Path, format_: str, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a file that `write_arrays` wrote."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise MissingFile(f"an {format_} is read from a file; {path} does not exist. Check the path.") from None
    except OSError as error:
        raise ValueError(
            f"an {format_} is read from a file; {path} cannot be read ({error.strerror}). Check the path."
        ) from None
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            header = json.loads(str(stored["header"]))
            arrays = {name: stored[name] for name in stored.files if name != "header"}
    except Exception as error:  # numpy raises whatever the zip reader does, and advises to trust what is no zip
        raise ValueError(
            f"an {format_} must be a whole file; {path} is none, or damaged. Check the path, or use a backup."
        ) from error
    if not isinstance(header, dict) or header.get("format") != format_ or header.get("version") != version:
        raise ValueError(f"an {format_} must be of version {version}; {path} is not. Update allais, or check the path.")
    return header, arrays
