"""A policy as a user would write it, in a module of their own: explore a tenth of the time, else be greedy."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from allais.extend import KArmed, NoBand, Worth, best_value, choose, issue, setting, share


@dataclass(frozen=True)
class Greedy(KArmed):
    exploring: float = setting(0.1, share)
    called: ClassVar[str] = "greedy"
    goal: ClassVar[str] = "regret"

    def rule(self, n_arms):
        return GreedyRule(self.worth(n_arms), NoBand(), self.exploring)


class GreedyRule(NamedTuple):
    worth: Worth
    band: NoBand
    exploring: float


@choose.of(GreedyRule)
def _(rule, state, u):
    if u < rule.exploring:
        return issue(state, int(u / rule.exploring * state.asked.size))
    return issue(state, best_value(state))
