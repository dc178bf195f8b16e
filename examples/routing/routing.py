"""The delay of a traveller, in seconds, on a grid of streets in Eclipse SUMO: one run, one trip.

R1 is the arterial, fastest on most days, but a level crossing closes it a few times a day; R2 passes one block aside.
"""

from functools import cache

from allais.traffic import grid_problem


@cache
def traffic():
    """The network with its traffic: a worker builds it once."""
    return grid_problem("fresh")


def delay(route, rng):
    """How long the trip takes today."""
    return traffic().delay(route, rng)
