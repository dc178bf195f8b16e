"""Problems: the arms to choose among, and where their outcomes come from."""

from allais.problems.base import Bandit, Problem, Simulator
from allais.problems.program import Program

__all__ = ["Bandit", "Problem", "Program", "Simulator"]
