"""Each arm's outcomes in their order: whether they still look as they did."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from allais._kernels import bound
from allais._system.locks import one_at_a_time
from allais.learner.choices import Drift
from allais.learner.view import View
from allais.samples.drift import FIRST, Watch, evidence, look


class Watching(View):
    """A learner that watches its arms for drift."""

    _watch: Watch
    _watch_at: Any  # where compiled code finds it
    _look: Callable[..., Any] | None = None  # compiled when there is something to compare

    @one_at_a_time
    def drift(self) -> dict[Hashable, Drift]:
        """Where the last outcomes of an arm no longer look like the earlier ones.

        Outcomes are compared in the order in which they were told, and it may be looked at after every one: an arm
        whose outcomes are of one distribution ever raises an alarm with a probability of 1 in 1,000 at most. After an
        alarm, the arm is watched anew. The first 128 outcomes are what the others are compared with.

        >>> learner = NPTS(expected_value(), Bounded(0, 1)).start(["A21", "A28"], seed=1)
        >>> rng = np.random.default_rng(1)
        >>> learner.observe("A21", 0.5 * rng.random(1_000))
        >>> before = learner.drift()["A21"].alarms
        >>> learner.observe("A21", 0.5 + 0.5 * rng.random(200))
        >>> before, learner.drift()["A21"].alarms
        (0, 1)
        """
        alarms = self._watch.alarms.tolist()
        return {
            name: Drift(many, ago if many else None, float(evidence(self._watch, k)))
            for k, (name, (many, ago)) in enumerate(zip(self._names, alarms, strict=True))
        }

    def _watching(self, arm: int) -> Callable[..., Any]:
        """What takes note of an arm's next outcome: the first ones are only written down."""
        if self._look is None:
            if self._watch.seen[arm] < FIRST - 1:
                return self._note
            self._look = bound(look, self._watch_at, 0, 0.0)
        return self._look

    def _note(self, _: Any, arm: int, outcome: float) -> None:
        self._watch.edges[arm, self._watch.seen[arm]] = outcome
        self._watch.seen[arm] += 1
