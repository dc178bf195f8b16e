"""Chains of a hierarchical fit, in a process of their own: JAX's threads and settings are for a whole process.

Run as `python -m allais.people.inference.nuts_worker task result`. NumPyro's no-U-turn sampler goes over the
compiled likelihood and its gradient.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from allais._checks import FloatArray
from allais._system.processes import begin_worker
from allais.people.inference.hierarchical import Task
from allais.people.model.likelihood import Likelihood

CAREFUL = 0.95  # target acceptance rate


def main(given: Path, found: Path) -> None:
    """Run the task of a file, and write the draws."""
    with given.open("rb") as file:
        parent, task = pickle.load(file)
    begin_worker(parent)
    np.savez(found, **sampled(task))  # type: ignore[arg-type]  # its stubs take every keyword for its own option


def sampled(task: Task) -> dict[str, FloatArray]:
    """The draws of each chain of a task: (chains, draws, ...)."""
    import jax
    from numpyro.infer import MCMC, NUTS

    potential, people_of = _population(task)
    kernel = NUTS(
        potential_fn=potential,
        target_accept_prob=CAREFUL,
        dense_mass=[("log_spread", "middle")],
        inverse_mass_matrix=_variances(task),  # to begin with
    )
    sampler = MCMC(kernel, num_warmup=task.n_warmup, num_samples=task.n_draws, progress_bar=False)
    chains = []
    for seed in task.seeds:
        sampler.run(jax.random.PRNGKey(seed), init_params=_beginning(task, seed), extra_fields=("diverging",))
        drawn = sampler.get_samples()
        people = jax.jit(jax.vmap(people_of))(drawn["middle"], drawn["log_spread"], drawn["base"])[0]
        chains.append(
            {
                "middle": np.asarray(drawn["middle"]),
                "spread": np.exp(np.asarray(drawn["log_spread"])),
                "people": np.asarray(people),
                "diverged": np.asarray(sampler.get_extra_fields()["diverging"]),
            }
        )
    return {name: np.stack([chain[name] for chain in chains]) for name in chains[0]}


def _population(task: Task) -> tuple[Callable[[Any], Any], Callable[..., Any]]:
    """The potential energy of a population with its people, and the people of a draw."""
    import jax.numpy as jnp

    start, log_likelihood = task.start, _log_likelihood(task.likelihood)
    prior_mean, prior_spread = jnp.array(task.prior_mean), jnp.array(task.prior_spread)
    people, gradient, information = jnp.array(start.people), jnp.array(start.gradient), jnp.array(start.information)

    def people_of(middle: Any, log_spread: Any, base: Any) -> tuple[Any, Any]:
        """Each person: the mean under the quadratic approximation and the population, plus a scaled standard `base`.

        A partially non-centred parametrisation (Papaspiliopoulos, Roberts and Skold 2007, with a matrix per person):
        people with many answers are centred, others move with the population, so that the sampled numbers are nearly
        independent.
        """
        pull = jnp.exp(-2.0 * log_spread)
        towards = (gradient + pull * (middle - people)).T
        root = _root([[information[:, i, j] + pull[i] * (i == j) for j in range(i + 1)] for i in range(pull.size)])
        apart = _up(root, [one + by for one, by in zip(_down(root, towards), base.T, strict=True)])
        return people + jnp.stack(apart, axis=1), -sum(jnp.log(root[i][i]).sum() for i in range(pull.size))

    def potential(numbers: Any) -> Any:
        middle, log_spread = numbers["middle"], numbers["log_spread"]
        z, log_volume = people_of(middle, log_spread, numbers["base"])
        spread = jnp.exp(log_spread)
        of_middle = -0.5 * jnp.square((middle - prior_mean) / prior_spread).sum()
        of_spread = (log_spread - 0.5 * jnp.square(spread / prior_spread)).sum()  # half-normal, along its logarithm
        of_people = (-0.5 * jnp.square((z - middle) / spread) - log_spread).sum()
        return -(of_middle + of_spread + of_people + log_likelihood(z) + log_volume)

    return potential, people_of


# Small matrices, one per person, written out: XLA fuses them into one loop, where LAPACK would be called per person.


def _root(matrix: list[list[Any]]) -> list[list[Any]]:
    """Cholesky's lower triangle of the lower triangle of a matrix; entries are arrays over people."""
    root: list[list[Any]] = []
    for i, row in enumerate(matrix):
        root.append([])
        for j, entry in enumerate(row):
            rest = entry - sum(root[i][k] * root[j][k] for k in range(j))
            root[i].append(rest**0.5 if i == j else rest / root[j][j])
    return root


def _down(root: list[list[Any]], given: Any) -> list[Any]:
    """The solution x of root x = given."""
    found: list[Any] = []
    for i, row in enumerate(root):
        found.append((given[i] - sum(row[k] * found[k] for k in range(i))) / row[i])
    return found


def _up(root: list[list[Any]], given: list[Any]) -> list[Any]:
    """The solution x of root' x = given."""
    found: dict[int, Any] = {}
    for i in reversed(range(len(root))):
        found[i] = (given[i] - sum(root[k][i] * found[k] for k in range(i + 1, len(root)))) / root[i][i]
    return [found[i] for i in range(len(root))]


def _log_likelihood(likelihood: Likelihood) -> Callable[[Any], Any]:
    """The log likelihood of all people, (people, parameters) -> (), with its gradient from compiled code."""
    import jax

    n, d = likelihood.n_blocks, len(likelihood.transforms.scales)
    blocks = np.arange(n)
    shapes = jax.ShapeDtypeStruct((), np.float64), jax.ShapeDtypeStruct((n, d), np.float64)

    def both(z: Any) -> tuple[Any, FloatArray]:
        values, gradients = likelihood.gradients_at(np.asarray(z, np.float64), blocks)
        return np.float64(values.sum()), gradients

    @jax.custom_vjp
    def log_likelihood(z: Any) -> Any:
        return jax.pure_callback(lambda place: both(place)[0], shapes[0], z)

    def forward(z: Any) -> tuple[Any, Any]:
        return jax.pure_callback(both, shapes, z)

    def backward(gradients: Any, upstream: Any) -> tuple[Any]:
        return (upstream * gradients,)

    log_likelihood.defvjp(forward, backward)
    return log_likelihood


def _variances(task: Task) -> dict[tuple[str, ...], FloatArray]:
    """The approximate variance of each sampled number, so that the first steps have the right length."""
    n, d = task.start.people.shape
    population = np.concatenate([np.full(d, 0.5 / n), task.start.spread**2 / n])
    return {("base",): np.ones(n * d), ("log_spread", "middle"): np.diag(population)}


def _beginning(task: Task, seed: int) -> dict[str, FloatArray]:
    """Where a chain starts: overdispersed, so that R-hat means something."""
    rng = np.random.default_rng(seed)
    n, d = task.start.people.shape
    return {
        "base": rng.standard_normal((n, d)),
        "log_spread": np.log(task.start.spread) + 2.0 * np.sqrt(0.5 / n) * rng.standard_normal(d),
        "middle": task.start.middle + 2.0 * task.start.spread / np.sqrt(n) * rng.standard_normal(d),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
