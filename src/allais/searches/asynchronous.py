"""A search for the best arm while runs are out: what to run next, and which results may be used.

A run's time may depend on its result, so the first results to arrive are a biased sample. An arm's
results are told in the order asked, up to the first one that is still missing: then every interval
is one of a prefix of the arm's runs, whatever the order of arrival (docs/theory/asynchronous.md).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from allais.errors import RunRefused
from allais.learner import Choice, NotNow
from allais.policies.base import Policy
from allais.searches.runs import Outcome, Run, Seeds
from allais.simulation.best_arm import Failure
from allais.simulation.history import History

MOST_FAILURES = 20  # of one arm in a row, before leaving them out is refused


class Search:
    """Asks and tells, without a clock, a file or a worker: the same events lead to the same state."""

    def __init__(
        self, policy: Policy, arms: Sequence[Hashable], root: np.random.SeedSequence, *, exact: bool = False
    ) -> None:
        self._policy, self._exact, self._seeds = policy, exact, Seeds(root, len(arms))
        self.arms = tuple(arms)
        self._index = {name: arm for arm, name in enumerate(self.arms)}
        self.restart({})

    def restart(self, known: Mapping[Run, Outcome]) -> None:
        """Begin from the first run; those that are known are taken in at the moment they are asked for."""
        rng = np.random.default_rng(self._seeds.choices)
        self.learner = self._policy.start(self.arms, rng, exact=self._exact)
        self._known = {run: self.admitted(run, outcome) for run, outcome in known.items()}
        self.asked = 0
        self.settled = False
        self.failures: list[Failure] = []
        self.history = History(len(self.arms))
        self.run_seconds = 0.0  # of all runs that came back, one after the other
        self._next = [0] * len(self.arms)  # the number of each arm's next run
        self._in_order: list[deque[tuple[Choice, int]]] = [deque() for _ in self.arms]  # asked, and not yet told
        self._arrived: list[dict[int, Outcome]] = [{} for _ in self.arms]  # behind one that is missing
        self._failed_in_a_row = [0] * len(self.arms)

    @property
    def out(self) -> list[Run]:
        """The runs that were asked for and have not come back, oldest first."""
        missing = [
            (choice.id, Run(arm, number, self._seeds.of(arm, number)))
            for arm, queue in enumerate(self._in_order)
            for choice, number in queue
            if number not in self._arrived[arm]
        ]
        return [run for _, run in sorted(missing)]

    def ask(self, most: float = math.inf) -> Run | None:
        """The next run to be done, or None: the search has settled, `most` runs were asked for, or it must wait."""
        while self.asked < most and (run := self._chosen()) is not None:
            outcome = self._known.get(run)
            if outcome is None:
                return run
            self.absorb(run, outcome)
        return None

    def _chosen(self) -> Run | None:
        if self.settled:
            return None
        try:
            choice = self.learner.ask()
        except NotNow:
            self.settled = self.learner.is_settled()
            return None
        arm = self._index[choice.arm]
        number = self._next[arm]
        self._next[arm] += 1
        self._in_order[arm].append((choice, number))
        self.asked += 1
        return Run(arm, number, self._seeds.of(arm, number))

    def notice_settled(self) -> None:
        """See whether what was told is enough."""
        self.settled = self.settled or (self.asked > 0 and self.learner.is_settled())

    def admitted(self, run: Run, outcome: Outcome) -> Outcome:
        """An outcome whose reward can be; it is refused before it is written down, and never looked at again."""
        if outcome.reward is None:
            return outcome
        try:
            return outcome._replace(reward=self.learner._checked(run.arm, outcome.reward))
        except ValueError as error:
            raise refusal(self.arms[run.arm], run, error) from None

    def take_in(self, run: Run, outcome: Outcome) -> None:
        """A run has come back: check it, and tell what is now complete, from the oldest of the arm on."""
        self.absorb(run, self.admitted(run, outcome))

    def absorb(self, run: Run, outcome: Outcome) -> None:
        """Take in an outcome that is admitted already."""
        queue, arrived = self._in_order[run.arm], self._arrived[run.arm]
        if run.number in arrived or all(number != run.number for _, number in queue):
            raise ValueError(
                f"a run comes back once; run {run.number} of {self.arms[run.arm]!r} is not out. Take each in once."
            )
        if outcome.failure is not None:
            self.failures.append(Failure(self.arms[run.arm], *run[1:], outcome.failure, outcome.reward))
        arrived[run.number] = outcome
        self.run_seconds += outcome.seconds
        while queue and queue[0][1] in arrived:
            choice, number = queue.popleft()
            self._tell(run.arm, choice, arrived.pop(number))

    def _tell(self, arm: int, choice: Choice, outcome: Outcome) -> None:
        if outcome.reward is not None:
            self.learner._tell_checked(choice, outcome.reward)
            self._failed_in_a_row[arm] = 0
            self.history.note(self.learner.samples, lambda: (self.learner.pulls, self.learner.intervals()))
            return
        self.learner.cancel(choice)
        self._failed_in_a_row[arm] += 1

    def require_rewards(self, arms: Iterable[int]) -> None:
        """Refuse to leave out all that an arm does."""
        for arm in arms:
            if self._failed_in_a_row[arm] >= MOST_FAILURES:
                last = next(one.reason for one in reversed(self.failures) if one.arm == self.arms[arm])
                raise RunRefused(
                    f"an arm must give a reward now and then; {self.arms[arm]!r} failed {self._failed_in_a_row[arm]} "
                    f"times in a row ({last.rstrip('.')}). Leave the arm out, or say which reward a failure counts as."
                )


def refusal(arm: Hashable, run: Run, rule: ValueError) -> RunRefused:
    """An outcome broke a rule: say which run it was, so that it can be looked at."""
    return RunRefused(f"run {run.number} of {arm!r} (seed {run.seed}): {rule}")
