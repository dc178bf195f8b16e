"""Policies: how to explore. One file an algorithm; `classic` holds settings, not code."""

from allais.policies.base import Policy
from allais.policies.classic import LUCB, OFUL, SR, UCB1, UCBV, WELUCB, WEUCB, GAllocation
from allais.policies.exp3 import EXP3
from allais.policies.halving import SequentialHalving
from allais.policies.imed import IMED
from allais.policies.lingape import LinGapE
from allais.policies.lints import LinTS
from allais.policies.npts import NPTS
from allais.policies.patient import PatientRejects, UniformSampling
from allais.policies.patient_top import PatientTopTwo
from allais.policies.toptwo import TopTwo
from allais.policies.wg import WG
from allais.policies.wlucb import WLUCB
from allais.policies.woful import WOFUL
from allais.policies.wsr import WSR
from allais.policies.wucb import WUCB

__all__ = [
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
    "GAllocation",
    "LinGapE",
    "LinTS",
    "PatientRejects",
    "PatientTopTwo",
    "Policy",
    "SequentialHalving",
    "TopTwo",
    "UniformSampling",
]
