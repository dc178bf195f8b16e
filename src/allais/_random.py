"""One seed in, one generator out: the only place where a generator is made."""

from __future__ import annotations

import numpy as np

Seed = int | np.random.SeedSequence | np.random.Generator


def generator(seed: Seed) -> np.random.Generator:
    """The generator that a seed stands for; a generator is returned as it is.

    >>> generator(1).integers(100) == generator(1).integers(100)
    np.True_
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, np.random.SeedSequence) or (
        isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0
    ):
        return np.random.default_rng(seed)
    raise ValueError(
        f"a seed must be a non-negative int, a SeedSequence or a Generator; got {seed!r}. "
        "Give a number, such as seed=1, so that the run can be repeated."
    )
