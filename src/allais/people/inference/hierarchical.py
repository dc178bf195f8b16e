"""People drawn from a population: chains of NumPyro's sampler, what they say, and whether to rely on it."""

from __future__ import annotations

from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import numpy as np

from allais._checks import FloatArray
from allais._random import Seed, generator
from allais._system.extras import extra
from allais.people.data.choices import Choices
from allais.people.inference.fitted import MOST_DRAWS, Fitted
from allais.people.inference.nuts_start import Task, begin, sampled
from allais.people.inference.population import inference_of
from allais.people.model.family import Family
from allais.people.model.likelihood import Likelihood

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
    """A population and each of its people, together: those of whom little is known lean on the others.

    On the scale of each parameter people are normal around a middle, whose prior is the family's; their spread is
    half-normal, and as wide. Needs `allais[people]`. `people` has one result each, the draws of the whole are those of
    a new person, `population` is a `Prior` for the next one, `population_table()` has means and spreads with their
    intervals, and `inference` is ArviZ's object; a file keeps it. Divergences, R-hat and effective sizes are looked at;
    `notes` says in words how they are, and what is wrong. Chains run in processes of
    their own, as many as there are cores: JAX is not loaded into yours. The same seed gives the same draws.
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
    task = Task(likelihood, prior.mean, prior.spread, begin(choices, family, rng), seeds, n_warmup, n_draws)
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
    at_points = likelihood.on_line(z.mean(axis=0), np.arange(n))
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
    """What the sampler's own signs are, and what they say, in words."""
    import arviz

    r_hat, effective = arviz.rhat(inference), arviz.ess(inference)
    population = max(float(r_hat[name].max()) for name in ("middle", "spread"))
    of_people = r_hat["people"].max("parameter")
    unsure = int((of_people > R_HAT).sum())
    fewest = min(float(effective[name].min()) for name in ("middle", "spread"))
    notes = [
        f"{diverged or 'None'} of {n_draws:,} steps diverged; R-hat is at most {population:.3f} for the population and "
        f"{float(of_people.max()):.3f} for its people; the population's draws are worth {fewest:,.0f} independent ones."
    ]
    if diverged:
        notes.append(
            "A step that diverges has missed a narrow place: fix a parameter that trades off with another, or give "
            "more warm-up."
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
        notes.append(f"The population's draws are worth fewer than {FEW_EFFECTIVE}. Give more draws.")
    return tuple(notes)
