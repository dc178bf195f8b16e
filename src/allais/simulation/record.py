"""What a run writes down as it goes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais._checks import IntArray
from allais._kernels import by_reference


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
