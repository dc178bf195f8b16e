"""Maximum likelihood and posterior modes, by damped Newton steps with exact gradients from several starts.

SciPy's L-BFGS-B finds the same maxima in about ten times the time: here one batch of gradients is also the curvature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allais._checks import FloatArray, IntArray, Seed, brief, generator
from allais.people.data.choices import Choices
from allais.people.inference.fitted import MOST_DRAWS, Fitted, pooled
from allais.people.model.family import Family, short_name
from allais.people.model.likelihood import Likelihood
from allais.people.model.parameters import Prior
from allais.preferences.showing import Rows, as_frame, as_html, as_intervals
from allais.weights import Identity

Gradients = Callable[[FloatArray], tuple[FloatArray, FloatArray]]  # points (n, d) to values (n,) and gradients (n, d)

STEP = 1e-4  # of the finite differences of gradients, in standard deviations of the prior
MOST_STEPS = 200
MOST_TRIES = 12  # with more and more damping; then this is the maximum to machine precision
LEAST_GAIN = 1e-9  # of the log likelihood: less is convergence
FACTOR = 6.0  # by which the damping changes after a step
LONGEST = 3.0  # standard deviations of the prior in one step


class Maximum(NamedTuple):
    """Where a search for a maximum ended."""

    place: FloatArray  # (d,)
    value: float
    curvature: FloatArray  # minus the second derivative, (d, d)


def maximise(gradients: Gradients, start: FloatArray, scale: FloatArray, low: FloatArray, high: FloatArray) -> Maximum:
    """The maximum that is reached from a start, within a box; `scale` makes the directions comparable."""
    place, damping = np.clip(start, low, high), 1.0
    value, gradient, curvature = _evaluate(gradients, place, scale)
    for _ in range(MOST_STEPS):
        open_ = ~(((place <= low) & (gradient < 0.0)) | ((place >= high) & (gradient > 0.0)))
        if not open_.any() or np.abs(gradient * scale)[open_].max() < LEAST_GAIN:
            break
        gained = 0.0
        for _ in range(MOST_TRIES):
            there = np.clip(place + scale * _newton(gradient * scale, curvature, open_, damping), low, high)
            found = float(gradients(there[None])[0][0])
            if found > value:
                gained = found - value
                damping /= FACTOR
                place = there
                break
            damping *= FACTOR
        if gained == 0.0:
            break
        value, gradient, curvature = _evaluate(gradients, place, scale)
        if gained < LEAST_GAIN * (1.0 + abs(value)) and damping < 1.0:
            break
    return Maximum(place, value, curvature / np.outer(scale, scale))


def _evaluate(gradients: Gradients, place: FloatArray, scale: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """The value, the gradient, and the curvature in scaled coordinates, from one batch."""
    d = place.size
    steps = STEP * np.diag(scale)
    values, found = gradients(np.concatenate([place[None], place + steps, place - steps]))
    rows = -(found[1 : d + 1] - found[d + 1 :]) / (2.0 * STEP) * scale
    return float(values[0]), found[0], 0.5 * (rows + rows.T)


def _newton(gradient: FloatArray, curvature: FloatArray, open_: NDArray[np.bool_], damping: float) -> FloatArray:
    """A Newton step in the coordinates that are not at the edge; it goes uphill even where the function is convex."""
    step = np.zeros(gradient.size)
    values, vectors = np.linalg.eigh(curvature[np.ix_(open_, open_)])
    step[open_] = vectors @ ((vectors.T @ gradient[open_]) / (np.abs(values) + damping))
    longest = float(np.abs(step).max())
    return step * min(1.0, LONGEST / longest) if longest > 0.0 else step


DRAWS = 300  # of each person, from either distribution: a person's log likelihood is off by about 0.05
WIDER = 2.0  # by which the covariance of draws around a posterior is multiplied, so that weights stay bounded


def drawn_around(posterior: Prior, population: Prior, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draws of a person, half from around a posterior and half from the population; twice their density, as logs."""
    near = Prior(posterior.mean, WIDER * posterior.covariance)
    z = np.concatenate([near.draw(DRAWS, rng), population.draw(DRAWS, rng)])
    return z, np.logaddexp(near.log_density(z), population.log_density(z))


STARTS = 4  # the mean of the prior and draws from it
EDGE = 8.0  # standard deviations of the prior: the box in which a maximum is sought
FLATTEST = 1.0 / 25.0  # least curvature: a standard error is at most five times the prior's


