"""The distribution of each arm's noise: its shape, its spread, its mean and its sub-Gaussian scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray, positive
from allais._kernels import by_reference
from allais.lotteries import Discrete, Lottery, Mixture, Normal, Uniform
from allais.lotteries.combined import moved

MOST_OUTCOMES = 4096  # of a sum of finite distributions


@by_reference
class NoiseOfArms(NamedTuple):
    """The noise of each arm: mean + spread * shape, sub-Gaussian of the given scale."""

    shapes: tuple[Lottery, ...]  # distinct, centred, of about unit scale
    shape: IntArray  # which one an arm has, (n_arms,)
    spread: FloatArray
    mean: FloatArray
    scale: FloatArray  # sigma_x

    def lottery(self, arm: int, location: float = 0.0) -> Lottery:
        """The distribution of an arm's reward when x.theta is `location`."""
        shift = location + float(self.mean[arm])
        return moved(self.shapes[self.shape[arm]], shift, float(self.spread[arm]))


def check_noise(noise: NoiseOfArms, n_arms: int) -> None:
    """Refuse noise for too few arms: compiled code would read beyond its end."""
    lengths = {len(part) for part in (noise.shape, noise.spread, noise.mean, noise.scale)}
    if lengths != {n_arms}:
        raise ValueError(
            f"noise must be one distribution per arm; got {min(lengths)} for {n_arms} arms. Make one per row."
        )
    if noise.shape.min() < 0 or noise.shape.max() >= len(noise.shapes):
        raise ValueError("noise must say which of its shapes an arm has; it names one that does not exist.")


def noise_of_lotteries(lotteries: list[Lottery], scales: list[float | None]) -> NoiseOfArms:
    """The noise of arms from the distribution of each; distributions of one shape share it."""
    shapes: list[Lottery] = []
    rows = []
    for lottery, given in zip(lotteries, scales, strict=True):
        spread = spread_of(lottery)
        shape = moved(moved(lottery, shift=-lottery.mean), scale=1.0 / spread)
        if shape not in shapes:
            shapes.append(shape)
        rows.append((shapes.index(shape), spread, lottery.mean, scale_of(lottery) if given is None else given))
    index, *numbers = (np.array(column) for column in zip(*rows, strict=True))
    return NoiseOfArms(tuple(shapes), index, *(column.astype(np.float64) for column in numbers))


def check_distribution(lottery: Lottery, scale: float | None) -> None:
    """Refuse noise that is no lottery, or one without a mean, a scale or a spread."""
    if not isinstance(lottery, Lottery):
        raise TypeError(f"noise is a lottery; got {lottery!r}. Write Normal(0, 1), or Discrete({{...}}).")
    if not math.isfinite(lottery.mean):
        raise ValueError(f"noise must have a finite mean; {lottery!r} has {lottery.mean}. Bound its tails.")
    if scale is not None:
        positive("scale", scale)
    else:
        scale_of(lottery)
    spread_of(lottery)


def spread_of(lottery: Lottery) -> float:
    """About how far a distribution spreads; where it is known exactly, its standard deviation."""
    if isinstance(lottery, Normal):
        return lottery.sd
    finite = lottery.as_finite()
    if finite is not None:
        spread = math.sqrt(float(finite.probabilities @ (finite.outcomes - finite.mean) ** 2))
        if spread == 0.0:
            raise ValueError(f"noise must vary; {lottery!r} is certain. Leave it out, or give it a spread.")
        return spread
    low, high = lottery.quantile(np.array([0.25, 0.75]))
    return float(high - low) / 1.349  # for a normal distribution, this is the standard deviation


def scale_of(lottery: Lottery) -> float:
    """The smallest sub-Gaussian scale that is known for a distribution."""
    if isinstance(lottery, Normal):
        return lottery.sd
    low, high = lottery.support
    if isinstance(lottery, Uniform):
        return (high - low) / math.sqrt(12.0)  # strictly sub-Gaussian: its variance is its proxy
    finite = lottery.as_finite()
    if finite is not None and finite.outcomes.size == 2:
        p = float(finite.probabilities.min())  # Kearns and Saul (1998)
        proxy = 0.25 if p == 0.5 else (1.0 - 2.0 * p) / (2.0 * math.log((1.0 - p) / p))
        return (high - low) * math.sqrt(proxy)
    if math.isfinite(high - low):
        return (high - low) / 2.0  # Hoeffding
    raise ValueError(
        f"the confidence of a linear policy needs sub-Gaussian noise; the scale of {lottery!r} is not known. "
        "Give scale=, if it has one."
    )


def distribution_of_sum(lotteries: Sequence[Lottery], row: FloatArray) -> Lottery:
    """The distribution of the sum of x_i Z_i."""
    variance, centre = 0.0, 0.0
    outcomes: FloatArray = np.zeros(1)
    odds: FloatArray = np.ones(1)
    for x, lottery in zip(row.tolist(), lotteries, strict=True):
        if x == 0.0:
            continue
        if isinstance(lottery, Normal):
            variance += (x * lottery.sd) ** 2
            centre += x * lottery.mean
            continue
        finite = lottery.as_finite()
        assert finite is not None
        sums = (outcomes[:, None] + x * finite.outcomes).ravel()
        outcomes, where = np.unique(sums, return_inverse=True)
        odds = np.bincount(where.ravel(), (odds[:, None] * finite.probabilities).ravel()).astype(np.float64)
        if outcomes.size > MOST_OUTCOMES:
            raise ValueError(
                f"a sum of finite distributions may have {MOST_OUTCOMES} outcomes at most; this one has more. "
                "Give distributions on a common lattice, or fewer outcomes."
            )
    if variance == 0.0:
        return Discrete(dict(zip((outcomes + centre).tolist(), odds.tolist(), strict=True)))
    if outcomes.size == 1:
        return Normal(float(outcomes[0]) + centre, math.sqrt(variance))
    parts = [Normal(outcome + centre, math.sqrt(variance)) for outcome in outcomes.tolist()]
    return Mixture(parts, odds.tolist())
