"""What is provable: the paper's bounds, corrected, and the limits that no policy beats.

Arguments go from who values (a preference, or a Hölder pair) to what is known of rewards and to the arms; numbers
follow. A problem may stand for its lotteries, or with a preference for their values. A bound that says nothing says so
(`Bound`).
"""

from allais.theory.arguments import Bound
from allais.theory.bounds import (
    EDPMCounterexample,
    edpm_counterexample,
    gaps,
    h1_alpha,
    h1_alpha_of_transformations,
    h2_alpha,
    h_alpha,
    regret_lower_slope,
    samples_to_estimate,
    wlucb_samples,
    wsr_error,
    wucb_regret,
    wucb_regret_any_gap,
)
from allais.theory.divergence import k_inf
from allais.theory.limits import BestMixture, CharacteristicTime, best_mixture, characteristic_time, regret_slope
from allais.theory.linear import ellipsoid_radius, wg_samples, woful_regret

__all__ = [
    "BestMixture",
    "Bound",
    "CharacteristicTime",
    "EDPMCounterexample",
    "best_mixture",
    "characteristic_time",
    "edpm_counterexample",
    "ellipsoid_radius",
    "gaps",
    "h1_alpha",
    "h1_alpha_of_transformations",
    "h2_alpha",
    "h_alpha",
    "k_inf",
    "regret_lower_slope",
    "regret_slope",
    "samples_to_estimate",
    "wg_samples",
    "wlucb_samples",
    "woful_regret",
    "wsr_error",
    "wucb_regret",
    "wucb_regret_any_gap",
]
