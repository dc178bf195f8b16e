"""NPTS: value each arm under a random reweighting of what was seen, and play the best (Baudry et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from allais.bands.base import bounds_of, refuse_unbounded
from allais.policies.bins import BinsRule, DrawnRule, bins_for, draw_value
from allais.policies.forgetting import Forgetful
from allais.policies.knowledge import as_list
from allais.policies.steps import issue, pick_highest, survey
from allais.policies.verbs import choose
from allais.samples.draws import stream_of
from allais.samples.worth import Worth


@dataclass(frozen=True)
class NPTS(Forgetful):
    """Non-parametric Thompson sampling, low regret: play the arm that is best under a random reweighting.

    Each outcome that was seen gets a mass from Gamma(its count), and the best outcome that could occur one from
    Gamma(1); the arm is worth what the law with these masses is worth.

    An arm with more than 128 distinct outcomes is drawn in bins: a bin holds a single outcome at both ends, and
    elsewhere at most an eighth of the samples beyond it. So no event is too rare to be drawn. The probabilities
    beyond each bin are drawn exactly; how far the bins' value is from that of all samples is known, and added
    (`policies/bins.py`). Logarithmic regret is proven for means (Riou & Honda 2020) and for conditional values
    at risk (Baudry et al. 2021), without bins; for other weights, and in bins, it is measured (docs/choosing.md).

    >>> from allais import Bandit, simulate
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> people = Preference(TverskyKahneman(0.61))
    >>> ours = simulate(NPTS(people, Bounded(0, 50)), problem, n_rounds=10_000, n_runs=10, seed=1)
    >>> papers = simulate(WUCB.as_printed(people, Bounded(0, 50)), problem, n_rounds=10_000, n_runs=10, seed=1)
    >>> bool(ours.mean_regret[-1] < 0.25 * papers.mean_regret[-1])
    True
    """

    called: ClassVar[str] = "NPTS"
    goal: ClassVar[str] = "regret"
    open_to_people: ClassVar[bool] = True
    open_to_arms: ClassVar[bool] = True
    needs_rewards: ClassVar[bool] = True

    def check(self) -> None:
        """Refuse rewards without a best outcome that could occur."""
        assert self.rewards is not None
        refuse_unbounded("NPTS", as_list(self.rewards))

    def rule(self, n_arms: int) -> NPTSRule:
        """The settings as the kernels read them."""
        tops = [bounds_of(self.preference, known)[1] for known in self.rewards_of(n_arms)]
        return NPTSRule(self.worth(n_arms), bins_for(self.preference, np.array(tops)))


class NPTSRule(NamedTuple):
    """The settings of NPTS."""

    worth: Worth
    band: BinsRule | DrawnRule  # NPTS draws values and has no intervals: bins stand where others have a band


@choose.of(NPTSRule)
def _(rule, state, u):
    arm, _ = survey(1, state)
    if arm < 0:
        stream = stream_of(u)
        for k in range(state.asked.size):
            if state.eligible[k]:
                if state.memory.pulls[k] == 0:  # nothing was told about any arm yet
                    state.score[k] = np.inf
                    continue
                state.score[k], stream = draw_value(rule.band, state.kept, rule.worth, state.memory, k, stream)
        arm = pick_highest(state, state.score, u)
    return issue(state, arm)
