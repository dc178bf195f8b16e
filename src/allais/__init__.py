"""Bandits that choose as people do.

People overweight rare events. `allais` values lotteries as they do, by a probability-distorted
value (cumulative prospect theory, rank-dependent utility), and learns the option they prefer.

>>> import allais
>>> people = allais.Preference(allais.TverskyKahneman(0.61))
>>> people.value(allais.Discrete({50: 0.1, 0: 0.9}))  # the mean is 5
9.31512831885...
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from allais.errors import AccuracyWarning, DominanceWarning, UndefinedValueError
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

if TYPE_CHECKING:
    from allais import testing, theory
    from allais.bands import DKW, KL, EmpiricalBernstein, Envelope, Holder, Interval
    from allais.explain import Explanation
    from allais.learner import Choice, Learner, NotNow, Recommendation
    from allais.policies import (
        EXP3,
        IMED,
        LUCB,
        NPTS,
        SR,
        UCB1,
        UCBV,
        WELUCB,
        WEUCB,
        WLUCB,
        WSR,
        WUCB,
        SequentialHalving,
        TopTwo,
    )
    from allais.problems import Bandit, Simulator
    from allais.simulation import BestArm, Comparison, Results, best_arm, compare, simulate
    from allais.stream import CertifiedValue, ValueStream

# Loaded at first use: they need compiled code, and who only values lotteries should not wait for it.
_LATER = {
    **dict.fromkeys(("DKW", "KL", "EmpiricalBernstein", "Envelope", "Holder", "Interval"), "allais.bands"),
    "Explanation": "allais.explain",
    **dict.fromkeys(("Choice", "Learner", "NotNow", "Recommendation"), "allais.learner"),
    **dict.fromkeys(("EXP3", "LUCB", "SR", "UCB1", "UCBV", "WELUCB", "WEUCB"), "allais.policies"),
    **dict.fromkeys(("WLUCB", "WSR", "WUCB", "IMED", "NPTS", "SequentialHalving", "TopTwo"), "allais.policies"),
    **dict.fromkeys(("Bandit", "Simulator"), "allais.problems"),
    **dict.fromkeys(("CertifiedValue", "ValueStream"), "allais.stream"),
    **dict.fromkeys(("BestArm", "Comparison", "Results", "best_arm", "compare", "simulate"), "allais.simulation"),
}


def __getattr__(name: str) -> Any:
    if name in ("testing", "theory"):
        return import_module(f"allais.{name}")
    if name in _LATER:
        thing = getattr(import_module(_LATER[name]), name)
        globals()[name] = thing
        return thing
    raise AttributeError(f"module 'allais' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__version__ = "0.1.0"

__all__ = [
    "DKW",
    "EXP3",
    "IMED",
    "KL",
    "LUCB",
    "NPTS",
    "SR",
    "UCB1",
    "UCBV",
    "WELUCB",
    "WEUCB",
    "WLUCB",
    "WSR",
    "WUCB",
    "AccuracyWarning",
    "Bandit",
    "Bernoulli",
    "BestArm",
    "Bounded",
    "CertifiedValue",
    "Choice",
    "Comparison",
    "Continuous",
    "Discrete",
    "DominanceWarning",
    "Empirical",
    "EmpiricalBernstein",
    "Envelope",
    "Explanation",
    "Finite",
    "GonzalezWu",
    "Holder",
    "HolderPair",
    "Identity",
    "Interval",
    "Learner",
    "Lottery",
    "Mixture",
    "Normal",
    "NotNow",
    "Parts",
    "Power",
    "PowerUtility",
    "Preference",
    "Prelec",
    "Recommendation",
    "Results",
    "SequentialHalving",
    "Simulator",
    "SteepMiddle",
    "SubGaussian",
    "TailAverage",
    "TopTwo",
    "TverskyKahneman",
    "UndefinedValueError",
    "Uniform",
    "ValueStream",
    "Wang",
    "Weight",
    "best_arm",
    "compare",
    "cvar",
    "expected_value",
    "simulate",
    "testing",
    "theory",
]
