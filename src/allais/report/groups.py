"""The outcomes of an option, in a few groups: rare events apart, since they matter most."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.learner import Learner
from allais.lotteries import Discrete
from allais.preferences import Explanation, Preference

# Where the outcomes of many runs are grouped: the rare ends apart, since they matter most.
CUTS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
BEYOND = 0.05  # of the runs at either end: a wide gap out there parts a rare event from the rest
MOST_ROWS = 10
TO = " to "  # between the ends of a group


def explained(learner: Learner, name: Hashable, preference: Preference | None = None) -> Explanation:
    """Why an arm is worth what it is, to the policy's preference or another, by the outcomes seen, in a few groups."""
    outcomes, counts = learner.outcomes(name)
    seen = Discrete(dict(zip(outcomes.tolist(), (counts / counts.sum()).tolist(), strict=True)))
    own = learner.policy.preference
    whole = (own if preference is None else preference.in_frame_of(own)).explain(seen)
    return whole if len(whole.labels) <= MOST_ROWS else _grouped(whole)


def _apart(outcomes: FloatArray, probabilities: FloatArray) -> IntArray:
    """The places of rows after which a rare event begins or ends: the widest gap at either end, if it is wide."""
    up_to, from_here = np.cumsum(probabilities), np.cumsum(probabilities[::-1])[::-1]
    usual = np.ptp(outcomes[(up_to > BEYOND) & (from_here > BEYOND)])
    gaps = np.abs(np.diff(outcomes))
    found = []
    for rare in (up_to[:-1] <= BEYOND, from_here[1:] <= BEYOND):
        widest = int(np.argmax(np.where(rare, gaps, 0.0)))
        if rare[widest] and gaps[widest] > usual:
            found.append(widest)
    return np.array(found, dtype=np.int64)


def _grouped(whole: Explanation) -> Explanation:
    middles = np.cumsum(whole.probabilities) - whole.probabilities / 2.0
    begins = np.append(True, np.diff(np.searchsorted(CUTS, middles)) > 0)
    begins[_apart(np.array(whole.labels, dtype=np.float64), whole.probabilities) + 1] = True
    group = np.cumsum(begins)
    kinds = np.unique(group)
    labels = []
    for kind in kinds:
        inside = np.flatnonzero(group == kind)
        first, last = (f"{float(whole.labels[end]):.4g}" for end in (inside[0], inside[-1]))
        labels.append(first if first == last else f"{first}{TO}{last}")

    def summed(numbers: np.ndarray) -> np.ndarray:
        return np.array([numbers[group == kind].sum() for kind in kinds])

    return replace(
        whole,
        labels=tuple(labels),
        probabilities=summed(whole.probabilities),
        decision_weights=summed(whole.decision_weights),
        contributions=summed(whole.contributions),
    )
