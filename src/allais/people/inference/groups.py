"""Do people come in types, or do they differ continuously?

Types are a mixture, fitted by expectation and maximisation: Bruhin, Fehr-Duda and Epper (2010) found most people to be
of one type, who weight probabilities, and a fifth of another, who nearly maximise the mean. The alternative is one
normal population. Each person's likelihood is integrated over it by importance sampling: half of the draws are from
around the person's posterior, half from the population, so that weights are bounded. The Bayesian information
criterion decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from allais._checks import FloatArray, Seed, generator
from allais.people.data.choices import Choices
from allais.people.inference.fit import DRAWS, EDGE, Gradients, drawn_around, find_mode, maximise
from allais.people.inference.fitted import Fitted
from allais.people.model.family import Family
from allais.people.model.likelihood import Likelihood
from allais.people.model.parameters import Prior
from allais.preferences.showing import Rows, as_frame, as_html, in_words, weight_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROUNDS = 4  # of drawing people and maximising
STEPS = 40  # of expectation and maximisation, on the same draws
NARROWEST = 0.02  # spread of people, as a share of the prior's: no data could tell a smaller one from none


class Continuous(NamedTuple):
    """A normal population on the unconstrained scale, and how well it explains all answers.

    Attributes:
        population: The population.
        log_likelihood: The log likelihood of all answers, integrated over the population.
        bic: The Bayesian information criterion; less is better.
    """

    population: Prior
    log_likelihood: float
    bic: float


class _Drawn(NamedTuple):
    """Draws of each person, with their weights except for the population's density."""

    z: FloatArray  # (people, draws, parameters)
    log_weights: FloatArray  # log likelihood less the log density of the draws, (people, draws)


