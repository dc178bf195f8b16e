"""Bands: confidence intervals around a value; a band is a shape, the policy supplies the exponent."""

from allais.bands.base import Band, Interval
from allais.bands.bernstein import EmpiricalBernstein
from allais.bands.holder import Holder

__all__ = ["Band", "EmpiricalBernstein", "Holder", "Interval"]
