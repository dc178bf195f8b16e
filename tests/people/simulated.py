"""People with known parameters who answer questions."""

from typing import Any

import numpy as np

from allais import Discrete
from allais.people import Choices, Family
from allais.people.inference.summary import interval
from allais.people.model.likelihood import Likelihood
from allais.people.model.parameters import Prior


def gambles(rng: np.random.Generator, n: int, *, losses: bool = True) -> list[list[Discrete]]:
    """Pairs of lotteries of two outcomes with gains, losses and both, and near enough to be a choice."""
    made = []
    for i in range(n):
        pair = []
        for _ in range(2):
            p = float(rng.choice([0.01, 0.05, 0.1, 0.25, 0.4, 0.6, 0.75, 0.9, 0.95, 0.99]))
            high, low = np.sort(rng.integers(1, 100, 2))[::-1].tolist()
            if losses and i % 3 == 1:
                high, low = -low, -high
            elif losses and i % 3 == 2:
                low = -low
            pair.append(Discrete({high: p, low: 1 - p}) if high != low else Discrete({high: 1.0}))
        made.append(pair)
    return made


def answering(family: Family, parameters: Any, pairs: Any, rng: np.random.Generator, person: str = "one") -> Choices:
    """What a person with these parameters answers."""
    first = Choices.from_rows([(person, pair, 0) for pair in pairs])
    chance = np.exp(family.log_chances([parameters], first)[0])
    chosen = (rng.random(len(pairs)) >= chance).astype(int).tolist()
    return Choices.from_rows([(person, pair, taken) for pair, taken in zip(pairs, chosen, strict=True)])


def mass_within(likelihood: Likelihood, prior: Prior, places: Any, rng: np.random.Generator, n: int = 40_000) -> Any:
    """The posterior's own mass inside the 90 % intervals of draws, by weighed draws from around them and the prior."""
    around = Prior(places.mean(axis=0), 2.0 * np.cov(places.T))
    z = np.concatenate([around.draw(n, rng), prior.draw(n, rng)])
    log_prior = prior.log_density(z)
    log_weights = likelihood.at(z) + log_prior - np.logaddexp(around.log_density(z), log_prior)
    weights = np.exp(log_weights - log_weights.max())
    low, high = interval(places)
    return (weights / weights.sum()) @ ((low < z) & (z < high))
