"""Posteriors by sequential Monte Carlo: all peaks, and the evidence for comparing families."""

from __future__ import annotations

import numpy as np

from allais._random import Seed, generator
from allais.people.choices import Choices
from allais.people.family import Family
from allais.people.fitted import MOST_DRAWS, Fitted, somebody
from allais.people.likelihood import Likelihood
from allais.people.tempering import temper

FEWEST = 100  # particles: fewer tell no interval


def posterior(
    choices: Choices, family: Family, *, by_person: bool = False, n_particles: int = 1000, seed: Seed = 0
) -> Fitted:
    """The posterior of all people together, or of each by themselves, as draws; with the log evidence.

    >>> table = {"person": ["a"] * 8, "gain": [10, 12, 15, 20, 8, 10, 11, 30], "loss": [10, 5, 9, 9, 7, 8, 4, 20],
    ...          "accepted": [0, 1, 0, 1, 0, 0, 1, 0]}
    >>> fitted = posterior(Choices.mixed_gambles(table), Family(eta=0.61, alpha=1.0), seed=1)
    >>> 1.2 < fitted.parameters["loss_aversion"] < 2.2, round(fitted.log_evidence)
    (True, -2)
    """
    if isinstance(n_particles, bool) or not isinstance(n_particles, int) or n_particles < FEWEST:
        raise ValueError(f"n_particles must be {FEWEST} or more; got {n_particles!r}. A thousand is usual.")
    if not family.names:
        raise ValueError("a posterior is that of free parameters; this family has none. Use fit, or free some.")
    rng = generator(seed)
    if by_person:
        people = {name: _one(choices.of(name), family, n_particles, rng) for name in choices.people}
        return somebody(family, "posterior", people)
    return _one(choices, family, n_particles, rng)


def _one(choices: Choices, family: Family, n_particles: int, rng: np.random.Generator) -> Fitted:
    likelihood = Likelihood(family, choices)
    found = temper(likelihood.on_line, family.prior, n_particles, rng)
    place = found.z.mean(axis=0)
    kept = found.z if len(found.z) <= MOST_DRAWS else found.z[rng.permutation(len(found.z))[:MOST_DRAWS]]
    at_point = float(likelihood.on_line(place[None])[0])
    return Fitted(family, "posterior", place, kept, choices.n_answers, at_point, found.log_evidence)
