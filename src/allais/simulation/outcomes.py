"""The outcomes that a run meets: arm by arm, from seeds of their own, so that two policies meet the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference
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


@by_reference
class Record(NamedTuple):
    """What a run writes down as it goes."""

    marks: IntArray  # numbers of samples after which a line is written, ascending; (marks,)
    pulls: IntArray  # T_k there, (marks, n_arms)
    recommended: IntArray  # the arm recommended there, (marks,)
    choices: IntArray  # every choice, or empty
    done: IntArray  # how many marks have passed, (1,)


def new_record(marks: IntArray, n_arms: int, traced: int = 0) -> Record:
    """An empty record; `traced` is how many choices are to be kept."""
    return Record(
        marks,
        np.zeros((marks.size, n_arms), dtype=np.int64),
        np.zeros(marks.size, dtype=np.int64),
        np.full(traced, -1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )
