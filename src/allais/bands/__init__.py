"""Bands: confidence intervals around a value; a band is a shape, the policy supplies the exponent."""

from allais.bands.holder import Holder, Interval

__all__ = ["Holder", "Interval"]
