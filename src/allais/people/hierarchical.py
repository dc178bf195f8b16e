"""People drawn from a population, by NumPyro's no-U-turn sampler over the compiled likelihood and its slopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais._random import Seed, generator
from allais._system.extras import extra
from allais.people.choices import Choices
from allais.people.family import Family
from allais.people.fit import peak
from allais.people.fitted import MOST_DRAWS, Fitted
from allais.people.likelihood import Likelihood

FEWEST_DRAWS = 100
CAREFUL = 0.9  # the acceptance that the sampler's step is tuned to
R_HAT, FEW_EFFECTIVE = 1.01, 400  # Vehtari and others (2021)


class _Start(NamedTuple):
    """Where sampling begins, and how."""

    people: FloatArray  # places on the line, (people, parameters)
    middle: FloatArray
    spread: FloatArray
    own: FloatArray  # of each parameter: 1 where people are known well, 0 where they lean on the population
    known: FloatArray  # each person's standard errors, (people, parameters)


def hierarchical(
    choices: Choices,
    family: Family,
    *,
    n_draws: int = 500,
    n_warmup: int = 500,
    n_chains: int = 2,
    seed: Seed = 0,
) -> Fitted:
    """A population and each of its people, together: those of whom little is known lean on the others.

    On the scale of each parameter people are normal around a middle, whose prior is the family's; their spread is
    half-normal, and as wide. Needs `allais[people]`. `people` has one result each, the draws of the whole are those of
    a new person, `population` is a `Prior` for the next one, and `inference` holds ArviZ's object. Divergences, R-hat
    and effective sizes are looked at; what is wrong is in `notes`.
    """
    with extra("people", "a hierarchical fit"):
        import jax
        import numpyro
        from numpyro.infer import MCMC, NUTS, init_to_value
    if min(n_draws * n_chains, n_warmup) < FEWEST_DRAWS or n_chains < 2:
        raise ValueError(
            f"a hierarchical fit needs two chains or more, and {FEWEST_DRAWS} draws and steps of warm-up; got "
            f"{n_chains} chains of {n_draws} after {n_warmup}. Give more."
        )
    if len(choices.people) < 2 or not family.names:
        raise ValueError("a population is that of two people or more, with free parameters. Use posterior.")
    rng = generator(seed)
    likelihood = Likelihood(family, choices, by_person=True)
    start = _start(choices, family, rng)
    with _doubles(jax):
        model = _model(numpyro, family, likelihood, start.own)
        at_start = {"middle": start.middle, "spread": start.spread, "base": _base(start)}
        kernel = NUTS(
            model,
            target_accept_prob=CAREFUL,
            init_strategy=init_to_value(values=at_start),
            inverse_mass_matrix=_variances(start),  # to begin with
        )
        sampler = MCMC(
            kernel, num_warmup=n_warmup, num_samples=n_draws, num_chains=n_chains, chain_method="sequential",
            progress_bar=False,
        )  # fmt: skip
        sampler.run(jax.random.PRNGKey(int(rng.integers(2**31))), extra_fields=("diverging",))
        drawn = {
            name: np.asarray(value, np.float64) for name, value in sampler.get_samples(group_by_chain=True).items()
        }
        diverged = int(np.asarray(sampler.get_extra_fields()["diverging"]).sum())
    return _fitted(choices, family, likelihood, drawn, diverged, rng)


@contextmanager
def _doubles(jax: Any) -> Iterator[None]:
    """JAX in double precision, in all threads: callbacks run in others than this one. Then as it was."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


def _start(choices: Choices, family: Family, rng: np.random.Generator) -> _Start:
    """Each person's mode, and how well people are known beside how much they differ."""
    modes = [peak(Likelihood(family, choices.of(name)), family, with_prior=True, rng=rng) for name in choices.people]
    people = np.array([one.place for one in modes])
    known = np.array([np.sqrt(np.diagonal(one.covariance)) for one in modes])
    spread = np.maximum(people.std(axis=0), 0.1 * family.prior.spread)
    own = spread**2 / (spread**2 + np.median(known, axis=0) ** 2)
    return _Start(people, people.mean(axis=0), spread, own, known)


def _variances(start: _Start) -> dict[tuple[str, ...], FloatArray]:
    """About how widely each number will be drawn, so that the sampler's first steps have the right length."""
    n = len(start.people)
    shrunk = 1.0 / np.sqrt(start.known**-2.0 + start.spread**-2.0)
    base = shrunk / start.spread ** (1.0 - start.own)
    # by their names in order, as NumPyro lines numbers up; the logarithm of a spread has a variance of 1 / 2n
    whole = [base.ravel() ** 2, start.spread**2 / n, np.full(start.spread.size, 0.5 / n)]
    return {("base", "middle", "spread"): np.concatenate(whole)}


