"""The outcomes that a run meets: arm by arm, from seeds of their own, so that two policies meet the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from allais._checks import FloatArray
from allais.problems import Problem
from allais.rewards import Rewards
from allais.simulation.suitability import drawn

FIRST_STRETCH = 64  # outcomes drawn for an arm at first; then twice as many each time


def outcomes_of(
    problem: Problem, arm: int, seed: np.random.SeedSequence, known: Rewards | None = None
) -> Iterator[FloatArray]:
    """The outcomes of an arm, without end, in stretches that double."""
    rng = np.random.default_rng(seed)
    size = min(FIRST_STRETCH, problem.batch)
    while True:
        yield drawn(problem, arm, problem.draw(arm, rng, size), size, known)
        size = min(2 * size, problem.batch)
