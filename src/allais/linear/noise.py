"""Noise of linear bandits: what is added to x.theta, in a form that a policy knows (Section IV).

Every kind says, for given arms, the distribution of each arm's noise: a centred shape of about unit scale, the spread
by which it is multiplied, its mean (which belongs to the location), and its sub-Gaussian scale sigma_x, by which
the updates are divided. The paper's noise has sigma_x = |x|.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from allais._checks import FloatArray, IntArray, positive, same_length
from allais._kernels import by_reference, routine
from allais.lotteries import Discrete, Lottery, Mixture, Normal, Uniform
from allais.lotteries.combined import moved
from allais.numerics.table import distorted_sum

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
    for part in (noise.shape, noise.spread, noise.mean, noise.scale):
        same_length("noise must be one distribution per arm", len(part), n_arms, "arms", "Make one per row.")
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
    """Refuse noise that is not a lottery, or one without a mean, a scale or a spread."""
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


STANDARD = Normal(0.0, 1.0)


class Noise(Protocol):
    """A kind of noise."""

    def of(self, features: FloatArray) -> NoiseOfArms:
        """The noise of arms with these features, (n_arms, dimension).

        Args:
            features: One row of numbers per arm.
        """
        ...


@dataclass(frozen=True)
class ParameterNoise:
    """r = x.(theta + N) with N normal in every coordinate: noise that grows with the arm (the paper's).

    Args:
        sd: The standard deviation of each coordinate of N, above 0.

    >>> ParameterNoise().of(np.array([[3.0, 4.0]])).scale
    array([5.])
    """

    sd: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sd", positive("sd", self.sd))

    def of(self, features: FloatArray) -> NoiseOfArms:
        """The noise of arms with these features.

        Args:
            features: One row of numbers per arm.
        """
        lengths = self.sd * np.linalg.norm(features, axis=1)
        none = np.zeros(len(features), dtype=np.int64)
        return NoiseOfArms((STANDARD,), none, lengths, 0.0 * lengths, lengths)


@dataclass(frozen=True)
class AdditiveNoise:
    """r = x.theta + eta, the same distribution of eta for every arm; its mean, if any, is part of the reward.

    Args:
        lottery: The distribution of eta; by default standard normal.
        scale: The sub-Gaussian scale of eta, needed where the distribution does not say it.

    >>> AdditiveNoise(Discrete({100: 0.01, 0: 0.99})).of(np.ones((1, 1))).scale.round(4)
    array([32.655])
    """

    lottery: Lottery = field(default_factory=lambda: STANDARD)
    scale: float | None = None

    def __post_init__(self) -> None:
        check_distribution(self.lottery, self.scale)

    def of(self, features: FloatArray) -> NoiseOfArms:
        """The noise of arms with these features.

        Args:
            features: One row of numbers per arm.
        """
        return noise_of_lotteries([self.lottery] * len(features), [self.scale] * len(features))


@dataclass(frozen=True)
class ArmNoise:
    """r = x.theta + eta_x, with a distribution of its own for each arm, in the order of the arms.

    Args:
        lotteries: The distribution of each arm's noise.
        scales: Sub-Gaussian scales, None where the distribution says its own.

    >>> ArmNoise([Normal(0, 1), Discrete({0: 0.98, 100: 0.02})]).of(np.eye(2)).mean
    array([0., 2.])
    """

    lotteries: Sequence[Lottery]
    scales: Sequence[float | None] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "lotteries", tuple(self.lotteries))
        scales = (None,) * len(self.lotteries) if self.scales is None else tuple(self.scales)
        advice = "Give as many, None where the distribution says it."
        same_length("scales must be one per lottery", len(scales), len(self.lotteries), "lotteries", advice)
        object.__setattr__(self, "scales", scales)
        for lottery, scale in zip(self.lotteries, scales, strict=True):
            check_distribution(lottery, scale)

    def of(self, features: FloatArray) -> NoiseOfArms:
        """The noise of arms with these features.

        Args:
            features: One row of numbers per arm.
        """
        advice = "Give as many as there are arms, or AdditiveNoise for one distribution."
        same_length("noise must be one distribution per arm", len(self.lotteries), len(features), "arms", advice)
        assert self.scales is not None
        return noise_of_lotteries(list(self.lotteries), list(self.scales))


@dataclass(frozen=True)
class FeatureNoise:
    """r = x.(theta + Z), with independent noise for each feature, such as a road, in a distribution of its own.

    An arm's noise is exactly the sum of these, weighted by its features.

    Args:
        lotteries: The distribution of each feature's noise: normal or finite.
        scales: Sub-Gaussian scales, None where the distribution says its own.

    >>> noise = FeatureNoise([Normal(0, 1), Discrete({0: 0.99, 100: 0.01})])
    >>> noise.of(np.array([[1.0, 0.0], [1.0, 1.0]])).mean
    array([0., 1.])
    """

    lotteries: Sequence[Lottery]
    scales: Sequence[float | None] | None = None

    def __post_init__(self) -> None:
        whole = ArmNoise(self.lotteries, self.scales)  # checks them
        object.__setattr__(self, "lotteries", whole.lotteries)
        object.__setattr__(self, "scales", whole.scales)
        for lottery in self.lotteries:
            if not isinstance(lottery, Normal) and lottery.as_finite() is None:
                raise ValueError(f"a feature's noise must be normal or finite; got {lottery!r}. Discretise it.")

    def of(self, features: FloatArray) -> NoiseOfArms:
        """The noise of arms with these features.

        Args:
            features: One row of numbers per arm.
        """
        same_length("noise must be one distribution per feature", len(self.lotteries), features.shape[1], "features")
        assert self.scales is not None
        scales = [
            scale_of(distribution) if given is None else given
            for distribution, given in zip(self.lotteries, self.scales, strict=True)
        ]
        distributions = [distribution_of_sum(self.lotteries, row) for row in features]
        return noise_of_lotteries(distributions, np.sqrt(features**2 @ np.square(scales)).tolist())


@dataclass(frozen=True)
class EstimatedNoise:
    """Noise of an unknown distribution: each arm's distribution is taken from the arm's outcomes, around their mean.

    It assumes that an arm's distribution does not change; then locations are learned as usual, and values converge as
    the distribution does. No bound is proved for it: an event that was never seen is not counted, so a policy may
    favour a risky arm until it sees the risk. It is for low regret only.

    Args:
        scale: The sub-Gaussian scale of the noise, one for all arms.

    >>> from allais import simulate
    >>> from allais.linear import LinTS, LinearBandit
    >>> problem = LinearBandit([[1, 0], [0, 1]], theta=[0.5, 0.2], noise=AdditiveNoise(Normal(0, 0.1)))
    >>> policy = LinTS(Preference(TverskyKahneman(0.61)), EstimatedNoise(scale=0.1))
    >>> bool(simulate(policy, problem, n_rounds=500, seed=1).pulls[0, -1, 0] > 450)
    True
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))

    def of(self, features: FloatArray) -> NoiseOfArms:
        """The noise of arms before anything was seen: only its scale is known.

        Args:
            features: One row of numbers per arm.
        """
        n_arms = len(features)
        ones = np.ones(n_arms)
        return NoiseOfArms((STANDARD,), np.zeros(n_arms, dtype=np.int64), ones, 0.0 * ones, self.scale * ones)


