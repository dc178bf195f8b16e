"""W-UCB: play the arm whose value could be the highest (Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais import theory
from allais._checks import FloatArray, IntArray, positive
from allais._kernels import kernel
from allais.bands import Band, Holder
from allais.bands.base import widen
from allais.policies.base import (
    Policy,
    RewardsOfArms,
    as_list,
    check_band,
    check_settings,
    check_unit_interval,
    first_pulls,
    worth_of,
)
from allais.policies.steps import learn_with_band, recommend_best, survey
from allais.policies.verbs import register
from allais.preferences import Preference
from allais.rewards import SubGaussian
from allais.samples.memory import Memory, Worth, empty_memory, pick


@dataclass(frozen=True)
class WUCB(Policy):
    """W-UCB, low regret: play the arm with the highest upper bound on its value (Algorithm 2).

    In round m the bound has exponent `exploration` log m: 3 in the paper. Regret stays below
    `theory.wucb_regret`. `band` is the shape of the bound: the paper's is `Holder`, and `KL` is far narrower.

    >>> from allais import Bandit, simulate
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> policy = WUCB(Preference(TverskyKahneman(0.61)), rewards=Bounded(0, 50))
    >>> results = simulate(policy, problem, n_rounds=2_000, n_runs=4, seed=1)
    >>> results.pulls[:, -1].sum(axis=1)
    array([2000, 2000, 2000, 2000])
    """

    preference: Preference
    rewards: RewardsOfArms
    band: Band = field(default_factory=Holder)
    exploration: float = 3.0
    of_mean: bool = field(default=False, repr=False)  # the WE heuristic: see `WEUCB`
    name: str = field(default="W-UCB", repr=False)

    goal: ClassVar[str] = "regret"
    open_to_arms: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self.preference, self.rewards)
        object.__setattr__(self, "exploration", positive("exploration", self.exploration))
        check_band(self.band)
        self.band.rule(self.preference, as_list(self.rewards))  # refuses what does not fit
        if self.of_mean:
            check_unit_interval(self.preference, self.rewards)

    def regret_bound(self, values: FloatArray, rounds: IntArray) -> FloatArray | None:
        """Theorem 2, where it applies: the paper's band and exploration, and bounded rewards."""
        known = self.rewards_of(values.size)
        proven = self.band == Holder() and self.exploration >= 3.0 and not self.of_mean
        if not proven or any(isinstance(one, SubGaussian) for one in known):
            return None
        # the pulls that a gap explains are proportional to log n, so two values give them all
        ends = np.array([2.0, max(float(rounds.max()), 3.0)])
        at_ends = [theory.wucb_regret(self.preference, known, values, n, self.exploration) for n in ends]
        return np.interp(np.log(np.maximum(rounds, 2)), np.log(ends), at_ends)

    def rule(self, n_arms: int) -> WUCBRule:
        """The settings as the kernels read them."""
        known = self.rewards_of(n_arms)
        worth = worth_of(self.preference, known, n_arms, of_mean=self.of_mean)
        return WUCBRule(worth, self.band.rule(self.preference, known), self.exploration, first_pulls(known))

    def state(self, n_arms: int) -> WUCBState:
        """The state before the first round."""
        return WUCBState(
            empty_memory(n_arms),
            np.zeros(n_arms, dtype=np.int64),
            np.ones(n_arms, dtype=np.bool_),
            np.zeros(1),
            np.zeros(n_arms),
            np.zeros(n_arms),
            np.ones(n_arms, dtype=np.bool_),
        )


class WUCBRule(NamedTuple):
    """W-UCB's settings."""

    worth: Worth
    band: Any
    exploration: float  # 3: the exponent is 3 log m, so that a bound fails with probability 2 / m^3
    first: int  # pulls of each arm before the rule begins


class WUCBState(NamedTuple):
    """W-UCB's memory."""

    memory: Memory
    asked: IntArray  # T_k with what is still out, (n_arms,)
    active: Any  # (n_arms,)
    ticket: FloatArray
    low: FloatArray  # scratch of the band, (n_arms,)
    high: FloatArray
    eligible: Any  # scratch of the choice, (n_arms,)


@kernel
def _choose(rule, state, u):
    arm, m = survey(rule.first, state)
    if arm < 0:
        # the paper prints m >= K; the index exists from m = K + 1 on (docs/paper/errata.md, 8)
        widen(rule.band, state.memory, rule.exploration * np.log(m), state.low, state.high)
        arm = pick(state.high, state.eligible, state.asked, u)  # mu-hat + gamma_{m, T_k(m-1)}
    state.asked[arm] += 1
    return arm


@kernel
def _bracket(rule, state, low, high):
    m = 1
    for asked in state.asked:
        m += asked
    widen(rule.band, state.memory, rule.exploration * np.log(max(m, 2)), low, high)


register(WUCBRule, choose=_choose, learn=learn_with_band, recommend=recommend_best, bracket=_bracket)
