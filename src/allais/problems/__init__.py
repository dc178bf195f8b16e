"""Problems: what is decided about."""

from allais.problems.bandit import Bandit
from allais.problems.base import Problem
from allais.problems.program import Program
from allais.problems.simulator import Simulator

__all__ = ["Bandit", "Problem", "Program", "Simulator"]
