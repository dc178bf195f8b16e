"""The arms for somebody whose preference is not the policy's own: one memory of outcomes serves all people.

What was told and what was asked belongs to all. Most policies serve anybody from tables that all people share
(`SharedTables`: NPTS here, W-UCB in `learner/bounds.py`), and nothing is kept about a person. A policy or a band that
somebody wrote has a view per preference, with a rule of its own (`PreferenceView`). If outcomes have the utility that
they have under the policy's preference, it reads the learner's own trees, and an arm costs O(log n) after it has
changed. If not, a memory is made of the learner's, in O(n).
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import bound, compiled_for, held
from allais.bands._distribution_bounds import memory_of_counts
from allais.bands.base import refresh
from allais.policies.core.base import Policy
from allais.policies.core.state import started
from allais.policies.core.verbs import choose, lacks_room, learn
from allais.policies.npts import Drawn, DrawnRule, narrow_at
from allais.preferences import Preference
from allais.samples.cells import LOW, RAW, RAW_HIGH, RAW_LOW
from allais.samples.draws import SHARE, draw_tails, draw_values, group_by_rank, most_groups
from allais.samples.drift import NOW, Lifetimes
from allais.samples.layout import cells_of_arm, outcomes_of_arm
from allais.samples.memory import Memory, measure
from allais.weights import Weight


def choosing_for(kind: type, rule: Any, state: Any) -> Callable[..., Any]:
    """The machine code of `choose` for a kind of rule, a rule and a state."""
    return bound(choose.kernels[kind], rule, state, 0.0)


def verbs_for(kind: type, rule: Any, state: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The machine code of `choose` and of `learn`, which views do without."""
    return choosing_for(kind, rule, state), bound(learn.kernels[kind], rule, state, 0, 0.0, 0.0, 0.0)


def room_check(policy: Any, kind: type, rule: Any, state: Any) -> Callable[..., Any] | None:
    """The machine code of `lacks_room`, for a policy that remembers more and more."""
    return bound(lacks_room.kernels[kind], rule, state, 0, 0.0) if policy.own_grows else None


def remeasure(rule: Any, state: Any, arm: int) -> None:
    """Bring an arm's value, and what the band keeps about it, in line with its memory."""
    measure(rule.worth, state.memory, arm)
    refresh(rule.band, state.kept, state.memory, arm)


MOST = 256  # people whose rule is cached; the one who asked longest ago is dropped first


def same_utility(one: Preference, other: Preference) -> bool:
    """Whether every outcome has the same utility under both, so that they can share one memory."""
    return (one.utility, one.reference, one.costs) == (other.utility, other.reference, other.costs)


def finite_utilities(preference: Preference, outcomes: FloatArray) -> FloatArray:
    """The utilities of outcomes, or an error where that of a finite outcome is not finite."""
    utilities = preference.utilities(outcomes)
    strange = np.isfinite(outcomes) & ~np.isfinite(utilities)
    if strange.any():
        raise ValueError(
            f"the utility of an outcome must be finite; that of {float(outcomes[strange][0]):g} is not. "
            "Bound the rewards."
        )
    return utilities


def with_utilities(memory: Memory, preference: Preference) -> Memory:
    """A memory of the same outcomes with the utilities of another preference, all of them one by one."""
    arms = [outcomes_of_arm(memory, arm)[1:] for arm in range(memory.pulls.size)]
    for raw, _ in arms:
        preference.finite_utilities("outcomes", raw)  # refuses what overflows
    return memory_of_counts(preference, arms)._replace(limit=memory.limit)


def clock_of(state: Any) -> int:
    """The clock of a memory that forgets: where it has moved on, counts alone do not show what has changed."""
    return int(state.lifetimes.clock[NOW]) if isinstance(state.lifetimes, Lifetimes) else 0


