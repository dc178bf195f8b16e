"""Why an arm was chosen, in a few words that cost nothing."""

from __future__ import annotations

from typing import Any

from allais.learner import Learner


def why(learner: Learner, arm: Any) -> str:
    """A sentence about a listed arm that was just chosen."""
    memory = learner._state.memory
    k = learner._index[arm]
    pulls = int(memory.pulls[k])
    if not pulls:
        return f"{arm} was never seen"
    value = float(memory.value[k])
    times = f"{pulls} outcome{'s' if pulls > 1 else ''}"
    best = all(value >= other or not seen for other, seen in zip(memory.value, memory.pulls, strict=True))
    if best:
        return f"{arm} is worth most so far: {value:.4g}, by {times}"
    return f"{arm} may be worth more than it seems: {value:.4g}, by {times}"
