"""What experiments cost on this machine: from a short calibration at first, then as remembered."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from allais._kernels import cache_folder
from allais.files.atomic import write_atomically
from allais.paper.findings import Experiment

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


TRUST = 0.08  # of all costs: so much has to be seen before the pace is what was seen rather than what was expected
LAST = 0.05  # of its time that an experiment which is overdue is taken to need still
SETTLING = 6.0  # seconds in which what is shown follows what is expected


class Forecast:
    """The time that is left, at any moment of a clock that its owner reads."""

    def __init__(self, costs: Mapping[str, float], workers: int, now: float) -> None:
        """Experiments and the seconds that each should take, in the order in which they start."""
        self._costs = {name: max(seconds, 1e-3) for name, seconds in costs.items()}
        self._workers = workers
        self._began: dict[str, float] = {}  # when each began
        self._seen: dict[
            str, tuple[float, float]
        ] = {}  # the last share that was told about each, and when after its begin
        self._start, self._looked = now, now
        self._shown = self._expected(now)

    def tell(self, name: str, share: float, now: float) -> None:
        """An experiment has begun (0), has come so far, or is done (1)."""
        begun = self._began.setdefault(name, now)
        self._seen[name] = share, now - begun

    @property
    def done(self) -> list[str]:
        """What is done."""
        return [name for name, (share, _) in self._seen.items() if share >= 1.0]

    @property
    def under_way(self) -> list[str]:
        """What has begun and is not done."""
        return [name for name, (share, _) in self._seen.items() if share < 1.0]

    def left(self, now: float) -> float:
        """Seconds until all is done, without jumps: what is shown moves toward what is expected in some seconds."""
        passed, self._looked = now - self._looked, now
        counted_down = max(self._shown - passed, 0.0)
        follow = 1.0 - math.exp(-passed / SETTLING)
        self._shown = counted_down + follow * (self._expected(now) - counted_down)
        return self._shown

    def share(self, now: float) -> float:
        """How much of the whole time has passed."""
        passed, left = now - self._start, self.left(now)
        return passed / (passed + left) if passed + left > 0.0 else 1.0

    def _pace(self, now: float) -> float:
        """Seconds that pass for each one that was expected."""
        trusted = TRUST * sum(self._costs.values())
        expected = passed = trusted
        for name, (share, after) in self._seen.items():
            cost, elapsed = self._costs[name], now - self._began[name]
            if share < 1.0 and elapsed > cost:  # overdue
                share, after = max(share, 1.0 - LAST), elapsed
            expected += share * cost
            passed += after if share > 0.0 else 0.0
        return passed / expected

    def _expected(self, now: float) -> float:
        """The time until the last worker is done, with what is waiting given to the worker that is free first."""
        pace = self._pace(now)
        free = []
        for name in self.under_way:
            share, after = self._seen[name]
            whole = after + (1.0 - share) * self._costs[name] * pace
            free.append(max(whole - (now - self._began[name]), LAST * self._costs[name] * pace))
        free += [0.0] * (self._workers - len(free))
        for name, cost in self._costs.items():
            if name not in self._began:
                free.sort()
                free[0] += cost * pace
        return max(free)


def in_words(seconds: float) -> str:
    """A time to come, no more exact than it is known.

    >>> [in_words(seconds) for seconds in (4.0, 47.0, 131.0, 1500.0)]
    ['5 s', '50 s', '2 min 10 s', '25 min']
    """
    if seconds < 20.0:
        return f"{max(5 * math.ceil(seconds / 5.0), 1)} s"
    tens = 10 * round(seconds / 10.0)
    if tens < 60:
        return f"{tens} s"
    if tens >= 600:
        return f"{round(seconds / 60.0)} min"
    minutes, rest = divmod(tens, 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"
