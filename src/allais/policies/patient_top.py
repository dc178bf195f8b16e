"""Patient top-two: a floor of samples for every arm, then the leader and its closest challenger, within a budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from allais._kernels import kernel
from allais.bands.base import anytime_rule, widen
from allais.errors import share
from allais.memory import Worth, pick
from allais.policies.base import Policy, RewardsOfArms, as_list, check_settings, first_pulls, fitting_band, worth_of
from allais.policies.steps import learn_with_band, no_interval, recommend_best, survey
from allais.policies.toptwo import TopTwoState, fresh_state, leader_or_rival
from allais.policies.verbs import SETTLED, WAITING, register
from allais.policies.wsr import check_budget, enough_for
from allais.preferences import Preference

EXPONENT = 15.0  # of the intervals that say whom to sample; nothing is concluded from them


@dataclass(frozen=True)
class PatientTopTwo(Policy):
    """The best arm within a budget, where bounds or values of the rewards are known: the default for that goal.

    A share `floor` of the budget is spread evenly over all arms, so that rare events can show. Then a sample goes to
    the arm of the highest value or to the challenger that is hardest to tell from it, as `TopTwo` does. No arm is ever
    rejected: one that is found out to hide a rare loss gives way to the next, and one whose interval is still wide
    comes back.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> best_arm(problem, PatientTopTwo(Preference(TverskyKahneman(0.61)), 10_000, Bounded(0, 50)), seed=1).arm
    0
    """

    preference: Preference
    budget: int
    rewards: RewardsOfArms
    floor: float = 0.25  # at 1 it is uniform sampling; chosen in docs/choosing.md
    name: str = field(default="patient top-two", repr=False)

    goal: ClassVar[str] = "budget"

    def __post_init__(self) -> None:
        check_settings(self.preference, self.rewards)
        object.__setattr__(self, "budget", check_budget(self.budget))
        advice = "Give the share of the budget that is spread evenly."
        object.__setattr__(self, "floor", share("floor", self.floor, one=True, advice=advice))
        fitting_band(self.rewards).rule(self.preference, as_list(self.rewards))  # refuses what does not fit

    def rule(self, n_arms: int) -> PatientTopTwoRule:
        """The settings as the kernels read them."""
        known = self.rewards_of(n_arms)
        least = first_pulls(known)
        enough_for(self.budget, least * n_arms)
        band = anytime_rule(fitting_band(self.rewards), self.preference, known)
        each = max(int(self.floor * self.budget) // n_arms, least)
        return PatientTopTwoRule(worth_of(self.preference, known, n_arms), band, self.budget if n_arms > 1 else 0, each)

    def state(self, n_arms: int) -> TopTwoState:
        """The state before the first round."""
        return fresh_state(n_arms)


class PatientTopTwoRule(NamedTuple):
    """The settings of patient top-two."""

    worth: Worth
    band: Any
    budget: int
    each: int  # samples of every arm before two are singled out


@kernel
def _choose(rule, state, u):
    asked, told = 0, 0
    for k in range(state.asked.size):
        asked += state.asked[k]
        told += state.memory.pulls[k]
    if asked >= rule.budget:
        return SETTLED if told >= rule.budget else WAITING
    arm, _ = survey(rule.each, state)
    if arm < 0:
        widen(rule.band, state.memory, EXPONENT, state.low, state.high)
        leader = pick(state.memory.value, state.eligible, state.asked, u)
        state.eligible[leader] = False
        arm = leader_or_rival(2.0 * EXPONENT, state, leader, u)
    state.asked[arm] += 1
    return arm


@kernel
def _bracket(rule, state, low, high):
    no_interval(low, high)  # a budget gives no interval


register(PatientTopTwoRule, choose=_choose, learn=learn_with_band, recommend=recommend_best, bracket=_bracket)
