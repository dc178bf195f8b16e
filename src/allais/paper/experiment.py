"""An experiment of the paper: what it is about, how long it takes, and which module runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from allais.paper.findings import ExperimentResult

SCALES = ("quick", "full")
Done = Callable[[float], None]  # told the share of the work that is done


@dataclass(frozen=True)
class Experiment:
    """One section of the report; its module is loaded when it runs, so that a list of experiments costs nothing."""

    name: str
    title: str
    where: str  # in the paper
    module: str  # in allais.paper.experiments: its `SIZES` by scale, and `run(size, seed, done)`
    seconds: Mapping[str, float]  # by scale, on the machine of `allais.paper.costs`, compiled code at hand
    compiling: float = 0.0  # seconds more where it is not
    missing: Callable[[], str | None] = lambda: None  # what has to be installed first, in a sentence

    def result(self, scale: str, seed: int, done: Done = lambda share: None) -> ExperimentResult:
        """Run it."""
        module: Any = import_module(f"allais.paper.experiments.{self.module}")
        found: ExperimentResult = module.run(module.SIZES[scale], seed, done)
        return found
