"""Compile ahead what policies need, for images, continuous integration and impatient people."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from allais._kernels import CACHE
from allais.bands import Holder
from allais.linear import LinearBandit, ParameterNoise
from allais.lotteries import Discrete, Uniform
from allais.policies.core.base import Policy
from allais.preferences import Preference
from allais.problems import Bandit, Problem
from allais.rewards import Bounded, Finite, SubGaussian
from allais.settings import family, kind_named
from allais.simulation.rollout import Rollout
from allais.streams import ValueStream
from allais.weights import TverskyKahneman

ROUNDS = 400  # enough for an arm's outcomes to move to trees
FEW = Bandit([Discrete({0: 0.5, 1: 0.5}), Discrete({0: 0.25, 1: 0.75})])
MANY = Bandit([Uniform(0, 1), Uniform(0, 0.9)])
LINEAR = LinearBandit([[1, 0], [0, 1]], [0.5, 0.25], ParameterNoise())
SETTINGS: dict[str, Any] = {
    "preference": Preference(TverskyKahneman(0.61)),
    "rewards": Bounded(0, 1),
    "noise": ParameterNoise(),
    "budget": ROUNDS,
    "delta": 1e-6,
    "beta": 1.0,
}


def names_of_policies() -> list[str]:
    """The policies of the library, by name."""
    return sorted({**family("policy"), **family("linear policy")})


def warm(names: Sequence[str] = (), told: Callable[[str, float], None] = lambda name, seconds: None) -> None:
    """Compile what policies need, live and simulated, and leave it on disk; all policies if none is named.

    >>> warm(["EXP3"])
    >>> warm(["Exp3"])
    Traceback (most recent call last):
        ...
    ValueError: a policy has one of the names ContextualNPTS, EXP3, ..., WUCB; got 'Exp3'. Check the spelling.
    """
    known = names_of_policies()
    for name in names:
        if name not in known:
            raise ValueError(f"a policy has one of the names {', '.join(known)}; got {name!r}. Check the spelling.")
    if CACHE is None:
        raise ValueError("compiled code needs a folder that can be written to; there is none. Set ALLAIS_CACHE_DIR.")
    for name in names or known:
        begin = time.perf_counter()
        for policy, problem in uses_of(kind_named(name)):
            _use(policy, problem)
        told(name, time.perf_counter() - begin)
    if not names:
        begin = time.perf_counter()
        stream = ValueStream(SETTINGS["preference"])
        stream.add_many(np.linspace(-1.0, 1.0, ROUNDS))
        stream.value()
        told("ValueStream", time.perf_counter() - begin)


def uses_of(kind: Any) -> Iterator[tuple[Policy, Problem]]:
    """A policy as it is usually made, and the problems that it meets."""
    asked = inspect.signature(kind).parameters.values()
    given = {one.name: SETTINGS[one.name] for one in asked if one.name in SETTINGS and one.default is one.empty}
    if "rewards" in (one.name for one in asked):
        given["rewards"] = Finite([0, 1]) if kind.__name__ == "IMED" else SETTINGS["rewards"]
    policy: Policy = kind(**given)
    if "noise" in given:
        yield policy, LINEAR
        return
    yield policy, FEW
    # IMED is for few outcomes, and w of the mean is right for 0 and 1 only
    if given.get("rewards") == SETTINGS["rewards"] and not policy.of_mean:
        yield policy, MANY
    if "band" in (one.name for one in asked):
        yield policy.but(band=Holder()), FEW
        yield kind(**{**given, "rewards": SubGaussian(1.0, 1.0)}), MANY


def _use(policy: Policy, problem: Problem) -> None:
    rollout = Rollout(policy, problem, np.random.SeedSequence(1))
    rollout.run(ROUNDS)
    learner = policy.on(problem).start(problem.arms, seed=1)
    for _ in range(3):
        learner.tell(learner.ask(), 0.5 if problem is LINEAR else 1.0)
    learner.intervals()
    learner.recommend()
    learner.is_settled()
