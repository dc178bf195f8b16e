"""What is known of one group's amount: what was won by bets against it, or the moments of its estimate."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais.bands import Interval
from allais.bands._curves import DOWN, UP
from allais.bands._wagers import no_wagers
from allais.bands.betting import BAND, bet_on, betting_rule, ends_by_bets, evidence_against, look_at
from allais.evidence.data import View
from allais.numerics.table import table_of
from allais.preferences import Preference
from allais.rewards import Rewards
from allais.samples.influence import central_sums, rises_of_sorted
from allais.samples.layout import grown
from allais.samples.memory import empty_memory
from allais.weights import Identity

NONE = np.zeros(0)


class Bets:
    """What was won against a group's amounts."""

    def __init__(self, preference: Preference, rewards: Rewards, delta: float, is_mean: bool) -> None:
        self.preference, self.rewards, self.delta = preference, rewards, delta
        exponent = math.log(2.0 / delta)
        within = math.log(4.0 / (BAND * delta))  # four sides: each group's, from above and from below
        self.band = betting_rule(self.preference, [self.rewards], exponent, within, within)
        self.memory, self.own, self.done = empty_memory(1), no_wagers(1), 0
        self._is_mean = is_mean

    def look(self, view: View) -> Bets:
        """Bet on what has come, and write what was won. A user is one bet, so users are bet on anew at every look."""
        outcomes = view.outcome
        if view.each is not None:
            # a user's mean is within the bounds, too; of what is distorted, one outcome of each user is taken
            outcomes = view.means_of_users() if self._is_mean else view.one_of_each_user()
            self.memory, self.own, self.done = empty_memory(1), no_wagers(1), 0
        if outcomes.size > self.done:  # else there was none since the last look
            checked, done = self.rewards.check(outcomes[self.done :]), 0
            utilities = self.preference.utilities(checked)
            while (done := int(bet_on(self.band, self.own, self.memory, utilities, checked, done))) < checked.size:
                self.memory = grown(self.memory, 0)
        self.done = outcomes.size
        self.memory.value[0] = self.preference.estimate(outcomes)
        self.own.looked[0] = 0
        for side in (UP, DOWN):
            look_at(self.band, self.own, self.memory, 0, side)
        ends = ends_by_bets(self.band, self.own, self.memory, 0, math.log(1.0 / self.delta))
        low, high = (float(end) for end in ends)
        amounts = self.preference.outcomes_of(np.array([low, float(self.memory.value[0]), high]))
        self.interval = Interval(*(np.sort(amounts).tolist()))
        return self

    def against(self, amounts: FloatArray, *, at_least: bool) -> FloatArray:
        """log of what was won against "the amount is at least (or at most) so much": lines lie below it."""
        value = self.preference.utilities(amounts)
        side = UP if at_least != self.preference.costs else DOWN
        low, high = float(self.band.low[0]), float(self.band.high[0])
        q = value - low if side == UP else high - value
        found = np.empty(q.size)
        evidence_against(self.own, 0, side, q, found)
        return found


class Moments(NamedTuple):
    """A group's amount, and the variance and the third cumulant of its estimate."""

    amount: float
    variance: float
    third: float
    units: int


def moments_of(preference: Preference, view: View) -> Moments:
    """By the influence function of a unit (docs/theory/asymptotic.md): the mean of that of its outcomes."""
    felt, units, users = view.felt(preference), view.users, view.by_user
    each = None if users is None else np.diff(view.sorted.before)
    if preference.costs:  # ascending utilities
        felt = np.ascontiguousarray(felt[::-1])
        users, each = (None, None) if users is None or each is None else (users[::-1], np.ascontiguousarray(each[::-1]))
    if isinstance(preference.gains, Identity) and isinstance(preference.losses, Identity):
        if view.side.adjusted is not None:
            felt = preference.utilities(view.side.adjusted[: view.count])
            each = view.each
            users = None if view.side.user is None else view.side.user[: view.count]
        influence, value = felt, float(felt.sum() if each is None else felt @ each) / units
    else:
        influence = np.empty(felt.size)
        tables = table_of(preference.gains), table_of(preference.losses)
        value = float(rises_of_sorted(*tables, felt, NONE if each is None else each, float(units), influence))
    if users is not None:
        assert each is not None
        influence = np.bincount(users, weights=influence * each, minlength=units).astype(np.float64)
    squares, cubes = central_sums(influence)
    variance, third = squares / max(units - 1, 1), cubes / units
    step = 1e-6 * max(math.sqrt(variance / units), 1e-9 * abs(value), 1e-12)
    low, amount, high = preference.outcomes_of(np.array([value - step, value, value + step])).tolist()
    slope = (high - low) / (2.0 * step) if preference.utility is not None else (-1.0 if preference.costs else 1.0)
    return Moments(amount, slope**2 * variance / units, slope**3 * third / units**2, units)