def _base(start: _Start) -> FloatArray:
    """What is sampled for each person: between their place and the number of spreads from the middle to it."""
    return start.own * start.middle + (start.people - start.middle) / start.spread ** (1.0 - start.own)


def _model(numpyro: Any, family: Family, likelihood: Likelihood, known: FloatArray) -> Callable[[], None]:
    """The population in NumPyro's words; the likelihood and its slopes come from compiled code."""
    import jax
    import jax.numpy as jnp

    n, prior = likelihood.n_blocks, family.prior
    blocks = np.arange(n)
    shape, slopes_shape = jax.ShapeDtypeStruct((), np.float64), jax.ShapeDtypeStruct((n, prior.mean.size), np.float64)

    def both(z: Any) -> tuple[Any, FloatArray]:
        values, slopes = likelihood.slopes_on_line(np.asarray(z, np.float64), blocks)
        return np.float64(values.sum()), slopes

    @jax.custom_vjp
    def log_likelihood(z: Any) -> Any:
        return jax.pure_callback(lambda place: both(place)[0], shape, z)

    def forward(z: Any) -> tuple[Any, Any]:
        return jax.pure_callback(both, (shape, slopes_shape), z)

    def backward(slopes: Any, upstream: Any) -> tuple[Any]:
        return (upstream * slopes,)

    log_likelihood.defvjp(forward, backward)

    def model() -> None:
        law = numpyro.distributions
        middle = numpyro.sample("middle", law.Normal(jnp.array(prior.mean), jnp.array(prior.spread)).to_event(1))
        spread = numpyro.sample("spread", law.HalfNormal(jnp.array(prior.spread)).to_event(1))
        own = jnp.array(known)
        # as they are where people are known well, in spreads from the middle where they are not: one law, and the
        # sampler's numbers depend on each other least (Papaspiliopoulos, Roberts and Skold 2007)
        base = numpyro.sample("base", law.Normal(own * middle, spread**own).expand((n, own.size)).to_event(2))
        z = numpyro.deterministic("people", middle + spread ** (1.0 - own) * (base - own * middle))
        numpyro.factor("answers", log_likelihood(z))

    return model


def _fitted(
    choices: Choices,
    family: Family,
    likelihood: Likelihood,
    drawn: dict[str, FloatArray],
    diverged: int,
    rng: np.random.Generator,
) -> Fitted:
    inference = _inference(choices, family, drawn)
    flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in drawn.items()}
    kept = rng.permutation(flat["middle"].shape[0])[:MOST_DRAWS]
    middle, spread, z = flat["middle"][kept], flat["spread"][kept], flat["people"][kept]
    n, d = z.shape[1], z.shape[2]
    at_points = likelihood.on_line(z.mean(axis=0), np.arange(n))
    counts = np.bincount(choices.person, minlength=n)
    people = {
        name: Fitted(family, "hierarchical", z[:, i].mean(axis=0), z[:, i], int(counts[i]), float(at_points[i]))
        for i, name in enumerate(choices.people)
    }
    return Fitted(
        family,
        "hierarchical",
        middle.mean(axis=0),
        middle + spread * rng.standard_normal((len(kept), d)),
        len(choices),
        float(at_points.sum()),
        people=MappingProxyType(people),
        notes=checked(inference, diverged, flat["middle"].shape[0]),
        inference=inference,
    )


def _inference(choices: Choices, family: Family, drawn: dict[str, FloatArray]) -> Any:
    """The draws as ArviZ has them: on the line for the population, as parameters for the people."""
    with extra("people", "a hierarchical fit"):
        import arviz

    names = list(family.names)
    people = drawn["people"]
    natural = family.natural(people.reshape(-1, len(names))).reshape(people.shape)
    return arviz.from_dict(
        posterior={"middle": drawn["middle"], "spread": drawn["spread"], "people": natural},
        coords={"parameter": names, "person": list(choices.people)},
        dims={"middle": ["parameter"], "spread": ["parameter"], "people": ["person", "parameter"]},
    )


def checked(inference: Any, diverged: int, n_draws: int) -> tuple[str, ...]:
    """What the sampler's own signs say, in words."""
    import arviz

    notes = []
    if diverged:
        notes.append(
            f"{diverged} of {n_draws} steps diverged: the sampler missed a narrow place. "
            "Fix a parameter that trades off with another, or give more warm-up."
        )
    worst = max(float(arviz.rhat(inference)[name].max()) for name in ("middle", "spread", "people"))
    if worst > R_HAT:
        notes.append(f"The chains do not agree yet (R-hat {worst:.3f}, above {R_HAT}). Give more draws.")
    fewest = min(float(arviz.ess(inference)[name].min()) for name in ("middle", "spread"))
    if fewest < FEW_EFFECTIVE:
        notes.append(
            f"The population's draws are worth {fewest:.0f} independent ones, below {FEW_EFFECTIVE}. Give more draws."
        )
    return tuple(notes)
