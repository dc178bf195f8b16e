"""Groups: a mixture of a few types of people, by expectation and maximisation.

Bruhin, Fehr-Duda and Epper (2010) found most people to be of one type, who weigh probabilities, and a fifth of another,
who nearly maximise the mean. Whether a table has types is asked of the Bayesian information criterion, and types are
compared with one population in which people differ continuously: of such a one, types are slices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from allais._checks import FloatArray
from allais._random import Seed, generator
from allais.people.data.choices import Choices
from allais.people.inference.continuous import Continuous, continuous
from allais.people.inference.fit import EDGE, Gradients, climb, peak
from allais.people.inference.fitted import Fitted
from allais.people.model.family import Family
from allais.people.model.likelihood import Likelihood
from allais.people.model.parameters import Prior

STARTS = 5
MOST_ROUNDS = 200
SETTLED = 1e-5  # of the log likelihood, relatively
LEAST_SHARE = 1e-6  # so that no type dies
STRONG = 10.0  # a difference of BIC that is strong evidence (Kass and Raftery 1995)


@dataclass(frozen=True, eq=False)
class Groups:
    """Types of people: how many are of each, their parameters, and who belongs to which.

    `bic` falls with the fit and rises with each number that was fitted: fewer is better, and 10 are strong evidence.
    `continuous` is one normal population that was fitted to the same answers, with its own `bic`; `verdict` says which
    of the two the data speak for: "types", "continuous", "either", or "alike", if one point does for everybody.
    """

    family: Family
    shares: FloatArray  # of each type, the largest first, (types,)
    types: tuple[Fitted, ...]
    membership: dict[str, FloatArray]  # of each person: the probability of each type
    log_likelihood: float
    bic: float
    tried: dict[int, float]  # the BIC of each number of types that was tried
    continuous: Continuous

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
    """People sorted into types; without a number, one, two or three types, whichever has the lowest BIC.

    Types are found also where people differ continuously. So one normal population is fitted beside them, and
    `verdict` and the text say when it explains the answers as well, or better.

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
        raise ValueError(f"there are types from 1 to the number of people; got {n_types!r}. Two or three are usual.")
    if not family.names:
        raise ValueError("types differ in free parameters; this family has none. Free some.")
    rng = generator(seed)
    likelihood = Likelihood(family, choices, by_person=True)
    most = min(3, len(choices.people))
    alone = [peak(Likelihood(family, choices.of(name)), family, with_prior=True, rng=rng) for name in choices.people]
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
        whole = peak(Likelihood(family, choices), family, with_prior=False, rng=rng).place
        return _climb_together(choices, family.prior, likelihood, whole[None], n)
    starts = [alone[rng.choice(n, n_types, replace=False)] for _ in range(STARTS)]
    return min(
        (_climb_together(choices, family.prior, likelihood, places, n) for places in starts), key=lambda found: found[0]
    )


def _climb_together(choices: Choices, prior: Prior, likelihood: Likelihood, places: FloatArray, n: int) -> Mixture:
    everybody = np.arange(n)
    n_types, d = places.shape
    box = prior.mean - EDGE * prior.spread, prior.mean + EDGE * prior.spread
    shares = np.full(n_types, 1.0 / n_types)
    before = -math.inf
    for _ in range(MOST_ROUNDS):
        fits = np.stack([likelihood.on_line(np.tile(place, (n, 1)), everybody) for place in places], axis=1)
        joint = fits + np.log(shares)
        most = joint.max(axis=1, keepdims=True)
        total = most[:, 0] + np.log(np.exp(joint - most).sum(axis=1))
        of_person = np.exp(joint - total[:, None])
        now = float(total.sum())
        if n_types == 1 or now - before < SETTLED * abs(now):
            break
        before = now
        shares = np.maximum(of_person.mean(axis=0), LEAST_SHARE)
        shares /= shares.sum()
        places = np.array(
            [
                climb(_weighted(likelihood, of_person[:, k]), place, prior.spread, *box).place
                if of_person[:, k].max() > LEAST_SHARE  # else nobody is left to learn from
                else place
                for k, place in enumerate(places)
            ]
        )
    n_numbers = n_types * d + n_types - 1
    bic = n_numbers * math.log(choices.n_answers) - 2.0 * now
    return bic, now, shares, places, of_person


def _weighted(likelihood: Likelihood, weights: FloatArray) -> Gradients:
    """Values and gradients of all people, each counted by a weight, for many places at once."""
    mine = np.flatnonzero(weights > LEAST_SHARE)

    def gradients(z: FloatArray) -> tuple[FloatArray, FloatArray]:
        blocks = np.tile(mine, z.shape[0])
        values, found = likelihood.gradients_on_line(np.repeat(z, mine.size, axis=0), blocks)
        each = values.reshape(z.shape[0], mine.size), found.reshape(z.shape[0], mine.size, -1)
        return each[0] @ weights[mine], np.einsum("nmd,m->nd", each[1], weights[mine])

    return gradients


def _type(choices: Choices, family: Family, place: FloatArray, weights: FloatArray) -> Fitted:
    """One type as a source of preferences; its draws are its point."""
    counts = np.bincount(choices.person, choices.count, weights.size)
    likeliest = Likelihood(family, choices, by_person=True).on_line(
        np.tile(place, (weights.size, 1)), np.arange(weights.size)
    )
    return Fitted(
        family, "maximum likelihood", place, place[None], round(float(counts @ weights)), float(likeliest @ weights)
    )
