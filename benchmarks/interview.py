"""Interviews: how long a question takes, and how near the truth is after twenty, beside random questions and a grid."""

from __future__ import annotations

import base64
import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from allais._checks import FloatArray
from allais.people import Choices, Family, Interview, posterior, study
from allais.people.interview.files import planned
from allais.people.interview.study import answer_of
from benchmarks.tables import Table, with_error
from benchmarks.timing import apart

FAMILY = Family(stake=100.0)
PEOPLE, QUESTIONS = 60, 20
SERVED = 100  # people of the study
NODES = 10  # of the grid, for each of four parameters: 10,000 points
ADOPY = "ALLAIS_ADOPY"  # a Python that has adopy, best with NumPy 1.23 and SciPy 1.10
# adopy makes arrays of 80 MB by the dozen; to give each back to the system takes it a third of its time
KEEPING = {"MALLOC_MMAP_THRESHOLD_": "4000000000", "MALLOC_TRIM_THRESHOLD_": "8000000000"}


class Recovered(NamedTuple):
    """What a way of choosing questions found out about people."""

    places: FloatArray  # (people, parameters)
    milliseconds: float  # of one question, median
    memory: float  # of the process, in MB
    asked: Sequence[Sequence[int]] = ()  # the candidates, for those who share them


def run() -> str:
    truths = FAMILY.prior.draw(PEOPLE, 1)
    ours = _apart(asked_by_us, truths)
    random = _apart(asked_at_random, truths)
    grid = _apart(asked_by_grid, truths)
    table = Table("questions chosen by", "error after 20", "one question, CPU", "memory")
    table.add(*_row("allais: particles", ours, truths))
    table.add(*_row("random questions, same posterior", random, truths))
    table.add(*_row("a grid of 10,000 points", grid, truths))
    table.add(*_row("the page, fitted by the library", _apart(asked_by_page, truths), truths))
    theirs, how = _adopy(truths)
    if theirs is None:
        note = f" adopy was not there ({ADOPY} names no Python that has it): the grid is ours, of its kind."
    else:
        table.add(*_row("adopy 0.4.1, the same grid", theirs, truths))
        both = zip(theirs.asked, grid.asked, strict=True)
        alike = sum(one == other for mine, yours in both for one, other in zip(mine, yours, strict=True))
        note = (
            " The grid is ours, of adopy's kind; adopy itself was given the same candidates, the same grid and the "
            f"same people, and {alike:,} of its {PEOPLE * QUESTIONS:,} questions were those of ours. {how}"
        )
    claims = Table("of interviews", "measured", "holds")
    claims.add("a question under 100 ms", f"{ours.milliseconds:.0f} ms of CPU", ours.milliseconds < 100.0)
    claims.add("memory under 300 MB", f"{ours.memory:.0f} MB", ours.memory < 300.0)
    for name, other in (("random questions", random), ("the grid", grid), ("adopy", theirs)):
        if other is not None:
            what = f"error below that of {name}"
            claims.add(what, _share(ours, other, truths), _better(ours, other, truths))
    served = study(n_people=SERVED, n_questions=QUESTIONS, seed=2)
    preface = (
        f"{PEOPLE} people from the prior of four parameters, {QUESTIONS} of 1,000 candidate questions, no checks. The "
        "error is the root mean square over parameters, in spreads of the prior (1 is no better than knowing nothing), "
        "with its standard error over people."
    )
    return f"## Interviews\n\n{preface}{note}\n\n{table}\n\n{claims}\n\n{served}"


def _errors(found: Recovered, truths: FloatArray) -> FloatArray:
    """Of each person, in spreads of the prior."""
    apart = (found.places - truths) / FAMILY.prior.spread
    return np.asarray(np.sqrt(np.square(apart).mean(axis=1)))


def _row(name: str, found: Recovered, truths: FloatArray) -> tuple[str, ...]:
    errors = _errors(found, truths)
    shown = "none" if found.milliseconds == 0.0 else f"{found.milliseconds:.0f} ms"
    return name, with_error(errors, ".3f"), shown, f"{found.memory:.0f} MB"


def _difference(ours: Recovered, other: Recovered, truths: FloatArray) -> FloatArray:
    """Person by person."""
    return _errors(other, truths) - _errors(ours, truths)


def _share(ours: Recovered, other: Recovered, truths: FloatArray) -> str:
    gap = _difference(ours, other, truths)
    return f"lower by {with_error(gap, '.3f')}, person by person"


def _better(ours: Recovered, other: Recovered, truths: FloatArray) -> bool:
    gap = _difference(ours, other, truths)
    return bool(gap.mean() > 2.0 * gap.std(ddof=1) / np.sqrt(len(gap)))


def _apart(task: Any, truths: FloatArray) -> Recovered:
    """In a process of its own, so that its memory is its own."""
    (places, milliseconds, *asked), memory = apart(task, truths)
    return Recovered(places, milliseconds, memory, *asked)


def asked_by_us(truths: FloatArray) -> tuple[FloatArray, float]:
    places, seconds = [], []
    for number, truth in enumerate(FAMILY.natural(truths)):
        interview = Interview(FAMILY, seed=1, questions=QUESTIONS, checks=0)
        rng = np.random.default_rng(number)
        while not interview.settled:
            started = process_time()
            question = interview.ask()
            seconds.append(process_time() - started)
            interview.tell(question, answer_of(FAMILY, truth, question, rng))
        places.append(interview.fitted.place)
    return np.array(places), 1e3 * statistics.median(seconds)