def continuous(
    likelihood: Likelihood, prior: Prior, alone: list[Prior], n_answers: int, rng: np.random.Generator
) -> Continuous:
    """The better of two populations by BIC: parameters that are independent, or correlated.

    `likelihood` has one block per person, and `alone` has each person's posterior without the others.
    """
    d = prior.mean.size
    found = []
    for together in (False, True) if d > 1 else (False,):
        population, log_likelihood = _fitted_population(likelihood, prior, alone, together, rng)
        n_numbers = d + (d * (d + 1) // 2 if together else d)
        bic = n_numbers * float(np.log(n_answers)) - 2.0 * log_likelihood
        found.append(Continuous(population, log_likelihood, bic))
    return min(found, key=lambda one: one.bic)


def _fitted_population(
    likelihood: Likelihood, prior: Prior, alone: list[Prior], together: bool, rng: np.random.Generator
) -> tuple[Prior, float]:
    means = np.array([one.mean for one in alone])
    second = means[:, :, None] * means[:, None] + np.array([one.covariance for one in alone])
    posteriors, population = alone, _normal(means.mean(axis=0), second.mean(axis=0), prior, together)
    for _ in range(ROUNDS):
        drawn = _draws(likelihood, population, posteriors, rng)
        for _ in range(STEPS):
            _, weights = _weighted_draws(drawn, population)
            means = np.einsum("ij,ijk->ik", weights, drawn.z)
            second = np.einsum("ijk,ijl->ikl", weights[:, :, None] * drawn.z, drawn.z)
            population = _normal(means.mean(axis=0), second.mean(axis=0), prior, together)
        posteriors = [_normal(mean, square, prior, True) for mean, square in zip(means, second, strict=True)]
    # fresh draws: those of the maximisation would be too optimistic
    log_marginal, _ = _weighted_draws(_draws(likelihood, population, posteriors, rng), population)
    return population, float(log_marginal.sum())


def _draws(likelihood: Likelihood, population: Prior, posteriors: list[Prior], rng: np.random.Generator) -> _Drawn:
    places, log_density = [], []
    for one in posteriors:
        z, of_draws = drawn_around(one, population, rng)
        places.append(z)
        log_density.append(of_draws - np.log(2.0))
    blocks = np.repeat(np.arange(len(posteriors)), 2 * DRAWS)
    log_likelihood = likelihood.at(np.concatenate(places), blocks).reshape(len(posteriors), -1)
    return _Drawn(np.array(places), log_likelihood - np.array(log_density))


def _weighted_draws(drawn: _Drawn, population: Prior) -> tuple[FloatArray, FloatArray]:
    """The marginal log likelihood of each person, and the normalised weights of their draws."""
    n, m, d = drawn.z.shape
    log_weights = drawn.log_weights + population.log_density(drawn.z.reshape(-1, d)).reshape(n, m)
    total = special.logsumexp(log_weights, axis=1)
    return total - np.log(m), np.exp(log_weights - total[:, None])


def _normal(mean: FloatArray, second: FloatArray, prior: Prior, together: bool) -> Prior:
    """The normal distribution with a mean and second moments, not narrower than NARROWEST."""
    covariance = second - np.outer(mean, mean)
    if not together:
        covariance = np.diag(np.diagonal(covariance))
    scaled = covariance / np.outer(prior.spread, prior.spread)
    values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
    root = prior.spread[:, None] * vectors * np.sqrt(np.maximum(values, NARROWEST**2))
    return Prior(mean, root @ root.T)


STARTS = 5
MOST_ROUNDS = 200
SETTLED = 1e-5  # relative change of the log likelihood at convergence
LEAST_SHARE = 1e-6  # so that no type vanishes
STRONG = 10.0  # a difference of BIC that is strong evidence (Kass and Raftery 1995)


@dataclass(frozen=True, eq=False)
class Groups:
    """Types of people: how many are of each, their parameters, and who belongs to which.

    `verdict` says what the data support: "types", "continuous" for one normal population, "either", or "alike", if
    everybody has the same parameters.

    Attributes:
        family: What was fitted.
        shares: Of each type, the largest first, (types,).
        types: The fit of each type.
        membership: For each person, the probability of each type.
        log_likelihood: The log likelihood of all answers.
        bic: The Bayesian information criterion: less is better, and a difference of 10 is strong evidence.
        tried: The BIC of each number of types that was tried.
        continuous: One normal population that was fitted to the same answers.
    """

    family: Family
    shares: FloatArray
    types: tuple[Fitted, ...]
    membership: dict[str, FloatArray]
    log_likelihood: float
    bic: float
    tried: dict[int, float]
    continuous: Continuous

    _repr_html_, to_frame, headline = as_html, as_frame, property(in_words)

    def rows(self) -> Rows:
        """One row per type: its share of people, and its parameters."""
        pairs = zip(self.shares.tolist(), self.types, strict=True)
        return [{"type": k, "of people": share, **one.parameters} for k, (share, one) in enumerate(pairs, start=1)]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how each type weights the probabilities of its best gains. Needs `allais[plot]`.

        Args:
            ax: Where to draw; by default a new figure.
        """
        pairs = enumerate(zip(self.shares, self.types, strict=True), start=1)
        named = {f"type {k}, {share:.0%} of people": one.preference.gains for k, (share, one) in pairs}
        return weight_curves(named, ax)

    @property
    def verdict(self) -> str:
        """Whether people come in types, differ continuously, either, or not at all."""
        lead = self.continuous.bic - self.bic  # of the types
        if len(self.types) == 1:
            return "alike" if lead >= 0.0 else "continuous"
        if lead > STRONG:
            return "types"
        return "either" if lead >= -STRONG else "continuous"

    def __str__(self) -> str:
        lines = []
        for number, (share, one) in enumerate(zip(self.shares, self.types, strict=True), start=1):
            numbers = ", ".join(f"{name} {value:.3g}" for name, value in one.parameters.items())
            lines.append(f"type {number}: {share:.0%} of people; {numbers}")
        tried = ", ".join(f"{n}: {bic:,.0f}" for n, bic in self.tried.items())
        lines.append(f"BIC by number of types: {tried}; of one continuous population: {self.continuous.bic:,.0f}")
        unsure = np.mean([row.max() < 0.9 for row in self.membership.values()])
        if len(self.shares) > 1:
            lines.append(f"{unsure:.0%} of people belong to no type with a probability of 0.9.")
        if self.verdict in SAID:
            lines.append(SAID[self.verdict])
        return "\n".join(lines)


SAID = {
    "continuous": "One population in which people differ continuously explains the answers better: do not read types "
    "into them. Use hierarchical.",
    "either": "One population in which people differ continuously explains the answers as well: they do not show that "
    "there are types.",
}


def groups(choices: Choices, family: Family, *, n_types: int | None = None, seed: Seed = 0) -> Groups:
    """Sort people into types.

    Types are found even where people differ continuously. So one normal population is fitted beside them, and `verdict`
    and the text say when it explains the answers as well, or better.

    Args:
        choices: The choices.
        family: What is fitted.
        n_types: The number of types; by default one, two or three, whichever has the lowest BIC.
        seed: The seed of the starts.

    >>> rng = np.random.default_rng(1)
    >>> table = {"person": np.arange(320) % 8, "gain": rng.integers(10, 40, 320), "loss": rng.integers(5, 20, 320)}
    >>> averse = np.where(table["person"] < 4, 1.0, 2.5)
    >>> table["accepted"] = (table["gain"] - averse * table["loss"] + rng.logistic(size=320) > 0).astype(int)
    >>> found = groups(Choices.mixed_gambles(table), Family(eta=0.65, alpha=1.0), seed=1)
    >>> found.shares.round(2), sorted(round(one.parameters["loss_aversion"], 1) for one in found.types)
    (array([0.5, 0.5]), [0.9, 2.5])
    >>> found.verdict
    'types'
    """
    if n_types is not None and not (isinstance(n_types, int) and 1 <= n_types <= len(choices.people)):
        raise ValueError(f"n_types must be from 1 to the number of people; got {n_types!r}. Two or three are usual.")
    if not family.names:
        raise ValueError("types need free parameters; this family has none. Free some.")
    rng = generator(seed)
    likelihood = Likelihood(family, choices, by_person=True)
    most = min(3, len(choices.people))
    alone = [
        find_mode(Likelihood(family, choices.of(name)), family, with_prior=True, rng=rng) for name in choices.people
    ]
    places_alone = np.array([one.place for one in alone])
    tried = {
        n: _mixture(choices, family, likelihood, n, places_alone, rng)
        for n in ([n_types] if n_types else range(1, most + 1))
    }
    best = min(tried, key=lambda n: tried[n][0])
    bic, log_likelihood, shares, places, of_person = tried[best]
    order = np.argsort(-shares, kind="stable")
    return Groups(
        family,
        shares[order],
        tuple(_type(choices, family, places[k], of_person[:, k]) for k in order),
        {name: of_person[i, order] for i, name in enumerate(choices.people)},
        log_likelihood,
        bic,
        {n: found[0] for n, found in tried.items()},
        continuous(
            likelihood, family.prior, [Prior(one.place, one.covariance) for one in alone], choices.n_answers, rng
        ),
    )


Mixture = tuple[float, float, FloatArray, FloatArray, FloatArray]  # BIC, log likelihood, shares, places, membership


def _mixture(
    choices: Choices, family: Family, likelihood: Likelihood, n_types: int, alone: FloatArray, rng: np.random.Generator
) -> Mixture:
    """The best of several starts; each begins with the parameters of a few people."""
    n = likelihood.n_blocks
    if n_types == 1:
        whole = find_mode(Likelihood(family, choices), family, with_prior=False, rng=rng).place
        return _em(choices, family.prior, likelihood, whole[None], n)
    starts = [alone[rng.choice(n, n_types, replace=False)] for _ in range(STARTS)]
    return min((_em(choices, family.prior, likelihood, places, n) for places in starts), key=itemgetter(0))


def _em(choices: Choices, prior: Prior, likelihood: Likelihood, places: FloatArray, n: int) -> Mixture:
    n_types, d = places.shape
    box = prior.mean - EDGE * prior.spread, prior.mean + EDGE * prior.spread
    shares = np.full(n_types, 1.0 / n_types)
    before = -math.inf
    for _ in range(MOST_ROUNDS):
        fits = np.stack([likelihood.at(np.tile(place, (n, 1)), np.arange(n)) for place in places], axis=1)
        joint = fits + np.log(shares)
        total = special.logsumexp(joint, axis=1)
        of_person = np.exp(joint - total[:, None])
        now = float(total.sum())
        if n_types == 1 or now - before < SETTLED * abs(now):
            break
        before = now
        shares = np.maximum(of_person.mean(axis=0), LEAST_SHARE)
        shares /= shares.sum()
        places = places.copy()
        for k in np.flatnonzero(of_person.max(axis=0) > LEAST_SHARE):  # nobody belongs to the others
            places[k] = maximise(_weighted(likelihood, of_person[:, k]), places[k], prior.spread, *box).place
    n_numbers = n_types * d + n_types - 1
    bic = n_numbers * math.log(choices.n_answers) - 2.0 * now
    return bic, now, shares, places, of_person


def _weighted(likelihood: Likelihood, weights: FloatArray) -> Gradients:
    """Values and gradients of the sum over people, each with a weight, at many points at once."""
    mine = np.flatnonzero(weights > LEAST_SHARE)

    def gradients(z: FloatArray) -> tuple[FloatArray, FloatArray]:
        blocks = np.tile(mine, z.shape[0])
        values, found = likelihood.gradients_at(np.repeat(z, mine.size, axis=0), blocks)
        each = values.reshape(z.shape[0], mine.size), found.reshape(z.shape[0], mine.size, -1)
        return each[0] @ weights[mine], np.einsum("nmd,m->nd", each[1], weights[mine])

    return gradients


def _type(choices: Choices, family: Family, place: FloatArray, weights: FloatArray) -> Fitted:
    """One type as a source of preferences; its only draw is its point."""
    counts = np.bincount(choices.person, choices.count, weights.size)
    likeliest = Likelihood(family, choices, by_person=True).at(
        np.tile(place, (weights.size, 1)), np.arange(weights.size)
    )
    return Fitted(
        family, "maximum likelihood", place, place[None], round(float(counts @ weights)), float(likeliest @ weights)
    )
