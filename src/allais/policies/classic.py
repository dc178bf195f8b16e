"""The baselines that the paper measures against: its own algorithms under other settings, without code of their own.

Where a baseline's printed width differs from the paper's family, its setting says so.
"""

from __future__ import annotations

from typing import Any

from allais.bands import EmpiricalBernstein, Holder
from allais.policies.baseline import Baseline
from allais.policies.knowledge import RewardsOfArms
from allais.policies.patient import PatientRejects
from allais.policies.wlucb import WLUCB
from allais.policies.wsr import WSR
from allais.policies.wucb import WUCB
from allais.preferences import Preference, expected_value

AUER = 4.0  # sqrt(2 log m / l) is the Hölder radius of a mean at exponent 4 log m; the paper has 3
KALYANAKRISHNAN = 5.0 / 4.0  # in place of the paper's pi^2/3 + 1
UCBV_ZETA = 1.2  # of Audibert, Munos & Szepesvári (2009), with their c = 1


class UCB1(Baseline, WUCB):
    """UCB1 (Auer et al. 2002): W-UCB for the mean, with the width sqrt(2 log m / l).

    >>> UCB1(Bounded(0, 1)).exploration
    4.0
    >>> UCB1(Bounded(0, 1))
    UCB1(rewards=Bounded(low=0.0, high=1.0))
    """

    def __init__(self, rewards: RewardsOfArms, *, reference: float = 0.0, costs: bool = False) -> None:
        preference = expected_value(reference=reference, costs=costs)
        super().__init__(preference, rewards, band=Holder(), exploration=AUER, name="UCB1")


class LUCB(Baseline, WLUCB):
    """LUCB (Kalyanakrishnan et al. 2012): W-LUCB for the mean, with exponent log(5 K m^4 / 4 delta).

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


class SR(Baseline, WSR):
    """Successive rejects (Audibert et al. 2010): W-SR for the mean, with the same phases.

    >>> from allais import Bandit, best_arm
    >>> best_arm(SR(budget=200), Bandit([Bernoulli(0.9), Bernoulli(0.2)]), seed=1).arm
    0
    """

    def __init__(
        self, rewards: RewardsOfArms | None = None, *, budget: int, reference: float = 0.0, costs: bool = False
    ) -> None:
        super().__init__(expected_value(reference=reference, costs=costs), rewards, budget=budget, name="SR")


class UCBV(Baseline, WUCB):
    """UCB-V (Audibert et al. 2009): W-UCB for the mean, with an empirical Bernstein band.

    The paper calls it unfit: it is aware of variance, not of a distortion.

    >>> UCBV(Bounded(0, 1)).band
    EmpiricalBernstein()
    """

    def __init__(self, rewards: RewardsOfArms, *, reference: float = 0.0, costs: bool = False) -> None:
        preference = expected_value(reference=reference, costs=costs)
        super().__init__(preference, rewards, band=EmpiricalBernstein(), exploration=UCBV_ZETA, name="UCB-V")


class WEUCB(Baseline, WUCB):
    """WE-UCB: UCB1 with w(empirical mean) in place of the value, a heuristic for rewards in [0, 1].

    It is right for Bernoulli rewards, and the paper shows where it fails (Setup(*)).

    >>> from allais import Bandit, simulate
    >>> policy = WEUCB(Preference(TverskyKahneman(0.61)), Bounded(0, 1))
    >>> simulate(policy, Bandit([Bernoulli(0.4), Bernoulli(0.6)]), n_rounds=1_000, seed=1).pulls[0, -1]
    array([240, 760])
    """

    # Auer's width, which does not know the weight: the Hölder band of the mean

    def __init__(self, preference: Preference, rewards: RewardsOfArms) -> None:
        band = Holder(undistorted=True)
        super().__init__(preference, rewards, band=band, exploration=AUER, of_mean=True, name="WE-UCB")


class WELUCB(Baseline, WLUCB):
    """WE-LUCB: LUCB with w(empirical mean) in place of the value, a heuristic for rewards in [0, 1].

    >>> from allais import Bandit, best_arm
    >>> policy = WELUCB(Preference(TverskyKahneman(0.61)), Bounded(0, 1), delta=0.05)
    >>> best_arm(policy, Bandit([Bernoulli(0.9), Bernoulli(0.2)]), seed=1).arm
    0
    """

    def __init__(self, preference: Preference, rewards: RewardsOfArms, *, delta: float, tolerance: float = 0.0) -> None:
        settings: dict[str, Any] = {"delta": delta, "tolerance": tolerance, "of_mean": True}
        band = Holder(undistorted=True)
        super().__init__(preference, rewards, band=band, union=KALYANAKRISHNAN, name="WE-LUCB", **settings)


class UniformSampling(Baseline, PatientRejects):
    """Uniform sampling: every arm gets the same share of the budget, and the highest estimate is recommended.

    It is a yardstick: nothing else sees rare gains of every arm as well, and nothing is worse with many ordinary arms.

    >>> from allais import Bandit, best_arm
    >>> problem = Bandit([Bernoulli(0.9), Bernoulli(0.2)])
    >>> answer = best_arm(UniformSampling(expected_value(), budget=100), problem, seed=1)
    >>> answer.arm, answer.pulls
    (0, {0: 50, 1: 50})
    """

    def __init__(self, preference: Preference, rewards: RewardsOfArms | None = None, *, budget: int) -> None:
        super().__init__(preference, rewards, budget=budget, floor=1.0, name="uniform sampling")
