"""Noise of linear bandits: what is added to x.theta, whose form a policy knows (Section IV).

Every kind says, for given arms, the law of each arm's noise: a centred shape of about unit scale, the spread by
which it is multiplied, its mean (which belongs to the location), and its sub-Gaussian scale sigma_x, by which
the updates are divided. The paper's noise has sigma_x = |x|.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, IntArray, positive
from allais.lotteries import Discrete, Lottery, Mixture, Normal, Uniform
from allais.lotteries.affine import moved

STANDARD = Normal(0.0, 1.0)


class NoiseOfArms(NamedTuple):
    """The noise of each arm: mean + spread * shape, sub-Gaussian of the given scale."""

    shapes: tuple[Lottery, ...]  # distinct, centred, of about unit scale
    shape: IntArray  # which one an arm has, (n_arms,)
    spread: FloatArray
    mean: FloatArray
    scale: FloatArray  # sigma_x

    def lottery(self, arm: int, location: float = 0.0) -> Lottery:
        """The law of an arm's reward when x.theta is `location`."""
        shift = location + float(self.mean[arm])
        return moved(self.shapes[self.shape[arm]], shift, float(self.spread[arm]))


def check_noise(noise: NoiseOfArms, n_arms: int) -> None:
    """Refuse noise of too few arms: compiled code would read beyond it."""
    lengths = {len(part) for part in (noise.shape, noise.spread, noise.mean, noise.scale)}
    if lengths != {n_arms}:
        raise ValueError(
            f"noise must be one law an arm; got {min(lengths)} for {n_arms} arms. Make as many as there are features."
        )
    if noise.shape.min() < 0 or noise.shape.max() >= len(noise.shapes):
        raise ValueError("noise must say which of its shapes an arm has; it names one that is not there.")


class Noise(Protocol):
    """A kind of noise."""

    def of(self, features: FloatArray) -> NoiseOfArms:
        """The noise of arms with these features, (n_arms, dimension)."""
        ...


@dataclass(frozen=True)
class ParameterNoise:
    """r = x.(theta + N) with N normal in every coordinate: noise that grows with the arm (the paper's).

    >>> ParameterNoise().of(np.array([[3.0, 4.0]])).scale
    array([5.])
    """

    sd: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sd", positive("sd", self.sd))

    def of(self, features: FloatArray) -> NoiseOfArms:
        """The noise of arms with these features."""
        lengths = self.sd * np.linalg.norm(features, axis=1)
        none = np.zeros(len(features), dtype=np.int64)
        return NoiseOfArms((STANDARD,), none, lengths, 0.0 * lengths, lengths)


@dataclass(frozen=True)
class AdditiveNoise:
    """r = x.theta + eta, the same law of eta for every arm; its mean, if any, is part of the reward.

    `scale` is its sub-Gaussian scale, where it cannot be told from the law.

    >>> AdditiveNoise(Discrete({100: 0.01, 0: 0.99})).of(np.ones((1, 1))).scale.round(4)
    array([32.655])
    """

    lottery: Lottery = field(default_factory=lambda: STANDARD)
    scale: float | None = None

    def __post_init__(self) -> None:
        _check(self.lottery, self.scale)

    def of(self, features: FloatArray) -> NoiseOfArms:
        """The noise of arms with these features."""
        return _gathered([self.lottery] * len(features), [self.scale] * len(features))


@dataclass(frozen=True)
class ArmNoise:
    """r = x.theta + eta_x, with a law of its own for each arm, in the order of the arms.

    `scales` are sub-Gaussian scales, None where the law says it.

    >>> ArmNoise([Normal(0, 1), Discrete({0: 0.98, 100: 0.02})]).of(np.eye(2)).mean
    array([0., 2.])
    """

    lotteries: Sequence[Lottery]
    scales: Sequence[float | None] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "lotteries", tuple(self.lotteries))
        scales = (None,) * len(self.lotteries) if self.scales is None else tuple(self.scales)
        if len(scales) != len(self.lotteries):
            raise ValueError(
                f"scales must be one a lottery; got {len(scales)} for {len(self.lotteries)} lotteries. "
                "Give as many, None where the law says it."
            )
        object.__setattr__(self, "scales", scales)
        for lottery, scale in zip(self.lotteries, scales, strict=True):
            _check(lottery, scale)

    def of(self, features: FloatArray) -> NoiseOfArms:
        """The noise of arms with these features."""
        if len(self.lotteries) != len(features):
            raise ValueError(
                f"noise must be one law an arm; got {len(self.lotteries)} for {len(features)} arms. "
                "Give as many as there are arms, or AdditiveNoise for one law."
            )
        assert self.scales is not None
        return _gathered(list(self.lotteries), list(self.scales))


