"""Weights: how probabilities are distorted, w: [0, 1] -> [0, 1]."""

from allais.weights.base import HolderPair, Weight
from allais.weights.families import (
    GonzalezWu,
    Identity,
    Power,
    Prelec,
    SteepMiddle,
    TailAverage,
    TverskyKahneman,
    Wang,
)

__all__ = [
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
