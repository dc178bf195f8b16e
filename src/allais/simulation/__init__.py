"""Simulation: policies on problems at compiled speed."""

from allais.simulation.best_arm import BestArm, best_arm
from allais.simulation.comparison import Comparison, compare
from allais.simulation.contextual import ContextualResults
from allais.simulation.population import SharedResults
from allais.simulation.python_policy import AskAndTell, PythonPolicy
from allais.simulation.results import Results
from allais.simulation.simulate import simulate

__all__ = [
    "AskAndTell",
    "BestArm",
    "Comparison",
    "ContextualResults",
    "PythonPolicy",
    "Results",
    "SharedResults",
    "best_arm",
    "compare",
    "simulate",
]
