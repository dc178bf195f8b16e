"""The baselines that the paper measures against: settings of its own algorithms, no code.

Where a baseline's printed width differs from the paper's family, its setting says so.
"""

from __future__ import annotations

from allais.bands import EmpiricalBernstein, Holder
from allais.policies.base import RewardsOfArms
from allais.policies.wlucb import WLUCB
from allais.policies.wsr import WSR
from allais.policies.wucb import WUCB
from allais.preferences import Preference, expected_value

AUER = 4.0  # sqrt(2 log m / l) is the Hölder radius of a mean at exponent 4 log m; the paper has 3
KALYANAKRISHNAN = 5.0 / 4.0  # in place of the paper's pi^2/3 + 1
UCBV_ZETA = 1.2  # of Audibert, Munos & Szepesvári (2009), with their c = 1


def UCB1(rewards: RewardsOfArms, *, reference: float = 0.0, costs: bool = False) -> WUCB:  # noqa: N802
    """UCB1 (Auer et al. 2002): W-UCB of the mean, with the width sqrt(2 log m / l).

    >>> UCB1(Bounded(0, 1)).exploration
    4.0
    """
    return WUCB(expected_value(reference=reference, costs=costs), rewards, band=Holder(), exploration=AUER, name="UCB1")


def LUCB(  # noqa: N802
    rewards: RewardsOfArms, delta: float, tolerance: float = 0.0, *, reference: float = 0.0, costs: bool = False
) -> WLUCB:
    """LUCB (Kalyanakrishnan et al. 2012): W-LUCB of the mean, with exponent log(5 K m^4 / 4 delta).

    >>> from allais import Bandit, best_arm
    >>> best_arm(LUCB(Bounded(0, 1), delta=0.05), Bandit([Bernoulli(0.9), Bernoulli(0.2)]), seed=1).arm
    0
    """
    preference = expected_value(reference=reference, costs=costs)
    return WLUCB(
        preference, rewards, delta=delta, tolerance=tolerance, band=Holder(), union=KALYANAKRISHNAN, name="LUCB"
    )


def SR(  # noqa: N802
    budget: int, rewards: RewardsOfArms | None = None, *, reference: float = 0.0, costs: bool = False
) -> WSR:
    """Successive rejects (Audibert et al. 2010): W-SR of the mean, with the same phases.

    >>> from allais import Bandit, best_arm
    >>> best_arm(SR(budget=200), Bandit([Bernoulli(0.9), Bernoulli(0.2)]), seed=1).arm
    0
    """
    return WSR(expected_value(reference=reference, costs=costs), budget=budget, rewards=rewards, name="SR")


def UCBV(rewards: RewardsOfArms, *, reference: float = 0.0, costs: bool = False) -> WUCB:  # noqa: N802
    """UCB-V (Audibert et al. 2009): W-UCB of the mean with an empirical Bernstein band.

    The paper names it as unfit: it is aware of variance, not of a distortion.

    >>> UCBV(Bounded(0, 1)).band
    EmpiricalBernstein()
    """
    return WUCB(
        expected_value(reference=reference, costs=costs),
        rewards,
        band=EmpiricalBernstein(),
        exploration=UCBV_ZETA,
        name="UCB-V",
    )


def WEUCB(preference: Preference, rewards: RewardsOfArms) -> WUCB:  # noqa: N802
    """WE-UCB: UCB1 with w(empirical mean) in place of the value, a heuristic for rewards in [0, 1].

    It is right for Bernoulli rewards, and the paper shows where it fails (Setup(*)).

    >>> from allais import Bandit, simulate
    >>> policy = WEUCB(Preference(TverskyKahneman(0.61)), Bounded(0, 1))
    >>> simulate(policy, Bandit([Bernoulli(0.4), Bernoulli(0.6)]), n_rounds=1_000, seed=1).pulls[0, -1]
    array([240, 760])
    """
    # Auer's width, which does not know the weight: the Hölder band of the mean
    return WUCB(preference, rewards, band=Holder(undistorted=True), exploration=AUER, of_mean=True, name="WE-UCB")


def WELUCB(preference: Preference, rewards: RewardsOfArms, delta: float, tolerance: float = 0.0) -> WLUCB:  # noqa: N802
    """WE-LUCB: LUCB with w(empirical mean) in place of the value, a heuristic for rewards in [0, 1].

    >>> from allais import Bandit, best_arm
    >>> policy = WELUCB(Preference(TverskyKahneman(0.61)), Bounded(0, 1), delta=0.05)
    >>> best_arm(policy, Bandit([Bernoulli(0.9), Bernoulli(0.2)]), seed=1).arm
    0
    """
    band = Holder(undistorted=True)
    return WLUCB(
        preference,
        rewards,
        delta=delta,
        tolerance=tolerance,
        band=band,
        union=KALYANAKRISHNAN,
        of_mean=True,
        name="WE-LUCB",
    )
