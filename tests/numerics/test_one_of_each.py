"""What compiled code shares: the distorted sum, and the tables that numpy and kernels read."""

import numpy as np
import pytest

from allais import Preference, Prelec, TverskyKahneman
from allais.numerics.chebyshev import FIRST_POWER, basis, cells_of, fit, halved_until, joined
from allais.numerics.table import distorted_sum, table_of
from allais.weights import Power

BOTH = Preference(TverskyKahneman(0.61), Prelec(0.65))


def summed(outcomes, counts, origin=0.0, edge=np.inf, first=0):
    tables = table_of(BOTH.gains), table_of(BOTH.losses)
    total = float(counts[first:].sum())
    return distorted_sum(*tables, outcomes, counts, first, outcomes.size, total, origin, edge)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_the_compiled_sum_is_the_value_of_the_samples(seed, kind):
    rng = np.random.default_rng(seed)
    outcomes, counts = np.sort(rng.normal(size=30)), rng.integers(1, 9, size=30).astype(kind)
    samples = np.repeat(outcomes, counts.astype(int))
    assert summed(outcomes, counts) == pytest.approx(BOTH.estimate(samples), rel=1e-12)
    assert summed(outcomes, counts, origin=0.7) == pytest.approx(BOTH.estimate(samples - 0.7), rel=1e-12)
    assert summed(outcomes, counts, edge=0.5) == pytest.approx(BOTH.estimate(np.clip(samples, -0.5, 0.5)), rel=1e-12)
    later = np.repeat(outcomes[12:], counts[12:].astype(int))
    assert summed(outcomes, counts, first=12) == pytest.approx(BOTH.estimate(later), rel=1e-12)


def test_the_compiled_sum_of_one_outcome_is_that_outcome():
    # by hand: all of the probability lies at or beyond it, and w(1) = 1
    assert summed(np.array([3.0]), np.ones(1)) == 3.0
    assert summed(np.array([-3.0]), np.ones(1)) == -3.0
    assert summed(np.array([0.0]), np.ones(1)) == 0.0


def test_outcomes_that_lie_at_one_place_count_together():
    twice = summed(np.array([-1.0, 2.0, 2.0]), np.array([1.0, 1.0, 2.0]))
    assert twice == summed(np.array([-1.0, 2.0]), np.array([1.0, 3.0]))


def test_an_antiderivative_is_the_integral():
    pieces = [fit(np.cos, np.array(ends), 1e-13) for ends in ([-2.0, 0.5], [0.5, 3.0])]
    first = pieces[0].antiderivative(np.sin(-2.0))
    second = pieces[1].antiderivative(float(first(np.array([0.5]))[0]))
    x = np.linspace(-2.0, 3.0, 1001)
    np.testing.assert_allclose(joined([first, second])(x), np.sin(x), atol=1e-13)
    np.testing.assert_allclose(joined(pieces)(x), np.cos(x), atol=1e-12)


def test_cells_are_halved_where_a_function_bends():
    table = fit(np.sqrt, np.array([0.0, 1.0]), 1e-12)
    widths = np.diff(table.breaks)
    assert widths[0] < 1e-6
    assert widths[-1] >= 0.25
    assert table.breaks[-1] == 1.0


def test_halving_ends_where_it_is_told_to():
    def never_good(low, high, halvings):
        return np.full((low.size, 1), float(halvings)), np.zeros(low.size, dtype=bool)

    low, high, rows = halved_until(never_good, np.zeros(1), np.ones(1), 3)
    np.testing.assert_array_equal(low, np.arange(8) / 8)
    np.testing.assert_array_equal(high, np.arange(1, 9) / 8)
    assert (rows == 3.0).all()


def test_a_polynomial_is_found_from_its_values_at_the_nodes():
    polynomials = basis(4)
    nodes = polynomials.nodes_in(np.array([2.0]), np.array([6.0]))
    powers = polynomials.series(lambda x: (x - 4.0) ** 3, nodes) @ polynomials.to_powers
    np.testing.assert_allclose(powers, [[0.0, 0.0, 0.0, 8.0]], atol=1e-13)  # s = (x - 4) / 2
    np.testing.assert_allclose(cells_of(np.array([2.0, 6.0]), powers)[0, :FIRST_POWER], [2.0, 4.0, 0.5])


def test_a_table_has_no_error_that_a_value_would_show():
    p = np.random.default_rng(1).random(200)
    for weight in (BOTH.gains, BOTH.losses, Power(0.5)):
        # a chance p of 1, and else nothing, is worth w(p)
        found = [
            distorted_sum(
                table_of(weight), table_of(weight), np.array([0.0, 1.0]), np.array([1.0 - x, x]), 0, 2, 1.0, 0.0, np.inf
            )
            for x in p
        ]
        np.testing.assert_allclose(found, weight(p), rtol=1e-13)
