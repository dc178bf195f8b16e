"""Bandits that choose as people do.

People overweight rare events. `allais` values lotteries as they do, by a probability-distorted
value (cumulative prospect theory, rank-dependent utility), and learns the option they prefer.

>>> import allais
>>> people = allais.Preference(allais.TverskyKahneman(0.61))
>>> people.value(allais.Discrete({50: 0.1, 0: 0.9}))  # the mean is 5
9.31512831885...

The names that most work needs are here; the others are in `allais.bands`, `allais.policies`, `allais.linear`,
`allais.weights`, `allais.theory`, `allais.extend`, `allais.testing` and `allais.errors`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from allais.lotteries import Bernoulli, Continuous, Discrete, Empirical, Lottery, Mixture, Normal, Uniform
from allais.preferences import PowerUtility, Preference, cvar, expected_value, mixed, quantile
from allais.rewards import Bounded, Finite, SubGaussian
from allais.weights import GonzalezWu, Power, Prelec, TverskyKahneman, Wang, Weight

if TYPE_CHECKING:
    from allais.learner import Learner
    from allais.policies import (
        IMED,
        LUCB,
        NPTS,
        SR,
        UCB1,
        WLUCB,
        WOCBA,
        WSR,
        WUCB,
        ExploreFirstGreedy,
        Guardrail,
        PairwiseScreening,
        PatientRejects,
        PatientTopTwo,
        SequentialHalving,
        TopTwo,
        recommended,
    )
    from allais.problems import Bandit, Program, Simulator
    from allais.searches import search
    from allais.simulation.best_arm import best_arm
    from allais.simulation.comparison import compare
    from allais.simulation.simulate import simulate
    from allais.streams import ValueStream

__version__ = "0.2.0"

# Loaded at first use: they need compiled code, and a user who only values lotteries should not wait for it.
_LATER = ("problems", "streams", "policies", "learner", "simulation", "searches")  # a later one imports the earlier
_MODULES = (
    *("bands", "errors", "evidence", "extend", "learner", "linear", "people", "policies", "problems", "searches"),
    *("simulation", "streams", "testing", "theory"),
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        homes = (import_module(f"allais.{module}") for module in _LATER)
        globals()[name] = thing = getattr(next(home for home in homes if name in home.__all__), name)
        return thing
    if name in _MODULES:
        return import_module(f"allais.{name}")
    # not for a module, which Python looks for here before it imports it
    if not name.startswith("_") and find_spec(f"allais.{name}") is None:
        for module in ("lotteries", "preferences", "rewards", "weights", *_MODULES):
            if name in getattr(import_module(f"allais.{module}"), "__all__", ()):
                raise AttributeError(f"allais has {name} in allais.{module}; write allais.{module}.{name}.", name=name)
    raise AttributeError(f"module 'allais' has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})


__all__ = [
    "IMED",
    "LUCB",
    "NPTS",
    "SR",
    "UCB1",
    "WLUCB",
    "WOCBA",
    "WSR",
    "WUCB",
    "Bandit",
    "Bernoulli",
    "Bounded",
    "Continuous",
    "Discrete",
    "Empirical",
    "ExploreFirstGreedy",
    "Finite",
    "GonzalezWu",
    "Guardrail",
    "Learner",
    "Lottery",
    "Mixture",
    "Normal",
    "PairwiseScreening",
    "PatientRejects",
    "PatientTopTwo",
    "Power",
    "PowerUtility",
    "Preference",
    "Prelec",
    "Program",
    "SequentialHalving",
    "Simulator",
    "SubGaussian",
    "TopTwo",
    "TverskyKahneman",
    "Uniform",
    "ValueStream",
    "Wang",
    "Weight",
    "best_arm",
    "compare",
    "cvar",
    "expected_value",
    "mixed",
    "quantile",
    "recommended",
    "search",
    "simulate",
]
