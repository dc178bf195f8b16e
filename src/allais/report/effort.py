"""What a search took, and how far that is from the limit: the fewest runs that a proof takes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import replace

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.learner import Learner
from allais.learner.linear import LinearLearner
from allais.learner.unfinished import likely_distribution
from allais.linear.limits import linear_characteristic_time
from allais.preferences import Explanation, Preference
from allais.preferences.valuation import amount
from allais.report.markup import share
from allais.searches.forecast import forecast
from allais.searches.limit import Proof, Seen
from allais.simulation import BestArm


def more_runs(answer: BestArm, values: FloatArray, seen: list[Seen]) -> Iterator[str]:
    """What a search that was stopped would have taken."""
    predicted = None if answer.settled else forecast(answer.learner.policy, values, seen)
    if predicted is None or math.isinf(predicted.expected):
        return
    yield f"If the options are worth what they seem, this policy needs about {predicted.expected:,.0f} runs in all."
    if predicted.at_most is not None and math.isfinite(predicted.at_most):
        yield f"The theorem promises at most {predicted.at_most:,.0f} (Theorem 5)."


def distance(answer: BestArm, proof: Proof | None, unit: str = "") -> Iterator[str]:
    """How far a search is from the fewest runs that a proof takes; where that is not known, why."""
    if proof is None:
        yield _among_features(answer) or _why_not(answer)
        return
    if math.isinf(proof.runs):
        yield (
            "Two options seem equal, or so close that no number of runs in reach would part them, so there is no "
            "limit to compare with: give a tolerance."
        )
        return
    if answer.learner.policy.error_rate is None:
        yield "A budget waits for no proof, so it may end before or after one."
    yield (
        f"If the options go on as before, no policy that is wrong with a chance of {share(proof.delta)} at "
        f"most does with fewer than about {proof.runs:,.0f} runs on average: this search used "
        f"{_times(answer.samples / proof.runs)}."
    )
    if proof.assumed is not None:
        low, high = proof.assumed
        yield f"That takes for granted that no outcome lies beyond those seen, {amount(low)} to {amount(high, unit)}."


def _among_features(answer: BestArm) -> str | None:
    """The limit of options that share features, at the estimate of theta; None where it is not known."""
    learner = answer.learner
    if not isinstance(learner, LinearLearner) or answer.delta is None:
        return None
    policy = learner.policy
    try:
        time = linear_characteristic_time(policy.preference, policy.features, learner.theta, policy.noise)
    except ValueError:  # of noise that is not normal
        return None
    if not 0.0 < time < math.inf:
        return None
    least = max(time * math.log(1.0 / (2.4 * answer.delta)), 1.0)
    return (
        f"If theta is as estimated, no policy that is as sure does with fewer than about {least:,.0f} runs on average: "
        f"this search used {_times(answer.samples / least)}."
    )


def _times(ratio: float) -> str:
    return f"{ratio:,.1f} times that" if ratio >= 0.95 else f"{ratio:.2g} times that"


def _why_not(answer: BestArm) -> str:
    never = [name for name, pulls in answer.pulls.items() if not pulls]
    if never:
        many = "one option has" if len(never) == 1 else f"{len(never):,} options have"
        return f"How far this is from the limit cannot be told, since {many} not been tried yet."
    return "How far this is from the limit cannot be told, since none is known for outcomes without bounds."


# Where the outcomes of many runs are grouped: the rare ends apart, since they matter most.
CUTS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
BEYOND = 0.05  # of the runs at either end: a wide gap out there parts a rare event from the rest
MOST_ROWS = 10
TO = " to "  # between the ends of a group


def explained(learner: Learner, name: Hashable, preference: Preference | None = None) -> Explanation:
    """Why an arm is worth what it is, to the policy's preference or another, by the outcomes seen, in a few groups."""
    own = learner.policy.preference
    whole = (own if preference is None else preference.in_frame_of(own)).explain(likely_distribution(learner, name))
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
