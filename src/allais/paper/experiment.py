"""An experiment of the paper: what it is about, how large it is at each scale, and how it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from allais.paper.findings import ExperimentResult

SCALES = ("quick", "full")
Done = Callable[[float], None]  # told the share of the work that is done


@dataclass(frozen=True)
class Experiment:
    """One section of the report."""

    name: str
    title: str
    where: str  # in the paper
    sizes: Mapping[str, Any]  # by scale, as the run reads it
    run: Callable[[Any, int, Done], ExperimentResult]  # size, seed, progress
    seconds: float = 5.0  # roughly, at quick scale: to order the work and to forecast its end
    missing: Callable[[], str | None] = lambda: None  # what has to be installed first, in a sentence

    def result(self, scale: str, seed: int, done: Done = lambda share: None) -> ExperimentResult:
        """Run it."""
        return self.run(self.sizes[scale], seed, done)
