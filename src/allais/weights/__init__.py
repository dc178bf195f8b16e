"""Weights: how probabilities are distorted, w: [0, 1] -> [0, 1]."""

from allais.weights.base import HolderPair, Weight
from allais.weights.derived import Dual, FunctionWeight
from allais.weights.people import GonzalezWu, Prelec, TverskyKahneman
from allais.weights.risk import Identity, Power, SteepMiddle, TailAverage, Wang

__all__ = [
    "Dual",
    "FunctionWeight",
    "GonzalezWu",
    "HolderPair",
    "Identity",
    "Power",
    "Prelec",
    "SteepMiddle",
    "TailAverage",
    "TverskyKahneman",
    "Wang",
    "Weight",
]
