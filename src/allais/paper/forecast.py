"""How long a run will take: costs that are known beforehand, corrected by how they come true."""

from __future__ import annotations

import math
from collections.abc import Mapping

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
