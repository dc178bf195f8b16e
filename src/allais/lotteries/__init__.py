"""Lotteries: reward distributions, each with an exact value under a preference."""

import warnings
from typing import Any

from allais.lotteries.base import Lottery
from allais.lotteries.combined import Mixture
from allais.lotteries.continuous import Continuous, Normal, Uniform
from allais.lotteries.finite import Bernoulli, Discrete, Empirical

__all__ = [
    "Bernoulli",
    "Continuous",
    "Discrete",
    "Empirical",
    "Lottery",
    "Mixture",
    "Normal",
    "Uniform",
]


def __getattr__(name: str) -> Any:
    if name != "FiniteLottery":
        raise AttributeError(f"module 'allais.lotteries' has no attribute {name!r}", name=name)
    warnings.warn("`FiniteLottery` is now `Discrete`. The old name goes in 0.4.0.", DeprecationWarning, stacklevel=2)
    return Discrete