@dataclass(frozen=True)
class FeatureNoise:
    """r = x.(theta + Z), each feature with a noise law of its own: roads with tails. They are independent.

    Laws are normal or finite; a route's noise is their sum, exactly.

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
        """The noise of arms with these features."""
        if features.shape[1] != len(self.lotteries):
            raise ValueError(
                f"noise must be one law a feature; got {len(self.lotteries)} for {features.shape[1]} features. "
                "Give as many."
            )
        assert self.scales is not None
        scales = [
            _scale(law) if given is None else given for law, given in zip(self.lotteries, self.scales, strict=True)
        ]
        laws = [_sum_of(self.lotteries, row) for row in features]
        return _gathered(laws, np.sqrt(features**2 @ np.square(scales)).tolist())


MOST_OUTCOMES = 4096  # of a sum of finite laws


def _sum_of(lotteries: Sequence[Lottery], row: FloatArray) -> Lottery:
    """The law of the sum of x_i Z_i."""
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
                f"a sum of finite laws may have {MOST_OUTCOMES} outcomes at most; this one has more. "
                "Give laws on a common lattice, or fewer outcomes."
            )
    if variance == 0.0:
        return Discrete(dict(zip((outcomes + centre).tolist(), odds.tolist(), strict=True)))
    if outcomes.size == 1:
        return Normal(float(outcomes[0]) + centre, math.sqrt(variance))
    parts = [Normal(outcome + centre, math.sqrt(variance)) for outcome in outcomes.tolist()]
    return Mixture(parts, odds.tolist())


@dataclass(frozen=True)
class EstimatedNoise:
    """Noise whose law nobody knows: each arm's is taken from what the arm brought, around its own mean.

    It assumes that an arm's law does not change and that its sub-Gaussian `scale` (one for all arms) is known; then
    locations are learned as ever, and values converge as the law does. No bound is proved for it: an event that was
    never seen is not counted, so a policy may favour a risky arm until it sees why not. For low regret only.

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
        """The noise of arms before anything is known of it: its scale only."""
        n_arms = len(features)
        ones = np.ones(n_arms)
        return NoiseOfArms((STANDARD,), np.zeros(n_arms, dtype=np.int64), ones, 0.0 * ones, self.scale * ones)


def checked_features(features: ArrayLike) -> FloatArray:
    """Feature vectors as rows of finite numbers, none of them zero."""
    try:
        rows = np.array(features, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("features must be rows of numbers, all of one length; got others. Repair them.") from None
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"features must be one row of numbers an arm; got shape {rows.shape}. Give (arms, dimension).")
    if not np.isfinite(rows).all():
        arm = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise ValueError(f"features must be finite; those of arm {arm} are not. Repair them.")
    if not np.linalg.norm(rows, axis=1).all():
        arm = int(np.flatnonzero(np.linalg.norm(rows, axis=1) == 0.0)[0])
        raise ValueError(f"a feature vector must not be zero; that of arm {arm} is. Leave the arm out.")
    return rows


def _gathered(lotteries: list[Lottery], scales: list[float | None]) -> NoiseOfArms:
    shapes: list[Lottery] = []
    rows = []
    for lottery, given in zip(lotteries, scales, strict=True):
        spread = _spread(lottery)
        shape = moved(moved(lottery, shift=-lottery.mean), scale=1.0 / spread)
        if shape not in shapes:
            shapes.append(shape)
        rows.append((shapes.index(shape), spread, lottery.mean, _scale(lottery) if given is None else given))
    index, *numbers = (np.array(column) for column in zip(*rows, strict=True))
    return NoiseOfArms(tuple(shapes), index, *(column.astype(np.float64) for column in numbers))


def _check(lottery: Lottery, scale: float | None) -> None:
    if not isinstance(lottery, Lottery):
        raise TypeError(f"noise is a lottery; got {lottery!r}. Write Normal(0, 1), or Discrete({{...}}).")
    if not math.isfinite(lottery.mean):
        raise ValueError(f"noise must have a finite mean; {lottery!r} has {lottery.mean}. Bound its tails.")
    if scale is not None:
        positive("scale", scale)
    else:
        _scale(lottery)
    _spread(lottery)


def _spread(lottery: Lottery) -> float:
    """About how far a law spreads; where it is known exactly, its standard deviation."""
    if isinstance(lottery, Normal):
        return lottery.sd
    finite = lottery.as_finite()
    if finite is not None:
        spread = math.sqrt(float(finite.probabilities @ (finite.outcomes - finite.mean) ** 2))
        if spread == 0.0:
            raise ValueError(f"noise must vary; {lottery!r} is certain. Leave it out, or give it a spread.")
        return spread
    low, high = lottery.quantile(np.array([0.25, 0.75]))
    return float(high - low) / 1.349  # of a normal law, the standard deviation


def _scale(lottery: Lottery) -> float:
    """The smallest sub-Gaussian scale that is known for a law."""
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