MOST_SEEN = 128  # outcomes per arm that are kept apart


@routine
def worth_of_seen(world, state, arm, place):
    """Algorithm 1 on an arm's outcomes, moved so that their mean is the location."""
    size = state.sizes[arm]
    if size == 0:
        return place
    outcomes, counts = state.seen[arm, 0], state.seen[arm, 1]
    total = 0.0
    for i in range(size):
        total += counts[i] * outcomes[i]
    pulls = state.memory.pulls[arm]
    origin = total / pulls - place
    return distorted_sum(world.gains, world.losses, outcomes, counts, 0, size, pulls, origin, np.inf)


@routine
def keep_seen(state, arm, gain):
    """Keep an outcome of an arm; beyond MOST_SEEN the two nearest become their mean."""
    outcomes, counts = state.seen[arm, 0], state.seen[arm, 1]
    size = state.sizes[arm]
    at = 0
    while at < size and outcomes[at] < gain:
        at += 1
    if at < size and outcomes[at] == gain:
        counts[at] += 1.0
        return
    for i in range(size, at, -1):
        outcomes[i], counts[i] = outcomes[i - 1], counts[i - 1]
    outcomes[at], counts[at] = gain, 1.0
    state.sizes[arm] = size + 1
    if size < MOST_SEEN:
        return
    # the pair whose joining moves values least: by its gap times how far w leaves its chord, about c_1 c_2 |w''| / 2.
    # Toward a rare end |w''| grows as p^-1.5 or so: there outcomes stay apart
    least, nearest = np.inf, 0
    below = 0.0
    for i in range(size):
        both = counts[i] + counts[i + 1]
        beyond = min(below, state.memory.pulls[arm] - below - both) + both
        cost = (outcomes[i + 1] - outcomes[i]) * counts[i] * counts[i + 1] / (beyond * np.sqrt(beyond))
        if cost < least:
            least, nearest = cost, i
        below += counts[i]
    both = counts[nearest] + counts[nearest + 1]
    outcomes[nearest] += (outcomes[nearest + 1] - outcomes[nearest]) * counts[nearest + 1] / both
    counts[nearest] = both
    for i in range(nearest + 1, size):
        outcomes[i], counts[i] = outcomes[i + 1], counts[i + 1]
    state.sizes[arm] = size
