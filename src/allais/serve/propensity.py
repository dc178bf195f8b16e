"""How likely a choice was."""

from __future__ import annotations

from collections.abc import Hashable

from allais.learner import Choice, Learner

# policies in which chance decides between ties only
FIXED = {"IMED", "LUCB", "OFUL", "UCB1", "UCBV", "WELUCB", "WEUCB", "WLUCB", "WOFUL", "WUCB"}


def propensity_of(learner: Learner, choice: Choice, chances: dict[Hashable, float], draws: int) -> float | None:
    """The probability that the policy gave to a choice that is out; None where it takes draws that nobody paid for.

    The choice itself is one more draw, so that no estimate is 0.
    """
    kind = type(learner.policy).__name__
    if kind == "EXP3":
        return float(learner._out[choice.id][1])  # its ticket: the algorithm needs it, too
    if chances:
        return (1.0 + draws * chances[choice.arm]) / (1.0 + draws)
    return 1.0 if kind in FIXED else None
