"""Simulation-based calibration (Talts and others, 2018): ranks of the truth among posterior draws are uniform.

People are drawn from the prior of each family, answer, and are fitted. If the particles are right, the rank of the true
parameter is uniform and a 90 % interval holds it nine times in ten.
"""

import numpy as np
import pytest

from allais import GonzalezWu, Power, Prelec, TverskyKahneman, Wang
from allais.people import Family, posterior
from allais.weights import SteepMiddle, TailAverage
from tests.people.simulated import answering, gambles

KINDS = [TverskyKahneman, Prelec, GonzalezWu, Power, SteepMiddle, TailAverage, Wang]


def ranks(kind, n_people, n_trials, seed, n_particles=400):
    """The share of draws below the truth, (people, parameters)."""
    family = Family(kind, stake=50.0)
    rng = np.random.default_rng(seed)
    pairs = gambles(rng, n_trials)
    truths = family.prior.draw(n_people, rng)
    found = []
    for z in truths:
        choices = answering(family, family.natural(z[None])[0], pairs, rng)
        found.append((posterior(choices, family, n_particles=n_particles, seed=rng).places < z).mean(axis=0))
    return np.array(found)


def covered(found):
    """The share of people whose parameters lie in their 90 % intervals."""
    return ((found > 0.05) & (found < 0.95)).mean(axis=0)


def test_a_few_people_of_one_family_are_covered():
    """Of 40 people 36 should be covered; fewer than 24 or a mean rank off by 0.23 (5 standard errors): 1e-6 by luck."""
    found = ranks(TverskyKahneman, 40, 30, seed=1, n_particles=200)
    assert (covered(found) >= 24 / 40).all()
    assert (np.abs(found.mean(axis=0) - 0.5) < 5.0 * np.sqrt(1 / 12 / 40)).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ranks_are_uniform_and_intervals_hold_for_every_family(kind):
    """200 people: coverage is binomial with sd 2.1 %; six of these, and a chi-square of ten bins beyond 1e-7."""
    found = ranks(kind, 200, 50, seed=[2, *kind.__name__.encode()])
    assert (np.abs(covered(found) - 0.9) < 6 * 0.0212).all()
    counts = np.array([np.histogram(column, bins=10, range=(0, 1))[0] for column in found.T])
    assert ((counts - 20.0) ** 2 / 20.0).sum(axis=1).max() < 52.0
