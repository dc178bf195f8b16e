"""Numerics: sums, integrals and tables of weights; pure mathematics that knows no lottery."""

from allais.numerics.chebyshev import LocationTable, normal_table
from allais.numerics.integrals import HalfDistribution, distorted_integral
from allais.numerics.sums import Parts, finite_parts, sample_parts

__all__ = [
    "HalfDistribution",
    "LocationTable",
    "Parts",
    "distorted_integral",
    "finite_parts",
    "normal_table",
    "sample_parts",
]