class Mode(NamedTuple):
    """The highest maximum, on the unconstrained scale."""

    place: FloatArray
    log_likelihood: float
    covariance: FloatArray  # the inverse of the curvature
    notes: tuple[str, ...]


def fit(choices: Choices, family: Family, *, prior: bool = False, by_person: bool = False, seed: Seed = 0) -> Fitted:
    """The parameters of all people together, or of each: maximum likelihood, or the posterior mode.

    Gradients are exact. Standard errors come from the curvature at the mode.

    Args:
        choices: The choices.
        family: What is fitted.
        prior: Whether to take the posterior mode instead of maximum likelihood.
        by_person: Whether each person is fitted by themselves, too.
        seed: The seed of the random starts, and of draws from the normal distribution around the mode.

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
        return pooled(family, method, people)
    return _one(choices, family, method, rng)


def _one(choices: Choices, family: Family, method: str, rng: np.random.Generator) -> Fitted:
    found = find_mode(Likelihood(family, choices), family, with_prior=method == "posterior mode", rng=rng)
    places = found.place + rng.standard_normal((MOST_DRAWS, found.place.size)) @ _root(found.covariance).T
    return Fitted(family, method, found.place, places, choices.n_answers, found.log_likelihood, notes=found.notes)


def find_mode(likelihood: Likelihood, family: Family, *, with_prior: bool, rng: np.random.Generator) -> Mode:
    """The highest of the maxima that are found from several starts."""
    prior = family.prior
    if not family.names:
        return Mode(np.zeros(0), float(likelihood(np.zeros((1, 0)))[0]), np.zeros((0, 0)), ())

    def gradients(z: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = likelihood.gradients_at(z)
        if with_prior:
            return value + prior.log_density(z), gradient + prior.log_density_gradient(z)
        return value, gradient

    box = prior.mean - EDGE * prior.spread, prior.mean + EDGE * prior.spread
    starts = np.concatenate([prior.mean[None], prior.draw(STARTS - 1, rng)])
    best = max((maximise(gradients, start, prior.spread, *box) for start in starts), key=lambda one: one.value)
    covariance, flat = _covariance(best.curvature, prior.spread)
    notes = [
        f"{name} is at the edge of its range: the data do not bound it."
        for name, off in zip(family.names, np.abs(best.place - prior.mean) / prior.spread, strict=True)
        if off > EDGE - 0.01
    ]
    if flat:
        notes.append("The likelihood is flat in some direction: standard errors there are five times the prior's.")
    return Mode(best.place, float(likelihood.at(best.place[None])[0]), covariance, tuple(notes))


def _covariance(curvature: FloatArray, spread: FloatArray) -> tuple[FloatArray, bool]:
    """The inverse of a curvature, and whether some direction was too flat for it."""
    values, vectors = np.linalg.eigh(curvature * np.outer(spread, spread))
    flat = bool(values[0] < FLATTEST)
    root = vectors / np.sqrt(np.maximum(values, FLATTEST))
    return np.asarray((root @ root.T) * np.outer(spread, spread)), flat


def _root(covariance: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


Fitter = Callable[[Choices], Fitted]
HELD_OUT = ("trials", "people")
NINE_TENTHS = 1.645  # standard errors on either side of an estimate


@dataclass(frozen=True, eq=False)
class Comparison:
    """The held-out log likelihood of each, the best first; differences come with their standard errors.

    Attributes:
        held_out: `"trials"` or `"people"`.
        n_choices: How many answers were predicted.
        scores: The log likelihood of all answers, each predicted by a fit that had not seen it.
        by_person: The same, of each person.
    """

    held_out: str
    n_choices: int
    scores: dict[str, float]
    by_person: dict[str, FloatArray]

    _repr_html_, to_frame, plot = as_html, as_frame, as_intervals

    @property
    def headline(self) -> str:
        """The line above its table in a notebook."""
        return f"log likelihood of {self.n_choices:,} answers, {self.held_out} held out"

    def rows(self) -> Rows:
        """One row per fit, the best first: how far it is behind the best, and where that lies with 90 %."""
        best = max(self.scores, key=lambda name: self.scores[name])
        found = []
        for name in sorted(self.scores, key=lambda one: -self.scores[one]):
            apart = self.by_person[name] - self.by_person[best]
            behind = float(apart.sum())
            error = float(apart.std(ddof=1) * np.sqrt(apart.size)) if apart.size > 1 else float("nan")
            found.append({
                "fit": name, "log likelihood": self.scores[name], "per answer": self.scores[name] / self.n_choices,
                "behind": behind, "standard error": error,
                "behind low": behind - NINE_TENTHS * error, "behind high": behind + NINE_TENTHS * error,
            })  # fmt: skip
        return found

    def __str__(self) -> str:
        width = max(map(len, self.scores))
        lines = [self.headline]
        for place, row in enumerate(self.rows()):
            behind = f"{row['behind']:+,.1f} (standard error {row['standard error']:.1f})" if place else "best"
            numbers = f"{row['log likelihood']:>12,.1f}   {row['per answer']:.4f} per answer"
            lines.append(f"  {row['fit']:<{width}}   {numbers}   {behind}")
        return "\n".join(lines)


def compare(
    candidates: Mapping[str, Family | Fitter] | Sequence[Family],
    choices: Choices,
    *,
    held_out: str = "trials",
    folds: int = 5,
    seed: Seed = 0,
) -> Comparison:
    """Fit each family to most of the choices and score the rest, in turn. The standard errors are over people.

    Args:
        candidates: Families, in a list or by name, or functions that fit choices in any other way, by name; a family is
            fitted to all people together (the posterior mode).
        choices: The choices.
        held_out: `"trials"` holds out a share of each person's answers: how well are these people predicted? `"people"`
            holds out a share of the people: how well is the next one?
        folds: Into how many parts the answers are divided.
        seed: The seed of the parts.

    >>> from allais.people import compare
    >>> rng = np.random.default_rng(1)
    >>> table = {"person": np.arange(300) % 5, "gain": rng.integers(10, 40, 300), "loss": rng.integers(5, 20, 300)}
    >>> table["accepted"] = (table["gain"] - 2.0 * table["loss"] + rng.logistic(size=300) > 0).astype(int)
    >>> found = compare({"mean": expected_value_family(), "averse": Family(eta=0.65, alpha=1.0)},
    ...                 Choices.mixed_gambles(table))
    >>> found.scores["averse"] > found.scores["mean"]
    True
    """
    if held_out not in HELD_OUT:
        raise ValueError(f"held_out is one of {', '.join(HELD_OUT)}; got {held_out!r}. Choose one.")
    choices = choices.one_by_one()  # so that some of the answers to one question can be held out
    named = dict(candidates) if isinstance(candidates, Mapping) else _named(candidates)
    fold = _folds(choices, held_out, folds, generator(seed))
    by_person = {name: np.zeros(len(choices.people)) for name in named}
    for number in range(folds):
        train, test = choices.where(fold != number), choices.where(fold == number)
        for name, candidate in named.items():
            fitted = fit(train, candidate, prior=True) if isinstance(candidate, Family) else candidate(train)
            for person in test.people:
                by_person[name][choices.people.index(person)] += fitted.log_score(test.of(person))
    scores = {name: float(found.sum()) for name, found in by_person.items()}
    return Comparison(held_out, len(choices), scores, by_person)


def _named(families: Sequence[Family]) -> dict[str, Family | Fitter]:
    """Families by short names; duplicates are numbered."""
    found: dict[str, Family | Fitter] = {}
    for number, family in enumerate(families, start=1):
        if not isinstance(family, Family):
            raise TypeError(f"a list of candidates holds families; got {brief(family)}. Give others with names.")
        name = short_name(family)
        found[f"{name} (number {number})" if name in found else name] = family
    return found


def _folds(choices: Choices, held_out: str, folds: int, rng: np.random.Generator) -> IntArray:
    """The fold of each answer."""
    answers = np.bincount(choices.person)
    units = len(choices.people) if held_out == "people" else int(answers.min())
    if not (isinstance(folds, int) and 2 <= folds <= units):
        of = "people" if held_out == "people" else f"answers of {choices.people[answers.argmin()]}, who gave the fewest"
        raise ValueError(
            f"folds must be from 2 to the number of {of} ({units}); got {folds!r}. Give another number, or leave "
            "people with few answers out."
        )
    if held_out == "people":
        return (rng.permutation(len(choices.people)) % folds)[choices.person]
    fold = np.zeros(len(choices), np.int64)
    for person in range(len(choices.people)):
        mine = np.flatnonzero(choices.person == person)
        fold[mine] = rng.permutation(mine.size) % folds
    return fold


def expected_value_family(*, stake: float = 10.0) -> Family:
    """The family of people who maximise the mean, with noise: the one to beat.

    Args:
        stake: The size of a typical outcome.

    >>> expected_value_family().names
    ('temperature',)
    """
    return Family(Identity, utility=None, stake=stake)
