"""What `allais paper run` says while it runs: how long it will take, one line of progress, and what is finished."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from allais.paper.costs import Expected
from allais.paper.experiment import Experiment
from allais.paper.findings import CORRECTED, DIFFERS, HOLDS, TYPING
from allais.paper.forecast import Forecast, in_words
from allais.paper.store import Stored

BAR = 24  # characters
KINDS = {HOLDS: "hold", CORRECTED: "hold once corrected", TYPING: "typing error", DIFFERS: "NOT AS KNOWN"}


class Progress:
    """One line on a terminal; elsewhere only what is finished, with the time that is left."""

    def __init__(
        self,
        experiments: Sequence[Experiment],
        scale: str,
        expected: Expected,
        workers: int,
        console: Console,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock, self._console, self._lock = clock, console, threading.Lock()
        self._all = len(experiments)
        costs = {one.name: expected.seconds[one.name] for one in experiments}
        self._forecast = Forecast(costs, workers, clock())
        whole = in_words(self._forecast.left(clock()))
        share = expected.compiling / max(sum(costs.values()), 1e-9)
        compiling = f", {share:.0%} of it compiling, which is done once" if share >= 0.1 else ""
        each = "1 experiment" if self._all == 1 else f"{self._all} experiments"
        side = f", {workers} at a time" if workers > 1 else ""
        console.print(f"{each} at {scale} scale{side}: about {whole} here{compiling}.", highlight=False)
        self._live = Live(get_renderable=self.line, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.stop()

    def watch(self, name: str, share: float) -> None:
        """An experiment has come so far."""
        with self._lock:  # the line is drawn by another thread
            self._forecast.tell(name, share, self._clock())

    def finished(self, stored: Stored) -> None:
        """Say what an experiment found."""
        self.watch(stored.name, 1.0)
        words = Text(f"{stored.name} ({stored.seconds:.1f} s): {counted(stored)}")
        if not self._console.is_terminal and len(self._forecast.done) < self._all:
            with self._lock:
                words.append(f"; about {in_words(self._forecast.left(self._clock()))} left")
        self._console.print(words)

    def line(self) -> Text:
        """How far everything is."""
        with self._lock:
            now = self._clock()
            share, left = self._forecast.share(now), self._forecast.left(now)
            done, under_way = len(self._forecast.done), self._forecast.under_way
        filled = round(BAR * share)
        bar = "█" * filled + "░" * (BAR - filled)
        now_doing = f"now {', '.join(under_way)}" if under_way else "starting" if not done else "ending"
        words = f"{bar} about {in_words(left)} left; {done} of {self._all} done; {now_doing}"
        return Text(words, no_wrap=True, overflow="ellipsis")


def counted(stored: Stored) -> str:
    """How many findings there are of each kind."""
    kinds = Counter(finding.kind for finding in stored.result.findings)
    said = [f"{kinds[kind]} {words}" for kind, words in KINDS.items() if kinds[kind]]
    return ", ".join(f"{one}s" if one.endswith("error") and not one.startswith("1 ") else one for one in said)
