"""Bands: confidence intervals around a value; a band is a shape, the policy supplies the exponent."""

from allais.bands.asymptotic import Asymptotic
from allais.bands.base import Band, Interval
from allais.bands.betting import Betting
from allais.bands.holder import EmpiricalBernstein, Holder
from allais.bands.kl import DKW, KL, Envelope

__all__ = ["DKW", "KL", "Asymptotic", "Band", "Betting", "EmpiricalBernstein", "Envelope", "Holder", "Interval"]
