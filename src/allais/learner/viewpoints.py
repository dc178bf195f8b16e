"""The arms as somebody else sees them: one memory of outcomes, and a preference that is not the policy's own.

What was told and what was asked belongs to all. A person's own are her rule, the arms' values, and what her band
keeps about them. If outcomes feel to her as they do to the policy's preference (the same utility, reference and
direction), she reads the learner's own trees, and an arm costs O(log n) after it has changed. If not, she has a memory
of her own, which takes in what was told since she last looked: O(log n) for each outcome, or O(n) to make it anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from allais._checks import FloatArray
from allais._kernels import compiled_for, held
from allais.learner.binding import remeasure, verbs_for
from allais.policies.base import Policy
from allais.policies.state import started
from allais.preferences import Preference
from allais.samples.cells import RAW, RAW_HIGH, RAW_LOW
from allais.samples.layout import cells_of_arm, grown, outcomes_of_arm, remembered
from allais.samples.lifetimes import NOW, Lifetimes
from allais.samples.memory import VALUE_SLACK, Memory, insert_all

MOST = 256  # people whose view is kept; that of whoever asked longest ago is made anew when she asks again
MOST_NEWS = 4096  # outcomes that are kept for people who have not yet taken them in


def feel_alike(one: Preference, other: Preference) -> bool:
    """Whether every outcome feels the same to both, so that they can share one memory."""
    return (one.utility, one.reference, one.costs) == (other.utility, other.reference, other.costs)


class News:
    """What was told of late, in order, for memories that follow the learner's own."""

    def __init__(self) -> None:
        self.began = 0  # how many were told before the first that is still here
        self.told: list[tuple[int, float]] = []

    def add(self, arm: int, outcome: float) -> None:
        """Write down one outcome."""
        if len(self.told) == MOST_NEWS:
            self.began += MOST_NEWS
            self.told = []
        self.told.append((arm, outcome))

    @property
    def end(self) -> int:
        """How many were told in all."""
        return self.began + len(self.told)


class Viewpoint:
    """A person's own rule and values over a learner's arms."""

    rule_at: Any  # where compiled code finds them
    state_at: Any
    choose: Callable[..., Any]

    def __init__(self, policy: Policy, preference: Preference, n_arms: int) -> None:
        self.policy = policy.but(preference=preference)
        self.rule, self.state = started(self.policy, n_arms)
        self.alike = feel_alike(preference, policy.preference)
        self.rule_at = held(self.rule)
        self._shared: Any = None  # the learner's state when she last looked
        self._counted = np.zeros(n_arms, dtype=np.int64)  # outcomes of each arm that her values know
        self._read = -1  # how much of the news she has taken in
        self._time = -1  # the clock of a memory that forgets, when she last looked

    def look(self, shared: Any, news: News | None) -> None:
        """Bring her values in line with what the learner knows."""
        if isinstance(shared.lifetimes, Lifetimes) and shared.lifetimes.clock[NOW] != self._time:
            self._counted[:] = self._read = -1  # what was forgotten is no news
            self._time, news = int(shared.lifetimes.clock[NOW]), None
        memory = self.state.memory
        if not self.alike:
            memory = self._followed(shared.memory, news)
        elif shared is not self._shared:
            memory = shared.memory._replace(value=memory.value)
        if shared is not self._shared or memory is not self.state.memory:
            self._take_place(shared, memory)
        for arm in np.flatnonzero(self._counted != memory.pulls).tolist():
            remeasure(self.rule, self.state, arm)
        self._counted[:] = memory.pulls

    def _take_place(self, shared: Any, memory: Memory) -> None:
        """Lay her memory and what her band keeps beside what everybody shares."""
        state = shared._replace(memory=memory, kept=self.state.kept)
        place = held(state)
        with compiled_for(type(self.policy).__name__):
            choosing, _ = verbs_for(type(self.rule), self.rule_at, place)
        self.state, self.state_at, self.choose, self._shared = state, place, choosing, shared

    def _followed(self, shared: Memory, news: News | None) -> Memory:
        """Her own memory, with what was told since."""
        memory = self.state.memory
        if news is None or self._read < news.began:
            memory = self._made_anew(shared)
        elif self._read < news.end:
            fresh = news.told[self._read - news.began :]
            arms, raw = np.array([arm for arm, _ in fresh]), np.array([outcome for _, outcome in fresh])
            felt, done = self._felt(raw), 0
            while (done := insert_all(memory, arms, felt, raw, done)) < len(fresh):
                memory = grown(memory, int(arms[done]))
        if not np.array_equal(memory.pulls, shared.pulls):  # an interrupt kept something out of the news
            memory = self._made_anew(shared)
        self._read = -1 if news is None else news.end
        return memory

    def _made_anew(self, shared: Memory) -> Memory:
        """Her own memory, made from all that the learner remembers."""
        arms = range(shared.pulls.size)
        outcomes, mean, spread = [], np.zeros(len(arms)), np.zeros(len(arms))
        for arm in arms:
            _, raw, counts = outcomes_of_arm(shared, arm)
            felt = self._felt(raw)
            order = np.lexsort((raw, felt))
            outcomes.append((felt[order], raw[order], counts[order]))
            if counts.size:
                mean[arm] = np.average(felt, weights=counts)
                spread[arm] = np.sum(counts * (felt - mean[arm]) ** 2)
        memory = remembered(outcomes, mean, spread)._replace(limit=shared.limit)
        for arm in arms:
            cells = cells_of_arm(shared, arm)
            if cells.shape[1]:  # each stands where its middle outcome does: how far its samples may be from there
                low, middle, high = (self._felt(cells[row]) for row in (RAW_LOW, RAW, RAW_HIGH))
                memory.slack[arm, :VALUE_SLACK] = np.maximum(np.abs(low - middle), np.abs(high - middle)).max()
        self._counted[:] = -1  # so that every value is computed anew
        return memory

    def _felt(self, outcomes: FloatArray) -> FloatArray:
        felt = self.policy.preference.felt(outcomes)
        if not np.isfinite(felt).all():
            strange = float(outcomes[~np.isfinite(felt)][0])
            raise ValueError(
                f"the utility of an outcome must be finite; that of {strange:g} is not. Bound the rewards."
            )
        return felt

    def prepare(self, u: float) -> None:
        """All that a choice needs is there."""

    def values(self) -> FloatArray:
        """What each arm is worth to her; -inf where nothing is known."""
        found: FloatArray = self.state.memory.value
        return found


class LinearViewpoint(Viewpoint):
    """A person's own rule over arms with features: what is learned is theta, which is nobody's taste."""

    def __init__(self, policy: Policy, preference: Preference, n_arms: int) -> None:
        super().__init__(policy, preference, n_arms)
        self.alike = True  # there is no memory of outcomes

    def look(self, shared: Any, news: News | None) -> None:
        """Take over what the learner knows of theta."""
        if shared is not self._shared:
            place = held(shared)
            with compiled_for(type(self.policy).__name__):
                choosing, _ = verbs_for(type(self.rule), self.rule_at, place)
            self.state, self.state_at, self.choose, self._shared = shared, place, choosing, shared
