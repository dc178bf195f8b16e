"""Weights: how probabilities are distorted, w: [0, 1] -> [0, 1]."""

from allais.weights.base import HolderPair, Weight
from allais.weights.derived import Dual, FunctionWeight, Mixed
from allais.weights.people import GonzalezWu, Prelec, TverskyKahneman
from allais.weights.risk import Identity, Power, SteepMiddle, Step, TailAverage, Wang

__all__ = [
    "Dual",
    "FunctionWeight",
    "GonzalezWu",
    "HolderPair",
    "Identity",
    "Mixed",
    "Power",
    "Prelec",
    "SteepMiddle",
    "Step",
    "TailAverage",
    "TverskyKahneman",
    "Wang",
    "Weight",
]
