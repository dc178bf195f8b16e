"""People who differ continuously: one normal population that is fitted to answers, with its marginal likelihood.

Each person's likelihood is integrated over the population by weighed draws: half of them from around what is known
of the person, half from the population itself, so that weights are bounded. The population is then climbed by
expectation and maximisation on these draws, and people are drawn anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais.people.model.likelihood import Likelihood
from allais.people.model.parameters import Prior

DRAWS = 300  # of each person, from either distribution: an error of about 0.05 of a person's log likelihood
ROUNDS = 4  # of drawing people and climbing
STEPS = 40  # of one climb
WIDER = 2.0  # the covariance around what is known, so that weights stay bounded
NARROWEST = 0.02  # spread of people, as a share of the prior's: narrower is the same to all answers


class Continuous(NamedTuple):
    """A normal population on the line, and how well it explains all answers."""

    population: Prior
    log_likelihood: float  # of all answers, each person's over the population
    bic: float


class _Drawn(NamedTuple):
    """Places of each person with what they count but for the population."""

    z: FloatArray  # (people, draws, parameters)
    log_weights: FloatArray  # log likelihood less the log density of the draws, (people, draws)


def continuous(
    likelihood: Likelihood, prior: Prior, alone: list[Prior], n_answers: int, rng: np.random.Generator
) -> Continuous:
    """The better of two populations by BIC: parameters that vary independently, or together.

    `likelihood` has one block per person, and `alone` is what is known of each without the others.
    """
    d = prior.mean.size
    numbers = {False: 2 * d, True: d + d * (d + 1) // 2}
    found = []
    for together in (False, True) if d > 1 else (False,):
        population, log_likelihood = _climbed(likelihood, prior, alone, together, rng)
        bic = numbers[together] * float(np.log(n_answers)) - 2.0 * log_likelihood
        found.append(Continuous(population, log_likelihood, bic))
    return min(found, key=lambda one: one.bic)


def _climbed(
    likelihood: Likelihood, prior: Prior, alone: list[Prior], together: bool, rng: np.random.Generator
) -> tuple[Prior, float]:
    means = np.array([one.mean for one in alone])
    second = means[:, :, None] * means[:, None] + np.array([one.covariance for one in alone])
    known, population = alone, _normal(means.mean(axis=0), second.mean(axis=0), prior, together)
    for _ in range(ROUNDS):
        drawn = _draws(likelihood, population, known, rng)
        for _ in range(STEPS):
            _, weights = _weighed(drawn, population)
            means = np.einsum("ij,ijk->ik", weights, drawn.z)
            second = np.einsum("ijk,ijl->ikl", weights[:, :, None] * drawn.z, drawn.z)
            population = _normal(means.mean(axis=0), second.mean(axis=0), prior, together)
        known = [_normal(mean, square, prior, True) for mean, square in zip(means, second, strict=True)]
    log_marginal, _ = _weighed(_draws(likelihood, population, known, rng), population)  # fresh ones: no flattery
    return population, float(log_marginal.sum())


def _draws(likelihood: Likelihood, population: Prior, known: list[Prior], rng: np.random.Generator) -> _Drawn:
    places, log_density = [], []
    for one in known:
        near = Prior(one.mean, WIDER * one.covariance)
        z = np.concatenate([near.draw(DRAWS, rng), population.draw(DRAWS, rng)])
        places.append(z)
        log_density.append(np.logaddexp(near.log_density(z), population.log_density(z)) - np.log(2.0))
    blocks = np.repeat(np.arange(len(known)), 2 * DRAWS)
    log_likelihood = likelihood.on_line(np.concatenate(places), blocks).reshape(len(known), -1)
    return _Drawn(np.array(places), log_likelihood - np.array(log_density))


def _weighed(drawn: _Drawn, population: Prior) -> tuple[FloatArray, FloatArray]:
    """The log likelihood of each person over the population, and the weights of their draws, which sum to 1."""
    n, m, d = drawn.z.shape
    log_weights = drawn.log_weights + population.log_density(drawn.z.reshape(-1, d)).reshape(n, m)
    most = log_weights.max(axis=1, keepdims=True)
    weights = np.exp(log_weights - most)
    total = weights.sum(axis=1, keepdims=True)
    return most[:, 0] + np.log(total[:, 0] / m), weights / total


def _normal(mean: FloatArray, second: FloatArray, prior: Prior, together: bool) -> Prior:
    """The normal distribution with a mean and second moments, not narrower than answers can tell."""
    covariance = second - np.outer(mean, mean)
    if not together:
        covariance = np.diag(np.diagonal(covariance))
    scaled = covariance / np.outer(prior.spread, prior.spread)
    values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
    root = prior.spread[:, None] * vectors * np.sqrt(np.maximum(values, NARROWEST**2))
    return Prior(mean, root @ root.T)
