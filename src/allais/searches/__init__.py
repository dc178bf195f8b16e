"""Searches: the best option of an expensive simulator, on many workers, no run of it lost."""

from allais.searches.asynchronous import Search, costs_of_indifference, with_indifference
from allais.searches.best_option import drive, search
from allais.searches.forecast import Forecast, chances_of_best, closer_forecast, forecast
from allais.searches.grids import contenders, finer
from allais.searches.journal import RunJournal, finished_runs
from allais.searches.limit import Proof, fewest_runs, least_proof
from allais.searches.optuna import Raced, from_optuna
from allais.searches.runs import Failures, Outcome, Run

__all__ = [
    "Failures",
    "Forecast",
    "Outcome",
    "Proof",
    "Raced",
    "Run",
    "RunJournal",
    "Search",
    "chances_of_best",
    "closer_forecast",
    "contenders",
    "costs_of_indifference",
    "drive",
    "fewest_runs",
    "finer",
    "finished_runs",
    "forecast",
    "from_optuna",
    "least_proof",
    "search",
    "with_indifference",
]
