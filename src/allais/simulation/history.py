"""How the intervals of a search closed: notes that are taken ever more rarely, so that they cost next to nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import NamedTuple

from allais.bands import Interval

GROWTH = 1.25  # from the samples of one note to those of the next: three notes while the samples double
MOST_ARMS = 1_000  # of so many no picture shows all, and notes would take more room than what they are about


Seen = tuple[dict[Hashable, int], dict[Hashable, Interval]]  # pulls and intervals of every arm


class Moment(NamedTuple):
    """What was known after some samples."""

    samples: int
    pulls: dict[Hashable, int]
    intervals: dict[Hashable, Interval]


class History:
    """The notes of one search."""

    def __init__(self, n_arms: int) -> None:
        self.moments: list[Moment] = []
        self.next: float = n_arms if n_arms <= MOST_ARMS else math.inf  # the samples at which the next note is due

    def note(self, samples: int, look: Callable[[], Seen]) -> None:
        """Write down the pulls and the intervals that a `look` finds, if it is time.

        >>> history = History(n_arms=2)
        >>> for samples in range(1, 12):
        ...     history.note(samples, lambda: ({}, {}))
        >>> [moment.samples for moment in history.moments]
        [2, 3, 4, 5, 7, 9]
        """
        if samples >= self.next:
            self.moments.append(Moment(samples, *look()))
            self.next = math.ceil(GROWTH * samples)

    def up_to(self, samples: int, seen: Seen) -> tuple[Moment, ...]:
        """All notes, the last of them about the end."""
        if math.isinf(self.next) or not samples:
            return ()
        return (*(moment for moment in self.moments if moment.samples < samples), Moment(samples, *seen))