class PreferenceView:
    """The arms for one person, by a rule of her own: for any policy that is `open_to_people`, with any band.

    What is kept follows from her preference and from what the learner remembers now, never from when she asked.
    """

    rule_at: Any  # where compiled code finds them
    state_at: Any
    choose: Callable[..., Any]

    def __init__(self, policy: Policy, preference: Preference, n_arms: int) -> None:
        self.policy = policy.but(preference=preference)
        self.rule, self.state = started(self.policy, n_arms)
        self._same = same_utility(preference, policy.preference)
        self.rule_at = held(self.rule)
        self._shared: Any = None  # the learner's state when she last looked
        self._counted = np.full(n_arms, -1)  # outcomes of each arm that her values know
        self._time = 0

    def look(self, shared: Any) -> None:
        """Bring her values in line with what the learner knows."""
        pulls, time = shared.memory.pulls, clock_of(shared)
        if time != self._time:
            self._counted[:] = -1
        changed = np.flatnonzero(self._counted != pulls)
        if shared is not self._shared or (changed.size and not self._same):
            memory = shared.memory._replace(value=self.state.memory.value) if self._same else self._made_of(shared)
            self._take_place(shared, shared._replace(memory=memory, kept=self.state.kept))
            changed = changed if self._same else np.arange(pulls.size)
        for arm in changed.tolist():
            remeasure(self.rule, self.state, arm)
        self._counted[:], self._time = pulls, time

    def _take_place(self, shared: Any, state: Any) -> None:
        """Prepare for compiled code what is hers, beside what everybody shares."""
        place = held(state)
        with compiled_for(type(self.policy).__name__):
            choosing = choosing_for(type(self.rule), self.rule_at, place)
        self.state, self.state_at, self.choose, self._shared = state, place, choosing, shared

    def _made_of(self, state: Any) -> Memory:
        """A memory of her own utilities, made from all that the learner remembers."""
        shared, preference = state.memory, self.policy.preference
        memory = with_utilities(shared, preference)
        for arm in range(shared.pulls.size):
            gain, loss = cell_reach(preference, shared, arm)
            memory.slack[arm] = gain, loss, gain + loss
        return memory

    def prepare(self, u: float) -> None:
        """Nothing is left to do: all that a choice needs is there."""

    def complete(self) -> None:
        """Nothing is left to do: all that a recommendation needs is there."""

    def values(self) -> FloatArray:
        """What each arm is worth to her; -inf where nothing is known."""
        found: FloatArray = self.state.memory.value
        return found


def cell_reach(preference: Preference, memory: Memory, arm: int) -> tuple[float, float]:
    """How far a sample may be from the outcome that stands for it, as a utility: among gains, and among losses."""
    cells = cells_of_arm(memory, arm)
    if not cells.shape[1]:
        return 0.0, 0.0
    low, middle, high = (finite_utilities(preference, cells[row]) for row in (RAW_LOW, RAW, RAW_HIGH))
    reach, gains = np.maximum(np.abs(low - middle), np.abs(high - middle)), cells[LOW] > 0.0
    return float(reach[gains].max(initial=0.0)), float(reach[~gains].max(initial=0.0))


class LinearPreferenceView(PreferenceView):
    """A person's own rule over arms with features: what is learned is theta, which no preference changes."""

    def look(self, shared: Any) -> None:
        """Take over what the learner knows of theta."""
        if shared is not self._shared:
            self._take_place(shared, shared)


class Groups(NamedTuple):
    """Outcomes of several arms in groups, of one arm after the other."""

    arms: IntArray  # those that are drawn: in play, and told about
    raw: FloatArray  # what could happen at best, and outcomes from the best down
    counts: FloatArray  # samples that they stand for, and 1 for the best that could happen
    starts: IntArray  # where each arm begins, and the end; (arms + 1,)


NONE = np.zeros(0, dtype=np.int64)  # no arms


MOST_TABLES = 8  # of groups that are kept; people whose weights are smooth inside (0, 1) share one


