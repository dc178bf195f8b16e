"""What experiments cost on this machine: from a short calibration at first, then as remembered."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from allais._kernels import cache_folder
from allais.files.atomic import write_atomically
from allais.paper.experiment import Experiment

REFERENCE = 0.036  # seconds that the calibration took where the costs in `experiments` were measured
PROGRAMS = 4  # whose compiled code is remembered beside the present one's
TRIES = 3  # of which the fastest counts: the others were disturbed


class Expected(NamedTuple):
    """Seconds that each experiment should take here, and how many of all these are compiling."""

    seconds: dict[str, float]
    compiling: float


def calibration() -> float:
    """How much slower this machine is than the one of the costs: interpreted code and arrays, mixed."""
    times = []
    for _ in range(TRIES):
        begin = time.perf_counter()
        total = 0.0
        for number in range(200_000):
            total += number % 7
        draws = np.random.default_rng(1).random(130_000)
        for _ in range(3):
            total += float(np.sort(draws).cumsum()[-1])
        times.append(time.perf_counter() - begin)
    return min(times) / REFERENCE


class Memory:
    """What was measured here before, in a file that may be deleted at any time."""

    def __init__(self, path: Path | None = None) -> None:
        kernels = cache_folder()
        self._path = kernels.parent / "paper-costs.json" if path is None else path
        self._kernels = kernels.name  # of these sources: other ones are compiled anew
        self._known = _read(self._path)

    def expected(self, experiments: Sequence[Experiment], scale: str) -> Expected:
        """What these should take: as last time, or from their costs and the speed of this machine."""
        found, compiling = {}, 0.0
        for one in experiments:
            again = self._measured("again", scale).get(one.name)
            if again is None:
                again = one.seconds[scale] * self._speed()
            extra = 0.0
            if one.name not in self._compiled():
                first = self._measured("first", scale).get(one.name)
                extra = one.compiling * self._speed() if first is None else max(first - again, 0.0)
            found[one.name] = again + extra
            compiling += extra
        return Expected(found, compiling)

    def remember(self, name: str, scale: str, seconds: float) -> None:
        """An experiment took so long; where the file cannot be written, nothing is remembered."""
        when = "again" if name in self._compiled() else "first"
        self._measured(when, scale)[name] = round(seconds, 1)
        others = {one: names for one, names in self._known["compiled"].items() if one != self._kernels}
        latest = list(others.items())[-PROGRAMS:]  # two checkouts may share one cache
        self._known["compiled"] = {**dict(latest), self._kernels: sorted({*self._compiled(), name})}
        with contextlib.suppress(OSError, ValueError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, json.dumps(self._known, indent=1) + "\n")

    def _compiled(self) -> list[str]:
        """Experiments that have run with the compiled code of these sources."""
        known: list[str] = self._known.setdefault("compiled", {}).get(self._kernels, [])
        return known

    def _measured(self, when: str, scale: str) -> dict[str, float]:
        known: dict[str, float] = self._known.setdefault(when, {}).setdefault(scale, {})
        return known

    def _speed(self) -> float:
        if "speed" not in self._known:
            self._known["speed"] = round(calibration(), 3)
        return float(self._known["speed"])


def _read(path: Path) -> dict[str, Any]:
    """What the file holds; nothing where it is none of ours."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        parts = [known.get(when, {}).get(scale, {}) for when in ("first", "again") for scale in ("quick", "full")]
        numbers = [known.get("speed", 1.0), *(seconds for part in parts for seconds in part.values())]
        sound = all(isinstance(number, int | float) and 0.0 <= number < 1e6 for number in numbers)
        listed = all(isinstance(names, list) for names in known.get("compiled", {}).values())
        return known if sound and listed else {}
    except (OSError, ValueError, AttributeError):
        return {}
