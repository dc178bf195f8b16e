"""log Gamma and its slope, against SciPy's."""

import numpy as np
import pytest
from scipy.special import gammaln, psi

from allais.numerics.k_inf import gamma_logs


@pytest.mark.parametrize("x", [1e-9, 0.3, 1.0, 2.0, 7.999, 8.0, 16.5, 1e3, 1e7])
def test_the_logarithm_and_its_slope_are_those_of_scipy(x):
    height, slope = gamma_logs(x)
    assert height == pytest.approx(gammaln(x), rel=1e-13, abs=1e-12)
    assert slope == pytest.approx(psi(x), rel=1e-12, abs=1e-11)
    near = 1e-4 * x
    assert (gamma_logs(x + near)[0] - gamma_logs(x - near)[0]) / (2 * near) == pytest.approx(slope, rel=1e-4, abs=1e-6)
    assert np.isfinite(height)
