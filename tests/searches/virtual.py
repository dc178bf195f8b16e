"""Workers on a virtual clock: runs come back when they would, and no time passes."""

import heapq
from typing import NamedTuple

import numpy as np

from allais.searches import Outcome, Run


class Late(NamedTuple):
    """An arm whose outcomes take their own time: (probability, outcome, seconds) each."""

    branches: tuple

    def outcome(self, seed):
        u = np.random.default_rng(seed).random()
        for probability, outcome, seconds in self.branches:
            if u < probability:
                return outcome, seconds
            u -= probability
        return self.branches[-1][1:]


def play(search, arms, workers, rng, watch=lambda search: None, most=10**9):
    """Run a search to its end on a number of workers; completion times vary around an outcome's own."""
    clock, out = 0.0, []
    while not search.settled:
        while len(out) < workers and search.asked < most and (run := search.ask()) is not None:
            outcome, seconds = arms[run.arm].outcome(run.seed)
            heapq.heappush(out, (clock + seconds * rng.exponential(), search.asked, run, outcome))
        if search.settled or not out:
            break
        clock, _, run, outcome = heapq.heappop(out)
        search.take_in(run, Outcome(outcome, 0.0))
        watch(search)
    return search.learner.recommend().arm


def tape(search, arm, length):
    """The first runs of an arm, in the order asked."""
    return [Run(arm, index, search._seeds.of(arm, index)) for index in range(length)]
