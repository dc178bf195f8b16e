"""The samples of a stream: in trees, or, where memory is bounded, in blocks with a certified bound on the error."""

from __future__ import annotations

import copy
import math
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, IntArray, finite_array, number
from allais._kernels import bound
from allais._system.locks import Guard, one_at_a_time, one_change_at_a_time
from allais.numerics.distortion import distortion_of
from allais.numerics.sums import Parts, finite_parts
from allais.preferences import Preference
from allais.rewards import Rewards
from allais.samples.tree import insert_outcomes
from allais.samples.tree_value import tree_value
from allais.samples.trees import grown_trees, new_trees, outcomes_of
from allais.weights import Weight


class Sketch(NamedTuple):
    """Ascending, disjoint blocks of outcomes; a block of one outcome has low = high."""

    low: FloatArray
    high: FloatArray
    at: FloatArray  # the outcome that stands for the block's samples, in [low, high]
    counts: IntArray

    @property
    def samples(self) -> int:
        """How many samples they hold."""
        return int(self.counts.sum())


def empty_sketch() -> Sketch:
    """No outcome yet."""
    return Sketch(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))


def absorb(blocks: Sketch, outcomes: FloatArray, counts: IntArray) -> Sketch:
    """Add distinct ascending outcomes: to the blocks that cover them, or as blocks of their own."""
    where = np.searchsorted(blocks.high, outcomes, side="left")
    inside = where < blocks.high.size
    inside[inside] = outcomes[inside] >= blocks.low[where[inside]]
    known = blocks.counts.copy()
    np.add.at(known, where[inside], counts[inside])
    fresh = outcomes[~inside]
    low, high = np.append(blocks.low, fresh), np.append(blocks.high, fresh)
    order = np.argsort(low, kind="stable")
    return Sketch(low[order], high[order], np.append(blocks.at, fresh)[order], np.append(known, counts[~inside])[order])


def join(left: Sketch, right: Sketch) -> Sketch:
    """All blocks of two streams; blocks that overlap become one."""
    parts = [np.concatenate(pair) for pair in zip(left, right, strict=True)]
    order = np.argsort(parts[0], kind="stable")
    low, high, at, counts = (part[order] for part in parts)
    reach = np.maximum.accumulate(high)
    starts = np.append(True, low[1:] > reach[:-1])
    # two equal outcomes touch, and are one
    return _merged(Sketch(low, high, at, counts), np.flatnonzero(starts))


def _merged(blocks: Sketch, starts: IntArray) -> Sketch:
    """Every run of blocks from one start to the next, as one block."""
    counts = np.add.reduceat(blocks.counts, starts)
    low, high = np.minimum.reduceat(blocks.low, starts), np.maximum.reduceat(blocks.high, starts)
    mean = np.add.reduceat(blocks.at * blocks.counts, starts) / counts
    return Sketch(low, high, np.clip(mean, low, high), counts)


@np.errstate(over="ignore")  # next to the largest double a mean is cut to its block, and a cost is infinite
def thinned(blocks: Sketch, most: int, gains: Weight, losses: Weight) -> Sketch:
    """At most `most` blocks, merging where it costs least; gains and losses stay apart."""
    while blocks.counts.size > most:
        cost = _pair_costs(blocks, gains, losses)
        padded = np.concatenate([[np.inf], cost, [np.inf]])
        # pairs that are cheaper than both neighbours do not overlap
        lowest = (cost < padded[:-2]) & (cost <= padded[2:]) & np.isfinite(cost)
        chosen = np.flatnonzero(lowest)
        if chosen.size == 0:
            break  # nothing may be merged: zero, and one block on each side
        surplus = blocks.counts.size - most
        if chosen.size > surplus:
            chosen = chosen[np.argpartition(cost[chosen], surplus - 1)[:surplus]]
        keep = np.ones(blocks.counts.size, dtype=np.bool_)
        keep[chosen + 1] = False
        blocks = _merged(blocks, np.flatnonzero(keep))
    return blocks


def _tails(blocks: Sketch) -> tuple[FloatArray, FloatArray]:
    """P(Y >= block) and P(Y < block) of each block."""
    total = blocks.counts.sum()
    up_to = np.cumsum(blocks.counts)
    return (total - up_to + blocks.counts) / total, (up_to - blocks.counts) / total


def _pair_costs(blocks: Sketch, gains: Weight, losses: Weight) -> FloatArray:
    """What merging each block with the next one would add to the bound; inf across zero."""
    at_least, below = _tails(blocks)
    above, up_to = np.append(at_least[1:], 0.0), np.append(below[1:], 1.0)
    gain = gains.of_tails(at_least[:-1], below[:-1]) - gains.of_tails(above[1:], up_to[1:])
    loss = losses.of_tails(up_to[1:], above[1:]) - losses.of_tails(below[:-1], at_least[:-1])
    low, high = blocks.low[:-1], blocks.high[1:]
    cost = (high - low) * np.abs(np.where(low >= 0.0, gain, loss))
    same_side = (low > 0.0) | (high < 0.0)
    return np.where(same_side, cost, np.inf)


