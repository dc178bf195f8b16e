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

from allais.errors import AccuracyWarning, DominanceWarning, RunFailed, UndefinedValueError
from allais.lotteries import Bernoulli, Continuous, Discrete, Empirical, Lottery, Mixture, Normal, Uniform
from allais.noise import AdditiveNoise, ArmNoise, EstimatedNoise, FeatureNoise, ParameterNoise
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
    from allais.armsets import Ball, Box
    from allais.bands import DKW, KL, EmpiricalBernstein, Envelope, Holder, Interval
    from allais.experiment import Failures
    from allais.explain import Explanation
    from allais.learner import Choice, Learner, NotNow, Recommendation
    from allais.policies import (
        EXP3,
        IMED,
        LUCB,
        NPTS,
        OFUL,
        SR,
        UCB1,
        UCBV,
        WELUCB,
        WEUCB,
        WG,
        WLUCB,
        WOFUL,
        WSR,
        WUCB,
        GAllocation,
        LinGapE,
        LinTS,
        PatientRejects,
        PatientTopTwo,
        SequentialHalving,
        TopTwo,
        UniformSampling,
    )
    from allais.policies.linear import RadiusWarning
    from allais.problems import Bandit, LinearBandit, Program, Simulator
    from allais.regression import LinearFit, fit_linear
    from allais.routes import PathProblem, Routes, simple_routes
    from allais.simulation import BestArm, Comparison, Results, best_arm, compare, simulate
    from allais.stream import CertifiedValue, ValueStream

# Loaded at first use: they need compiled code, and who only values lotteries should not wait for it.
_LATER = {
    **dict.fromkeys(("DKW", "KL", "EmpiricalBernstein", "Envelope", "Holder", "Interval"), "allais.bands"),
    "Explanation": "allais.explain",
    "Failures": "allais.experiment",
    **dict.fromkeys(("Choice", "Learner", "NotNow", "Recommendation"), "allais.learner"),
    **dict.fromkeys(
        (
            *(
                "EXP3",
                "IMED",
                "LUCB",
                "NPTS",
                "OFUL",
                "SR",
                "UCB1",
                "UCBV",
                "WELUCB",
                "WEUCB",
                "WG",
                "WLUCB",
                "WOFUL",
                "WSR",
                "WUCB",
            ),
            "GAllocation",
            "LinGapE",
            "LinTS",
            "PatientRejects",
            "PatientTopTwo",
            "SequentialHalving",
            "TopTwo",
            "UniformSampling",
        ),
        "allais.policies",
    ),
    "RadiusWarning": "allais.policies.linear",
    **dict.fromkeys(("Bandit", "LinearBandit", "Program", "Simulator"), "allais.problems"),
    **dict.fromkeys(("Ball", "Box"), "allais.armsets"),
    **dict.fromkeys(("LinearFit", "fit_linear"), "allais.regression"),
    **dict.fromkeys(("PathProblem", "Routes", "simple_routes"), "allais.routes"),
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
    "OFUL",
    "SR",
    "UCB1",
    "UCBV",
    "WELUCB",
    "WEUCB",
    "WG",
    "WLUCB",
    "WOFUL",
    "WSR",
    "WUCB",
    "AccuracyWarning",
    "AdditiveNoise",
    "ArmNoise",
    "Ball",
    "Bandit",
    "Bernoulli",
    "BestArm",
    "Bounded",
    "Box",
    "CertifiedValue",
    "Choice",
    "Comparison",
    "Continuous",
    "Discrete",
    "DominanceWarning",
    "Empirical",
    "EmpiricalBernstein",
    "Envelope",
    "EstimatedNoise",
    "Explanation",
    "Failures",
    "FeatureNoise",
    "Finite",
    "GAllocation",
    "GonzalezWu",
    "Holder",
    "HolderPair",
    "Identity",
    "Interval",
    "Learner",
    "LinGapE",
    "LinTS",
    "LinearBandit",
    "LinearFit",
    "Lottery",
    "Mixture",
    "Normal",
    "NotNow",
    "ParameterNoise",
    "Parts",
    "PathProblem",
    "PatientRejects",
    "PatientTopTwo",
    "Power",
    "PowerUtility",
    "Preference",
    "Prelec",
    "Program",
    "RadiusWarning",
    "Recommendation",
    "Results",
    "Routes",
    "RunFailed",
    "SequentialHalving",
    "Simulator",
    "SteepMiddle",
    "SubGaussian",
    "TailAverage",
    "TopTwo",
    "TverskyKahneman",
    "UndefinedValueError",
    "Uniform",
    "UniformSampling",
    "ValueStream",
    "Wang",
    "Weight",
    "best_arm",
    "compare",
    "cvar",
    "expected_value",
    "fit_linear",
    "simple_routes",
    "simulate",
    "testing",
    "theory",
]
