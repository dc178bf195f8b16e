"""Linear policies in a world that changes: a ridge regression whose outcomes fade (Russac et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from allais.linear.policy import LinearPolicy
from allais.policies.base import setting
from allais.policies.forgetting import Fading


def _fading(name: str, given: Any) -> Any:
    if given is None or isinstance(given, Fading):
        return given
    raise TypeError(
        f"{name} of a linear policy must be Fading, or None for everything; got {given!r}. "
        "Write Fading(half_life=2_000)."
    )


@dataclass(frozen=True)
class Fades(LinearPolicy):
    """A linear policy that may forget: `memory=Fading(half_life=n)` gives an outcome the weight 2^(-age / n)."""

    memory: Fading | None = setting(None, _fading)

    @property
    def fade(self) -> float:
        """By which the weight of every outcome falls with each further one."""
        return 1.0 if self.memory is None else self.memory.discount

    def check(self) -> None:
        """Refuse settings that do not go together."""
        super().check()
        if self.memory is not None and self.estimates:
            raise ValueError("noise is estimated from all outcomes alike; got a memory that fades. Declare the noise.")
