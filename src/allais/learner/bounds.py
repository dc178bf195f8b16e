"""Somebody else's choice by upper bounds (`WUCB` with the KL band): from bounds on probabilities that all people share.

The KL band bounds the probability of doing at least as well as an outcome by counts alone, so that these bounds
are nobody's own. They are kept per arm, for the stretches between outcomes where `bands/_tail_walks.py` computes them;
her weights and her utility, as formulas on whole arrays, make the ends of her intervals of them. These are the ends
that a learner of her own would have, and nothing is kept about her.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.bands._distribution_bounds import STEPS, TailEnds, TailRule
from allais.bands._tail_walks import STRIDE
from allais.bands.kl import NEWTON, KLShape
from allais.learner.views import Groups, Guest, Guests
from allais.policies.core.base import Policy
from allais.policies.core.verbs import exponent
from allais.preferences import Preference
from allais.samples.cells import HIGH, LOW, RAW_HIGH, RAW_LOW, spread_out
from allais.samples.layout import cells_of_arm, outcomes_of_arm
from allais.samples.lifetimes import NOW, Lifetimes
from allais.weights import Weight


def serves_by_bounds(rule: Any) -> bool:
    """Whether a policy's bounds on probabilities hold for everybody."""
    band = getattr(rule, "band", None)
    # by its name: W-UCB's module imports the whole package, which imports this one
    if type(rule).__name__ != "WUCBRule" or not isinstance(band, TailRule) or not isinstance(band.shape, KLShape):
        return False
    return not (band.always or rule.worth.of_mean or band.scale.any())


class Stretches(NamedTuple):
    """The outcomes of an arm that are gains, or losses, in stretches from the outside in."""

    inner: FloatArray  # where a stretch ends, as told; it begins where the one before ended
    fewest: FloatArray  # samples that lie at or beyond its outer end
    counted: FloatArray  # samples that may lie beyond its inner end


def _stretches(places: FloatArray, counts: IntArray, in_cell: Any, pulls: int, end: float, in_trees: bool) -> Stretches:
    """One side of an arm, from the outside in, as `walk_few` and `walk_strides` divide it."""
    beyond = np.cumsum(counts)
    total = int(beyond[-1]) if beyond.size else 0
    if in_trees:
        ranks = _ranks(pulls)
        ranks = np.append(ranks[: np.searchsorted(ranks, total)], total)[: None if total else 0]
        at = np.searchsorted(beyond, ranks)
        # the samples of a cell may lie anywhere in it, even all at its outer end
        reached = np.where(in_cell[at], beyond[at], ranks)
        inner, counted = places[at], np.where(in_cell[at], beyond[at], ranks - 1)
    else:
        inner, reached, counted = places, beyond, beyond - counts
    return Stretches(np.append(inner, end), np.append(0.0, reached), np.append(counted, float(total)))


@lru_cache(maxsize=64)
def _ranks(pulls: int) -> IntArray:
    """Where stretches end: counts within a standard deviation of each other share a bound."""
    found, rank = [], 0
    while rank < pulls:
        rank += max(1, int(STRIDE * math.sqrt(rank * (pulls - rank) / pulls)))
        found.append(rank)
    return np.array(found)


def _bounded(side: Stretches, pulls: int, level: float) -> tuple[FloatArray, ...]:
    """Where stretches end, and bounds on the probability of what lies beyond."""
    both = _ceilings(np.append(pulls - side.fewest, side.counted) / pulls, level)
    return side.inner, 1.0 - both[: side.inner.size], both[side.inner.size :]


