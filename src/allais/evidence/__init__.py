"""Groups that were compared, looked at any time: verdicts about a table or a stream.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> log = {"version": ["old", "new"] * 4_000, "ms": rng.lognormal(5, 0.5, 8_000)}
>>> print(verdict(log, group="version", outcome="ms", by="median", no_worse_than="10%", unit="ms")[0].word)
equal within the margin
"""

from allais.evidence.ratio import Forecast, SampleRatio, forecast
from allais.evidence.stream import Test
from allais.evidence.verdicts import Look, Verdict, Verdicts, verdict

__all__ = ["Forecast", "Look", "SampleRatio", "Test", "Verdict", "Verdicts", "forecast", "verdict"]
