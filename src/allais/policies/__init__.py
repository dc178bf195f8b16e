"""Policies: how to explore. One file an algorithm; `classic` holds settings, not code."""

from allais.policies.base import Policy
from allais.policies.classic import LUCB, OFUL, SR, UCB1, UCBV, WELUCB, WEUCB, GAllocation
from allais.policies.exp3 import EXP3
from allais.policies.lingape import LinGapE
from allais.policies.lints import LinTS
from allais.policies.wg import WG
from allais.policies.wlucb import WLUCB
from allais.policies.woful import WOFUL
from allais.policies.wsr import WSR
from allais.policies.wucb import WUCB

__all__ = [
    "EXP3",
    "LUCB",
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
    "Policy",
]
