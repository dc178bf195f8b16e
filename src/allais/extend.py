"""Everything that a policy or a band of your own needs; docs/developer has a page on each (new-policy, new-band).

A policy is a frozen dataclass that derives from `KArmed`, a rule (a NamedTuple of settings that kernels read) and a
kernel for `choose`; the verbs `learn`, `recommend`, `exponent` and `bracket` have defaults. A band is a dataclass with
`rule(preference, rewards)`, and kernels for `refresh` and `widen`. `PythonPolicy` runs a plain Python class.
"""

import warnings
from dataclasses import make_dataclass
from functools import cache
from typing import Any

from allais._checks import not_negative, positive, share
from allais._kernels import kernel, routine
from allais.bands._distribution_bounds import steady, tail_rule
from allais.bands._tail_walks import ceiling
from allais.bands.base import Band, NoBand, bounds_of, refresh, widen
from allais.policies.core.base import KArmed, Policy, no_worse, setting
from allais.policies.core.state import State, fresh_state, require_place
from allais.policies.core.steps import (
    anticipate,
    best_value,
    bounds_at,
    fewest_asked,
    issue,
    judged,
    pick,
    pick_highest,
    rounds_so_far,
    survey,
)
from allais.policies.core.verbs import (
    SETTLED,
    WAITING,
    bracket,
    choose,
    exponent,
    lacks_room,
    learn,
    recommend,
    take_in,
)
from allais.problems import Problem
from allais.samples.draws import gamma, normal, stream_of, uniform
from allais.samples.memory import Memory, Worth, insert, measure, moments
from allais.simulation import AskAndTell, PythonPolicy

__all__ = [
    "SETTLED",
    "WAITING",
    "AskAndTell",
    "Band",
    "KArmed",
    "Memory",
    "NoBand",
    "Policy",
    "Problem",
    "PythonPolicy",
    "State",
    "Worth",
    "anticipate",
    "best_value",
    "bounds_at",
    "bounds_of",
    "bracket",
    "ceiling",
    "choose",
    "exponent",
    "fewest_asked",
    "fresh_state",
    "gamma",
    "insert",
    "issue",
    "judged",
    "kernel",
    "lacks_room",
    "learn",
    "measure",
    "moments",
    "normal",
    "not_negative",
    "pick",
    "pick_highest",
    "positive",
    "recommend",
    "refresh",
    "require_place",
    "rounds_so_far",
    "routine",
    "setting",
    "share",
    "steady",
    "stream_of",
    "survey",
    "tail_rule",
    "take_in",
    "uniform",
    "widen",
]


@cache
def _former(name: str) -> type:
    """The bases that brought settings until 0.2.0: a policy declares them itself now."""
    if name == "BandPolicy":
        fields = [("band", Any, setting(None)), ("of_mean", bool, setting(False, repr=False))]
        return make_dataclass(name, fields, bases=(KArmed,), namespace={"needs_rewards": True}, frozen=True)
    fields = [("delta", float, setting(check=share)), ("tolerance", float, setting(0.0, no_worse))]
    words = {"goal": "confidence", "promises": "proven"}
    return make_dataclass(name, fields, bases=(Policy,), namespace=words, frozen=True)


def __getattr__(name: str) -> Any:
    if name not in ("BandPolicy", "FixedConfidence"):
        raise AttributeError(f"module 'allais.extend' has no attribute {name!r}", name=name)
    settings = "`band`" if name == "BandPolicy" else "`delta`, `tolerance`, a `goal` and what it `promises`"
    warnings.warn(
        f"`{name}` goes in 0.4.0: derive from KArmed, and declare {settings} yourself (docs/developer/new-policy.md).",
        DeprecationWarning,
        stacklevel=2,
    )
    return _former(name)
