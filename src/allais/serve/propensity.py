"""How likely a choice was."""

from __future__ import annotations

from allais.learner import Learner

# policies in which chance decides between ties only
FIXED = {"IMED", "LUCB", "OFUL", "UCB1", "UCBV", "WELUCB", "WEUCB", "WLUCB", "WOFUL", "WUCB"}


def propensity_of(learner: Learner, number: int) -> float | None:
    """The probability that the policy gave to a choice that is out; None where nobody knows it without many draws."""
    kind = type(learner.policy).__name__
    if kind in FIXED:
        return 1.0
    if kind == "EXP3":
        return float(learner._out[number][1])  # its ticket: the algorithm needs it, too
    return None
