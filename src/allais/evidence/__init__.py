"""Evidence from data that are there: verdicts about groups, and what a log of decisions says of other policies.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> log = {"version": ["old", "new"] * 4_000, "ms": rng.lognormal(5, 0.5, 8_000)}
>>> print(verdict(log, group="version", outcome="ms", by="median", no_worse_than="10%", unit="ms")[0].word)
equal within the margin
"""

from allais.evidence.decisions import Decisions, read_decisions
from allais.evidence.evaluation import Evaluation, choose_policy, evaluate
from allais.evidence.ratio import Forecast, Guard, Look, SampleRatio, forecast
from allais.evidence.stream import Test
from allais.evidence.targets import Worth, best_so_far, replay
from allais.evidence.verdicts import Verdict, Verdicts, verdict

__all__ = [
    "Decisions",
    "Evaluation",
    "Forecast",
    "Guard",
    "Look",
    "SampleRatio",
    "Test",
    "Verdict",
    "Verdicts",
    "Worth",
    "best_so_far",
    "choose_policy",
    "evaluate",
    "forecast",
    "read_decisions",
    "replay",
    "verdict",
]
