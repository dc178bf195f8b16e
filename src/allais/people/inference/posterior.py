"""Posteriors by sequential Monte Carlo: all modes, and the evidence for comparing families."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray, Seed, generator, whole
from allais.people.data.choices import Choices
from allais.people.inference.fitted import MOST_DRAWS, Fitted, pooled
from allais.people.model.family import Family
from allais.people.model.likelihood import Likelihood
from allais.people.model.parameters import Prior

KEPT = 0.5  # the effective share of particles after each step
MOVED = 0.95  # stop when this share of the particles has moved at least once
LEAST_MOVES, MOST_MOVES = 5, 60
LAST_MOVES = 25  # at least, in the last step: a random walk in four dimensions forgets its start in a dozen
DIFFERENCES = 0.5  # of the moves are along the difference of two particles
WHOLE_DIFFERENCE = 0.15  # of these are along all of it, from mode to mode
BLUR = 0.01  # of a random step is added to a difference, so that no two moves coincide
HALVINGS = 40  # of the interval in which the next power is sought
GOOD_SHARE = 0.25  # acceptance rate to which the random walk is scaled


def smc(
    log_likelihood: Callable[[FloatArray], FloatArray], prior: Prior, n_particles: int, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """Draws from the posterior, unconstrained, and the log evidence: through powers of the likelihood from 0 to 1."""
    z = prior.draw(n_particles, rng)
    fit = log_likelihood(z)
    power, log_evidence, scale = 0.0, 0.0, 1.0
    while power < 1.0:
        step = _step(fit, 1.0 - power)
        log_weights = step * fit
        most = log_weights.max()
        weights = np.exp(log_weights - most)
        log_evidence += float(most + np.log(weights.mean()))
        power = power + step if power + step < 1.0 - 1e-12 else 1.0
        kept = systematic(weights / weights.sum(), n_particles, rng.random())
        z, fit = z[kept], fit[kept]
        least = LEAST_MOVES if power < 1.0 else LAST_MOVES
        z, fit, scale = move(log_likelihood, prior, power, z, fit, scale, rng, least)
    return z, log_evidence


def _step(fit: FloatArray, left: float) -> float:
    """How far the power may rise."""

    def effective(step: float) -> float:
        weights = np.exp(step * (fit - fit.max()))
        return float(weights.sum() ** 2 / np.square(weights).sum()) / fit.size

    if effective(left) >= KEPT:
        return left
    low, high = 0.0, left
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if effective(middle) >= KEPT else (low, middle)
    return 0.5 * (low + high)


def systematic(weights: FloatArray, n: int, first: float) -> FloatArray:
    """n indices of particles at even steps along the cumulative weights; `first` in [0, 1) is the offset."""
    places = (first + np.arange(n)) / n
    return np.minimum(np.searchsorted(np.cumsum(weights), places), weights.size - 1)


def move(
    log_likelihood: Callable[[FloatArray], FloatArray],
    prior: Prior,
    power: float,
    z: FloatArray,
    fit: FloatArray,
    scale: float,
    rng: np.random.Generator,
    least: int = LEAST_MOVES,
) -> tuple[FloatArray, FloatArray, float]:
    """Metropolis moves at a power of the likelihood, until nearly all particles have moved."""
    n, d = z.shape
    root = np.linalg.cholesky(np.atleast_2d(np.cov(z.T)) + 1e-10 * prior.covariance)
    walk = 2.38 / np.sqrt(d)
    log_prior = prior.log_density(z)
    moved = np.zeros(n, dtype=bool)
    for move in range(MOST_MOVES):
        if move >= least and moved.mean() >= MOVED:
            break
        noise = rng.standard_normal((n, d)) @ root.T
        by_difference = rng.random() < DIFFERENCES
        if by_difference:
            whole = rng.random((n, 1)) < WHOLE_DIFFERENCE
            # a fresh order each time: the difference of two others, which is as likely as its opposite
            first, second = rng.permutation(n), rng.permutation(n)
            step = np.where(whole, 1.0, walk / np.sqrt(2.0) * scale) * (z[first] - z[second]) + BLUR * walk * noise
        else:
            step = scale * walk * noise
        there = z + step
        fit_there, prior_there = log_likelihood(there), prior.log_density(there)
        gain = power * (fit_there - fit) + prior_there - log_prior
        taken = np.log(rng.random(n)) < gain
        z, fit, log_prior = (
            np.where(taken[:, None], there, z),
            np.where(taken, fit_there, fit),
            np.where(taken, prior_there, log_prior),
        )
        moved |= taken
        if not by_difference:
            scale = float(np.clip(scale * np.exp(taken.mean() - GOOD_SHARE), 0.05, 2.0))
    return z, fit, scale


FEWEST = 100  # particles: fewer are not enough for an interval


def posterior(
    choices: Choices, family: Family, *, by_person: bool = False, n_particles: int = 1000, seed: Seed = 0
) -> Fitted:
    """The posterior of all people together, or of each by themselves, as draws; with the log evidence.

    Args:
        choices: The choices.
        family: What is fitted.
        by_person: Whether each person is fitted by themselves, too.
        n_particles: The number of draws.
        seed: The seed.

    >>> table = {"person": ["a"] * 8, "gain": [10, 12, 15, 20, 8, 10, 11, 30], "loss": [10, 5, 9, 9, 7, 8, 4, 20],
    ...          "accepted": [0, 1, 0, 1, 0, 0, 1, 0]}
    >>> fitted = posterior(Choices.mixed_gambles(table), Family(eta=0.61, alpha=1.0), seed=1)
    >>> 1.2 < fitted.parameters["loss_aversion"] < 2.2, round(fitted.log_evidence)
    (True, -2)
    """
    n_particles = whole("n_particles", n_particles, least=FEWEST)
    if not family.names:
        raise ValueError("a posterior needs free parameters; this family has none. Use fit, or free some.")
    rng = generator(seed)
    if by_person:
        people = {name: _one(choices.of(name), family, n_particles, rng) for name in choices.people}
        return pooled(family, "posterior", people)
    return _one(choices, family, n_particles, rng)


def _one(choices: Choices, family: Family, n_particles: int, rng: np.random.Generator) -> Fitted:
    likelihood = Likelihood(family, choices)
    z, log_evidence = smc(likelihood.at, family.prior, n_particles, rng)
    place = z.mean(axis=0)
    kept = z if len(z) <= MOST_DRAWS else z[rng.permutation(len(z))[:MOST_DRAWS]]
    at_point = float(likelihood.at(place[None])[0])
    return Fitted(family, "posterior", place, kept, choices.n_answers, at_point, log_evidence)


LEAST_EFFECTIVE = 0.5  # the effective share of particles below which they are resampled and moved


class Belief(NamedTuple):
    """Weighted particles; immutable."""

    z: FloatArray  # unconstrained, (particles, parameters)
    log_weights: FloatArray  # (particles,), the largest is 0

    @property
    def weights(self) -> FloatArray:
        """The probability of each particle."""
        found = np.exp(self.log_weights)
        return found / found.sum()

    @property
    def effective(self) -> float:
        """The effective sample size."""
        return float(1.0 / np.square(self.weights).sum())

    @property
    def middle(self) -> FloatArray:
        """The mean, on the unconstrained scale."""
        return self.weights @ self.z

    def sample(self, n: int) -> FloatArray:
        """n particles, drawn by their weights; the same every time."""
        return self.z[systematic(self.weights, n, 0.5)]


def updated(belief: Belief, family: Family, last: Choices, every: Choices, rng: np.random.Generator) -> Belief:
    """The belief after one more answer: reweighted and, if few particles are left, resampled and moved.

    Chopin (2002): between two moves the weights are products of the answers' probabilities.
    """
    log_weights = belief.log_weights + Likelihood(family, last).at(belief.z)
    weighted = Belief(belief.z, log_weights - log_weights.max())
    if weighted.effective >= LEAST_EFFECTIVE * len(weighted.z):
        return weighted
    z = weighted.z[systematic(weighted.weights, len(weighted.z), rng.random())]
    likelihood = Likelihood(family, every)
    z, _, _ = move(likelihood.at, family.prior, 1.0, z, likelihood.at(z), 1.0, rng)
    return Belief(z, np.zeros(len(z)))


def recomputed(family: Family, every: Choices, n: int, rng: np.random.Generator) -> Belief:
    """The belief after all answers, computed from the prior: the old version of a revised answer leaves no trace."""
    return Belief(smc(Likelihood(family, every).at, family.prior, n, rng)[0], np.zeros(n))