def _ceilings(p: FloatArray, level: float) -> FloatArray:
    """The largest q with kl(p, q) <= level, of many shares (`bands.kl.kl_ceiling`, on arrays)."""
    inside = (p > 0.0) & (p < 1.0)
    result = np.where(p >= 1.0, 1.0, -math.expm1(-level))
    p = p[inside]
    # no q beyond `most` can be: p log(p / q) >= p log p. The distance from 1 is known to a factor of e
    most = 1.0 - (1.0 - p) * np.exp((p * np.log(p) - level) / (1.0 - p))
    angle = np.arcsin(np.sqrt(p)) + math.sqrt(0.5 * level)
    q = np.where(angle < 1.57, np.minimum(np.sin(angle) ** 2, most), most)
    for _ in range(NEWTON):
        with np.errstate(divide="ignore", invalid="ignore"):  # a root next to 1 is 1 itself
            excess = p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q)) - level
            following = q - excess * q * (1.0 - q) / (q - p)
        following = np.where(following < most, following, most)
        # steps square their error: the last leaves some 1e-15, also of the distance from 1
        done = bool((np.abs(following - q) <= 1e-8 * np.minimum(following, 1.0 - following) + 1e-15).all())
        q = following
        if done:
            break
    result[inside] = np.clip(q, p, 1.0)
    return result


class Side:
    """Gains, or losses, of all arms that were told about, in stretches with bounds on their probabilities."""

    def __init__(self, sign: float, outermost: FloatArray) -> None:
        self._sign, self._outermost = sign, outermost
        self._inner = self._low = self._high = np.zeros(0)
        self._starts: IntArray = np.zeros(0, dtype=np.int64)
        self._first = np.zeros(0)

    def join(self, arms: IntArray, each: list[tuple[FloatArray, ...]]) -> None:
        """Take the stretches of each arm, and the bounds on their probabilities."""
        sizes = np.array([one[0].size for one in each])
        self._starts, self._first = np.cumsum(sizes) - sizes, self._outermost[arms]
        self._inner, self._low, self._high = (np.concatenate([one[i] for one in each]) for i in range(3))

    def ends(self, preference: Preference, weight: Weight) -> tuple[FloatArray, FloatArray]:
        """The least and the most that the side of each arm is worth to somebody."""
        inner = np.maximum(self._sign * preference.utilities(self._inner), 0.0)
        outer = np.append(0.0, inner[:-1])
        outer[self._starts] = np.maximum(self._sign * preference.utilities(self._first), 0.0)
        gaps = outer - inner
        sure = inner[np.append(self._starts[1:], inner.size) - 1]  # up to there the probability is 1
        where = gaps > 0.0
        least, most = np.zeros(gaps.size), np.zeros(gaps.size)
        if where.any():
            low, high = np.maximum(self._low[where], 0.0), self._high[where]
            one, other = weight._of(low), weight._of(high)
            below, above = np.minimum(one, other), np.maximum(one, other)
            for turn in weight.turning_points:
                within, turned = (low < turn) & (turn < high), float(weight(turn))
                below = np.where(within, np.minimum(below, turned), below)
                above = np.where(within, np.maximum(above, turned), above)
            least[where], most[where] = gaps[where] * below, gaps[where] * above
        return sure + np.add.reduceat(least, self._starts), sure + np.add.reduceat(most, self._starts)


