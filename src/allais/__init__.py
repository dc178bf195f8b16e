"""Bandits that choose as people do.

People overweight rare events. `allais` values lotteries as they do, by a probability-distorted
value (cumulative prospect theory, rank-dependent utility), and learns the option they prefer.

>>> import allais
>>> people = allais.Preference(allais.TverskyKahneman(0.61))
>>> people.value(allais.Discrete({50: 0.1, 0: 0.9}))  # the mean is 5
9.31512831885...
"""

from allais import theory
from allais.bands import Holder, Interval
from allais.errors import AccuracyWarning, DominanceWarning, UndefinedValueError
from allais.explain import Explanation
from allais.lotteries import Bernoulli, Continuous, Discrete, Empirical, Lottery, Mixture, Normal, Uniform
from allais.preferences import Preference, cvar, expected_value
from allais.rewards import Bounded, Finite, SubGaussian
from allais.utilities import PowerUtility
from allais.values import Parts
from allais.weights import (
    GonzalezWu,
    HolderPair,
    Identity,
    Power,
    Prelec,
    SteepMiddle,
    TailAverage,
    TverskyKahneman,
    Wang,
    Weight,
)

__version__ = "0.1.0"

__all__ = [
    "AccuracyWarning",
    "Bernoulli",
    "Bounded",
    "Continuous",
    "Discrete",
    "DominanceWarning",
    "Empirical",
    "Explanation",
    "Finite",
    "GonzalezWu",
    "Holder",
    "HolderPair",
    "Identity",
    "Interval",
    "Lottery",
    "Mixture",
    "Normal",
    "Parts",
    "Power",
    "PowerUtility",
    "Preference",
    "Prelec",
    "SteepMiddle",
    "SubGaussian",
    "TailAverage",
    "TverskyKahneman",
    "UndefinedValueError",
    "Uniform",
    "Wang",
    "Weight",
    "cvar",
    "expected_value",
    "theory",
]
