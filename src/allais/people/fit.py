"""Points: the parameters under which choices are likeliest, by exact slopes from several starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais._random import Seed, generator
from allais.people.choices import Choices
from allais.people.climbing import climb
from allais.people.family import Family
from allais.people.fitted import MOST_DRAWS, Fitted, somebody
from allais.people.likelihood import Likelihood

STARTS = 4  # the middle of the prior and draws from it
EDGE = 8.0  # standard deviations of the prior, beyond which no optimum is looked for
FLATTEST = 1.0 / 25.0  # curvature of a direction that the data leave open: five standard deviations of the prior


class Peak(NamedTuple):
    """The highest maximum on the line."""

    place: FloatArray
    log_likelihood: float
    covariance: FloatArray  # of the normal law that has its curvature
    notes: tuple[str, ...]


def fit(choices: Choices, family: Family, *, prior: bool = False, by_person: bool = False, seed: Seed = 0) -> Fitted:
    """The parameters of all people together, or of each: maximum likelihood, or with `prior` the posterior mode.

    Slopes are exact. Standard errors come from the curvature at the peak. The seed is that of the starts beside the
    middle of the prior, and of draws from the normal law around the peak.

    >>> table = {"person": ["a"] * 8, "gain": [10, 12, 15, 20, 8, 10, 11, 30], "loss": [10, 5, 9, 9, 7, 8, 4, 20],
    ...          "accepted": [0, 1, 0, 1, 0, 0, 1, 1]}
    >>> fitted = fit(Choices.mixed_gambles(table), Family(eta=0.61, alpha=1.0))
    >>> round(fitted.parameters["loss_aversion"], 2)
    1.49
    """
    rng = generator(seed)
    method = "posterior mode" if prior else "maximum likelihood"
    if by_person:
        people = {name: _one(choices.of(name), family, method, rng) for name in choices.people}
        return somebody(family, method, people)
    return _one(choices, family, method, rng)


def _one(choices: Choices, family: Family, method: str, rng: np.random.Generator) -> Fitted:
    found = peak(Likelihood(family, choices), family, with_prior=method == "posterior mode", rng=rng)
    places = found.place + rng.standard_normal((MOST_DRAWS, found.place.size)) @ _root(found.covariance).T
    return Fitted(family, method, found.place, places, choices.n_answers, found.log_likelihood, notes=found.notes)


def peak(likelihood: Likelihood, family: Family, *, with_prior: bool, rng: np.random.Generator) -> Peak:
    """The highest of the maxima that are found."""
    prior = family.prior
    if not family.names:
        return Peak(np.zeros(0), float(likelihood(np.zeros((1, 0)))[0]), np.zeros((0, 0)), ())

    def slopes(z: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, slope = likelihood.slopes_on_line(z)
        if with_prior:
            return value + prior.log_density(z), slope + prior.log_density_slope(z)
        return value, slope

    box = prior.mean - EDGE * prior.spread, prior.mean + EDGE * prior.spread
    starts = np.concatenate([prior.mean[None], prior.draw(STARTS - 1, rng)])
    best = max((climb(slopes, start, prior.spread, *box) for start in starts), key=lambda top: top.value)
    covariance, flat = _covariance(best.curvature, prior.spread)
    notes = [
        f"{name} went as far as it may: the data do not bound it."
        for name, off in zip(family.names, np.abs(best.place - prior.mean) / prior.spread, strict=True)
        if off > EDGE - 0.01
    ]
    if flat:
        notes.append("The likelihood is flat in some direction: standard errors there are five times the prior's.")
    return Peak(best.place, float(likelihood.on_line(best.place[None])[0]), covariance, tuple(notes))


def _covariance(curvature: FloatArray, spread: FloatArray) -> tuple[FloatArray, bool]:
    """The inverse of a curvature, no wider than some multiple of the prior in any direction."""
    values, vectors = np.linalg.eigh(curvature * np.outer(spread, spread))
    flat = bool(values[0] < FLATTEST)
    root = vectors / np.sqrt(np.maximum(values, FLATTEST))
    return np.asarray((root @ root.T) * np.outer(spread, spread)), flat


def _root(covariance: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
