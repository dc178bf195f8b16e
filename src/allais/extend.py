"""Everything that a policy or a band of your own needs; docs/developer has a page on each (new-policy, new-band).

A policy is a frozen dataclass that derives from `KArmed`, a rule (a NamedTuple of settings that kernels read) and a
kernel for `choose`; the verbs `learn`, `recommend`, `exponent` and `bracket` have defaults. A band is a dataclass with
`rule(preference, rewards)`, and kernels for `refresh` and `widen`. `PythonPolicy` runs a plain Python class.
"""

from allais._checks import not_negative, positive, share
from allais._kernels import kernel, routine
from allais.bands._distribution_bounds import steady, tail_rule
from allais.bands._tail_walks import ceiling
from allais.bands.base import Band, NoBand, bounds_of, refresh, widen
from allais.policies.core.base import BandPolicy, FixedConfidence, KArmed, Policy, setting
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
    "BandPolicy",
    "FixedConfidence",
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
