"""An answer in words: what to choose, how sure that is, and what the mean would have chosen."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.learner import Learner
from allais.lotteries import Discrete
from allais.preferences import Explanation
from allais.simulation import BestArm

# Where the outcomes of many runs are grouped: the rare ends apart, since they matter most.
CUTS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
BEYOND = 0.05  # of the runs at either end: a wide gap out there parts a rare event from the rest
MOST_ROWS = 10
TO = " to "  # between the ends of a group


class ByMean(NamedTuple):
    """The arm of the best mean outcome, and the means."""

    arm: Hashable
    means: dict[Hashable, float]


def by_mean(learner: Learner) -> ByMean:
    """What a machine would choose: the best mean outcome, in the user's units."""
    means = {name: _mean(learner, name) for name in learner.pulls}
    seen = {name: mean for name, mean in means.items() if not math.isnan(mean)} or means
    pick = min if learner.policy.preference.costs else max
    return ByMean(pick(seen, key=lambda name: seen[name]), means)


def _mean(learner: Learner, name: Hashable) -> float:
    outcomes, counts = learner.outcomes(name)
    return float(np.average(outcomes, weights=counts)) if counts.size else math.nan


def recommendation(answer: BestArm) -> str:
    """The answer and its confidence, in a sentence or two."""
    if not answer.samples:
        return "No run has finished, so nothing can be recommended yet."
    text = f"Choose {answer.arm}: its estimated value is {answer.value:.4g}, from {answer.samples:,} runs."
    return f"{text} {confidence(answer)}"


def confidence(answer: BestArm) -> str:
    """How sure an answer is: what was asked for, or what it really reached."""
    if answer.settled and answer.delta is not None:
        slack = getattr(answer.learner.policy, "tolerance", 0.0)
        more = f" by more than {slack:g}" if slack else ""
        return f"The search settled: the chance that another option is better{more} is below {answer.delta:.2g}."
    if answer.settled:
        return "The search used its budget as planned; a budget gives no confidence by itself."
    reached = answer.reached_delta
    stopped = "The search was stopped before it settled"
    if reached is None:
        return f"{stopped}, and its intervals do not part at any confidence: take this as the best guess, no more."
    return f"{stopped}; what it has seen supports this answer with an error chance of {reached:.2g}."


def contrast(answer: BestArm) -> str:
    """Where people and the mean differ, in words."""
    mean = by_mean(answer.learner)
    if mean.arm == answer.arm:
        return f"{answer.arm} also has the best mean outcome ({mean.means[mean.arm]:.4g})."
    return (
        f"By the mean alone {mean.arm} would win, with {mean.means[mean.arm]:.4g} against "
        f"{mean.means[answer.arm]:.4g}. But people do not weigh outcomes by their probability. "
        f"{_most_distorted(answer.learner, mean.arm)} {_most_distorted(answer.learner, answer.arm)}"
    )


def _most_distorted(learner: Learner, name: Hashable) -> str:
    """The outcomes of an arm whose weight moves its value most."""
    rows = explained(learner, name)
    felt = np.divide(
        rows.contributions,
        rows.decision_weights,
        out=np.zeros_like(rows.contributions),
        where=rows.decision_weights > 0,
    )
    moved = (rows.decision_weights - rows.probabilities) * felt
    most = int(np.argmax(np.abs(moved)))
    if abs(moved[most]) < 1e-12:
        return f"{name} is weighed as it is."
    label = rows.labels[most]
    which = f"outcomes from {label}" if TO in label else f"the outcome {label}"
    return (
        f"Of {name}, {which} came in {_percent(rows.probabilities[most])} of the runs and counts "
        f"like {_percent(rows.decision_weights[most])}, which moves its value by {moved[most]:+.3g}."
    )


def _percent(share: float) -> str:
    """A share in percent; a rare one is not shown as none."""
    return f"{share:.2%}" if share >= 5e-5 else f"{100.0 * share:.1g}%"


def explained(learner: Learner, name: Hashable) -> Explanation:
    """Why an arm is worth what it is, by the outcomes that were seen, in a few groups."""
    outcomes, counts = learner.outcomes(name)
    seen = Discrete(dict(zip(outcomes.tolist(), (counts / counts.sum()).tolist(), strict=True)))
    whole = learner.policy.preference.explain(seen)
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

    return Explanation(
        tuple(labels),
        summed(whole.probabilities),
        summed(whole.decision_weights),
        summed(whole.contributions),
        whole.value,
    )
