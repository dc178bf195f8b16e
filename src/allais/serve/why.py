"""Why an arm was chosen, in a few words that cost nothing."""

from __future__ import annotations

from typing import Any

from allais.learner import Learner
from allais.preferences import Preference
from allais.report.sure import felt_in_words


def why(learner: Learner, arm: Any, preference: Preference | None = None, unit: str = "") -> str:
    """A sentence about a listed arm that was just chosen, by the value that it has for whom it was chosen."""
    if not learner.policy.keeps_outcomes:
        return f"{arm} is the best, or worth trying, by what all arms have shown"
    view = None if preference is None else learner._view_for(preference)
    memory, k = learner._state.memory, learner._index[arm]
    pulls = int(memory.pulls[k])
    if not pulls:
        return f"{arm} was never seen"
    values = memory.value if view is None else view.values()
    value = float(values[k])
    own = learner.policy.preference
    felt = felt_in_words(own if preference is None else preference.in_frame_of(own), value, unit)
    times = f"{pulls} outcome{'s' if pulls > 1 else ''}"
    best = all(value >= other or not seen for other, seen in zip(values, memory.pulls, strict=True))
    if best:
        return f"{arm} is worth most so far: it {felt}, by {times}"
    return f"{arm} may be worth more than it seems: it {felt}, by {times}"
