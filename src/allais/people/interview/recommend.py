"""Which arm people prefer, given a fit and what a learner saw, and whether questions or samples would tell more."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from allais._checks import FloatArray, Seed, generator
from allais.learner import Learner
from allais.people.inference.fitted import Fitted
from allais.people.interview.candidates import entropy_of
from allais.preferences.showing import Rows, as_frame, as_html, as_intervals
from allais.preferences.valuation import grouped
from allais.rewards import Finite, Rewards

UNSEEN = 1.0  # pseudo-count of unseen outcomes, spread over those that are possible
MOST_OUTCOMES = 400  # of an arm; more are joined by rank, in bins that are narrow at both ends
SURE = 0.95  # a probability from which more data are not worth it
CLOSE = 1.5  # ratio of bits below which both sources of uncertainty matter about as much


@dataclass(frozen=True)
class PeoplePrefer:
    """For each arm the probability that these people prefer it, and what would tell more; `print` it for words.

    Attributes:
        chances: The probability of each arm.
        bits: How uncertain the preferred arm is, in bits.
        questions_tell: How many of these bits go if the preference is known exactly.
        samples_tell: How many of these bits go if the arms are known exactly.
        notes: Caveats, in words.
    """

    chances: dict[Hashable, float]
    bits: float
    questions_tell: float
    samples_tell: float
    notes: tuple[str, ...] = ()

    _repr_html_, to_frame, plot = as_html, as_frame, as_intervals

    @property
    def headline(self) -> str:
        """The sentences above its table in a notebook."""
        first = f"These people prefer {self.arm} with a chance of {self.chances[self.arm]:.2f}."
        return "\n".join([first, self.advice, *self.notes])

    def rows(self) -> Rows:
        """One row per arm, the one that is preferred most often first."""
        ranked = sorted(self.chances.items(), key=lambda one: -one[1])
        return [{"arm": name, "chance": chance} for name, chance in ranked]

    @property
    def arm(self) -> Hashable:
        """The arm that is preferred most often."""
        return max(self.chances, key=lambda name: self.chances[name])

    @property
    def advice(self) -> str:
        """More questions, or more samples?"""
        if self.chances[self.arm] >= SURE:
            return "Neither more questions nor more samples are likely to change that."
        asked, seen = f"{self.questions_tell:.2f}", f"{self.samples_tell:.2f}"
        told = f"questions could tell {asked} of {self.bits:.2f} bits, samples {seen}"
        if self.questions_tell > CLOSE * self.samples_tell:
            return f"Ask more questions: what is unknown is mostly the preference ({told})."
        if self.samples_tell > CLOSE * self.questions_tell:
            return f"Take more samples: what is unknown is mostly the arms ({told})."
        return f"Both matter about as much: ask more, and take more samples ({told})."

    def __str__(self) -> str:
        width = max(len(str(name)) for name in self.chances)
        rows = [f"  {row['arm']!s:<{width}}   {row['chance']:.2f}" for row in self.rows()]
        first, *others = self.headline.splitlines()
        return "\n".join([first, *rows, *others])


def recommend(learner: Learner, fitted: Fitted, *, n_draws: int = 200, seed: Seed = 0) -> PeoplePrefer:
    """The chance of each arm to be the one that these people prefer.

    Every draw of their preference meets every draw of the arms' distributions: outcomes that were seen get random
    weights (Dirichlet), and the possible outcomes together the weight of one more, so that an arm with few samples
    stays uncertain. A point estimate is represented by draws around it. Gains and losses are those of the learner's
    own preference: its reference, and its direction.

    Args:
        learner: What was learned about the arms.
        fitted: What was fitted to people.
        n_draws: How many draws of each kind.
        seed: The seed.

    >>> from allais import Bounded, Discrete, NPTS, expected_value
    >>> from allais.people import Choices, Family, posterior, recommend
    >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["bet", "sure"], seed=1)
    >>> learner.observe("bet", [0.0] * 90 + [50.0] * 10)
    >>> learner.observe("sure", [7.0] * 100)
    >>> answers = Choices.from_rows([("ann", [{50: 0.1, 0: 0.9}, 9], 0), ("ann", [{50: 0.5, 0: 0.5}, 20], 1)])
    >>> found = recommend(learner, posterior(answers, Family(alpha=1.0, loss_aversion=1.0), seed=1))
    >>> found.arm, 0.5 < found.chances["bet"] < 1.0
    ('bet', True)
    """
    rng = generator(seed)
    preferences = [one.in_frame_of(learner.policy.preference) for one in fitted.draws(n_draws, seed=rng)]
    names = learner.arms
    known = learner.policy.rewards_of(len(learner.pulls))
    place = {name: k for k, name in enumerate(learner.pulls)}
    values = np.empty((n_draws, n_draws, len(names)))  # people, draws of the arms, arms
    notes = []
    for k, name in enumerate(names):
        outcomes, counts = learner.outcomes(name)
        support, prior = _possible(known[place[name]] if known else None)
        if counts.sum() == 0 and not support.size:
            raise ValueError(
                f"an arm needs outcomes, or rewards that are bounded; {name!r} has neither. Observe some first."
            )
        if counts.sum() == 0:
            notes.append(f"Nothing was seen of {name}: its chance is that of any distribution within the rewards.")
        outcomes, counts = grouped(np.asarray(outcomes, np.float64), np.asarray(counts, np.float64), MOST_OUTCOMES)
        points = np.concatenate([outcomes, support])
        shares = rng.standard_gamma(np.concatenate([counts, prior]), size=(n_draws, points.size))
        for i, preference in enumerate(preferences):
            values[i, :, k] = preference.values(points, shares)
    best = values.argmax(axis=2)
    wins = (best[:, :, None] == np.arange(len(names))).astype(np.float64)
    chances = wins.mean(axis=(0, 1))
    bits = float(entropy_of(chances))
    return PeoplePrefer(
        dict(zip(names, chances.tolist(), strict=True)),
        bits,
        max(0.0, bits - float(entropy_of(wins.mean(axis=1)).mean())),  # rounding may leave less than nothing
        max(0.0, bits - float(entropy_of(wins.mean(axis=0)).mean())),
        tuple(notes),
    )


def _possible(rewards: Rewards | None) -> tuple[FloatArray, FloatArray]:
    """Outcomes that are possible though unseen, with their pseudo-counts."""
    if isinstance(rewards, Finite):
        points = np.array(rewards.values)
    else:
        points = np.array([end for end in (rewards.support if rewards is not None else ()) if np.isfinite(end)])
    return points, np.full(points.size, UNSEEN / max(points.size, 1))
