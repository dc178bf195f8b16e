"""Experiments: the runs of an expensive simulator, on many workers, none of them lost."""

from allais.experiment.confidence import reached_delta
from allais.experiment.drive import drive
from allais.experiment.journal import RunJournal, finished_runs
from allais.experiment.runs import Failures, Outcome, Run
from allais.experiment.search import Search

__all__ = ["Failures", "Outcome", "Run", "RunJournal", "Search", "drive", "finished_runs", "reached_delta"]
