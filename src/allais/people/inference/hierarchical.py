"""A population and its people, fitted together: chains of NumPyro's sampler, their start, and their diagnostics."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from allais._checks import FloatArray, Seed, generator
from allais._system.extras import extra
from allais.people.data.choices import Choices
from allais.people.inference.fit import drawn_around, find_mode
from allais.people.inference.fitted import MOST_DRAWS, Fitted
from allais.people.inference.summary import inference_of
from allais.people.model.family import Family
from allais.people.model.likelihood import Likelihood
from allais.people.model.parameters import Prior

ROUNDS = 4  # of updating people and population in turn; the sampler does the rest
FEWEST = 30.0  # effective draws; with fewer the last ones are kept
NARROWEST = 0.1  # spread of people at the start, as a share of the prior's


class Start(NamedTuple):
    """A population, and a quadratic approximation of each person's log likelihood."""

    people: FloatArray  # unconstrained, (people, parameters)
    gradient: FloatArray  # of the approximation there
    information: FloatArray  # minus its curvature, (people, parameters, parameters)
    middle: FloatArray
    spread: FloatArray


class Task(NamedTuple):
    """What a process runs; plain numbers only."""

    likelihood: Likelihood
    prior_mean: FloatArray
    prior_spread: FloatArray
    start: Start
    seeds: list[int]  # one per chain
    n_warmup: int
    n_draws: int


def starting_point(choices: Choices, family: Family, rng: np.random.Generator) -> Start:
    """Where chains start: each person's posterior mean and covariance, and the population, updated in turn."""
    each = [Likelihood(family, choices.of(name)) for name in choices.people]
    alone = [find_mode(one, family, with_prior=True, rng=rng) for one in each]
    posteriors = [Prior(one.place, one.covariance) for one in alone]
    for _ in range(ROUNDS):
        middle = np.mean([one.mean for one in posteriors], axis=0)
        apart = np.var([one.mean for one in posteriors], axis=0) + np.mean(
            [one.spread**2 for one in posteriors], axis=0
        )
        spread = np.maximum(np.sqrt(apart), NARROWEST * family.prior.spread)
        population = Prior(middle, np.diag(spread**2))
        posteriors = [_posterior(one, population, before, rng) for one, before in zip(each, posteriors, strict=True)]
    people = np.array([one.mean for one in posteriors])
    information = np.array([_own_information(one.covariance, spread) for one in posteriors])
    return Start(people, (people - middle) / spread**2, information, middle, spread)


def _posterior(likelihood: Likelihood, population: Prior, before: Prior, rng: np.random.Generator) -> Prior:
    """A person's posterior under a population, as a normal distribution, by importance sampling."""
    z, log_density = drawn_around(before, population, rng)
    log_weights = likelihood.at(z) + population.log_density(z) - log_density
    weights = special.softmax(log_weights)
    if 1.0 / np.square(weights).sum() < FEWEST:
        return before
    mean = weights @ z
    return Prior(mean, (weights * (z - mean).T) @ (z - mean))


def _own_information(covariance: FloatArray, spread: FloatArray) -> FloatArray:
    """The information in a person's answers: the inverse covariance less the population's, where that is positive."""
    values, vectors = np.linalg.eigh(covariance / np.outer(spread, spread))
    root = vectors * np.sqrt(np.maximum(1.0 / values - 1.0, 0.0)) / spread[:, None]
    return np.asarray(root @ root.T)


def sampled(task: Task) -> dict[str, FloatArray]:
    """The draws of all chains, (chains, draws, ...), from as many processes as there are cores."""
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
    """A process of chains on one core, with the import path of this one."""
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
    return f"a process of the hierarchical fit failed: {said[-1]}"


FEWEST_DRAWS = 100
R_HAT, FEW_EFFECTIVE = 1.01, 400  # Vehtari and others (2021)


