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

from allais._checks import FloatArray, IntArray
from allais._kernels import bound, compiled_for, held
from allais.bands.base import refresh
from allais.policies.core.base import Policy
from allais.policies.core.state import started
from allais.policies.core.verbs import choose, lacks_room, learn
from allais.policies.npts import Drawn, DrawnRule, narrow_at
from allais.preferences import Preference
from allais.samples.cells import RAW, RAW_HIGH, RAW_LOW
from allais.samples.groups import SHARE, draw_tails, group_by_rank, most_groups
from allais.samples.layout import cells_of_arm, grown, outcomes_of_arm, remembered
from allais.samples.lifetimes import NOW, Lifetimes
from allais.samples.memory import VALUE_SLACK, Memory, insert_all, measure
from allais.weights import Weight


def verbs_for(kind: type, rule: Any, state: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The machine code of `choose` and `learn` for a kind of rule, a rule and a state."""
    first, draw = 0, 0.0
    choosing = bound(choose.kernels[kind], rule, state, draw)
    return choosing, bound(learn.kernels[kind], rule, state, first, draw, draw, draw)


def room_check(policy: Any, kind: type, rule: Any, state: Any) -> Callable[..., Any] | None:
    """The machine code of `lacks_room`, for a policy that remembers more and more."""
    if not getattr(policy, "own_grows", False):
        return None
    return bound(lacks_room.kernels[kind], rule, state, 0, 0.0)


def remeasure(rule: Any, state: Any, arm: int) -> None:
    """Bring an arm's value, and what the band keeps about it, in line with its memory."""
    measure(rule.worth, state.memory, arm)
    refresh(rule.band, state.kept, state.memory, arm)


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
            utilities, done = self._utilities(raw), 0
            while (done := insert_all(memory, arms, utilities, raw, done)) < len(fresh):
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
            utilities = self._utilities(raw)
            order = np.lexsort((raw, utilities))
            outcomes.append((utilities[order], raw[order], counts[order]))
            if counts.size:
                mean[arm] = np.average(utilities, weights=counts)
                spread[arm] = np.sum(counts * (utilities - mean[arm]) ** 2)
        memory = remembered(outcomes, mean, spread)._replace(limit=shared.limit)
        for arm in arms:
            cells = cells_of_arm(shared, arm)
            if cells.shape[1]:  # each stands where its middle outcome does: how far its samples may be from there
                low, middle, high = (self._utilities(cells[row]) for row in (RAW_LOW, RAW, RAW_HIGH))
                memory.slack[arm, :VALUE_SLACK] = np.maximum(np.abs(low - middle), np.abs(high - middle)).max()
        self._counted[:] = -1  # so that every value is computed anew
        return memory

    def _utilities(self, outcomes: FloatArray) -> FloatArray:
        utilities = self.policy.preference.utilities(outcomes)
        if not np.isfinite(utilities).all():
            strange = float(outcomes[~np.isfinite(utilities)][0])
            raise ValueError(
                f"the utility of an outcome must be finite; that of {strange:g} is not. Bound the rewards."
            )
        return utilities

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


# sets of singular points whose groups are kept; people whose weights are smooth inside (0, 1) share one
MOST_GUESTS = 8


class Groups:
    """Outcomes of all arms in groups, for weights that are singular at the same points."""

    def __init__(self, points: tuple[float, ...], tops: FloatArray) -> None:
        self.points, self.tops = np.array(points), tops
        room = most_groups(len(points), SHARE)
        self._scratch = np.zeros(room), np.zeros(room)
        self._each: list[tuple[FloatArray, FloatArray]] = [(np.zeros(0), np.zeros(0))] * tops.size
        self.counted = np.full(tops.size, -1)  # outcomes of each arm that its groups hold; -1: out of date
        self._time = -1
        self.arms = np.zeros(0, dtype=np.int64)  # those that are drawn: in play, and told about
        # what could happen at best, and the groups from the best down, of one of these arms after the other
        self.raw, self.counts = np.zeros(0), np.zeros(0)
        self.starts: IntArray = np.zeros(1, dtype=np.int64)
        self._grouping: Callable[..., Any] | None = None

    def look(self, state: Any, state_at: Any) -> None:
        """Bring them in line with what the learner knows."""
        if isinstance(state.lifetimes, Lifetimes) and state.lifetimes.clock[NOW] != self._time:
            self.counted[:] = -1  # as many may have been forgotten as were told
            self._time = int(state.lifetimes.clock[NOW])
        pulls = state.memory.pulls
        changed = np.flatnonzero(self.counted != pulls).tolist()
        arms = np.flatnonzero(state.active & (pulls > 0))
        if not changed and np.array_equal(arms, self.arms):
            return
        for arm in changed:
            arguments = (state_at, arm, self.points, *self._scratch)
            if self._grouping is None:
                self._grouping = bound(group_by_rank, *arguments)
            size = self._grouping(*arguments)
            raw, counts = (one[:size] for one in self._scratch)
            self._each[arm] = np.append(self.tops[arm], raw), np.append(1.0, counts)
            self.counted[arm] = pulls[arm]
        each = [self._each[arm] for arm in arms.tolist()]
        self.arms = arms
        self.raw, self.counts = (np.concatenate([one[i] for one in each]) if each else np.zeros(0) for i in (0, 1))
        self.starts = np.cumsum([0, *(raw.size for raw, _ in each)])


class Guests:
    """What people share who choose by values that are drawn."""

    def __init__(self, policy: Policy, rule: Any) -> None:
        self.of, self.policy = rule, policy
        known, costs = policy.rewards_of(rule.worth.edge.size), policy.preference.costs
        self._tops = np.array([one.support[0 if costs else 1] for one in known])
        self.rule = self._rule_of(rule)
        self.rule_at = held(self.rule)
        self.drawn = np.zeros(self._tops.size)
        self._groups: dict[tuple[float, ...], Groups] = {}
        self._shared: Any = None
        self.state: Any = None
        self.state_at: Any = None
        self.choose: Callable[..., Any]
        self._drawing: Callable[..., Any] | None = None

    def _rule_of(self, rule: Any) -> Any:
        """The rule by which choices for others are made."""
        return rule._replace(band=DrawnRule())

    def _state_of(self, shared: Any) -> Any:
        """The learner's state, with what is a person's own in it."""
        return shared._replace(kept=Drawn(self.drawn))

    def seat(self, preference: Preference, shared: Any, shared_at: Any) -> Guest:
        """A person who looks at what the learner knows."""
        return Guest(self, self._looked(preference, shared, shared_at), preference)

    def _looked(self, preference: Preference, shared: Any, shared_at: Any) -> Groups:
        """The groups that a person's weights need, in line with what the learner knows."""
        if shared is not self._shared:
            self.state = self._state_of(shared)
            self.state_at, self._shared = held(self.state), shared
            with compiled_for(type(self.policy).__name__):
                self.choose, _ = verbs_for(type(self.rule), self.rule_at, self.state_at)
        points = narrow_at(preference)
        groups = self._groups.pop(points, None) or Groups(points, self._tops)
        self._groups[points] = groups
        if len(self._groups) > MOST_GUESTS:
            del self._groups[next(iter(self._groups))]
        groups.look(shared, shared_at)
        return groups

    def forget(self) -> None:
        """Let every group be made anew, after a change that is more than outcomes told."""
        for groups in self._groups.values():
            groups.counted[:] = -1

    def tails(self, u: float, groups: Groups) -> tuple[FloatArray, FloatArray]:
        """Shares at or above, and at or below, each outcome under masses that are drawn."""
        above, below = np.empty(groups.raw.size), np.empty(groups.raw.size)
        arguments = (u, groups.counts, groups.starts, above, below)
        if self._drawing is None:
            self._drawing = bound(draw_tails, *arguments)
        self._drawing(*arguments)
        return above, below


class Guest:
    """A person for one choice: her preference, and what everybody shares."""

    def __init__(self, guests: Guests, groups: Groups, preference: Preference) -> None:
        self.rule_at, self.state_at, self.choose = guests.rule_at, guests.state_at, guests.choose
        self.rule, self.state = guests.rule, guests.state
        self._guests, self._groups, self._preference = guests, groups, preference
        self._utilities = preference.utilities(groups.raw)
        if not np.isfinite(self._utilities).all():
            strange = float(groups.raw[~np.isfinite(self._utilities)][0])
            raise ValueError(
                f"the utility of an outcome must be finite; that of {strange:g} is not. Bound the rewards."
            )

    def prepare(self, u: float) -> None:
        """Draw what each arm may be worth to her."""
        groups = self._groups
        if groups.arms.size:
            self._guests.drawn[groups.arms] = self._valued(*self._guests.tails(u, groups))

    def values(self) -> FloatArray:
        """What each arm in play is worth to her by its groups; -inf where nothing is known."""
        groups = self._groups
        found = np.full(self._guests.drawn.size, -np.inf)
        if groups.arms.size:
            counts = groups.counts.copy()
            counts[groups.starts[:-1]] = 0.0  # the best outcome that could occur was not seen
            total = np.add.reduceat(counts, groups.starts[:-1])
            sizes = np.diff(groups.starts)
            before = np.repeat(np.cumsum(total) - total, sizes)
            above = (np.cumsum(counts) - before) / np.repeat(total, sizes)
            below = 1.0 - above + counts / np.repeat(total, sizes)
            found[groups.arms] = self._valued(np.clip(above, 0.0, 1.0), np.clip(below, 0.0, 1.0))
        return found

    def _valued(self, above: FloatArray, below: FloatArray) -> FloatArray:
        """The values of the arms, whose outcomes have these shares at or above, and at or below, them."""
        starts, utilities = self._groups.starts, self._utilities
        gain, loss = np.maximum(utilities, 0.0), np.minimum(utilities, 0.0)
        gains = gain.copy()  # how far each outcome is from the next worse gain, or from none
        gains[:-1] -= gain[1:]
        last = starts[1:] - 1
        gains[last] = gain[last]
        losses = loss.copy()
        losses[1:] -= loss[:-1]
        losses[starts[:-1]] = loss[starts[:-1]]
        weighed = gains * _weighed(self._preference.gains, above, gains > 0.0)
        weighed += losses * _weighed(self._preference.losses, below, losses < 0.0)
        return np.add.reduceat(weighed, starts[:-1])


def _weighed(weight: Weight, p: FloatArray, where: Any) -> FloatArray:
    """The weights of probabilities, and 0 elsewhere."""
    found = np.zeros(p.size)
    if where.any():
        found[where] = weight._of(np.minimum(p[where], 1.0))
    return found
