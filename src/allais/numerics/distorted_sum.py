"""The distorted value of samples with counts, compiled: Algorithm 1, on tables of the weights.

`numerics/sums.py` has the same sum for lotteries, from the weights' own formulas: exact where a table would round, with
a bound on its error, and on whole arrays.
"""

from __future__ import annotations

from allais._kernels import kernel
from allais.numerics.table import weigh


@kernel
def distorted_sum(gains, losses, outcomes, counts, first, last, total, origin, edge):
    """The value of the outcomes from `first` to before `last`, ascending, each less `origin`.

    `counts` may be masses; they sum to `total`. Both integrals stop at `edge`.
    """
    value = 0.0
    above = 0.0  # samples at or above the current outcome
    i = last - 1
    while i >= first and outcomes[i] - origin > 0.0:
        above += counts[i]
        lower = max(outcomes[i - 1] - origin, 0.0) if i > first else 0.0
        step = min(outcomes[i] - origin, edge) - min(lower, edge)
        if step > 0.0:
            value += step * weigh(gains, above / total)
        i -= 1
    below = 0.0  # losses accumulate from the bottom: w- sees P(X <= z)
    i = first
    while i < last and outcomes[i] - origin < 0.0:
        below += counts[i]
        upper = min(outcomes[i + 1] - origin, 0.0) if i + 1 < last else 0.0
        step = max(upper, -edge) - max(outcomes[i] - origin, -edge)
        if step > 0.0:
            value -= step * weigh(losses, below / total)
        i += 1
    return value
