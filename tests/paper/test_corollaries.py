"""The corollaries that know no gap, and the remark on EDPM."""

import numpy as np

from allais.paper.experiments.theorems import ALPHA, forced_regret, gap_independent
from allais.paper.problems import printed_statements


def test_two_problems_force_the_order_of_the_second_corollary():
    rounds = np.array([1e2, 1e4, 1e6])
    forced = np.array([forced_regret(int(n)) for n in rounds])
    assert np.allclose(
        forced / rounds ** (1.0 - ALPHA / 2.0), forced[-1] / rounds[-1] ** (1.0 - ALPHA / 2.0), rtol=0.02
    )


def test_both_corollaries_hold_beside_two_policies():
    (upper, lower), figure = gap_independent(10, seed=1)
    assert (upper.holds, upper.kind) == (True, "holds")
    assert (lower.holds, lower.kind, lower.erratum) == (True, "corrected", 13)
    assert "Corollary 1, at most" in figure.svg


def test_the_counterexample_to_edpm_stands_though_its_difference_is_misprinted():
    stands, misprinted = printed_statements()[:2]
    assert "333" in stands.measured  # sqrt(eps) / (3 eps) = 1 / (3 sqrt(eps))
    assert (stands.kind, misprinted.kind, misprinted.erratum) == ("holds", "misprint", 12)
