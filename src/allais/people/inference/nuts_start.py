"""Where the chains of a hierarchical fit begin, and the processes that they run in."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais.people.data.choices import Choices
from allais.people.inference.fit import peak
from allais.people.model.family import Family
from allais.people.model.likelihood import Likelihood
from allais.people.model.parameters import Prior

ROUNDS = 4  # of people and population in turn; the sampler does the rest
DRAWS = 300  # for a person's mean and covariance, twice: from around the last ones, and from the population
WIDER = 2.0  # the covariance of the former, so that their weights stay bounded
FEWEST = 30.0  # draws that the weighed ones must be worth
NARROWEST = 0.1  # spread of people at the start, as a share of the prior's


class Start(NamedTuple):
    """A population, and what answers tell of each person beside it: a parabola in place of the log likelihood."""

    people: FloatArray  # places on the line, (people, parameters)
    gradient: FloatArray  # of the parabola there
    information: FloatArray  # minus its curvature, (people, parameters, parameters)
    middle: FloatArray
    spread: FloatArray


class Task(NamedTuple):
    """What a process of chains is to do; plain numbers only."""

    likelihood: Likelihood
    prior_mean: FloatArray
    prior_spread: FloatArray
    start: Start
    seeds: list[int]  # one per chain
    n_warmup: int
    n_draws: int


def begin(choices: Choices, family: Family, rng: np.random.Generator) -> Start:
    """Population and people in turn: each person's mean and covariance, and the population that these make."""
    each = [Likelihood(family, choices.of(name)) for name in choices.people]
    alone = [peak(one, family, with_prior=True, rng=rng) for one in each]
    known = [Prior(one.place, one.covariance) for one in alone]
    for _ in range(ROUNDS):
        middle = np.mean([one.mean for one in known], axis=0)
        apart = np.var([one.mean for one in known], axis=0) + np.mean([one.spread**2 for one in known], axis=0)
        spread = np.maximum(np.sqrt(apart), NARROWEST * family.prior.spread)
        population = Prior(middle, np.diag(spread**2))
        known = [_known(one, population, before, rng) for one, before in zip(each, known, strict=True)]
    people = np.array([one.mean for one in known])
    information = np.array([_beyond(one.covariance, spread) for one in known])
    return Start(people, (people - middle) / spread**2, information, middle, spread)


def _known(likelihood: Likelihood, population: Prior, before: Prior, rng: np.random.Generator) -> Prior:
    """A person's posterior under a population, as a normal distribution: by draws around and from the last one."""
    near = Prior(before.mean, WIDER * before.covariance)
    z = np.concatenate([near.draw(DRAWS, rng), population.draw(DRAWS, rng)])
    of_population = population.log_density(z)
    log_weights = likelihood.on_line(z) + of_population - np.logaddexp(near.log_density(z), of_population)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    if 1.0 / np.square(weights).sum() < FEWEST:
        return before
    mean = weights @ z
    return Prior(mean, (weights * (z - mean).T) @ (z - mean))


def _beyond(covariance: FloatArray, spread: FloatArray) -> FloatArray:
    """What answers tell beside the population: the inverse of the covariance less that of the spread, if it is more."""
    values, vectors = np.linalg.eigh(covariance / np.outer(spread, spread))
    root = vectors * np.sqrt(np.maximum(1.0 / values - 1.0, 0.0)) / spread[:, None]
    return np.asarray(root @ root.T)


def sampled(task: Task) -> dict[str, FloatArray]:
    """The draws of all chains, (chains, draws, ...): as many processes as there are cores, each with its share."""
    workers = min(len(task.seeds), os.cpu_count() or 1)
    shares = [task.seeds[k::workers] for k in range(workers)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        running: list[subprocess.Popen[bytes]] = []
        try:
            for k, seeds in enumerate(shares):
                given = folder / f"{k}.task"
                given.write_bytes(pickle.dumps((os.getpid(), task._replace(seeds=seeds))))
                running.append(_started(given, folder / f"{k}.npz", folder / f"{k}.log"))
            for k, process in enumerate(running):
                if process.wait() != 0:
                    raise RuntimeError(_why(folder / f"{k}.log"))
        finally:
            for process in running:
                process.kill()
                process.wait()
        parts = [dict(np.load(folder / f"{k}.npz")) for k in range(workers)]
    order = np.argsort([place for k in range(workers) for place in range(k, len(task.seeds), workers)])
    return {key: np.concatenate([part[key] for part in parts])[order] for key in parts[0]}


def _started(given: Path, found: Path, log: Path) -> subprocess.Popen[bytes]:
    """A process of chains on one core, that finds the modules which this one finds."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "JAX_ENABLE_X64": "1",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip(),
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    }
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "allais.people.inference.nuts_worker", str(given), str(found)],
            env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
        )  # fmt: skip


def _why(log: Path) -> str:
    said = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
    return f"a process of chains ended before its time: {said[-1]}"