class BoundGuests(Guests):
    """What people share who choose by upper bounds."""

    def __init__(self, policy: Policy, rule: Any) -> None:
        known, costs = policy.rewards_of(rule.worth.edge.size), policy.preference.costs
        self._bottoms = np.array([one.support[1 if costs else 0] for one in known])
        self.ends = TailEnds(*(np.full(len(known), np.nan) for _ in TailEnds._fields))
        self.value = np.full(len(known), -np.inf)
        super().__init__(policy, rule)
        self.sides = Side(1.0, self._tops), Side(-1.0, self._bottoms)
        self._each: list[Any] = [None] * len(known)  # per arm the stretches of its gains and of its losses
        self._bounded: list[Any] = [None] * len(known)  # and these with bounds on probabilities
        self._counted = np.full(len(known), -1)
        self._time, self._exponent = -1, math.nan
        self.arms: IntArray = np.zeros(0, dtype=np.int64)

    def _rule_of(self, rule: Any) -> Any:
        return rule

    def _state_of(self, shared: Any) -> Any:
        return shared._replace(memory=shared.memory._replace(value=self.value), kept=self.ends)

    def seat(self, preference: Preference, shared: Any, shared_at: Any) -> BoundGuest:
        """A person who looks at what the learner knows."""
        return BoundGuest(self, self._looked(preference, shared, shared_at), preference)

    def forget(self) -> None:
        """Let everything be made anew, after a change that is more than outcomes told."""
        super().forget()
        self._counted[:] = -1

    def bound(self, confidence: float) -> float:
        """Bring the bounds on probabilities in line with the memory, at an exponent; returns it as it was rounded."""
        memory, lifetimes = self.state.memory, self.state.lifetimes
        if isinstance(lifetimes, Lifetimes) and lifetimes.clock[NOW] != self._time:
            self._counted[:] = -1  # as many may have been forgotten as were told
            self._time = int(lifetimes.clock[NOW])
        rounded = float(np.ceil(STEPS * confidence) / STEPS)
        changed = np.flatnonzero(self._counted != memory.pulls).tolist()
        if not changed and rounded == self._exponent:
            return rounded
        for arm in changed:
            self._each[arm] = self._divided(memory, arm)
            self._counted[arm] = memory.pulls[arm]
        self.arms = np.flatnonzero(memory.pulls > 0)
        for arm in self.arms.tolist() if rounded != self._exponent else changed:
            pulls, cuts = int(memory.pulls[arm]), float(self.rule.band.shape.log_cuts[arm])
            if pulls:
                level = (rounded + (math.log(pulls) if math.isnan(cuts) else cuts)) / pulls
                self._bounded[arm] = [_bounded(side, pulls, level) for side in self._each[arm]]
        self._exponent = rounded
        if self.arms.size:
            for k, side in enumerate(self.sides):
                side.join(self.arms, [self._bounded[arm][k] for arm in self.arms.tolist()])
        return rounded

    def _divided(self, memory: Any, arm: int) -> tuple[Stretches, Stretches]:
        """An arm's gains and losses in stretches."""
        utility, raw, counts = outcomes_of_arm(memory, arm)
        table = spread_out(utility, raw, counts, cells_of_arm(memory, arm))
        in_cell = (table[HIGH] > table[LOW]) | (table[RAW_HIGH] > table[RAW_LOW])
        worst, best = (RAW_HIGH, RAW_LOW) if self.policy.preference.costs else (RAW_LOW, RAW_HIGH)
        pulls, in_trees = int(memory.pulls[arm]), bool(memory.in_trees[arm])
        split = int(np.searchsorted(utility, 0.0, side="right"))
        gains, losses = slice(None, split - 1 if split else None, -1), slice(split)
        if split == utility.size:
            gains = slice(0)
        return (
            _stretches(table[worst][gains], counts[gains], in_cell[gains], pulls, self._bottoms[arm], in_trees),
            _stretches(table[best][losses], counts[losses], in_cell[losses], pulls, self._tops[arm], in_trees),
        )


class BoundGuest(Guest):
    """A person for one choice by upper bounds."""

    def __init__(self, guests: BoundGuests, groups: Groups, preference: Preference) -> None:
        super().__init__(guests, groups, preference)
        self._bounds = guests

    def prepare(self, u: float) -> None:
        """Bound what each arm may be worth to her, at the exponent of the next choice."""
        guests, preference = self._bounds, self._preference
        ends = guests.ends
        ends.exponent[:] = guests.bound(float(exponent(self.rule, self.state)))
        if guests.arms.size:
            least_gain, most_gain = guests.sides[0].ends(preference, preference.gains)
            least_loss, most_loss = guests.sides[1].ends(preference, preference.losses)
            ends.low[guests.arms], ends.high[guests.arms] = least_gain - most_loss, most_gain - least_loss