def sketch_parts(blocks: Sketch, gains: Weight, losses: Weight) -> Parts:
    """Gain and loss part, with a bound on what the blocks hide."""
    at_least, below = _tails(blocks)
    exact = finite_parts(blocks.at, at_least, below, gains, losses)
    above, up_to = np.append(at_least[1:], 0.0), np.append(below[1:], 1.0)
    wide = blocks.high > blocks.low
    if not wide.any():
        return exact
    width = (blocks.high - blocks.low)[wide]
    is_gain = blocks.low[wide] > 0.0
    error = 0.0
    for weight, side, upper, lower, upper_after, lower_after in (
        (gains, is_gain, at_least, below, above, up_to),
        (losses, ~is_gain, up_to, above, below, at_least),
    ):
        if not side.any():
            continue
        before = weight.of_tails(upper[wide][side], lower[wide][side])
        after = weight.of_tails(upper_after[wide][side], lower_after[wide][side])
        if weight.is_monotone:
            step = before - after
        else:
            step = np.array([weight.modulus(float(p)) for p in upper[wide][side] - upper_after[wide][side]])
        error += float(np.sum(width[side] * step))
    return Parts(exact.gain, exact.loss, exact.error + error)


GAINS, LOSSES = 0, 1  # the trees of a stream
ONCE = np.ones(1, dtype=np.int64)  # how often a single sample was seen; read only
BUFFER = 1 << 14  # samples that a stream of bounded memory collects before it sorts them in


