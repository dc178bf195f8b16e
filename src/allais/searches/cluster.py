"""Whether the workers of an executor can still be reached: a Dask cluster may lose its scheduler or all of its workers.

Neither is an error to a future, which then waits for ever. So while nothing comes back the scheduler is asked.
"""

from __future__ import annotations

import math
import time
import warnings
from concurrent.futures import Executor
from typing import Any

from allais.errors import RunFailed

LOOK_EVERY = 2.0  # seconds between questions, while nothing comes back
ANSWER_WITHIN = 5.0  # seconds
PATIENCE = 60.0  # seconds: a worker that is started anew takes a few


class ClusterLost(RunFailed):
    """The workers cannot be reached, and patience is at its end."""

    def __init__(self, sentence: str, since: float = math.nan) -> None:
        super().__init__(sentence)
        self.since = since  # on the monotonic clock


class Cluster:
    """What is known about an executor's workers, and how long the search waits for them."""

    def __init__(self, executor: Executor, patience: float) -> None:
        self._client: Any = getattr(executor, "_client", None)  # of dask.distributed; others say by themselves
        self._address = _address(self._client)
        self._patience = patience
        self._looked = time.monotonic()
        self._since = math.inf  # when the trouble began
        self.is_well = True

    def look(self, *, now: bool = False) -> bool:
        """Whether runs can be sent. The scheduler is asked now and then; trouble is said once, and raised at last."""
        clock = time.monotonic()
        if self._client is None or not (now or clock - self._looked >= LOOK_EVERY):
            return self.is_well
        trouble = self._trouble()
        self._looked = time.monotonic()
        if trouble is None:
            if not self.is_well:
                self._say(f"the cluster at {self._address} is back; the search goes on.")
            self.is_well, self._since = True, math.inf
            return True
        rule, advice = trouble
        if self.is_well:
            self.is_well, self._since = False, clock
            if self._patience > 0.0:
                most = "until it is back" if math.isinf(self._patience) else f"{self._patience:g} s at most"
                self._say(f"{rule}; the search waits, {most}.")
        if self._looked - self._since >= self._patience or self._client.status in ("closing", "closed"):
            raise ClusterLost(f"{rule}. {advice}", self._since)
        return False

    def _say(self, sentence: str) -> None:
        # with the time, since it may be read the next morning; and no warning is shown twice, but this may come twice
        warnings.warn(f"{time.strftime('%H:%M:%S')}: {sentence}", stacklevel=5)

    def _trouble(self) -> tuple[str, str] | None:
        """The rule that is broken, and what to do."""
        silent = f"a scheduler must answer; {self._address} does not any more", "Start it again, and its workers."
        if self._client.status != "running":
            return silent
        threads = threads_of(self._client)
        if threads is None:
            return silent
        if threads:
            return None
        return (
            f"a cluster must have workers; {self._address} has none left",
            f"Start some: dask worker {self._address}.",
        )


def threads_of(client: Any) -> int | None:
    """How many runs a Dask cluster does at the same time; None where its scheduler does not answer."""
    try:
        return sum(client.sync(client.scheduler.ncores, callback_timeout=ANSWER_WITHIN).values())
    except Exception:  # whatever the connection died of; a client that was closed has no scheduler
        return None


def _address(client: Any) -> str:
    return str(getattr(getattr(client, "scheduler", None), "address", "the scheduler"))