def hierarchical(
    choices: Choices,
    family: Family,
    *,
    n_draws: int = 1000,
    n_warmup: int = 300,
    n_chains: int = 4,
    seed: Seed = 0,
) -> Fitted:
    """A population and each of its people, fitted together: people with few answers borrow from the others.

    On the unconstrained scale people are normal around a middle, whose prior is the family's; the prior of their
    spread is half-normal, with the same scale. Needs `allais[people]`. Chains run in processes of their own, as many
    as there are cores: JAX is not loaded into yours. The same seed gives the same draws.

    `people` has one result each, the draws of the whole are those of a new person, `population` is a `Prior` for the
    next one, `population_table()` has means and spreads with their intervals, and `inference` is ArviZ's object, which
    a file keeps. `notes` says in words what divergences, R-hat and effective sample sizes are, and what is wrong.

    Args:
        choices: The choices.
        family: What is fitted.
        n_draws: The draws of each chain.
        n_warmup: The draws before these, to adapt.
        n_chains: The number of chains.
        seed: The seed.
    """
    for package in ("arviz", "jax", "numpyro"):
        with extra("people", "a hierarchical fit"):
            if find_spec(package) is None:  # none is imported here: JAX stays in the processes of the chains
                raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    if min(n_draws * n_chains, n_warmup) < FEWEST_DRAWS or n_chains < 2:
        raise ValueError(
            f"a hierarchical fit needs two chains or more, and {FEWEST_DRAWS} draws and steps of warm-up; got "
            f"{n_chains} chains of {n_draws} after {n_warmup}. Give more."
        )
    if len(choices.people) < 2 or not family.names:
        raise ValueError("a population is that of two people or more, with free parameters. Use posterior.")
    rng = generator(seed)
    likelihood = Likelihood(family, choices, by_person=True)
    prior, seeds = family.prior, rng.integers(2**31, size=n_chains).tolist()
    task = Task(likelihood, prior.mean, prior.spread, starting_point(choices, family, rng), seeds, n_warmup, n_draws)
    drawn = sampled(task)
    return _fitted(choices, family, likelihood, drawn, int(drawn.pop("diverged").sum()), rng)


def _fitted(
    choices: Choices,
    family: Family,
    likelihood: Likelihood,
    drawn: dict[str, FloatArray],
    diverged: int,
    rng: np.random.Generator,
) -> Fitted:
    inference = inference_of(family, list(choices.people), drawn)
    flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in drawn.items()}
    kept = rng.permutation(flat["middle"].shape[0])[:MOST_DRAWS]
    middle, spread, z = flat["middle"][kept], flat["spread"][kept], flat["people"][kept]
    n, d = z.shape[1], z.shape[2]
    at_points = likelihood.at(z.mean(axis=0), np.arange(n))
    counts = np.bincount(choices.person, choices.count, n)
    people = {
        name: Fitted(family, "hierarchical", z[:, i].mean(axis=0), z[:, i], int(counts[i]), float(at_points[i]))
        for i, name in enumerate(choices.people)
    }
    return Fitted(
        family,
        "hierarchical",
        middle.mean(axis=0),
        middle + spread * rng.standard_normal((len(kept), d)),
        choices.n_answers,
        float(at_points.sum()),
        people=MappingProxyType(people),
        notes=checked(inference, diverged, flat["middle"].shape[0]),
        chains=MappingProxyType(drawn),
    )


def checked(inference: Any, diverged: int, n_draws: int) -> tuple[str, ...]:
    """The sampler's diagnostics, in words."""
    import arviz

    r_hat, effective = arviz.rhat(inference), arviz.ess(inference)
    population = max(float(r_hat[name].max()) for name in ("middle", "spread"))
    of_people = r_hat["people"].max("parameter")
    unsure = int((of_people > R_HAT).sum())
    fewest = min(float(effective[name].min()) for name in ("middle", "spread"))
    notes = [
        f"{diverged or 'None'} of {n_draws:,} steps diverged; R-hat is at most {population:.3f} for the population and "
        f"{float(of_people.max()):.3f} for its people; the population's effective sample size is {fewest:,.0f}."
    ]
    if diverged:
        notes.append(
            "Divergent steps missed a narrow part of the posterior: fix a parameter that trades off with another, or "
            "give more warm-up."
        )
    if population > R_HAT:
        notes.append(f"The chains do not agree about the population yet (R-hat above {R_HAT}). Give more draws.")
    if unsure:
        most = str(of_people.idxmax("person").item())
        notes.append(
            f"The chains do not agree about {unsure} of {of_people.size} people yet, least about {most} (R-hat above "
            f"{R_HAT}). Give more draws."
        )
    if fewest < FEW_EFFECTIVE:
        notes.append(f"The population's effective sample size is below {FEW_EFFECTIVE}. Give more draws.")
    return tuple(notes)
