"""What is believed about one person, as weighted particles that go with each answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais.people.choices import Choices
from allais.people.family import Family
from allais.people.likelihood import Likelihood
from allais.people.tempering import drawn, move, spaced, temper

FEWEST = 0.5  # the effective share of particles below which they are drawn anew and moved


class Belief(NamedTuple):
    """Particles on the line; nothing in it changes."""

    z: FloatArray  # (particles, parameters)
    log_weights: FloatArray  # (particles,), the largest is 0

    @property
    def weights(self) -> FloatArray:
        """How likely each particle is."""
        found = np.exp(self.log_weights)
        return found / found.sum()

    @property
    def effective(self) -> float:
        """How many equally likely particles these are worth."""
        return float(1.0 / np.square(self.weights).sum())

    @property
    def middle(self) -> FloatArray:
        """The mean, on the line."""
        return self.weights @ self.z

    def sample(self, n: int) -> FloatArray:
        """n places as likely as the weights make them; the same every time."""
        return self.z[spaced(self.weights, n, 0.5)]


def before(family: Family, n: int, rng: np.random.Generator) -> Belief:
    """The prior."""
    return Belief(family.prior.draw(n, rng), np.zeros(n))


def after(belief: Belief, family: Family, last: Choices, every: Choices, rng: np.random.Generator) -> Belief:
    """What is believed after one more answer: weighed by it and, where few particles are left, moved by all of them.

    Chopin (2002): between two moves the weights are products of the answers' chances, which is the same posterior.
    """
    log_weights = belief.log_weights + Likelihood(family, last).on_line(belief.z)
    weighed = Belief(belief.z, log_weights - log_weights.max())
    if weighed.effective >= FEWEST * len(weighed.z):
        return weighed
    z = weighed.z[drawn(weighed.weights, rng)]
    likelihood = Likelihood(family, every)
    z, _, _, _ = move(likelihood.on_line, family.prior, 1.0, z, likelihood.on_line(z), 1.0, rng)
    return Belief(z, np.zeros(len(z)))


def anew(family: Family, every: Choices, n: int, rng: np.random.Generator) -> Belief:
    """What is believed after all answers, from the prior: an answer that was taken back leaves no trace."""
    return Belief(temper(Likelihood(family, every).on_line, family.prior, n, rng).z, np.zeros(n))
