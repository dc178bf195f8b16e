"""The logarithm of the gamma function and its derivative, in compiled code: one logarithm serves both."""

from __future__ import annotations

import numpy as np

from allais._kernels import kernel

SERIES_FROM = 8.0  # the asymptotic series is exact to 1e-12 from here on
HALF_LOG_TURN = 0.5 * np.log(2.0 * np.pi)


@kernel
def gamma_logs(x):
    """log Gamma(x) and its derivative, for x > 0."""
    product, derivative = 1.0, 0.0
    while x < SERIES_FROM:
        product *= x
        derivative -= 1.0 / x
        x += 1.0
    log_x, r = np.log(x), 1.0 / x
    s = r * r
    tail = r * (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0))))
    falling = s * (1.0 / 12.0 - s * (1.0 / 120.0 - s * (1.0 / 252.0 - s * (1.0 / 240.0 - s / 132.0))))
    height = (x - 0.5) * log_x - x + HALF_LOG_TURN + tail
    if product != 1.0:
        height -= np.log(product)
    return height, derivative + log_x - 0.5 * r - falling
