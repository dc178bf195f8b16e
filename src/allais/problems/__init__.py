"""Problems: the arms to choose among, and where their outcomes come from."""

from allais.problems.base import Bandit, Problem, Simulator
from allais.problems.contextual import ContextualBandit, Round
from allais.problems.options import Option, grid, table
from allais.problems.program import Program

__all__ = ["Bandit", "ContextualBandit", "Option", "Problem", "Program", "Round", "Simulator", "grid", "table"]