class GroupTable:
    """Outcomes of all arms in groups, for weights that are singular at the same points."""

    def __init__(self, points: tuple[float, ...], tops: FloatArray) -> None:
        self.points, self.tops = np.array(points), tops
        room = most_groups(len(points), SHARE)
        self._scratch = np.zeros(room), np.zeros(room)
        self._each: list[tuple[FloatArray, FloatArray]] = [(np.zeros(0), np.zeros(0))] * tops.size
        self.counted = np.full(tops.size, -1)  # outcomes of each arm that its groups hold; -1: out of date
        self._time = 0
        self.groups = Groups(NONE, np.zeros(0), np.zeros(0), np.zeros(1, dtype=np.int64))
        self._grouping: Callable[..., Any] | None = None

    def look(self, state: Any, state_at: Any) -> None:
        """Bring them in line with what the learner knows."""
        if (time := clock_of(state)) != self._time:
            self.counted[:], self._time = -1, time
        pulls = state.memory.pulls
        changed = np.flatnonzero(self.counted != pulls).tolist()
        arms = np.flatnonzero(state.active & (pulls > 0))
        if not changed and np.array_equal(arms, self.groups.arms):
            return
        for arm in changed:
            arguments = (state_at, arm, self.points, *self._scratch)
            self._grouping = self._grouping or bound(group_by_rank, *arguments)
            size = self._grouping(*arguments)
            raw, counts = (one[:size] for one in self._scratch)
            self._each[arm] = np.append(self.tops[arm], raw), np.append(1.0, counts)
            self.counted[arm] = pulls[arm]
        each = [self._each[arm] for arm in arms.tolist()]
        raw, counts = (np.concatenate([one[i] for one in each]) if each else np.zeros(0) for i in (0, 1))
        self.groups = Groups(arms, raw, counts, np.cumsum([0, *(one.size for one, _ in each)]))


class SharedTables(ABC):
    """What all people share: tables of outcomes, and the arrays in which compiled code chooses for one of them.

    Nothing is kept about anybody: a view for a preference is made for one choice, from tables of the outcomes.
    """

    def __init__(self, policy: Policy, rule: Any, band: Any, kept: Any) -> None:
        self.of, self.policy = rule, policy
        known, costs = policy.rewards_of(rule.worth.edge.size), policy.preference.costs
        worst, best = (1, 0) if costs else (0, 1)
        self.tops = np.array([one.support[best] for one in known])
        self.bottoms = np.array([one.support[worst] for one in known])
        self.kept, self.value = kept, np.full(len(known), -np.inf)
        self.rule = rule._replace(band=band)  # chooses for others
        self.rule_at = held(self.rule)
        self._tables: dict[tuple[float, ...], GroupTable] = {}
        self.state: Any = None
        self.state_at: Any = None
        self.shared: Any = None  # the learner's own state, and where compiled code finds it
        self.shared_at: Any = None
        self.choose: Callable[..., Any]

    def look(self, shared: Any, shared_at: Any) -> None:
        """Bring what compiled code sees in line with the learner's state."""
        if shared is not self.shared:
            self.state = shared._replace(memory=shared.memory._replace(value=self.value), kept=self.kept)
            self.state_at = held(self.state)
            with compiled_for(type(self.policy).__name__):
                self.choose = choosing_for(type(self.rule), self.rule_at, self.state_at)
            self.shared, self.shared_at = shared, shared_at

    def groups_for(self, preference: Preference) -> Groups:
        """The groups that a person's weights need, in line with what the learner knows."""
        points = narrow_at(preference)
        table = self._tables.pop(points, None) or GroupTable(points, self.tops)
        self._tables[points] = table
        if len(self._tables) > MOST_TABLES:
            del self._tables[next(iter(self._tables))]
        table.look(self.shared, self.shared_at)
        return table.groups

    def forget(self) -> None:
        """Mark every table as out of date, after a change that is more than new outcomes."""
        for table in self._tables.values():
            table.counted[:] = -1

    @abstractmethod
    def view(self, preference: Preference) -> SharedView:
        """The arms for one person, by what the learner knows now."""


