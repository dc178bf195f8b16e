"""W-UCB: play the arm whose value could be the highest (Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais import theory
from allais._checks import FloatArray, IntArray, positive
from allais.bands import Holder
from allais.policies.base import BandPolicy, setting
from allais.policies.forgetting import Forgetful
from allais.policies.knowledge import RewardsOfArms
from allais.policies.steps import bounds_at, issue, pick_highest, rounds_so_far, survey
from allais.policies.verbs import choose, exponent
from allais.preferences import Preference
from allais.rewards import SubGaussian
from allais.samples.worth import Worth


@dataclass(frozen=True)
class WUCB(Forgetful, BandPolicy):
    """W-UCB, low regret: play the arm with the highest upper bound on its value (Algorithm 2).

    In round m the bound has exponent `exploration` log m, and fails with probability 2 / m^3 at the paper's 3. The
    band is the narrowest that holds for the rewards, `KL` or `Envelope`; `as_printed` is the paper's own algorithm,
    whose regret stays below `theory.wucb_regret`.

    >>> from allais import Bandit, simulate
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> policy = WUCB(Preference(TverskyKahneman(0.61)), rewards=Bounded(0, 50))
    >>> results = simulate(policy, problem, n_rounds=2_000, n_runs=4, seed=1)
    >>> results.pulls[:, -1].sum(axis=1)
    array([2000, 2000, 2000, 2000])
    """

    exploration: float = setting(3.0, positive)
    called: ClassVar[str] = "W-UCB"
    goal: ClassVar[str] = "regret"
    open_to_people: ClassVar[bool] = True
    open_to_arms: ClassVar[bool] = True

    @classmethod
    def as_printed(cls, preference: Preference, rewards: RewardsOfArms, **settings: Any) -> WUCB:
        """The paper's algorithm to the letter: the Hölder band at exponent 3 log m.

        >>> WUCB.as_printed(Preference(TverskyKahneman(0.61)), Bounded(0, 50)).band
        Holder(undistorted=False)
        """
        return cls(preference, rewards, band=Holder(), **settings)

    def regret_bound(self, values: FloatArray, rounds: IntArray) -> FloatArray | None:
        """Theorem 2, where it applies: the paper's band and exploration, and bounded rewards."""
        known = self.rewards_of(values.size)
        proven = self.band == Holder() and self.exploration >= 3.0 and not self.of_mean and self.memory is None
        if not proven or any(isinstance(one, SubGaussian) for one in known):
            return None
        # the bound is linear in log n, so two of its values give all others
        ends = np.array([2.0, max(float(rounds.max()), 3.0)])
        at_ends = [theory.wucb_regret(self.preference, known, values, n, self.exploration) for n in ends]
        return np.interp(np.log(np.maximum(rounds, 2)), np.log(ends), at_ends)

    def rule(self, n_arms: int) -> WUCBRule:
        """The settings as the kernels read them."""
        band = self.band.rule(self.preference, self.rewards_of(n_arms))
        return WUCBRule(self.worth(n_arms), band, self.exploration, self.first(n_arms))


class WUCBRule(NamedTuple):
    """W-UCB's settings."""

    worth: Worth
    band: Any
    exploration: float  # 3: the exponent is 3 log m, so that a bound fails with probability 2 / m^3
    first: int  # pulls of each arm before the rule begins


@choose.of(WUCBRule)
def _(rule, state, u):
    arm, m = survey(rule.first, state)
    if arm < 0:
        # the paper prints m >= K; the index exists from m = K + 1 on (docs/paper/errata.md, 8)
        bounds_at(rule, state, rule.exploration * np.log(m))
        arm = pick_highest(state, state.high, u)  # mu-hat + gamma_{m, T_k(m-1)}
    return issue(state, arm)


@exponent.of(WUCBRule)
def _(rule, state):
    return rule.exploration * np.log(max(rounds_so_far(state), 2))
