"""A search as it goes, on a terminal."""

from __future__ import annotations

import heapq
import math
import time
from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np

from allais._system.extras import extra
from allais.learner.reading import sure_intervals
from allais.preferences.named import heading_of
from allais.preferences.valuation import plain
from allais.report.markup import duration
from allais.searches import Outcome, Run, Search
from allais.searches.forecast import Forecast, chances_of_best, forecast

REFRESH = 0.5  # seconds between pictures
THINK = 2.0  # seconds between chances and forecasts, which take a while
MOST_ROWS = 30  # of the table
MOST_THOUGHT = 1_000  # options
MOST_THINKING = 0.05  # the share of the coordinator's time that they may take


class LiveView:
    """A table of the arms that follows a search: pass it as `watch` to `search`.

    Args:
        console: The rich console to draw on; by default a new one.
        unit: What outcomes are measured in.
    """

    def __init__(self, console: Any = None, unit: str = "") -> None:
        with extra("cli", "a live view"):
            from rich.live import Live

        self._unit = unit
        # no thread of its own: a pool that forks must not meet one
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._started = self._drawn = self._think_again = -math.inf
        self._finished = 0
        self._chances: dict[Hashable, float] = {}
        self._predicted: Forecast | None = None
        self._rng = np.random.default_rng(0)  # of the picture only

    def __enter__(self) -> LiveView:
        self._started = time.monotonic()
        self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._live.stop()

    def __call__(self, search: Search, finished: list[tuple[Run, Outcome]]) -> None:
        """Count what came back, and draw if it is time."""
        self._finished += len(finished)
        now = time.monotonic()
        if now - self._drawn < REFRESH:
            return
        if now > self._think_again:
            self.think(search)
            spent = time.monotonic() - now
            self._think_again = now + max(THINK, spent / MOST_THINKING)
        self._drawn = now
        self._live.update(self.table(search, now - self._started), refresh=True)

    def think(self, search: Search) -> None:
        """Work out each arm's probability of being best, and what is left; not for thousands of arms, where it is slow.

        Args:
            search: The search that is followed.
        """
        learner = search.learner
        if len(search.arms) > MOST_THOUGHT:
            return
        self._chances = chances_of_best(learner, self._rng)
        values = [i.value if learner.pulls[name] else math.nan for name, i in learner.intervals().items()]
        seen = [learner.outcomes(name) for name in learner.pulls] if learner.policy.keeps_outcomes else None
        self._predicted = forecast(learner.policy, np.array(values), seen)

    def table(self, search: Search, seconds: float) -> Any:
        """One row per arm, and below it what was done and what is left.

        Args:
            search: The search that is followed.
            seconds: How long it has run.
        """
        from rich.table import Table
        from rich.text import Text

        rate = 60.0 * self._finished / seconds if seconds > 0.0 else 0.0
        recommended = search.learner.recommend()
        promise = f"promise: {search.learner.policy.promise}"
        if recommended.doubt:
            promise = f"promise: withdrawn, since {recommended.doubt}"
        if left_out := sum(search.excluded.values()):
            promise = f"promise: open, since {left_out:,} runs were left out"
        table = Table(title=promise, caption=left(search, rate, self._predicted), caption_justify="left")
        worth = heading_of(search.learner.policy.preference) + (f", {self._unit}" if self._unit else "")
        for heading in ("option", worth, "interval", "runs", "out", "chance of best"):
            table.add_column(heading, justify="left" if heading == "option" else "right")
        out = Counter(run.arm for run in search.out)
        best, told = recommended.arm, search.learner.pulls
        rows = list(enumerate(search.learner.intervals().items()))
        if len(rows) > MOST_ROWS:  # the best ones
            rows = heapq.nlargest(MOST_ROWS, rows, key=lambda row: row[1][1].value if told[row[1][0]] else -math.inf)
        sure = sure_intervals(search.learner, told, {name: interval for _, (name, interval) in rows})
        for arm, (name, _) in rows:
            pulls, interval = told[name], sure[name]
            bounded = math.isfinite(interval.low) and math.isfinite(interval.high)
            chance = self._chances.get(name, math.nan)
            table.add_row(
                Text(str(name)),  # as it is: a name may hold brackets, which are markup in a plain string
                "" if math.isnan(interval.value) else plain(interval.value),
                f"{plain(interval.low)} to {plain(interval.high)}" if bounded else "",
                f"{pulls:,}",
                str(out[arm]),
                "" if math.isnan(chance) else f"{chance:.2f}",
                style="bold" if pulls and name == best else None,
            )
        return table


def left(search: Search, rate: float, predicted: Forecast | None) -> str:
    """How many runs were done, how fast, and what is left if the values stay as they are."""
    learner = search.learner
    text = f"{learner.samples:,} runs told, {rate:.3g} per minute"
    if search.failures:
        text += f", {len(search.failures)} failed"
    if predicted is None:
        return text
    if math.isinf(predicted.expected):
        return f"{text}; two options seem equal so far, so the end cannot be predicted"
    more = max(predicted.expected - learner.samples, 0.0)
    text += f"; about {more:,.0f} more if the values stay as they are"
    if rate > 0.0:
        text += f" ({duration(60.0 * more / rate)})"
    if predicted.at_most is not None and math.isfinite(predicted.at_most):
        text += f", never more than {predicted.at_most:,.0f} in all by theory"
    return text