def chances_of(parameters: FloatArray, pairs: Sequence[Any]) -> FloatArray:
    """How likely A is in each pair, (parameter vectors, pairs)."""
    offered = Choices.from_rows([("x", pair, 0) for pair in pairs])
    return np.exp(FAMILY.log_chances(FAMILY.natural(parameters), offered))


def asked_over(chance: FloatArray, truly: FloatArray) -> Iterator[tuple[dict[int, int], FloatArray, list[float]]]:
    """For each person the answers to the questions that tell most over a table, its weights, and seconds."""
    inside = special.entr(chance) + special.entr(1.0 - chance)
    for number, mine in enumerate(truly):
        rng, answers, seconds = np.random.default_rng(number), dict[int, int](), list[float]()
        weights = np.full(len(chance), 1.0 / len(chance))
        for _ in range(QUESTIONS):
            started = process_time()
            mean = np.clip(weights @ chance, 1e-12, 1.0 - 1e-12)
            gain = special.entr(mean) + special.entr(1.0 - mean) - weights @ inside
            gain[list(answers)] = -np.inf
            best = int(gain.argmax())
            seconds.append(process_time() - started)
            answers[best] = int(rng.random() >= mine[best])
            weights = weights * (1.0 - chance[:, best] if answers[best] else chance[:, best])
            weights /= weights.sum()
        yield answers, weights, seconds


def asked_by_page(truths: FloatArray) -> tuple[FloatArray, float]:
    """What the script of a page does, over its table; the answers are then fitted by the library."""
    plan = planned(FAMILY, (-50.0, 200.0), 1, QUESTIONS, "")
    table = np.frombuffer(base64.b64decode(plan["chances"]), np.uint8).reshape(len(plan["pairs"]), -1)
    pairs = [[dict(one) if isinstance(one, list) else one for one in pair] for pair in plan["pairs"]]
    chance, places = np.asarray((table.T + 0.5) / 256.0, np.float64), []
    for number, (answers, _, _) in enumerate(asked_over(chance, chances_of(truths, pairs))):
        choices = Choices.from_rows([("x", pairs[k], side) for k, side in answers.items()])
        places.append(posterior(choices, FAMILY, seed=number).place)
    return np.array(places), 0.0


def _pairs() -> list[Any]:
    """The candidates that all share."""
    return list(Interview(FAMILY, seed=1)._pool.pairs)


def asked_at_random(truths: FloatArray) -> tuple[FloatArray, float]:
    pairs, places = _pairs(), []
    chances = chances_of(truths, pairs)
    for number in range(len(truths)):
        rng = np.random.default_rng(number)
        which = rng.choice(len(pairs), QUESTIONS, replace=False)
        took = (rng.random(QUESTIONS) >= chances[number, which]).astype(int).tolist()
        answers = Choices.from_rows([("x", pairs[k], side) for k, side in zip(which, took, strict=True)])
        places.append(posterior(answers, FAMILY, seed=number).place)
    return np.array(places), 0.0


def _nodes() -> FloatArray:
    """For each parameter the middles of ten equally likely parts, on the line: a uniform grid is then the prior."""
    middles = special.ndtri((np.arange(NODES) + 0.5) / NODES)
    return FAMILY.prior.mean[:, None] + FAMILY.prior.spread[:, None] * middles


def asked_by_grid(truths: FloatArray) -> tuple[FloatArray, float, list[list[int]]]:
    """What adopy does, with the library's likelihood and without computing again what does not change."""
    grid = np.stack(np.meshgrid(*_nodes(), indexing="ij"), axis=-1).reshape(-1, len(FAMILY.names))
    pairs = _pairs()
    found = list(asked_over(chances_of(grid, pairs), chances_of(truths, pairs)))
    seconds = [each for _, _, some in found for each in some]
    places = np.array([weights @ grid for _, weights, _ in found])
    return places, 1e3 * statistics.median(seconds), [list(answers) for answers, _, _ in found]


def _adopy(truths: FloatArray) -> tuple[Recovered | None, str]:
    """adopy itself, in the Python that a variable names, and what had to be done to run it."""
    python = os.environ.get(ADOPY)
    if not python:
        return None, ""
    pairs = _pairs()
    sides = [[_two(pair[side]) for pair in pairs] for side in (0, 1)]
    scale = FAMILY.transforms.scales[0]
    draws = [np.random.default_rng(number).random(QUESTIONS).tolist() for number in range(len(truths))]  # the grid's
    task = {"sides": sides, "nodes": _nodes().tolist(), "chances": chances_of(truths, pairs).tolist(), "draws": draws,
            "eta": [scale.low, scale.high]}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "task.json"), Path(folder, "found.json")
        given.write_text(json.dumps(task))
        script = Path(__file__).with_name("adopy_grid.py")
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | KEEPING
        subprocess.run([python, str(script), str(given), str(found)], check=True, env=environment)
        told = json.loads(found.read_text())
    adopy = Recovered(np.array(told["means"]), 1e3 * statistics.median(told["seconds"]), told["memory"], told["asked"])
    patch = (
        "it names `np.int` and `np.float`, which were put back before its import"
        if told["patched"]
        else "nothing of it was changed (from 1.24 on, `np.int` and `np.float` must be put back before its import)"
    )
    return adopy, f"It had NumPy {told['numpy']}: {patch}. Its memory was kept between questions, which is faster."


def _two(lottery: Any) -> tuple[float, float, float]:
    """Its high outcome, how likely that is, and its low one."""
    outcomes, chances = lottery.outcomes.tolist(), lottery.probabilities.tolist()
    return outcomes[-1], chances[-1], outcomes[0]  # of a sure amount both are one
