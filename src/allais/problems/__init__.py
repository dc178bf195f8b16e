"""Problems: the arms to choose among, and where their outcomes come from."""

from allais.problems.bandit import Bandit
from allais.problems.base import Problem
from allais.problems.program import Program
from allais.problems.simulator import Simulator

__all__ = ["Bandit", "Problem", "Program", "Simulator"]
