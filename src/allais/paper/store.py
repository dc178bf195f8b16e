"""Results on disk: one JSON file per experiment, written whole or not at all."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allais import __version__
from allais.files.atomic import write_atomically
from allais.paper.findings import ExperimentResult

FORMAT = "allais paper"


@dataclass(frozen=True)
class Stored:
    """The result of one experiment, and how it came about."""

    name: str
    scale: str
    seed: int
    seconds: float
    result: ExperimentResult


def path_of(folder: Path, name: str) -> Path:
    """Where the result of an experiment lies."""
    return folder / "results" / f"{name}.json"


def keep(folder: Path, stored: Stored) -> None:
    """Write a result; an interruption leaves the old one."""
    path = path_of(folder, stored.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "name": stored.name,
        "scale": stored.scale,
        "seed": stored.seed,
        "seconds": round(stored.seconds, 1),
        "outcome": stored.result.as_document(),
    }
    write_atomically(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def kept(folder: Path, name: str, scale: str | None = None, seed: int | None = None) -> Stored | None:
    """The result of an experiment if it is there, of this version, and of the scale and seed that are asked for."""
    path = path_of(folder, name)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        current = document["format"] == FORMAT and document["version"] == __version__
        stored = Stored(
            document["name"],
            document["scale"],
            document["seed"],
            document["seconds"],
            ExperimentResult.from_document(document["outcome"]),
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"results are read from a folder; {folder} is none ({error.strerror}). Check it.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"a result must be one that was written here; {path} is not ({error!r}). Delete it.") from None
    wanted = (scale or stored.scale, stored.seed if seed is None else seed)
    return stored if current and wanted == (stored.scale, stored.seed) else None
