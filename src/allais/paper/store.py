"""Results on disk: one JSON file per experiment, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allais import __version__
from allais.files.atomic import write_atomically
from allais.paper.findings import ExperimentResult
from allais.paper.sources import digest

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
        "sources": digest(),
        "name": stored.name,
        "scale": stored.scale,
        "seed": stored.seed,
        "seconds": round(stored.seconds, 1),
        "outcome": stored.result.as_document(),
    }
    document["checksum"] = _checksum(document)
    write_atomically(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def kept(folder: Path, name: str, scale: str, seed: int) -> Stored | None:
    """The result of an experiment if it is up to date: of this program, this scale and this seed, and undamaged."""
    try:
        document = json.loads(path_of(folder, name).read_text(encoding="utf-8"))
        given = {part: document[part] for part in ("format", "version", "sources", "name", "scale", "seed")}
        wanted = {
            "format": FORMAT, "version": __version__, "sources": digest(), "name": name, "scale": scale, "seed": seed
        }  # fmt: skip
        if given != wanted or document.pop("checksum") != _checksum(document):
            return None
        return Stored(name, scale, seed, document["seconds"], ExperimentResult.from_document(document["outcome"]))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"results are read from a folder; {folder} is none ({error.strerror}). Check it.") from None
    except (ValueError, KeyError, TypeError, AttributeError):  # damaged: it is run again
        return None


def _checksum(document: dict[str, Any]) -> str:
    """Of all but the time that it took, which two runs of the same program need not share."""
    parts = {name: part for name, part in document.items() if name not in ("seconds", "checksum")}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
