"""NPTS: value each arm under a random reweighting of what was seen, and play the best (Baudry et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._kernels import kernel, routine
from allais.bands.base import bounds_of, refuse_unbounded
from allais.errors import FloatArray, IntArray
from allais.memory import FLAT, Memory, Worth, empty_memory, pick
from allais.policies.base import Policy, RewardsOfArms, as_list, check_settings, worth_of
from allais.policies.steps import learn_without_band, no_interval, recommend_best, survey
from allais.policies.verbs import register
from allais.preferences import Preference
from allais.values.curve import weigh
from allais.values.draws import gamma, stream_of
from allais.values.forest import ROOT, TOTAL, outcome_at_rank

BINS = 128  # of equally many samples, for an arm with more distinct outcomes than that


@dataclass(frozen=True)
class NPTS(Policy):
    """Non-parametric Thompson sampling, low regret: play the arm that is best under a random reweighting.

    Each outcome seen gets a weight from Gamma(how often), the best outcome that could occur one from
    Gamma(1); the arm is worth what that law is worth. An arm with more than 128 distinct outcomes is
    drawn in 128 bins of equally many samples, each at its middle outcome.

    >>> from allais import Bandit, simulate
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> people = Preference(TverskyKahneman(0.61))
    >>> ours = simulate(NPTS(people, Bounded(0, 50)), problem, n_rounds=10_000, n_runs=10, seed=1)
    >>> papers = simulate(WUCB(people, Bounded(0, 50)), problem, n_rounds=10_000, n_runs=10, seed=1)
    >>> bool(ours.mean_regret[-1] < 0.25 * papers.mean_regret[-1])
    True
    """

    preference: Preference
    rewards: RewardsOfArms
    name: str = field(default="NPTS", repr=False)

    goal: ClassVar[str] = "regret"
    open_to_arms: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self.preference, self.rewards)
        refuse_unbounded("NPTS", as_list(self.rewards))

    def rule(self, n_arms: int) -> NPTSRule:
        """The settings as the kernels read them."""
        known = self.rewards_of(n_arms)
        tops = [bounds_of(self.preference, one)[1] for one in known]
        return NPTSRule(worth_of(self.preference, known, n_arms), np.array(tops))

    def state(self, n_arms: int) -> NPTSState:
        """The state before the first round."""
        return NPTSState(
            empty_memory(n_arms),
            np.zeros(n_arms, dtype=np.int64),
            np.ones(n_arms, dtype=np.bool_),
            np.zeros(1),
            np.zeros(n_arms),
            np.ones(n_arms, dtype=np.bool_),
            np.zeros(max(FLAT, BINS) + 1),
            np.zeros(max(FLAT, BINS) + 1),
        )


class NPTSRule(NamedTuple):
    """The settings of NPTS."""

    worth: Worth
    top: FloatArray  # b, as felt, (n_arms,)


class NPTSState(NamedTuple):
    """The memory of NPTS."""

    memory: Memory
    asked: IntArray
    active: Any
    ticket: FloatArray
    worth: FloatArray  # scratch: the values drawn, (n_arms,)
    eligible: Any
    places: FloatArray  # scratch: outcomes of one arm, descending
    masses: FloatArray  # scratch: their weights


@kernel
def _felt_at(memory, arm, rank):
    """The outcome of an arm in the forest that `rank` samples reach, as felt."""
    forest = memory.forest
    gains = int(forest.numbers[forest.trees[2 * arm, ROOT], TOTAL])
    if rank <= gains:
        return outcome_at_rank(forest, 2 * arm, rank)
    losses = int(forest.numbers[forest.trees[2 * arm + 1, ROOT], TOTAL])
    return -outcome_at_rank(forest, 2 * arm + 1, losses - (rank - gains) + 1)


@routine
def _draw_masses(top, state, arm, stream):
    """Write an arm's outcomes, best first, and their random weights; how many, and where the stream goes on."""
    memory, places, masses = state.memory, state.places, state.masses
    places[0] = top  # b, as if seen once: an arm that was unlucky can still be drawn as the best
    masses[0], stream = gamma(1.0, stream)
    size = memory.sizes[arm]
    if memory.in_forest[arm]:
        size, done = BINS, 0
        for k in range(BINS):
            upto = memory.pulls[arm] * (k + 1) // BINS
            places[k + 1] = _felt_at(memory, arm, (done + upto + 1) // 2)
            masses[k + 1], stream = gamma(float(upto - done), stream)
            done = upto
    else:
        for k in range(size):
            places[k + 1] = memory.felt[arm, size - 1 - k]
            masses[k + 1], stream = gamma(float(memory.counts[arm, size - 1 - k]), stream)
    return size + 1, stream


@routine
def _reweighted(worth, places, masses, size):
    """The value of the law with these outcomes, descending, and weights (Algorithm 1)."""
    total = 0.0
    for k in range(size):
        total += masses[k]
    value, above = 0.0, 0.0
    k = 0
    while k < size and places[k] > 0.0:
        above += masses[k]
        lower = max(places[k + 1], 0.0) if k + 1 < size else 0.0
        value += (places[k] - lower) * weigh(worth.gains.curve, above / total)
        k += 1
    below = 0.0  # losses accumulate from the bottom: w- sees P(X <= z)
    k = size - 1
    while k >= 0 and places[k] < 0.0:
        below += masses[k]
        upper = min(places[k - 1], 0.0) if k > 0 else 0.0
        value -= (upper - places[k]) * weigh(worth.losses.curve, below / total)
        k -= 1
    return value


@kernel
def _choose(rule, state, u):
    arm, _ = survey(1, state)
    if arm < 0:
        stream = stream_of(u)
        for k in range(state.asked.size):
            if state.eligible[k]:
                if state.memory.pulls[k] == 0:  # nothing was told of any arm yet
                    state.worth[k] = np.inf
                    continue
                size, stream = _draw_masses(rule.top[k], state, k, stream)
                state.worth[k] = _reweighted(rule.worth, state.places, state.masses, size)
        arm = pick(state.worth, state.eligible, state.asked, u)
    state.asked[arm] += 1
    return arm


@kernel
def _bracket(rule, state, low, high):
    no_interval(low, high)  # it draws values, and keeps no interval


register(NPTSRule, choose=_choose, learn=learn_without_band, recommend=recommend_best, bracket=_bracket)
