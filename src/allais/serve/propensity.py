"""How likely a choice was."""

from __future__ import annotations

import numpy as np

from allais.learner import Choice, Learner
from allais.preferences import Preference

# policies in which chance decides between ties only
FIXED = {"IMED", "LUCB", "OFUL", "UCB1", "UCBV", "WELUCB", "WEUCB", "WLUCB", "WOFUL", "WUCB"}


def drawn_again(learner: Learner, preference: Preference | None, draws: int) -> dict[int, int]:
    """How often each arm would be chosen now, by draws of another generator: the learner stays as it is.

    Only `NPTS` keeps nothing of a draw, so that it can be done again and again; empty for others.
    """
    counts: dict[int, int] = {}
    if not draws or type(learner.policy).__name__ != "NPTS":
        return counts
    with learner._lock:
        view = None if preference is None else learner._view_for(preference)
        at = (learner._rule_at, learner._state_at) if view is None else (view.rule_at, view.state_at)
        choose = learner._choose if view is None else view.choose
        state = learner._state if view is None else view.state
        asked = state.asked.copy()
        for draw in np.random.default_rng(learner._next).random(draws).tolist():
            arm = int(choose(*at, draw))
            state.asked[:] = asked
            counts[arm] = counts.get(arm, 0) + 1
    return counts


def propensity_of(learner: Learner, choice: Choice, counts: dict[int, int]) -> float | None:
    """The probability that the policy gave to a choice that is out; None where it takes draws that nobody paid for."""
    kind = type(learner.policy).__name__
    if kind in FIXED:
        return 1.0
    if kind == "EXP3":
        return float(learner._out[choice.id][1])  # its ticket: the algorithm needs it, too
    if counts:
        return (1 + counts.get(learner._index[choice.arm], 0)) / (1 + sum(counts.values()))
    return None
