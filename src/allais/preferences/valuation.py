"""What a lottery is worth under a preference: a sum for a finite one, integrals for any other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from allais._checks import FloatArray
from allais.errors import UndefinedValueError
from allais.lotteries import Lottery
from allais.numerics import HalfDistribution, Parts, distorted_integral, finite_parts
from allais.weights import Weight

if TYPE_CHECKING:
    from allais.preferences.preference import Preference


def parts(preference: Preference, lottery: Lottery) -> Parts:
    """The gain part and the loss part, with a bound on the error of their difference."""
    finite = lottery.as_finite()
    if finite is not None:
        utility, at_least, below = (
            preference.finite_utilities("outcomes", finite.outcomes),
            finite.at_least,
            finite.below,
        )
        if preference.costs:  # the order turns: P(Y >= y) is P(X <= x)
            utility, at_least, below = (
                utility[::-1],
                np.append(below[1:], 1.0)[::-1],
                np.append(at_least[1:], 0.0)[::-1],
            )
        return finite_parts(utility, at_least, below, preference.gains, preference.losses)
    gain = distorted_integral(preference.gains, half_of(preference, lottery, 1.0, preference.gains))
    loss = distorted_integral(preference.losses, half_of(preference, lottery, -1.0, preference.losses))
    if math.isinf(gain.value) and math.isinf(loss.value):
        raise UndefinedValueError(
            f"a value needs a finite gain or loss part; both of {lottery!r} are infinite. "
            "Bound the outcomes, or use a weight that is less steep at 0."
        )
    return Parts(gain.value, loss.value, gain.error + loss.error)


BLOCK = 1 << 15  # shares at a time: the dozen temporaries of a weight then fit into a cache of a few megabytes


def values(preference: Preference, outcomes: FloatArray, shares: FloatArray) -> FloatArray:
    """The values of lotteries over the same outcomes, one row of shares each."""
    utility = preference.finite_utilities("outcomes", outcomes)
    order = np.argsort(utility, kind="stable")
    utility = utility[order]
    first_gain, last_loss = np.searchsorted(utility, 0.0, side="right"), np.searchsorted(utility, 0.0, side="left")
    gain_steps = np.diff(utility[first_gain:], prepend=0.0)
    loss_steps = np.diff(utility[:last_loss], append=0.0)
    found = np.empty(len(shares))
    rows = max(BLOCK // utility.size, 1)
    for first in range(0, len(shares), rows):
        here = shares[first : first + rows, order]
        total = here.sum(axis=1, keepdims=True)
        # each tail is summed from its own end, so that the probability of a rare outcome keeps its digits
        below = np.zeros((len(here), utility.size + 1))  # P(X < outcome); at the end 1
        np.minimum(np.cumsum(here, axis=1) / total, 1.0, out=below[:, 1:])
        at_least = np.zeros_like(below)  # P(X >= outcome); at the end 0
        at_least[:, :-1] = np.minimum(np.cumsum(here[:, ::-1], axis=1)[:, ::-1] / total, 1.0)
        gains, losses = slice(first_gain, utility.size), slice(1, last_loss + 1)
        found[first : first + rows] = (
            preference.gains.of_tails(at_least[:, gains], below[:, gains]) @ gain_steps
            - preference.losses.of_tails(below[:, losses], at_least[:, losses]) @ loss_steps
        )
    return found


def half_of(preference: Preference, lottery: Lottery, sign: float, weight: Weight) -> HalfDistribution:
    """The gains (sign 1) or mirrored losses (sign -1) of a lottery, ready for quadrature."""
    upward = (sign > 0.0) != preference.costs  # whether larger outcomes lie further out on this side

    def tail(z: FloatArray) -> tuple[FloatArray, FloatArray]:
        x = preference.outcomes_of(sign * z)
        above, below = lottery.log_survival(x), lottery.log_cdf(x)
        return (above, below) if upward else (below, above)

    kinks = np.array([p for p in weight.singularities if 0.0 < p < 1.0])
    crossings = lottery.quantile(1.0 - kinks if upward else kinks) if kinks.size else kinks
    breaks = sign * preference.utilities(np.concatenate([lottery.landmarks(), crossings]))
    farthest = lottery.support[1 if upward else 0]
    reach = sign * float(preference.utilities(np.float64(1e300 if upward else -1e300)))
    end = sign * float(preference.utilities(np.float64(farthest))) if math.isfinite(farthest) else math.inf
    if math.isinf(end) and not reach > 1e30:
        end = reach  # a utility that (almost) stops growing
    return HalfDistribution(tail, np.unique(breaks[np.isfinite(breaks)]), end, min(reach, 1e300))
