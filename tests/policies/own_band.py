"""A band as a user would write it, in a module of their own: value +- 1 / sqrt(l), whatever the exponent."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from allais.extend import widen


@dataclass(frozen=True)
class Wide:
    def rule(self, preference, rewards):
        return WideRule(np.full(len(rewards), 4.0))


class WideRule(NamedTuple):
    reach: Any

    def kept(self, n_arms):
        return ()


@widen.of(WideRule)
def _(band, kept, memory, exponent, low, high):
    for arm in range(low.size):
        radius = band.reach[arm] / np.sqrt(max(memory.pulls[arm], 1))
        low[arm], high[arm] = memory.value[arm] - radius, memory.value[arm] + radius
