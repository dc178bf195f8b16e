"""Policies: how to explore. One file per algorithm; `classic` holds settings, not code."""

from allais.policies.choosing import recommended
from allais.policies.contextual import ContextualNPTS
from allais.policies.core.base import Policy
from allais.policies.core.guardrails import Guardrail
from allais.policies.core.knowledge import Fading, Recent
from allais.policies.exp3 import EXP3
from allais.policies.greedy import ExploreFirstGreedy
from allais.policies.imed import IMED
from allais.policies.npts import NPTS
from allais.policies.screening import PairwiseScreening
from allais.policies.toptwo import PatientTopTwo, TopTwo
from allais.policies.wlucb import WLUCB
from allais.policies.wocba import WOCBA
from allais.policies.wsr import WSR, PatientRejects, SequentialHalving
from allais.policies.wucb import LUCB, SR, UCB1, UCBV, WELUCB, WEUCB, WUCB, UniformSampling

__all__ = [
    "EXP3",
    "IMED",
    "LUCB",
    "NPTS",
    "SR",
    "UCB1",
    "UCBV",
    "WELUCB",
    "WEUCB",
    "WLUCB",
    "WOCBA",
    "WSR",
    "WUCB",
    "ContextualNPTS",
    "ExploreFirstGreedy",
    "Fading",
    "Guardrail",
    "PairwiseScreening",
    "PatientRejects",
    "PatientTopTwo",
    "Policy",
    "Recent",
    "SequentialHalving",
    "TopTwo",
    "UniformSampling",
    "recommended",
]
