"""How others compare the quantiles of two groups: GrowthBook, ville, confseq, Howard and Ramdas (2022)."""

from __future__ import annotations

import math

import numpy as np
import ville  # type: ignore[import-untyped]
from scipy.special import ndtri

try:  # no wheels: its two modules are compiled from its source by pybind11, with Boost's headers
    from confseq.quantiles import quantile_ab_p_value
except ImportError:
    quantile_ab_p_value = None

from allais._checks import FloatArray

DELTA = 0.05
PLANNED = 10_000  # outcomes for which confseq's test is tuned
STEP = 1.01  # from one look of an interval to the next
HAS_CONFSEQ = quantile_ab_p_value is not None


def growthbook(first: FloatArray, second: FloatArray, level: float) -> bool:
    """Its documented quantile test: a variance from the distance of two order statistics, for n* = 100 * 2^k of n."""
    n = first.size
    if n * min(level, 1.0 - level) < 10.0:  # too few beyond the quantile for its order statistics
        return False
    quantiles, variances = [], []
    for group in (np.sort(first), np.sort(second)):
        star = 100 * 2 ** int(math.log2(n / 100))
        half = 1.959964 * math.sqrt(level * (1.0 - level) / star)
        low, high = (group[min(max(int(n * (level + sign * half)), 0), n - 1)] for sign in (-1.0, 1.0))
        quantiles.append(group[min(int(n * level), n - 1)])
        variances.append(star * ((high - low) / (2.0 * 1.959964)) ** 2 / n)
    return bool(sum(variances) > 0.0 and abs(quantiles[1] - quantiles[0]) > 1.959964 * math.sqrt(sum(variances)))


def confseq(first: FloatArray, second: FloatArray, level: float) -> bool:
    """Whether confseq's always-valid p-value of two groups tells them apart; never where it is not installed."""
    return HAS_CONFSEQ and quantile_ab_p_value(first, second, level, PLANNED, DELTA) <= DELTA


def ends_by_ville(group: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """The ends of ville's interval at delta / 2 after each outcome."""
    found = ville.QuantileCS(level, alpha=0.5 * DELTA).fit(group)
    return np.asarray(found.lower_), np.asarray(found.upper_)


def until_by_confseq(first: FloatArray, second: FloatArray, level: float) -> int:
    """After how many outcomes of each group confseq's test tells them apart."""
    n = 1_000.0
    while n < first.size:
        if confseq(first[: int(n)], second[: int(n)], level):
            return int(n)
        n *= STEP
    return first.size


def until_apart(first: FloatArray, second: FloatArray, level: float) -> int:
    """Two intervals of theorem 1 of Howard and Ramdas (2022), with the stitched boundary of its remark."""
    n = 100.0
    while n < first.size:
        t = int(n)
        size = (1.4 * math.log(math.log(2.1 * t)) + math.log(10.0 / (0.5 * DELTA))) / t
        reach = 1.5 * math.sqrt(level * (1.0 - level) * size) + 0.8 * size
        if level + reach < 1.0 and level - reach > 0.0:
            high = np.partition(first[:t], math.ceil((level + reach) * t) - 1)[math.ceil((level + reach) * t) - 1]
            low = np.partition(second[:t], int((level - reach) * t))[int((level - reach) * t)]
            if low > high:
                return t
        n *= STEP
    return first.size


def until_bands_part(share: float, factor: float, most: float = 100.0) -> float:
    """When two bands of theorem 2 of Howard and Ramdas (2022) leave different CVaR, at the true distribution."""
    ranks = (np.arange(2_000_000) + 0.5) / 2_000_000
    tail = np.sort(np.exp(ndtri(1.0 - share * (1.0 - ranks))))  # of a standard lognormal distribution
    n = 1e4
    while n < 1e12:
        eps = 0.85 * math.sqrt((math.log(1.0 + math.log(n)) + 0.8 * math.log(1612.0 / (0.5 * DELTA))) / n)
        if eps < share:
            cut = int(eps / share * tail.size)
            high = (eps * most + share * tail[cut:].sum() / tail.size) / share  # the worst eps at the bound
            low = factor * share * tail[: tail.size - cut].sum() / tail.size / share
            if low > high:
                return n
        n *= 1.02
    return n
