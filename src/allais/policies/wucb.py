"""W-UCB: play the arm whose value could be the highest (Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais import theory
from allais._checks import FloatArray, IntArray, positive
from allais.bands import Band, EmpiricalBernstein, Holder
from allais.policies.core.base import Policy, Propensity, setting
from allais.policies.core.knowledge import Fading, Recent, RewardsOfArms, floors, least_probabilities, remembering
from allais.policies.core.steps import bounds_at, issue_with_floor, pick_highest, rounds_so_far, survey
from allais.policies.core.verbs import choose, exponent
from allais.policies.wlucb import WLUCB
from allais.policies.wsr import WSR, PatientRejects, patient_phases
from allais.preferences import Preference, expected_value
from allais.rewards import SubGaussian
from allais.samples.memory import Worth


@dataclass(frozen=True)
class WUCB(Policy):
    """W-UCB, low regret: play the arm with the highest upper bound on its value (Algorithm 2).

    In round m the bound has exponent `exploration` log m, and fails with probability 2 / m^3 at the paper's 3. The band
    is `KL`, or `Envelope` for sub-Gaussian rewards; `as_printed` is the paper's own algorithm, whose regret stays below
    `theory.wucb_regret`.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        band: How values are bounded; by default the narrowest band that holds for the rewards.
        of_mean: Whether w(mean) takes the place of the value, as in the WE heuristics.
        memory: What is remembered where outcomes change, `Recent` or `Fading`; None for everything.
        exploration: The factor of log m in the exponent, above 0; less explores less.
        floor: The least probability of every arm in play, for logs from which other policies are evaluated; or a list
            with that of each arm, such as [0.1, 0] for a control share.

    >>> from allais import Bandit, simulate
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> policy = WUCB(Preference(TverskyKahneman(0.61)), rewards=Bounded(0, 50))
    >>> results = simulate(policy, problem, n_rounds=2_000, n_runs=4, seed=1)
    >>> results.pulls[:, -1].sum(axis=1)
    array([2000, 2000, 2000, 2000])
    """

    rewards: RewardsOfArms | None = None
    band: Band = setting(None)
    of_mean: bool = setting(False, repr=False)
    memory: Recent | Fading | None = setting(None, remembering)
    exploration: float = setting(3.0, positive)
    floor: float | tuple[float, ...] = setting(0.0, least_probabilities)

    called: ClassVar[str] = "W-UCB"
    goal: ClassVar[str] = "regret"
    needs_rewards: ClassVar[bool] = True
    propensity: ClassVar[Propensity] = "ticket"
    open_to_people: ClassVar[bool] = True
    open_to_arms: ClassVar[bool] = True

    @classmethod
    def as_printed(cls, preference: Preference, rewards: RewardsOfArms, **settings: Any) -> WUCB:
        """The paper's algorithm to the letter: the Hölder band at exponent 3 log m.

        Args:
            preference: What is maximised.
            rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
            **settings: Other settings.

        >>> WUCB.as_printed(Preference(TverskyKahneman(0.61)), Bounded(0, 50)).band
        Holder(undistorted=False)
        """
        return cls(preference, rewards, band=Holder(), **settings)

    def regret_bound(self, values: FloatArray, rounds: IntArray) -> FloatArray | None:
        """Theorem 2, where it applies: the paper's band and exploration, and bounded rewards.

        Args:
            values: The true value of each arm.
            rounds: Numbers of rounds.
        """
        known = self.rewards_of(values.size)
        proven = self.band == Holder() and self.exploration >= 3.0 and not self.of_mean and self.memory is None
        proven = proven and not np.any(self.floor)
        if not proven or any(isinstance(one, SubGaussian) for one in known):
            return None
        # the bound is linear in log n, so two of its values give all others
        ends = np.array([2.0, max(float(rounds.max()), 3.0)])
        at_ends = [theory.wucb_regret(self.preference, known, values, n, self.exploration) for n in ends]
        return np.interp(np.log(np.maximum(rounds, 2)), np.log(ends), at_ends)

    def rule(self, n_arms: int) -> WUCBRule:
        band = self.band.rule(self.preference, self.rewards_of(n_arms))
        return WUCBRule(self.worth(n_arms), band, self.exploration, self.first(n_arms), floors(self.floor, n_arms))


class WUCBRule(NamedTuple):
    """W-UCB's settings."""

    worth: Worth
    band: Any
    exploration: float  # 3: the exponent is 3 log m, so that a bound fails with probability 2 / m^3
    first: int  # pulls of each arm before the rule begins
    floor: FloatArray  # the least probability of each arm in play


