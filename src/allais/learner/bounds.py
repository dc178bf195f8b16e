"""Somebody else's choice by upper bounds (`WUCB`): her intervals, from tables of outcomes that all people share.

All people of a learner have one reference and one direction, so that an arm's outcomes rank alike for everybody, in
stretches with the counts of samples beyond them (`learner/stretches.py`). Her utility gives the stretches their lengths
and her weights weigh their probabilities, as formulas on whole arrays. The ends are those that a learner of her own
would have, and nothing is kept about her:

- `Holder`: the value by Algorithm 1, and a width that is a formula.
- `KL`, `DKW`, `Envelope`: bounds on probabilities follow from counts alone, so that they serve everybody.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.bands import DKW, KL, Envelope, Holder
from allais.bands._distribution_bounds import STEPS, tail_integrals
from allais.bands._tail_walks import LAST_NODE
from allais.bands.base import GivenEnds, GivenRule
from allais.bands.holder import deviations, normal_tails, variation
from allais.bands.kl import kl_ceilings
from allais.learner.stretches import Division, Side
from allais.learner.views import SharedTables, SharedView, cell_reach, finite_utilities, same_utility
from allais.policies.core.base import Policy
from allais.policies.core.knowledge import check_unit_interval
from allais.policies.wucb import WUCB
from allais.preferences import Preference
from allais.rewards import SubGaussian
from allais.weights import Identity, Weight


def shared_bounds(policy: Policy, rule: Any) -> SharedBounds | None:
    """What people share under a policy that chooses by upper bounds; None for any other band."""
    if type(policy.plain()) is not WUCB:
        return None
    if type(policy.band) is Holder:
        return HolderBounds(policy, rule)
    return TailBounds(policy, rule) if type(policy.band) in (KL, DKW, Envelope) else None


class SharedBounds(SharedTables):
    """What people share who choose by upper bounds."""

    def __init__(self, policy: Policy, rule: Any) -> None:
        n_arms = rule.worth.edge.size
        super().__init__(policy, rule, GivenRule(), GivenEnds(np.full(n_arms, -np.inf), np.full(n_arms, np.inf)))
        self.known = policy.rewards_of(n_arms)
        self._tailed = next((one for one in self.known if isinstance(one, SubGaussian)), None)
        self.of_each = Division(self, strides=False)
        self.divisions = [self.of_each]

    def view(self, preference: Preference) -> BoundsView:
        if self._tailed is not None:
            preference.truncation(self._tailed, 1)  # refuses a utility
        if self.of.worth.of_mean:
            check_unit_interval(preference, self.known)
        return BoundsView(self, preference)

    def forget(self) -> None:
        super().forget()
        for division in self.divisions:
            division.counted[:] = -1

    @abstractmethod
    def highest(self, preference: Preference, confidence: float) -> tuple[IntArray, FloatArray]:
        """The arms that were told about, and the upper ends of their intervals at an exponent."""

    @abstractmethod
    def intervals(self, preference: Preference, confidence: float) -> tuple[IntArray, FloatArray, FloatArray]:
        """The arms that were told about, and both ends of their intervals at an exponent."""

    def values(self, preference: Preference) -> FloatArray:
        """What the arms that were told about are worth by what was seen: Algorithm 1, as `measure` computes it."""
        self.of_each.look()
        worth, memory, arms = self.of.worth, self.shared.memory, self.of_each.arms
        if not arms.size:
            return np.zeros(0)
        same = same_utility(preference, self.policy.preference)
        gains, losses = preference.gains, preference.losses
        undistorted = isinstance(gains, Identity) and isinstance(losses, Identity)
        if worth.of_mean:
            gains = losses = Identity()
        scale = worth.edge_scale[arms]
        edge = worth.edge[arms] + scale * np.sqrt(np.log(memory.pulls[arms]))  # M_n; infinite where bounded
        gain, loss = (
            _worth(side, weight, preference, same, edge)
            for side, weight in zip(self.of_each.sides, (gains, losses), strict=True)
        )
        found = gain - loss
        if same and (undistorted or worth.of_mean):  # a cell knows the sum of its samples
            found = np.where(memory.in_trees[arms] & (scale == 0.0), memory.mean[arms], found)
        return preference.gains._of(np.clip(found, 0.0, 1.0)) if worth.of_mean else found

    def reach(self, preference: Preference) -> FloatArray:
        """How far a sample may be from the outcome that stands for it: (2, arms told about), of gains and of losses."""
        arms, memory = self.of_each.arms, self.shared.memory
        if same_utility(preference, self.policy.preference):
            return np.array(memory.slack[arms, :2].T)
        return np.array([cell_reach(preference, memory, arm) for arm in arms.tolist()]).T


def _worth(side: Side, weight: Weight, preference: Preference, same: bool, edge: FloatArray) -> FloatArray:
    """What one side of each arm is worth, up to an edge."""
    inner, outer, sure = side.ends(preference, same)
    if np.isfinite(edge).any():
        cut = side.spread(edge)
        inner, outer = np.minimum(inner, cut), np.minimum(outer, cut)
    share = side.all.fewest / side.spread(side.pulls)
    where = (outer > inner) & (share > 0.0)
    parts = np.zeros(share.size)
    parts[where] = (outer[where] - inner[where]) * weight._of(share[where])
    found: FloatArray = np.minimum(sure, edge) + np.add.reduceat(parts, side.starts)
    return found


class HolderBounds(SharedBounds):
    """The Hölder band: a value, and a width that is a formula."""

    def highest(self, preference: Preference, confidence: float) -> tuple[IntArray, FloatArray]:
        arms, _, high = self.intervals(preference, confidence)
        return arms, high

    def intervals(self, preference: Preference, confidence: float) -> tuple[IntArray, FloatArray, FloatArray]:
        value = self.values(preference)
        arms = self.of_each.arms
        if not arms.size:
            return arms, value, value
        pulls, worth = self.shared.memory.pulls[arms], self.of.worth
        assert isinstance(self.policy.band, Holder)
        weights = self.policy.band._weights(preference)
        eps = np.sqrt(0.5 * confidence / pulls)  # Dvoretzky-Kiefer-Wolfowitz-Massart
        ends = [finite_utilities(preference, one[arms]) for one in (self.bottoms, self.tops)]
        scale, radius = worth.edge_scale[arms], np.zeros(arms.size)
        tailed = scale > 0.0
        with np.errstate(invalid="ignore"):  # the reach of sub-Gaussian arms is their truncation
            stretches = [np.maximum(ends[1], 0.0) - np.maximum(ends[0], 0.0)]
            stretches.append(np.minimum(ends[1], 0.0) - np.minimum(ends[0], 0.0))
        for weight, stretch in zip(weights, stretches, strict=True):
            if tailed.any():
                stretch[tailed] = worth.edge[arms][tailed] + scale[tailed] * np.sqrt(np.log(pulls[tailed]))
            where = stretch > 0.0
            radius[where] += stretch[where] * deviations(weight, eps[where])
            if tailed.any():
                many = np.maximum(pulls[tailed], 2)
                beyond = scale[tailed] * normal_tails(weight, np.sqrt(np.log(many)))
                radius[tailed] += np.where(pulls[tailed] > 1, beyond, np.inf)  # there is no bound at n = 1
        undistorted = isinstance(preference.gains, Identity) and isinstance(preference.losses, Identity)
        exact = worth.of_mean or (undistorted and same_utility(preference, self.policy.preference))
        hidden = np.where(exact & ~tailed, 0.0, self.reach(preference).sum(axis=0))
        if hidden.any():
            radius += max(variation(preference.gains), variation(preference.losses)) * hidden
        return arms, value - radius, value + radius


class TailBounds(SharedBounds):
    """Bands on probabilities: KL, DKW, and the sub-Gaussian envelope."""

    def __init__(self, policy: Policy, rule: Any) -> None:
        super().__init__(policy, rule)
        self._steady = isinstance(policy.band, DKW)
        self._in_strides = Division(self, strides=True)
        self.divisions.append(self._in_strides)

    def highest(self, preference: Preference, confidence: float) -> tuple[IntArray, FloatArray]:
        arms, most = self._side(0, preference, confidence, greatest=True)
        return arms, most - self._side(1, preference, confidence, greatest=False)[1]

    def intervals(self, preference: Preference, confidence: float) -> tuple[IntArray, FloatArray, FloatArray]:
        arms, high = self.highest(preference, confidence)
        least = self._side(0, preference, confidence, greatest=False)[1]
        return arms, least - self._side(1, preference, confidence, greatest=True)[1], high

    def _side(
        self, k: int, preference: Preference, confidence: float, *, greatest: bool
    ) -> tuple[IntArray, FloatArray]:
        """The arms that were told about, and the most or the least that their gains (k = 0) or losses (1) are worth."""
        weight = (preference.gains, preference.losses)[k]
        # where all bounds are equally far from their shares, a monotone weight needs no strides (`shifted`)
        division = self.of_each if self._steady and weight.is_monotone else self._in_strides
        division.look()
        arms = division.arms
        if not arms.size:
            return arms, np.zeros(0)
        rounded = math.ceil(STEPS * confidence) / STEPS
        # half of the failures for the probabilities, half for the mean
        level = rounded + np.where(self.of.band.scale[arms] > 0.0, math.log(2.0), 0.0)
        division.keep_bounds_at(rounded)
        side = division.sides[k]
        self._bound(side, arms, level)
        inner, outer, start = side.ends(preference, same_utility(preference, self.policy.preference))
        low, high, parts = side.all.low, side.all.high, np.zeros(inner.size)
        end = outer[side.starts]
        if self.of.band.scale[arms].any():
            low, high, beyond = self._enveloped(side, arms, level, weight, inner, outer)
            parts[side.starts] = beyond if greatest else 0.0
        where = (outer > inner) & np.isfinite(outer)
        parts[where] += (outer[where] - inner[where]) * _extreme(weight, low[where], high[where], greatest)
        found = start + np.add.reduceat(parts, side.starts)
        if division is self.of_each and (hidden := self.reach(preference)[k]).any():
            moved = np.minimum(found + hidden, end) if greatest else np.maximum(found - hidden, start)
            found = np.where(hidden > 0.0, moved, found)
        return arms, found

    def _bound(self, side: Side, arms: IntArray, level: FloatArray) -> None:
        """Bring the bounds on probabilities up to date."""
        where = np.flatnonzero(np.isnan(side.all.high))
        if not where.size:
            return
        of_arm = side.spread(np.arange(arms.size))[where]
        pulls = side.pulls[of_arm]
        counts = np.stack([pulls - side.all.fewest[where], side.all.counted[where]])
        if self._steady:
            found = np.minimum(counts / pulls + np.sqrt(0.5 * level[of_arm] / pulls), 1.0)
        else:
            cuts = self.of.band.shape.log_cuts[arms[of_arm]]
            price = (level[of_arm] + np.where(np.isnan(cuts), np.log(pulls), cuts)) / pulls
            found = np.empty(counts.shape)
            kl_ceilings((counts / pulls).ravel(), np.append(price, price), found.ravel())
        side.all.low[where], side.all.high[where] = np.maximum(1.0 - found[0], 0.0), found[1]

    def _enveloped(
        self, side: Side, arms: IntArray, level: FloatArray, weight: Weight, inner: FloatArray, outer: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Bounds on probabilities, clipped by what sub-Gaussian tails can hold; and what the outermost stretch adds."""
        band, memory, pulls = self.of.band, self.shared.memory, side.pulls
        scale = band.scale[arms]
        listed = np.arange(memory.utility.shape[1]) < memory.sizes[arms, None]
        total = np.where(listed, memory.counts[arms] * memory.utility[arms], 0.0).sum(axis=1)
        mean = side.sign * np.where(memory.in_trees[arms], memory.mean[arms], total / pulls)
        radius, middle = scale * np.sqrt(2.0 * level / pulls), side.sign * band.centre[arms]  # Chernoff
        mean_low = side.spread(np.maximum(mean - radius, middle - band.slack[arms]))
        mean_high = np.minimum(mean + radius, middle + band.slack[arms])
        of_stretch, gap = side.spread(scale), inner - side.spread(mean_high)
        low, high = side.all.low, side.all.high
        with np.errstate(divide="ignore", invalid="ignore"):
            envelope = np.maximum(np.minimum(high, np.exp(-0.5 * (gap / of_stretch) ** 2)), low)
            high = np.where((of_stretch > 0.0) & (gap > 0.0), envelope, high)
            envelope = np.minimum(np.maximum(low, -np.expm1(-0.5 * ((mean_low - outer) / of_stretch) ** 2)), high)
            low = np.where((of_stretch > 0.0) & (outer < mean_low), envelope, low)
        beyond, first = np.zeros(arms.size), side.starts
        tailed = (scale > 0.0) & np.isinf(outer[first])
        if tailed.any():
            first = first[tailed]
            beyond[tailed] = _beyond(weight, scale[tailed], high[first], gap[first])
        return low, high, beyond


