"""Patient top-two: a floor of samples for every arm, then the leader and its closest challenger, within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from allais.bands.base import anytime_rule, no_interval
from allais.policies.base import KArmed, setting
from allais.policies.budget import floor_of_budget, more_than_arms, spent, whole_budget
from allais.policies.knowledge import as_list, first_pulls, fitting_band
from allais.policies.steps import bounds_at, issue, pick_highest, survey
from allais.policies.toptwo import leader_or_rival
from allais.policies.verbs import bracket, choose
from allais.samples.worth import Worth

EXPONENT = 15.0  # of the intervals that say which arm to sample; nothing is concluded from them


@dataclass(frozen=True)
class PatientTopTwo(KArmed):
    """The best arm within a budget, where bounds or values of the rewards are known: the default for that goal.

    A share `floor` of the budget is spread evenly over all arms, so that rare events can show. Then a sample goes to
    the arm of the highest value or to the challenger that is hardest to tell from it, as `TopTwo` does. No arm is ever
    rejected: a leader that shows a rare loss gives way to the next arm, and an arm whose interval is still wide comes
    back.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
    >>> policy = PatientTopTwo(Preference(TverskyKahneman(0.61)), Bounded(0, 50), budget=10_000)
    >>> best_arm(policy, problem, seed=1).arm
    0
    """

    budget: int = setting(check=whole_budget)
    floor: float = setting(0.25, floor_of_budget)  # at 1 it is uniform sampling; chosen in docs/choosing.md

    called: ClassVar[str] = "patient top-two"
    goal: ClassVar[str] = "budget"
    needs_rewards: ClassVar[bool] = True

    def check(self) -> None:
        """Refuse rewards for which no band holds."""
        assert self.rewards is not None
        fitting_band(self.rewards).rule(self.preference, as_list(self.rewards))

    def rule(self, n_arms: int) -> PatientTopTwoRule:
        """The settings as the kernels read them."""
        assert self.rewards is not None
        known = self.rewards_of(n_arms)
        least = first_pulls(known)
        more_than_arms(self.budget, least * n_arms)
        band = anytime_rule(fitting_band(self.rewards), self.preference, known)
        each = max(int(self.floor * self.budget) // n_arms, least)
        return PatientTopTwoRule(self.worth(n_arms), band, self.budget if n_arms > 1 else 0, each)


class PatientTopTwoRule(NamedTuple):
    """The settings of patient top-two."""

    worth: Worth
    band: Any
    budget: int
    each: int  # samples per arm before two are singled out


@choose.of(PatientTopTwoRule)
def _(rule, state, u):
    end = spent(rule.budget, state)
    if end != 0:
        return end
    arm, _ = survey(rule.each, state)
    if arm < 0:
        bounds_at(rule, state, EXPONENT)
        leader = pick_highest(state, state.memory.value, u)
        state.eligible[leader] = False
        arm = leader_or_rival(2.0 * EXPONENT, 0.0, state, leader, u)
    return issue(state, arm)


@bracket.of(PatientTopTwoRule)
def _(rule, state, low, high):
    no_interval(rule.band, state.kept, state.memory, 0.0, low, high)  # a budget gives no interval
