"""Lotteries: reward distributions, each with an exact value under a preference."""

from allais.lotteries.base import Lottery
from allais.lotteries.combined import Mixture
from allais.lotteries.continuous import Continuous, Normal, Uniform
from allais.lotteries.finite import Bernoulli, Discrete, Empirical, FiniteLottery

__all__ = [
    "Bernoulli",
    "Continuous",
    "Discrete",
    "Empirical",
    "FiniteLottery",
    "Lottery",
    "Mixture",
    "Normal",
    "Uniform",
]
