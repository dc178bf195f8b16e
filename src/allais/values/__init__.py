"""Values: what a law, a sample or a normal is worth under a pair of weights."""

from allais.values.choquet import Parts, finite_parts, sample_parts
from allais.values.continuous import Side, distorted_integral
from allais.values.location import LocationTable, normal_table

__all__ = [
    "LocationTable",
    "Parts",
    "Side",
    "distorted_integral",
    "finite_parts",
    "normal_table",
    "sample_parts",
]
