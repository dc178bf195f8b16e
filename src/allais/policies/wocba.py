"""W-OCBA: a budget allocated by gaps of values and variances of influence functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference, kernel
from allais.bands.asymptotic import LEAST, rarest_event, require_unbroken
from allais.bands.base import NoBand
from allais.policies.core.base import KArmed, setting
from allais.policies.core.guardrails import Guardrail, guardrails_of
from allais.policies.core.steps import best_value, issue, pick_highest, survey
from allais.policies.core.verbs import choose, learn, take_in
from allais.policies.wsr import spent, whole_budget
from allais.samples.influence import SUMS, influence
from allais.samples.memory import Worth

MISSED = 0.05  # the chance that an event as rare as `rarest` is missed in the floor of an arm
BORROWED = 30.0  # samples of the pooled variance in an arm's; of 1, 3, 10 and 30, disasters were found best at 30
LOOKS = 32  # a variance is computed after every 1 / LOOKS of an arm's samples


@dataclass(frozen=True)
class WOCBA(KArmed):
    """The best arm within a budget: optimal computing budget allocation (Chen et al. 2000) for distorted values.

    Each arm has a floor of log(20) / rarest samples, in which an event of probability `rarest` is seen with a chance of
    19 in 20. From then on a sample goes to the arm that is hardest to tell from the best one so far, by the gap of
    their values and the variances of their influence functions, or to the best itself where that is known less well
    than the others together. Nothing is promised, and no arm is ever rejected.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes, if anything: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        budget: The number of samples in all.
        rarest: The probability of the rarest event that matters; rarer ones may be missed.
        guardrails: Limits that the answer must keep, a list of `Guardrail`.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> best_arm(WOCBA(Preference(TverskyKahneman(0.61)), budget=10_000, rarest=0.05), problem, seed=1).arm
    0
    """

    budget: int = setting(check=whole_budget)
    rarest: float = setting(check=rarest_event)
    guardrails: Sequence[Guardrail] = setting((), guardrails_of)

    called: ClassVar[str] = "W-OCBA"
    goal: ClassVar[str] = "budget"

    def check(self) -> None:
        """Refuse weights whose influence functions have no variance."""
        require_unbroken(self.preference)

    def floor(self) -> int:
        """How many samples every arm has at least.

        >>> WOCBA(expected_value(), budget=10_000, rarest=0.01).floor()
        299
        """
        return max(math.ceil(math.log(MISSED) / math.log1p(-self.rarest)), LEAST)

    def rule(self, n_arms: int) -> WOCBARule:
        each = self.floor()
        if self.budget < each * n_arms:
            raise ValueError(
                f"budget must give each of {n_arms} arms the {each} samples that events of {self.rarest:g} need; got "
                f"{self.budget}. Give {each * n_arms} or more, or say a larger `rarest`."
            )
        return WOCBARule(self.worth(n_arms), NoBand(), self.budget if n_arms > 1 else 0, each)

    def own(self, n_arms: int) -> Spread:
        return Spread(np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms), np.zeros(SUMS), np.zeros((2, 0)))

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse a variance below 0, or one that is not finite."""
        if not (np.isfinite(state.own.variance).all() and (state.own.variance >= 0.0).all()):
            raise ValueError("a saved variance must be 0 or more; one is not. Use a backup.")


class WOCBARule(NamedTuple):
    """W-OCBA's settings."""

    worth: Worth
    band: NoBand  # a budget gives no interval
    budget: int
    each: int  # samples of every arm before any is singled out


@by_reference
class Spread(NamedTuple):
    """The variance of each arm's influence function."""

    look: IntArray  # samples at which it is computed next, (n_arms,)
    variance: FloatArray
    sums: FloatArray  # scratch, (SUMS,)
    ladder: FloatArray  # no room for one, (2, 0)

    @property
    def scratch(self) -> tuple[str, ...]:
        """Parts that are written before they are read: in no file."""
        return "sums", "ladder"


@learn.of(WOCBARule)
def _(rule, state, arm, utility, raw, ticket):
    take_in(rule, state, arm, utility, raw, ticket)
    pulls, own = state.memory.pulls[arm], state.own
    if pulls >= LEAST and pulls >= own.look[arm]:
        own.variance[arm] = influence(rule.worth, state.memory, arm, own.sums, own.ladder)[0]
        own.look[arm] = pulls + max(pulls // LOOKS, 1)


@kernel
def _variance(state, arm, pooled):
    """The variance of an arm, with some samples added that vary as those of all arms do.

    So an arm that has hidden its rare event so far is not taken for one that has none.
    """
    pulls = state.memory.pulls[arm]
    return (pulls * state.own.variance[arm] + BORROWED * pooled) / (pulls + BORROWED)


@kernel
def _allocate(state, best, u):
    """The best arm or the rival that is hardest to tell from it, counting on what is out."""
    asked = state.asked
    pooled = 0.0
    for k in range(asked.size):
        pooled += state.own.variance[k] / asked.size
    of_best = _variance(state, best, pooled)
    others = 0.0  # sum over rivals of (n / sigma)^2
    for k in range(asked.size):
        variance = _variance(state, k, pooled)
        gap, spread = state.memory.value[best] - state.memory.value[k], of_best / asked[best] + variance / asked[k]
        cost = 0.5 * gap * gap / spread if spread > 0.0 else (np.inf if gap > 0.0 else 0.0)
        state.score[k] = -cost - np.log(asked[k])
        if k != best and variance > 0.0:
            others += float(asked[k]) ** 2 / variance
    state.eligible[best] = False
    rival = pick_highest(state, state.score, u)
    if rival < 0 or of_best * others > float(asked[best]) ** 2:
        return best
    return rival


@choose.of(WOCBARule)
def _(rule, state, u):
    end = spent(rule.budget, state)
    if end != 0:
        return end
    arm, _ = survey(rule.each, state)
    if arm < 0:
        arm = _allocate(state, best_value(state), u)
    return issue(state, arm)