@choose.of(WUCBRule)
def _(rule, state, u):
    arm, m = survey(rule.first, state)
    state.ticket[0] = 1.0
    if arm < 0:
        # the paper prints m >= K; the index exists from m = K + 1 on (docs/paper/errata.md, 8)
        bounds_at(rule, state, rule.exploration * np.log(m))
        arm = pick_highest(state, state.high, u)  # mu-hat + gamma_{m, T_k(m-1)}
    return issue_with_floor(state, arm, rule.floor, state.score, u)


@exponent.of(WUCBRule)
def _(rule, state):
    return rule.exploration * np.log(max(rounds_so_far(state), 2))


AUER = 4.0  # sqrt(2 log m / l) is the Hölder radius of a mean at exponent 4 log m; the paper has 3
KALYANAKRISHNAN = 5.0 / 4.0  # in place of the paper's pi^2/3 + 1
UCBV_ZETA = 1.2  # of Audibert, Munos & Szepesvári (2009), with their c = 1


class UCB1(WUCB, made_from=WUCB):
    """UCB1 (Auer et al. 2002): W-UCB for the mean, with the width sqrt(2 log m / l).

    Args:
        rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
        reference: The outcome that is neither a gain nor a loss.
        costs: Whether less is better.

    >>> UCB1(Bounded(0, 1)).exploration
    4.0
    >>> UCB1(Bounded(0, 1))
    UCB1(rewards=Bounded(low=0.0, high=1.0))
    """

    def __init__(self, rewards: RewardsOfArms, *, reference: float = 0.0, costs: bool = False) -> None:
        preference = expected_value(reference=reference, costs=costs)
        super().__init__(preference, rewards, band=Holder(), exploration=AUER, name="UCB1")


class LUCB(WLUCB, made_from=WLUCB):
    """LUCB (Kalyanakrishnan et al. 2012): W-LUCB for the mean, with exponent log(5 K m^4 / 4 delta).

    Args:
        rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
        delta: The probability of a wrong recommendation that is allowed, in (0, 1).
        tolerance: How much worse than the best arm the recommendation may be, as a utility; with 0, equal arms are
            never told apart.
        reference: The outcome that is neither a gain nor a loss.
        costs: Whether less is better.

    >>> from allais import Bandit, best_arm
    >>> best_arm(LUCB(Bounded(0, 1), delta=0.05), Bandit([Bernoulli(0.9), Bernoulli(0.2)]), seed=1).arm
    0
    """

    def __init__(
        self,
        rewards: RewardsOfArms,
        *,
        delta: float,
        tolerance: float = 0.0,
        reference: float = 0.0,
        costs: bool = False,
    ) -> None:
        preference = expected_value(reference=reference, costs=costs)
        settings: dict[str, Any] = {"delta": delta, "tolerance": tolerance}
        super().__init__(preference, rewards, band=Holder(), union=KALYANAKRISHNAN, name="LUCB", **settings)


class SR(WSR, made_from=WSR):
    """Successive rejects (Audibert et al. 2010): W-SR for the mean, with the same phases.

    Args:
        rewards: What is known about outcomes, if anything: one declaration for all arms, or a list with one per arm.
        budget: The number of samples in all.
        reference: The outcome that is neither a gain nor a loss.
        costs: Whether less is better.

    >>> from allais import Bandit, best_arm
    >>> best_arm(SR(budget=200), Bandit([Bernoulli(0.9), Bernoulli(0.2)]), seed=1).arm
    0
    """

    def __init__(
        self, rewards: RewardsOfArms | None = None, *, budget: int, reference: float = 0.0, costs: bool = False
    ) -> None:
        super().__init__(expected_value(reference=reference, costs=costs), rewards, budget=budget, name="SR")


