"""Simulation-based calibration (Talts and others, 2018): ranks of the truth among posterior draws are uniform.

People are drawn from the prior of each family, answer, and are fitted. If the particles are right, the rank of the true
parameter is uniform and a 90 % interval holds it nine times in ten.
"""

import numpy as np
import pytest

from allais import GonzalezWu, Power, Prelec, TverskyKahneman, Wang
from allais.people import Family, posterior
from allais.people.inference.summary import interval
from allais.people.model.likelihood import Likelihood
from allais.weights import SteepMiddle, TailAverage
from tests.people.simulated import answering, gambles, mass_within

KINDS = [TverskyKahneman, Prelec, GonzalezWu, Power, SteepMiddle, TailAverage, Wang]


def ranks(kind, n_people, n_trials, seed, n_particles=400):
    """The share of draws below the truth, and whether their interval holds it, both (people, parameters)."""
    family = Family(kind, stake=50.0)
    rng = np.random.default_rng(seed)
    pairs = gambles(rng, n_trials)
    truths = family.prior.draw(n_people, rng)
    found, held = [], []
    for z in truths:
        choices = answering(family, family.natural(z[None])[0], pairs, rng)
        places = posterior(choices, family, n_particles=n_particles, seed=rng).places
        low, high = interval(places)
        found.append((places < z).mean(axis=0))
        held.append((low < z) & (z < high))
    return np.array(found), np.array(held)


def test_a_few_people_of_one_family_are_covered():
    """Of 40 people 36 should be covered; fewer than 24 or a mean rank off by 0.23 (5 standard errors): 1e-6 by luck."""
    found, held = ranks(TverskyKahneman, 40, 30, seed=1, n_particles=200)
    assert (held.mean(axis=0) >= 24 / 40).all()
    assert (np.abs(found.mean(axis=0) - 0.5) < 5.0 * np.sqrt(1 / 12 / 40)).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ranks_are_uniform_and_intervals_hold_for_every_family(kind):
    """200 people: coverage is binomial with sd 2.1 %; six of these, and a chi-square of ten bins beyond 1e-7."""
    found, held = ranks(kind, 200, 50, seed=[2, *kind.__name__.encode()])
    assert (np.abs(held.mean(axis=0) - 0.9) < 6 * 0.0212).all()
    counts = np.array([np.histogram(column, bins=10, range=(0, 1))[0] for column in found.T])
    assert ((counts - 20.0) ** 2 / 20.0).sum(axis=1).max() < 52.0


@pytest.mark.slow
def test_intervals_of_particles_hold_nine_tenths_of_the_posterior_itself():
    """30 people, 500 draws each: an interval's mass has sd 1.3 points, so 0.25 for the mean; five of these."""
    family, rng = Family(TverskyKahneman, stake=50.0), np.random.default_rng(5)
    pairs, held = gambles(rng, 50), []
    for z in family.prior.draw(30, rng):
        choices = answering(family, family.natural(z[None])[0], pairs, rng)
        places = posterior(choices, family, n_particles=500, seed=rng).places
        held.append(mass_within(Likelihood(family, choices), family.prior, places, rng))
    assert (np.abs(np.mean(held, axis=0) - 0.9) < 5 * 0.0025).all()