def _extreme(weight: Weight, low: FloatArray, high: FloatArray, greatest: bool) -> FloatArray:
    """The greatest, or the least, weight of the probabilities between two."""
    if weight.is_monotone:
        return weight._of(high if greatest else low)
    return weight.range_over(low, high)[int(greatest)]


def _beyond(weight: Weight, scale: FloatArray, height: FloatArray, gap: FloatArray) -> FloatArray:
    """The integral over z > m + gap of the greatest w up to min(height, exp(-(z - m)^2 / 2 sigma^2)), of each arm."""
    flat = scale * np.sqrt(-2.0 * np.log(height))  # where the envelope takes over
    start = np.maximum(gap, flat)
    inner = (start - gap) * _extreme(weight, np.zeros(height.size), height, greatest=True)
    u = np.minimum(np.maximum(start, 0.0) / scale, LAST_NODE)
    shares, beyond = tail_integrals(weight)
    at = np.searchsorted(shares, np.exp(-0.5 * u**2), side="right")
    return inner + scale * beyond[np.minimum(at, beyond.size - 1)]


class BoundsView(SharedView):
    """The arms for one person and one choice by upper bounds."""

    _tables: SharedBounds
    _prepared = math.nan  # the exponent at which bounds were computed

    def _exponent(self) -> float:
        """That of the next choice, as W-UCB's `exponent` has it."""
        return float(self.rule.exploration) * math.log(max(1 + int(self.state.asked.sum()), 2))

    def prepare(self, u: float) -> None:
        """Bound what each arm may be worth to her, at the exponent of the next choice."""
        if (confidence := self._exponent()) != self._prepared:
            arms, high = self._tables.highest(self._preference, confidence)
            self.state.kept.high[:] = np.inf
            self.state.kept.high[arms], self._prepared = high, confidence

    def complete(self) -> None:
        """Compute values and both ends of intervals, as a recommendation shows them."""
        arms, low, high = self._tables.intervals(self._preference, self._exponent())
        kept, value = self.state.kept, self.state.memory.value
        kept.low[:], kept.high[:], value[:] = -np.inf, np.inf, -np.inf
        kept.low[arms], kept.high[arms], value[arms] = low, high, self._tables.values(self._preference)