class UCBV(WUCB, made_from=WUCB):
    """UCB-V (Audibert et al. 2009): W-UCB for the mean, with an empirical Bernstein band.

    The paper calls it unfit: it is aware of variance, not of a distortion.

    Args:
        rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
        reference: The outcome that is neither a gain nor a loss.
        costs: Whether less is better.

    >>> UCBV(Bounded(0, 1)).band
    EmpiricalBernstein()
    """

    def __init__(self, rewards: RewardsOfArms, *, reference: float = 0.0, costs: bool = False) -> None:
        preference = expected_value(reference=reference, costs=costs)
        super().__init__(preference, rewards, band=EmpiricalBernstein(), exploration=UCBV_ZETA, name="UCB-V")


class WEUCB(WUCB, made_from=WUCB):
    """WE-UCB: UCB1 with w(empirical mean) in place of the value, a heuristic for rewards in [0, 1].

    It is right for Bernoulli rewards, and the paper shows where it fails (Setup(*)).

    Args:
        preference: What is maximised.
        rewards: `Bounded(0, 1)`, or values within it.

    >>> from allais import Bandit, simulate
    >>> policy = WEUCB(Preference(TverskyKahneman(0.61)), Bounded(0, 1))
    >>> simulate(policy, Bandit([Bernoulli(0.4), Bernoulli(0.6)]), n_rounds=1_000, seed=1).pulls[0, -1]
    array([240, 760])
    """

    # Auer's width, which does not know the weight: the Hölder band of the mean

    def __init__(self, preference: Preference, rewards: RewardsOfArms) -> None:
        band = Holder(undistorted=True)
        super().__init__(preference, rewards, band=band, exploration=AUER, of_mean=True, name="WE-UCB")


class WELUCB(WLUCB, made_from=WLUCB):
    """WE-LUCB: LUCB with w(empirical mean) in place of the value, a heuristic for rewards in [0, 1].

    Args:
        preference: What is maximised.
        rewards: `Bounded(0, 1)`, or values within it.
        delta: The probability of a wrong recommendation that is allowed, in (0, 1).
        tolerance: How much worse than the best arm the recommendation may be, as a utility; with 0, equal arms are
            never told apart.

    >>> from allais import Bandit, best_arm
    >>> policy = WELUCB(Preference(TverskyKahneman(0.61)), Bounded(0, 1), delta=0.05)
    >>> best_arm(policy, Bandit([Bernoulli(0.9), Bernoulli(0.2)]), seed=1).arm
    0
    """

    def __init__(self, preference: Preference, rewards: RewardsOfArms, *, delta: float, tolerance: float = 0.0) -> None:
        settings: dict[str, Any] = {"delta": delta, "tolerance": tolerance, "of_mean": True}
        band = Holder(undistorted=True)
        super().__init__(preference, rewards, band=band, union=KALYANAKRISHNAN, name="WE-LUCB", **settings)


@dataclass(frozen=True)
class UniformSampling(WSR, made_from=PatientRejects):
    """Uniform sampling: every arm gets the same share of the budget, and the highest estimate is recommended.

    It is a yardstick: nothing else sees rare gains of every arm as well, and nothing is worse with many ordinary arms.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes, if anything: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        budget: The number of samples in all.
        guardrails: Limits that the answer must keep, a list of `Guardrail`.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)])
    >>> answer = best_arm(UniformSampling(expected_value(), budget=100), problem, seed=1)
    >>> answer.arm, answer.pulls
    (0, {0: 50, 1: 50})
    """

    called: ClassVar[str] = "uniform sampling"
    floor: ClassVar[float] = 1.0

    def phases(self, n_arms: int) -> IntArray:
        """One phase, in which all arms are sampled alike."""
        return patient_phases(self.budget, n_arms, self.floor)
