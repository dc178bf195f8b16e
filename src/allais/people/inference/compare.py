"""Families compared by cross-validation: how well each predicts held-out answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from allais._checks import FloatArray, IntArray, brief
from allais._random import Seed, generator
from allais.people.data.choices import Choices
from allais.people.inference.fit import fit
from allais.people.inference.fitted import Fitted
from allais.people.model.family import Family
from allais.people.model.presets import short_name
from allais.weights import Identity

Fitter = Callable[[Choices], Fitted]
HELD_OUT = ("trials", "people")


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

    def __str__(self) -> str:
        best = max(self.scores, key=lambda name: self.scores[name])
        width = max(map(len, self.scores))
        lines = [f"log likelihood of {self.n_choices:,} answers, {self.held_out} held out"]
        for name in sorted(self.scores, key=lambda one: -self.scores[one]):
            apart = self.by_person[name] - self.by_person[best]
            error = float(apart.std(ddof=1) * np.sqrt(apart.size)) if apart.size > 1 else float("nan")
            behind = "best" if name == best else f"{apart.sum():+,.1f} (standard error {error:.1f})"
            per_answer = self.scores[name] / self.n_choices
            lines.append(f"  {name:<{width}}   {self.scores[name]:>12,.1f}   {per_answer:.4f} per answer   {behind}")
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
