"""Problems: the arms to choose among, and where their outcomes come from."""

from allais.problems.base import Bandit, ContextualBandit, Problem, Round, Simulator
from allais.problems.options import Option, grid, table
from allais.problems.program import Program

__all__ = ["Bandit", "ContextualBandit", "Option", "Problem", "Program", "Round", "Simulator", "grid", "table"]