class SharedView(ABC):
    """The arms for one person and one choice: her preference, and what everybody shares."""

    def __init__(self, tables: SharedTables, preference: Preference) -> None:
        self.rule_at, self.state_at, self.choose = tables.rule_at, tables.state_at, tables.choose
        self.rule, self.state = tables.rule, tables.state
        self._preference, self._tables = preference, tables

    @property
    def policy(self) -> Policy:
        """The policy with her preference; its settings were checked when it was made."""
        moved = copy.copy(self._tables.policy)
        object.__setattr__(moved, "preference", self._preference)
        return moved

    @abstractmethod
    def prepare(self, u: float) -> None:
        """Compute what a choice needs, whose draw is u."""

    def groups(self) -> Groups:
        """The outcomes of the arms, as they are now."""
        return self._tables.groups_for(self._preference)

    def values(self) -> FloatArray:
        """What each arm in play is worth to her by its groups; -inf where nothing is known."""
        groups = self.groups()
        found = np.full(self._tables.tops.size, -np.inf)
        if groups.arms.size:
            counts = groups.counts.copy()
            counts[groups.starts[:-1]] = 0.0  # the best outcome that could occur was not seen
            total = np.add.reduceat(counts, groups.starts[:-1])
            sizes = np.diff(groups.starts)
            before = np.repeat(np.cumsum(total) - total, sizes)
            above = (np.cumsum(counts) - before) / np.repeat(total, sizes)
            below = 1.0 - above + counts / np.repeat(total, sizes)
            found[groups.arms] = self._valued(groups, np.clip(above, 0.0, 1.0), np.clip(below, 0.0, 1.0))
        return found

    def _valued(self, groups: Groups, above: FloatArray, below: FloatArray) -> FloatArray:
        """The values of the arms, whose outcomes have these shares at or above, and at or below, them, in each draw."""
        raw, starts = groups.raw, groups.starts
        # an infinite best outcome that could occur has no part in a value of what was seen
        utilities = finite_utilities(self._preference, np.where(np.isfinite(raw), raw, np.append(raw[1:], 0.0)))
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
        found: FloatArray = np.add.reduceat(weighed, starts[:-1], axis=-1)
        return found


def _weighed(weight: Weight, p: FloatArray, where: Any) -> FloatArray:
    """The weights of probabilities, of one draw or a row of each draw, and 0 elsewhere."""
    found = np.zeros(p.shape)
    if where.any():
        found[..., where] = weight._of(np.minimum(p[..., where], 1.0))
    return found


FURTHER = 0.6180339887498949  # from one draw's number to that of the next: all of them are different


class SharedDraws(SharedTables):
    """What people share who choose by values that are drawn (`NPTS`)."""

    def __init__(self, policy: Policy, rule: Any) -> None:
        super().__init__(policy, rule, DrawnRule(), Drawn(np.zeros((rule.draws, rule.worth.edge.size))))
        self._drawing: Callable[..., Any] | None = None
        self._valuing: Callable[..., Any] | None = None
        self._worth_at = held(rule.worth)

    def view(self, preference: Preference) -> DrawsView:
        return DrawsView(self, preference)

    def tails(self, u: float, groups: Groups, draws: int) -> tuple[FloatArray, FloatArray]:
        """Shares at or above, and at or below, each outcome under masses that are drawn: a row for each draw."""
        above, below = np.empty((draws, groups.raw.size)), np.empty((draws, groups.raw.size))
        for k in range(draws):
            arguments = ((u + k * FURTHER) % 1.0, groups.counts, groups.starts, above[k], below[k])
            self._drawing = self._drawing or bound(draw_tails, *arguments)
            self._drawing(*arguments)
        return above, below

    def own_values(self, u: float, utilities: FloatArray, counts: FloatArray, sizes: IntArray) -> FloatArray:
        """What distributions are worth under the policy's own preference, under masses that are drawn."""
        masses, found = np.empty(utilities.shape[1]), np.empty(sizes.size)
        arguments = (u, self._worth_at, utilities, counts, sizes, masses, found)
        self._valuing = self._valuing or bound(draw_values, *arguments)
        self._valuing(*arguments)
        return found


class DrawsView(SharedView):
    """The arms for one person and one choice by values that are drawn."""

    _tables: SharedDraws

    def prepare(self, u: float) -> None:
        """Draw what each arm may be worth to her."""
        groups, optimism, draws = self.groups(), self.rule.optimism, self.rule.draws
        if groups.arms.size:
            values = self._valued(groups, *self._tables.tails(u, groups, draws * max(optimism, 1)))
            if optimism:
                best = values.reshape(draws, optimism, -1).max(axis=1)
                values = np.maximum(best, self.values()[groups.arms])
            self.state.kept.values[:, groups.arms] = values
