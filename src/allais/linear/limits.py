"""How few samples can tell the best arm of a linear bandit: the characteristic time of a design problem."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike

from allais._checks import FloatArray, finite_array
from allais.linear.arm_sets import checked_features
from allais.linear.location_tables import Locations, locations_of, value_at
from allais.linear.noise import AdditiveNoise, Noise, ParameterNoise
from allais.lotteries import Normal
from allais.preferences import Preference

ROUNDS = 400  # of the search for the best design


def linear_characteristic_time(
    preference: Preference, features: ArrayLike, theta: ArrayLike, noise: Noise, rounds: int = ROUNDS
) -> float:
    """T*: any policy that errs with probability below delta needs T* log(1 / 2.4 delta) samples on average.

    1 / T* is the greatest, over all ways to share samples among the arms, of the least information that tells theta
    from any other parameter under which another arm is best (Soare et al. 2014 for the mean; a value moves with its
    location, so an alternative is found in the plane of two arms' locations). It is for normal noise, and exact up to
    the search for the shares.

    Args:
        preference: What is maximised.
        features: One row of numbers per arm.
        theta: The parameter.
        noise: What is added to x.theta; it must be normal.
        rounds: Steps of the search for the best shares.

    >>> axes = linear_characteristic_time(expected_value(), np.eye(2), [1.0, 0.5], ParameterNoise())
    >>> round(axes, 1)  # 8 / gap^2
    32.0
    """
    if not (
        isinstance(noise, ParameterNoise) or (isinstance(noise, AdditiveNoise) and isinstance(noise.lottery, Normal))
    ):
        raise ValueError(f"the limit is known for normal noise; got {noise!r}. Use ParameterNoise.")
    rows, truth = checked_features(features), finite_array("theta", theta)
    of_arms = noise.of(rows)
    tables = locations_of(preference, of_arms)
    sign = -1.0 if preference.costs else 1.0
    places = sign * (rows @ truth + of_arms.mean - preference.reference)
    values = np.array([value_at(tables, k, place) for k, place in enumerate(places.tolist())])
    best = int(np.argmax(values))
    rivals = [k for k in range(len(rows)) if k != best]
    if not rivals:
        return 0.0
    if max(values[rivals]) >= values[best]:
        return math.inf
    units = rows / of_arms.scale[:, None]

    def least_information(shares: FloatArray) -> tuple[float, FloatArray]:
        gram = (units.T * shares) @ units
        inverse: Any = np.linalg.pinv(gram, hermitian=True)
        found = [_information(tables, rows, inverse, gram, places, best, rival) for rival in rivals]
        return min(found, key=lambda pair: pair[0])

    shares = np.full(len(rows), 1.0 / len(rows))
    most, total = 0.0, np.zeros(len(rows))
    for step in range(rounds):
        least, direction = least_information(shares)
        most = max(most, least)
        # the information 1/2 sum of shares (u_k' direction)^2 is linear in the shares: move towards its largest term
        gain = 0.5 * (units @ direction) ** 2
        target = np.eye(len(rows))[int(np.argmax(gain))]
        shares += (target - shares) / (step + 2.0)
        total += shares
    return 1.0 / max(most, least_information(total / total.sum())[0])


def _information(
    tables: Locations,
    rows: FloatArray,
    inverse: FloatArray,
    gram: FloatArray,
    places: FloatArray,
    best: int,
    rival: int,
) -> tuple[float, FloatArray]:
    """The least 1/2 |theta' - theta|^2_A for which the rival is as good as the best, and theta' - theta there."""
    pair = rows[[best, rival]]
    shape = pair @ inverse @ pair.T
    if np.abs(pair @ inverse @ gram - pair).max() > 1e-6 * np.abs(pair).max():
        return 0.0, np.ones(rows.shape[1])  # the design does not see one of the two: anything may be true
    tight = np.linalg.pinv(shape, hermitian=True)

    def rival_place(place: float) -> float:
        """The location at which the rival is worth as much as the best arm at `place`."""
        worth = value_at(tables, best, place)
        low, high = places[rival] - 1.0, places[rival] + 1.0
        while value_at(tables, rival, low) > worth:
            low -= 2.0 * (high - low)
        while value_at(tables, rival, high) < worth:
            high += 2.0 * (high - low)
        return float(scipy.optimize.brentq(lambda v: value_at(tables, rival, v) - worth, low, high, xtol=1e-12))

    def cost(place: float) -> float:
        move = np.array([place - places[best], rival_place(place) - places[rival]])
        return 0.5 * float(move @ tight @ move)

    # the arms meet between the two extremes: the one does all of the moving, or the other does
    lead = places[best]
    meet = rival_place(lead)
    span = max(abs(meet - places[rival]), 1e-9)
    found = scipy.optimize.minimize_scalar(
        cost, bounds=(lead - 4.0 * span, lead + span), method="bounded", options={"xatol": 1e-10}
    )
    move = np.array([found.x - places[best], rival_place(float(found.x)) - places[rival]])
    return float(found.fun), inverse @ pair.T @ tight @ move
