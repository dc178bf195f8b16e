"""Somebody else's choice where values are drawn (`NPTS`): from groups of outcomes that all people share.

Nothing is kept about a person, however many there are. What belongs to everybody, the groups of each arm
(`samples/groups.py`), is brought up to date when an arm has changed; a choice draws masses for them, and her weights
and her utility, as formulas on whole arrays, make values of these. So a choice for the ten-thousandth person costs
what it costs for the first, and depends on the memory only: not on who looked at it before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import bound, compiled_for, held
from allais.learner.binding import verbs_for
from allais.policies.base import Policy
from allais.policies.bins import Drawn, DrawnRule, narrow_at
from allais.preferences import Preference
from allais.samples.groups import SHARE, draw_tails, group_by_rank, most_groups
from allais.samples.lifetimes import NOW, Lifetimes
from allais.weights import Weight

MOST = 8  # sets of singular points whose groups are kept; people whose weights are smooth inside (0, 1) share one


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
        if len(self._groups) > MOST:
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
        self._felt = preference.felt(groups.raw)
        if not np.isfinite(self._felt).all():
            strange = float(groups.raw[~np.isfinite(self._felt)][0])
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
        starts, felt = self._groups.starts, self._felt
        gain, loss = np.maximum(felt, 0.0), np.minimum(felt, 0.0)
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
