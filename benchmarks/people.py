"""Preferences from choices: speed, calibration, and two tables of real people.

The tables are those of `ALLAIS_PEOPLE_DATA`, a folder; without it their part is skipped with a message.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from tests.people.simulated import answering, gambles, mass_within

from allais import GonzalezWu, Power, Prelec, TverskyKahneman, Wang
from allais.people import (
    Choices,
    Family,
    Fitted,
    compare,
    expected_value_family,
    fit,
    free,
    groups,
    hierarchical,
    posterior,
)
from allais.people.inference.summary import interval, rounded
from allais.people.model.likelihood import Likelihood
from allais.weights import SteepMiddle, TailAverage
from benchmarks.tables import Table, error_of_share
from benchmarks.timing import best_of, least_cpu

KINDS = (TverskyKahneman, Prelec, GonzalezWu, Power, SteepMiddle, TailAverage, Wang)
PEOPLE, TRIALS, PARTICLES = 400, 50, 500
PREDICTING = 250  # draws per chain for a prediction: a mean over draws needs fewer than an interval
WEIGHED = 100  # people whose posterior is known by weighed draws
DATA = "ALLAIS_PEOPLE_DATA"


def run() -> str:
    return "\n\n".join(["## Preferences from choices", _speed(), _calibration(), _real()])


def _speed() -> str:
    rng = np.random.default_rng(1)
    six = Family(TverskyKahneman, TverskyKahneman, lapse=free(), stake=50.0)
    many = answering(six, [0.61, 0.69, 0.88, 2.25, 3.0, 0.02], gambles(rng, 30_000), rng)
    four = Family(stake=50.0)
    one = answering(four, [0.61, 0.88, 2.25, 3.0], gambles(rng, 100), rng)
    table = Table("what", "time", "of one core")
    for name, task in (
        ("30,000 different choices, six parameters, maximum likelihood from four starts", lambda: fit(many, six)),
        ("one person, 100 choices, four parameters, 1,000 particles", lambda: posterior(one, four, seed=1)),
    ):
        task()  # compiles
        (clock,) = best_of(3, task)
        table.add(name, f"{clock:.2f} s", f"{least_cpu(3, task):.2f} s")
    found = fit(many, six).summary()
    listed = ", ".join(f"{row.name} {rounded(row.estimate, row.high - row.low)}" for row in found.rows)
    note = f"Seed 1, best of 3, warm. True: 0.61, 0.69, 0.88, 2.25, 3, 0.02; found: {listed}."
    return f"{table}\n\n{note}"


def _calibration() -> str:
    """People are drawn from the prior, answer and are fitted: ranks of the truth among draws must be uniform."""
    table = Table("weight", "parameter", "in its 90 % interval", "chi-square", "ranks in ten bins",
                  "correlation with truth")  # fmt: skip
    shares, error = [], error_of_share(0.9, PEOPLE)
    for kind in KINDS:
        # a seed of its own: families with as many parameters would else have the same people
        family, rng = Family(kind, stake=50.0), np.random.default_rng([2, *kind.__name__.encode()])
        pairs, truths = gambles(rng, TRIALS), family.prior.draw(PEOPLE, rng)
        places, ranks, held = [], [], []
        for z in truths:
            choices = answering(family, family.natural(z[None])[0], pairs, rng)
            fitted = posterior(choices, family, n_particles=PARTICLES, seed=rng)
            places.append(fitted.place)
            ranks.append((fitted.places < z).mean(axis=0))
            low, high = interval(fitted.places)  # as the summary has it
            held.append((low < z) & (z < high))
        rank, shares_held = np.array(ranks), np.mean(held, axis=0)
        for i, name in enumerate(family.names):
            covered = float(shares_held[i])
            shares.append(covered)
            counts = np.histogram(rank[:, i], bins=10, range=(0, 1))[0]
            squares = float(((counts - PEOPLE / 10) ** 2).sum() / (PEOPLE / 10))
            together = np.corrcoef(truths[:, i], np.array(places)[:, i])[0, 1]
            histogram = " ".join(map(str, counts))
            table.add(kind.__name__, name, f"{covered:.1%}", f"{squares:.1f}", histogram, f"{together:.2f}")
    note = (
        f"{PEOPLE} people per family, drawn from its prior, {TRIALS} choices each, {PARTICLES} particles, a seed each. "
        f"Coverage is {min(shares):.1%} to {max(shares):.1%}, with a standard error of {100 * error:.1f} points each, "
        f"and {np.mean(shares):.1%} on average; chi-square of ten bins has mean 9, and exceeds 21.7 once in a hundred. "
        "With 200 people the standard error is 2.1 points: one of 30 parameters lies outside 85 to 95 % by luck alone "
        "in about every third run."
    )
    return f"{table}\n\n{note}\n\n{_of_the_posterior()}"


def _of_the_posterior() -> str:
    """How much of the posterior itself the intervals hold: no luck of who was drawn, so far less noise."""
    family, rng = Family(stake=50.0), np.random.default_rng(5)
    pairs, held = gambles(rng, TRIALS), []
    for z in family.prior.draw(WEIGHED, rng):
        choices = answering(family, family.natural(z[None])[0], pairs, rng)
        places = posterior(choices, family, n_particles=PARTICLES, seed=rng).places
        held.append(mass_within(Likelihood(family, choices), family.prior, places, rng))
    mean, error = np.mean(held, axis=0), np.std(held, axis=0, ddof=1) / np.sqrt(WEIGHED)
    said = ", ".join(f"{name} {m:.2%} ± {100 * e:.2f}" for name, m, e in zip(family.names, mean, error, strict=True))
    return (
        f"The posterior's own mass inside these intervals, by 80,000 weighed draws for each of {WEIGHED} people of "
        f"TverskyKahneman (seed 5): {said}. This is the coverage that is meant, without the luck of who was drawn."
    )


def _real() -> str:
    folder = Path(os.environ.get(DATA, "nowhere"))
    if not folder.is_dir():
        return f"Real people: skipped, since {DATA} names no folder with the tables."
    return _mixed_gambles(folder) + "\n\n" + _lottery_or_sure(folder)


def _mixed_gambles(folder: Path) -> str:
    return _table(
        "108 people, 27,454 gambles at even odds (NARPS; OpenNeuro ds001734)",
        Choices.mixed_gambles(folder / "mixed_gambles.csv"),
        Family(eta=0.65, alpha=0.88, stake=20.0),
        20.0,
    )


def _lottery_or_sure(folder: Path) -> str:
    return _table(
        "46 people, 2,683 choices of a lottery or a sure amount (doi 10.5281/zenodo.15122334)",
        Choices.lottery_or_sure(folder / "lottery_or_sure.csv"),
        Family(alpha=0.88, loss_aversion=1.0, stake=13.0),
        13.0,
    )


def _table(title: str, choices: Choices, family: Family, stake: float) -> str:
    points: dict[str, Any] = {
        "all as one": lambda table: fit(table, family, prior=True),
        "each alone": lambda table: fit(table, family, prior=True, by_person=True),
    }
    ways = {**points, "hierarchical": lambda table: hierarchical(table, family, seed=1)}
    shorter = {**points, "hierarchical": lambda table: hierarchical(table, family, n_draws=PREDICTING, seed=1)}
    fits, notes = Table("fit", *(f"{name} (90 %)" for name in family.names), "time", "of processors"), []
    for name, way in ways.items():
        start, used = perf_counter(), _processor()
        found: Fitted = way(choices)
        seconds, processor = perf_counter() - start, _processor() - used
        said = [f"{rounded(row.estimate, row.high - row.low)} ({rounded(row.low, row.high - row.low)} to "
                f"{rounded(row.high, row.high - row.low)})" for row in found.summary().rows]  # fmt: skip
        fits.add(name, *said, f"{seconds:.1f} s", f"{processor:.1f} s")
        notes += [f"{name}: {note}" for note in found.notes]
    held: dict[str, Any] = {"expected value": expected_value_family(stake=stake), **shorter}
    scores = compare(held, choices, folds=2, seed=1)
    next_one = compare({name: held[name] for name in ("expected value", "all as one", "each alone")}, choices,
                       held_out="people", folds=5, seed=1)  # fmt: skip
    print(scores, next_one, flush=True)
    types = groups(choices, family, seed=1)
    parts = [
        f"### {title}",
        str(fits),
        f"```\n{scores}\n\n{next_one}\n\n{types}\n```",
        " ".join(notes) + f" Where answers are held out, chains have {PREDICTING} draws each.",
    ]
    return "\n\n".join(parts)


def _processor() -> float:
    """Time of processors so far, of this process and of those that it started and waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
