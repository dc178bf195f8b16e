"""How the intervals of a search closed: notes that are taken ever more rarely.

Where outcomes are drawn from lotteries, a run is repeated from its seed when somebody wants to see its notes, since
the intervals may take longer than all the rest of the run. Where outcomes are expensive, notes are taken on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np

from allais._checks import root_of
from allais.bands import Interval
from allais.learner.reading import intervals_of
from allais.policies.core.base import Policy
from allais.problems import Problem
from allais.simulation.rollout import Rollout

GROWTH = 1.25  # from the samples of one note to those of the next: three notes while the samples double
MOST_ARMS = 1_000  # beyond, no picture shows all arms, and notes would take more room than what they are about


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
        """Write down the pulls and the intervals that a `look` finds, if a note is due.

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


def noted_again(
    policy: Policy, problem: Problem, root: np.random.SeedSequence, exact: bool, samples: int
) -> tuple[Moment, ...]:
    """The notes of a run, which is done again for them."""
    # a copy of the root, which spawns its children from the first on
    return noted(Rollout(policy, problem, root_of(root), exact=exact), samples)


def noted(rollout: Rollout, limit: int) -> tuple[Moment, ...]:
    """Play until the policy stops or until a limit, and note where the intervals are on the way."""
    arms = rollout.problem.arms
    history = History(len(arms))

    def look() -> Seen:
        pulls = dict(zip(arms, rollout.state.memory.pulls.tolist(), strict=True))
        return pulls, intervals_of(rollout.policy, arms, rollout.rule, rollout.state)

    while not rollout.stopped and rollout.samples < limit:
        rollout.run(int(min(history.next, limit)))
        history.note(rollout.samples, look)
    return history.up_to(rollout.samples, look())
