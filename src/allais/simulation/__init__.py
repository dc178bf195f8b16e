"""Simulation: policies on problems at compiled speed."""

from allais.simulation.best_arm import BestArm, best_arm
from allais.simulation.comparison import Comparison, compare
from allais.simulation.results import Results
from allais.simulation.simulate import simulate

__all__ = ["BestArm", "Comparison", "Results", "best_arm", "compare", "simulate"]
