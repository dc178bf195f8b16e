"""Guardrails: limits that an answer must keep, whatever it is worth otherwise.

They are judged outside of kernels, now and then, by intervals that hold in all rounds at once. An arm that is shown
to break one is dropped (the verb `drop`), and a policy that has settled goes on with its leader until that is shown to
keep them, or to break one. Learners and simulations call the same few functions.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allais._checks import IntArray, brief, not_negative, real, truth
from allais.bands import Asymptotic
from allais.bands._distribution_bounds import memory_of_counts
from allais.bands._order_statistics import quantile_rule
from allais.bands.base import anytime_rule, widen
from allais.policies.core.knowledge import as_list, check_settings, fitting_band, worth_of
from allais.policies.core.verbs import SETTLED, choose, drop, recommend
from allais.preferences import Preference
from allais.preferences.named import in_words, preference_named
from allais.preferences.valuation import amount
from allais.rewards import Rewards
from allais.samples.layout import outcomes_of_arm
from allais.samples.memory import Memory, measure

if TYPE_CHECKING:
    from allais.policies.core.base import Policy

KEEPS, OPEN, BREAKS = 1, 0, -1  # what was shown about an arm
AGAIN = -3  # the leader was dropped: choose again
LOOKS = 32  # guardrails are looked at after every 1 / LOOKS of all samples
USUAL = 0.05  # the chance of an error about guardrails, for a policy without a delta


@dataclass(frozen=True)
class Guardrail:
    """A limit that the answer must keep: the best arm is the best among those that keep every guardrail.

    Args:
        preference: What is limited, such as `quantile(0.99, costs=True)`, or its name, such as "p99".
        at_most: The limit, in the unit of outcomes, that must not be exceeded;
        at_least: or the one that must be reached.
        tolerance: An arm that misses the limit by no more than this will do, in the unit of outcomes; with 0, an arm
            that lies at the limit exactly is never judged.
        drop: Whether an arm that is shown to break it goes out of play; else it is only said.

    >>> slow = Guardrail(quantile(0.99, costs=True), at_most=300)
    >>> print(slow)
    percentile 99 at most 300
    >>> Guardrail("p99", at_most=300) == slow
    True
    """

    preference: Preference
    _: KW_ONLY
    at_most: float | None = None
    at_least: float | None = None
    tolerance: float = 0.0
    drop: bool = True

    def __post_init__(self) -> None:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("a guardrail has one limit, at_most or at_least; got both or none. Write at_most=300.")
        name = "at_least" if self.at_most is None else "at_most"
        object.__setattr__(self, name, real(name, getattr(self, name), "Give the limit in the unit of outcomes."))
        object.__setattr__(self, "tolerance", not_negative("tolerance", self.tolerance))
        object.__setattr__(self, "drop", truth("drop", self.drop))
        if isinstance(self.preference, str):
            object.__setattr__(self, "preference", preference_named(self.preference, costs=name == "at_most"))
        if not isinstance(self.preference, Preference):
            raise TypeError(
                f"a guardrail limits a value; got {brief(self.preference)}. Write Guardrail(quantile(0.99), at_most=3)."
            )
        self.preference.finite_utilities("limits", np.array(self._limits()))  # refuses one that overflows

    def _limits(self) -> tuple[float, float]:
        """The limit, and what is within the tolerance of it."""
        if self.at_most is not None:
            return self.at_most, self.at_most + self.tolerance
        assert self.at_least is not None
        return self.at_least, self.at_least - self.tolerance

    def judge(self, low: float, high: float) -> int:
        """What an interval of the value, as a utility, shows: KEEPS, BREAKS, or that it is OPEN.

        Args:
            low: The lower end.
            high: The upper end.
        """
        limit, enough = self.preference.utilities(np.array(self._limits())).tolist()
        if (self.at_most is not None) == self.preference.costs:  # a utility that must not be lower
            return KEEPS if low >= enough else BREAKS if high < limit else OPEN
        return KEEPS if high <= enough else BREAKS if low > limit else OPEN

    def in_words(self, unit: str = "") -> str:
        """What it demands, in the unit of outcomes.

        Args:
            unit: The unit of outcomes, such as "ms".
        """
        side = "at least" if self.at_most is None else "at most"
        within = f", within {amount(self.tolerance, unit)}" if self.tolerance else ""
        return f"{in_words(self.preference)} {side} {amount(self._limits()[0], unit)}{within}"

    def __str__(self) -> str:
        return self.in_words()


def guardrails_of(name: str, given: Any) -> tuple[Guardrail, ...]:
    """The guardrails of a policy, from one or several."""
    each = (given,) if isinstance(given, Guardrail) else given
    if not isinstance(each, Sequence) or isinstance(each, str) or not all(isinstance(one, Guardrail) for one in each):
        raise TypeError(f"{name} must be a list of guardrails; got {brief(given)}. Write [Guardrail(..., at_most=3)].")
    return tuple(each)


def check_guardrails(policy: Policy) -> None:
    """Refuse guardrails that the policy cannot judge, when it is made."""
    if not policy.guardrails:
        return
    if policy.memory is not None:
        raise ValueError("a guardrail is judged by all outcomes, and a memory forgets some. Leave out one of them.")
    known = [] if policy.rewards is None else as_list(policy.rewards)
    for one in policy.guardrails:
        if not one.drop and policy.goal != "regret":
            raise ValueError(f"the answer keeps every guardrail; {one} has drop=False. Use it with NPTS only.")
        if known:
            check_settings(one.preference, known)
        _rule(policy, one, known)


def share_of_delta(policy: Policy) -> float:
    """The chance of an error that is left for values: all of delta, or half of it where there are guardrails."""
    delta: float = policy.delta  # type: ignore[attr-defined]
    return delta / 2.0 if policy.guardrails else delta


def _rule(policy: Policy, guardrail: Guardrail, known: Sequence[Rewards]) -> Any:
    """The band of a guardrail: that of a percentile, of the declared rewards, or an asymptotic one."""
    percentile = quantile_rule(guardrail.preference, known, always=True)
    if percentile is not None:
        return percentile
    if known:
        return anytime_rule(fitting_band(known), guardrail.preference, known)
    rarest = getattr(policy, "rarest", getattr(policy.band, "rarest", None))
    if rarest is None:
        raise ValueError(
            f"without bounds, a guardrail is about a percentile; got {guardrail}. Declare rewards, or use quantile()."
        )
    return Asymptotic(rarest).anytime_rule(guardrail.preference, [])


class Feasibility:
    """What is shown about the guardrails of a policy over some arms."""

    def __init__(self, policy: Policy, n_arms: int) -> None:
        self.policy, self.n_arms = policy, n_arms
        known = policy.rewards_of(n_arms)
        self._bands = [(one, _rule(policy, one, known)) for one in policy.guardrails]
        self.delta = USUAL if policy.error_rate is None else policy.error_rate / 2.0
        self._exponent = math.log(n_arms * len(self._bands) / self.delta)  # of an interval of each arm and guardrail

    def judgements(self, memory: Memory) -> IntArray:
        """KEEPS, OPEN or BREAKS for each guardrail and arm, (guardrails, n_arms)."""
        found = np.zeros((len(self._bands), self.n_arms), dtype=np.int64)
        low, high = np.empty(self.n_arms), np.empty(self.n_arms)
        for g, (guardrail, rule) in enumerate(self._bands):
            seen = self._felt(memory, guardrail.preference)
            if hasattr(rule, "worth"):  # an interval around the value itself
                worth = worth_of(guardrail.preference, [], self.n_arms)
                for k in range(self.n_arms):
                    measure(worth, seen, k)
            widen(rule, rule.kept(self.n_arms), seen, self._exponent, low, high)
            for k in np.flatnonzero(memory.pulls).tolist():
                found[g, k] = guardrail.judge(low[k], high[k])
        return found

    def _felt(self, memory: Memory, preference: Preference) -> Memory:
        """The memory by the utilities of a guardrail."""
        own = self.policy.preference
        if (preference.utility, preference.reference, preference.costs) == (own.utility, own.reference, own.costs):
            return memory._replace(value=memory.value.copy(), slack=memory.slack.copy())
        return memory_of_counts(preference, [outcomes_of_arm(memory, k)[1:] for k in range(self.n_arms)])

    def shown(self, memory: Memory) -> IntArray:
        """What is shown about each arm: KEEPS all guardrails, BREAKS one, or is OPEN."""
        return np.asarray(self.judgements(memory).min(axis=0))

    def look(self, rule: Any, state: Any) -> None:
        """Drop the arms that are shown to break a guardrail, if it is time to look."""
        told = int(state.memory.pulls.sum())
        if is_look(told):
            self.review(rule, state)

    def review(self, rule: Any, state: Any) -> None:
        """Drop the arms that are shown to break a guardrail; a policy that never stops keeps one arm in play."""
        judged, drops = self.judgements(state.memory), np.array([one.drop for one, _ in self._bands])
        out = np.flatnonzero(((judged == BREAKS) & drops[:, None]).any(axis=0) & state.active).tolist()
        if self.policy.goal == "regret" and len(out) == int(state.active.sum()):
            out.remove(max(out, key=lambda k: float(state.memory.value[k])))
        for k in out:
            drop(rule, state, k)

    def instead(self, rule: Any, state: Any) -> int:
        """After a policy has settled: its leader while that is OPEN, AGAIN where it was dropped, else SETTLED."""
        if not state.active.any():
            return SETTLED
        leader = int(recommend(rule, state))
        if not (is_look(int(state.memory.pulls.sum())) or self._spent(state)):
            return leader  # samples are cheaper than looks
        found = int(self.shown(state.memory)[leader])
        if found == BREAKS:
            self.review(rule, state)
            return AGAIN if state.active.any() else SETTLED
        return leader if found == OPEN and not self._spent(state) else SETTLED

    def _spent(self, state: Any) -> bool:
        budget = getattr(self.policy, "budget", math.inf)
        return bool(state.asked.sum() >= budget)

    def is_settled(self, rule: Any, state: Any) -> bool:
        """Whether the policy has stopped on an arm that keeps the guardrails, or on none; `state` may be written to."""
        if not state.active.any():
            return True
        if choose(rule, state, 0.0) != SETTLED:
            return False
        found = int(self.shown(state.memory)[int(recommend(rule, state))])
        return found == KEEPS or (found == OPEN and self._spent(state))

    def in_words(self, names: Sequence[Hashable], state: Any, best: int | None, unit: str = "") -> str:
        """What was shown about the guardrails, in a few sentences."""
        demands = " and ".join(one.in_words(unit) for one in self.policy.guardrails)
        if best is None:
            return f"No option keeps the guardrails ({demands}): each was shown to break one."
        found = int(self.shown(state.memory)[best])
        text = {
            KEEPS: f"It was shown to keep the guardrails ({demands})",
            OPEN: f"Whether it keeps the guardrails ({demands}) is not shown yet",
            BREAKS: f"It was shown to break a guardrail ({demands})",
        }[found]
        out = [repr(names[k]) for k in np.flatnonzero(~state.active).tolist()]
        if not out:
            return f"{text}."
        listed = ", ".join(out[:4]) + (f" and {len(out) - 4} more" if len(out) > 4 else "")
        return f"{text}; out of play {'is' if len(out) == 1 else 'are'} {listed}."


def feasibility_of(policy: Policy, n_arms: int) -> Feasibility | None:
    """What judges the guardrails of a policy; None where it has none."""
    return Feasibility(policy, n_arms) if policy.guardrails else None


def is_look(told: int) -> bool:
    """Whether guardrails are looked at after this number of samples.

    >>> [n for n in range(60, 130) if is_look(n)][-6:]
    [114, 117, 120, 123, 126, 128]
    """
    return told % max(told // LOOKS, 1) == 0


def next_look(told: int) -> int:
    """The number of samples at which guardrails are looked at next."""
    told += 1
    while not is_look(told):
        told += 1
    return told