class Samples:
    """What a stream has seen, and how it takes in more."""

    def __init__(self, preference: Preference, rewards: Rewards | None = None, max_blocks: int | None = None) -> None:
        if not isinstance(preference, Preference):
            raise TypeError(f"a stream is valued by a preference; got {preference!r}. Write Preference(...).")
        if max_blocks is not None and (
            isinstance(max_blocks, bool) or not isinstance(max_blocks, int | np.integer) or max_blocks < 3
        ):
            raise ValueError(f"max_blocks must be a whole number, 3 or more; got {max_blocks!r}. Give an int.")
        self.preference, self.rewards, self.max_blocks = preference, rewards, max_blocks
        self._samples = 0
        self._sketch = empty_sketch()
        self._buffer: list[float] = []
        self._trees = new_trees(2)
        self._prepare()
        self._guard = Guard(type(self).__name__)

    def _prepare(self) -> None:
        """What is derived from the settings, and not saved."""
        preference = self.preference
        self._sides = tuple(
            (tree, distortion_of(weight)) for tree, weight in ((GAINS, preference.gains), (LOSSES, preference.losses))
        )
        one, count = np.zeros(1), np.ones(1, dtype=np.int64)
        self._insert = bound(insert_outcomes, self._trees, 0, one, one, count, 0)
        self._tree_value = bound(tree_value, self._trees, 0, self._sides[0][1], 1, 0.0, 0.0)

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        derived = ("_sides", "_insert", "_tree_value", "_guard")
        settings = {name: value for name, value in self.__dict__.items() if name not in derived}
        # what is pickled, or belongs to a copy, does not change while this stream goes on
        return {**settings, "_buffer": list(self._buffer), "_trees": copy.deepcopy(self._trees)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()
        self._guard = Guard(type(self).__name__)

    def __len__(self) -> int:
        return self._samples

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._samples} samples>"

    def add(self, sample: float) -> None:
        """Take in one sample.

        Args:
            sample: A finite number that the declared rewards admit.
        """
        told = sample if type(sample) is float else number("a sample", sample, "Give a float.")
        if not math.isfinite(told):
            raise ValueError(f"a sample must be finite; got {told}. Leave it out, or say what it stands for.")
        if self.rewards is not None and not self.rewards.admits(told):
            self.rewards.check([told])  # raises, and says which rule was broken
        one = np.array([told])
        utility = self.preference.utilities(one)
        if not math.isfinite(utility[0]):
            self._require_finite_utilities(one, utility)
        guard = self._guard
        if guard.lock._is_owned():
            guard.require_outermost()
        with guard.lock:
            if guard.midway:
                guard.require_whole()
            if self.max_blocks is not None:
                self._guard.midway = True
                self._buffer += (told,)
                self._samples += 1
                self._guard.midway = False
                if len(self._buffer) >= BUFFER:
                    self._flush()
            else:
                self._take_in(utility, self._by_merit(one), ONCE)

    @one_change_at_a_time
    def add_many(self, samples: ArrayLike) -> None:
        """Take in many samples, all of them or, if one is refused, none.

        Args:
            samples: Finite numbers that the declared rewards admit.
        """
        array = finite_array("samples", samples)
        if self.rewards is not None:
            array = self.rewards.check(array)
        raw, counts = np.unique(array, return_counts=True)
        utility = self.preference.utilities(raw)
        self._require_finite_utilities(raw, utility)
        if self.max_blocks is not None:
            self._flush()
            blocks, size = self._sketch, array.size
            for start in range(0, size, 8 * BUFFER):
                blocks = self._absorbed(blocks, array[start : start + 8 * BUFFER])
            self._guard.midway = True
            self._sketch = blocks
            self._samples += size
            self._guard.midway = False
        else:
            self._take_in(utility, self._by_merit(raw), counts.astype(np.int64))

    @staticmethod
    def _require_finite_utilities(samples: FloatArray, utility: FloatArray) -> None:
        overflowing = np.flatnonzero(~np.isfinite(utility))
        if overflowing.size:
            raise ValueError(
                f"the utility of a sample must be finite; that of {samples[overflowing[0]]:g} is not. "
                "Rescale the samples."
            )

    def _by_merit(self, outcomes: FloatArray) -> FloatArray:
        """Outcomes as the trees order them where they feel alike, the better ones larger; and back."""
        return 0.0 - outcomes if self.preference.costs else outcomes

    def _take_in(self, utility: FloatArray, merit: FloatArray, counts: IntArray) -> None:
        """Put outcomes into the trees: all of them, even if a signal's handler raises in between.

        What it raised is raised after the last; if it comes twice, the stream closes.
        """
        total = int(counts.sum()) if counts.size != 1 else int(counts[0])
        late: BaseException | None = None
        done, inside = 0, False
        self._guard.midway = True
        while done < utility.size:
            try:
                while done < utility.size:
                    inserting = starmap(self._insert, ((self._trees, GAINS, utility, merit, counts, done),))
                    inside = True
                    (done,) = inserting
                    inside = False
                    if done < utility.size:
                        self._trees = grown_trees(self._trees)
            except BaseException as error:
                if inside or late is not None:
                    raise
                late = error
        self._samples += total
        self._guard.midway = False
        if late is not None:
            raise late

    def _flush(self) -> None:
        if self._buffer:
            blocks = self._absorbed(self._sketch, np.array(self._buffer))
            self._guard.midway = True
            self._sketch, self._buffer = blocks, []
            self._guard.midway = False

    def _absorbed(self, blocks: Sketch, samples: FloatArray) -> Sketch:
        utility, counts = np.unique(self.preference.utilities(samples), return_counts=True)
        assert self.max_blocks is not None
        more = absorb(blocks, utility, counts.astype(np.int64))
        return thinned(more, self.max_blocks, self.preference.gains, self.preference.losses)

    def merge(self, other: Samples) -> None:
        """Take in what another stream has seen; the other stays as it is.

        Args:
            other: A stream with the same preference, rewards and `max_blocks`.

        >>> here, there = ValueStream(expected_value()), ValueStream(expected_value())
        >>> here.add_many([1.0, 2.0])
        >>> there.add(6.0)
        >>> here.merge(there)
        >>> len(here), round(here.value(), 12)
        (3, 3.0)
        """
        if not isinstance(other, Samples):
            raise TypeError(f"a stream merges with a stream; got {other!r}. Use add_many for samples.")
        if other.preference != self.preference:
            raise ValueError(
                f"streams merge only under one preference; got {self.preference!r} and {other.preference!r}. "
                "Make both with the same one."
            )
        if (other.rewards, other.max_blocks) != (self.rewards, self.max_blocks):
            raise ValueError(
                f"streams merge only with the same rewards and max_blocks; got {self.rewards!r}, {self.max_blocks} "
                f"and {other.rewards!r}, {other.max_blocks}. Make both alike."
            )
        theirs = copy.copy(other)  # of one moment; never two locks at once, which two threads could take crosswise
        if theirs._samples:
            self._take_over(theirs)

    @one_change_at_a_time
    def _take_over(self, theirs: Samples) -> None:
        if self.max_blocks is not None:
            self._flush()
            more = theirs._sketch
            if theirs._buffer:
                utility, counts = np.unique(self.preference.utilities(np.array(theirs._buffer)), return_counts=True)
                more = absorb(more, utility, counts.astype(np.int64))
            joined = thinned(join(self._sketch, more), self.max_blocks, self.preference.gains, self.preference.losses)
            self._guard.midway = True
            self._sketch = joined
            self._samples += theirs._samples
            self._guard.midway = False
            return
        gains, losses = outcomes_of(theirs._trees, GAINS), outcomes_of(theirs._trees, LOSSES)
        utility = np.concatenate([gains[0], 0.0 - losses[0]])
        merit, counts = (np.concatenate([gains[i], losses[i]]) for i in (1, 2))
        self._take_in(utility, merit, counts)

    def _require_samples(self) -> None:
        if self._samples == 0:
            raise ValueError("a value needs at least one sample; this stream has none. Add some first.")
