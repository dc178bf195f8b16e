"""Bands: confidence intervals around a value; a band is a shape, the policy supplies the exponent."""

from allais.bands.asymptotic import Asymptotic
from allais.bands.base import Band, Interval
from allais.bands.bernstein import EmpiricalBernstein
from allais.bands.dkw import DKW
from allais.bands.envelope import Envelope
from allais.bands.holder import Holder
from allais.bands.kl import KL

__all__ = ["DKW", "KL", "Asymptotic", "Band", "EmpiricalBernstein", "Envelope", "Holder", "Interval"]
