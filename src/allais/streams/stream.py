"""ValueStream: a distorted value that is up to date after every sample, and never slows down."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, IntArray, finite_array, number, share
from allais._kernels import bound
from allais._system.locks import Guarded, one_at_a_time, one_change_at_a_time
from allais.bands import Holder, Interval
from allais.bands.base import bounds_of
from allais.bands.tail_ends import shifted
from allais.numerics.distortion import distortion_of
from allais.numerics.sums import Parts
from allais.preferences import Preference
from allais.rewards import Rewards, SubGaussian
from allais.samples.tree import insert_outcomes
from allais.samples.tree_search import count_beyond, nth_from_top, outcomes_of, samples_of
from allais.samples.tree_value import tree_value
from allais.samples.trees import grown_trees, new_trees
from allais.streams.sketch import Sketch, absorb, empty_sketch, join, sketch_parts, thinned

GAINS, LOSSES = 0, 1  # the trees of a stream
ONCE = np.ones(1, dtype=np.int64)  # how often a single sample was seen; read only
BUFFER = 1 << 14  # samples that a stream of bounded memory collects before it sorts them in


class CertifiedValue(NamedTuple):
    """A value, and a bound on what bounded memory may have added to or taken from it.

    >>> stream = ValueStream(expected_value(), max_blocks=3)
    >>> stream.add_many(np.arange(100.0))
    >>> value, error = stream.certified()
    >>> bool(abs(value - 49.5) <= error)
    True
    """

    value: float
    error: float


class ValueStream(Guarded):
    """The value of all samples so far, for any preference: O(log n) a sample, exact to 1e-12.

    `rewards` says what is known of the samples, which `interval` needs. With `max_blocks`, memory is
    bounded, and `certified` says how much that may have changed the value. Threads may share it.

    >>> stream = ValueStream(Preference(TverskyKahneman(0.61)), rewards=Bounded(0, 50))
    >>> for sample in [50.0] * 10 + [0.0] * 90:
    ...     stream.add(sample)
    >>> stream.value(), len(stream)
    (9.31512831885..., 100)
    """

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
        self._guard()

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
        derived = ("_sides", "_insert", "_tree_value", "_lock")
        settings = {name: value for name, value in self.__dict__.items() if name not in derived}
        # what is pickled, or belongs to a copy, does not change while this stream goes on
        return {**settings, "_buffer": list(self._buffer), "_trees": copy.deepcopy(self._trees)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()
        self._guard()

    def __len__(self) -> int:
        return self._samples

    def __repr__(self) -> str:
        return f"<ValueStream of {self._samples} samples>"

    # -- samples ----------------------------------------------------------------------------------

    def add(self, sample: float) -> None:
        """Take in one sample."""
        told = sample if type(sample) is float else number("a sample", sample, "Give a float.")
        if not math.isfinite(told):
            raise ValueError(f"a sample must be finite; got {told}. Leave it out, or say what it stands for.")
        if self.rewards is not None and not self.rewards.admits(told):
            self.rewards.check([told])  # raises, and says which rule was broken
        one = np.array([told])
        felt = self.preference.felt(one)
        if not math.isfinite(felt[0]):
            self._require_felt(one, felt)
        if self._lock._is_owned():
            self._require_outermost()
        with self._lock:
            if self._midway:
                self._require_whole()
            if self.max_blocks is not None:
                self._midway = True
                self._buffer += (told,)
                self._samples += 1
                self._midway = False
                if len(self._buffer) >= BUFFER:
                    self._flush()
            else:
                self._take_in(felt, self._by_merit(one), ONCE)

    @one_change_at_a_time
    def add_many(self, samples: ArrayLike) -> None:
        """Take in many samples, all of them or, if one is refused, none."""
        array = finite_array("samples", samples)
        if self.rewards is not None:
            array = self.rewards.check(array)
        raw, counts = np.unique(array, return_counts=True)
        felt = self.preference.felt(raw)
        self._require_felt(raw, felt)
        if self.max_blocks is not None:
            self._flush()
            blocks, size = self._sketch, array.size
            for start in range(0, size, 8 * BUFFER):
                blocks = self._absorbed(blocks, array[start : start + 8 * BUFFER])
            self._midway = True
            self._sketch = blocks
            self._samples += size
            self._midway = False
        else:
            self._take_in(felt, self._by_merit(raw), counts.astype(np.int64))

    @staticmethod
    def _require_felt(samples: FloatArray, felt: FloatArray) -> None:
        overflowing = np.flatnonzero(~np.isfinite(felt))
        if overflowing.size:
            raise ValueError(
                f"a sample must feel finite; {samples[overflowing[0]]:g} does not under this preference. "
                "Rescale the samples."
            )

    def _by_merit(self, outcomes: FloatArray) -> FloatArray:
        """Outcomes as the trees order them where they feel alike, the better ones larger; and back."""
        return 0.0 - outcomes if self.preference.costs else outcomes

    def _take_in(self, felt: FloatArray, merit: FloatArray, counts: IntArray) -> None:
        """Put outcomes into the trees: all of them, even if a signal's handler raises in between.

        What it raised is raised after the last; if it comes twice, the stream closes.
        """
        total = int(counts.sum()) if counts.size != 1 else int(counts[0])
        late: BaseException | None = None
        done, inside = 0, False
        self._midway = True
        while done < felt.size:
            try:
                while done < felt.size:
                    inserting = starmap(self._insert, ((self._trees, GAINS, felt, merit, counts, done),))
                    inside = True
                    (done,) = inserting
                    inside = False
                    if done < felt.size:
                        self._trees = grown_trees(self._trees)
            except BaseException as error:
                if inside or late is not None:
                    raise
                late = error
        self._samples += total
        self._midway = False
        if late is not None:
            raise late

    def _flush(self) -> None:
        if self._buffer:
            blocks = self._absorbed(self._sketch, np.array(self._buffer))
            self._midway = True
            self._sketch, self._buffer = blocks, []
            self._midway = False

    def _absorbed(self, blocks: Sketch, samples: FloatArray) -> Sketch:
        felt, counts = np.unique(self.preference.felt(samples), return_counts=True)
        assert self.max_blocks is not None
        more = absorb(blocks, felt, counts.astype(np.int64))
        return thinned(more, self.max_blocks, self.preference.gains, self.preference.losses)

    def merge(self, other: ValueStream) -> None:
        """Take in what another stream has seen; the other stays as it is.

        >>> here, there = ValueStream(expected_value()), ValueStream(expected_value())
        >>> here.add_many([1.0, 2.0])
        >>> there.add(6.0)
        >>> here.merge(there)
        >>> len(here), round(here.value(), 12)
        (3, 3.0)
        """
        if not isinstance(other, ValueStream):
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
    def _take_over(self, theirs: ValueStream) -> None:
        if self.max_blocks is not None:
            self._flush()
            more = theirs._sketch
            if theirs._buffer:
                felt, counts = np.unique(self.preference.felt(np.array(theirs._buffer)), return_counts=True)
                more = absorb(more, felt, counts.astype(np.int64))
            joined = thinned(join(self._sketch, more), self.max_blocks, self.preference.gains, self.preference.losses)
            self._midway = True
            self._sketch = joined
            self._samples += theirs._samples
            self._midway = False
            return
        gains, losses = outcomes_of(theirs._trees, GAINS), outcomes_of(theirs._trees, LOSSES)
        felt = np.concatenate([gains[0], 0.0 - losses[0]])
        merit, counts = (np.concatenate([gains[i], losses[i]]) for i in (1, 2))
        self._take_in(felt, merit, counts)

    # -- values -----------------------------------------------------------------------------------

    @one_at_a_time
    def value(self) -> float:
        """The value of all samples so far: Algorithm 1 of the whole stream."""
        return self.certified().value

    @one_at_a_time
    def certified(self) -> CertifiedValue:
        """The value, and a bound on what bounded memory changed in it (0 without `max_blocks`)."""
        parts = self.parts()
        return CertifiedValue(parts.value, parts.error)

    @one_at_a_time
    def parts(self) -> Parts:
        """The gain part, the loss part and the bound of `certified`."""
        self._require_samples()
        if self.max_blocks is not None:
            self._flush()
            return sketch_parts(self._sketch, self.preference.gains, self.preference.losses)
        gain, loss = (self._part(side, 0.0) for side in self._sides)
        return Parts(gain, loss)

    def _part(self, side: tuple[Any, ...], shift: float, edge: float = math.inf) -> float:
        tree, distortion = side
        return float(self._tree_value(self._trees, tree, distortion, self._samples, shift, edge))

    @one_at_a_time
    def interval(self, confidence: float = 0.95) -> Interval:
        """The value with an interval that holds the true one with the given confidence.

        For a monotone weight and bounded samples, the band of Dvoretzky, Kiefer and Wolfowitz seen
        through the weight, always inside the Hölder interval; else the Hölder interval.

        >>> stream = ValueStream(expected_value(), rewards=Bounded(0, 1))
        >>> stream.add_many([1.0] * 30 + [0.0] * 70)
        >>> low, value, high = stream.interval(confidence=0.95)
        >>> round(low, 3), round(value, 3), round(high, 3)
        (0.164, 0.3, 0.436)
        """
        self._require_samples()
        if self.rewards is None:
            raise ValueError(
                "an interval needs to know the samples' bounds; this stream was made without rewards. "
                "Write ValueStream(preference, rewards=Bounded(low, high))."
            )
        exponent = math.log(2.0 / (1.0 - share("confidence", confidence)))
        monotone = self.preference.gains.is_monotone and self.preference.losses.is_monotone
        if isinstance(self.rewards, SubGaussian) or not monotone or self.max_blocks is not None:
            radius = Holder().radius(self.preference, self.rewards, self._samples, exponent)
            value, error = self.certified() if not isinstance(self.rewards, SubGaussian) else self._truncated()
            whole = Interval(value - radius - error, value, value + radius + error)
            return whole.within(bounds_of(self.preference, self.rewards))
        eps = math.sqrt(exponent / (2.0 * self._samples))
        low, high = bounds_of(self.preference, self.rewards)
        (least, most), (least_loss, most_loss) = (
            shifted(self._trees, tree, distortion, self._samples, eps, start, end)
            for (tree, distortion), (start, end) in zip(self._sides, ((low, high), (-high, -low)), strict=True)
        )
        return Interval(float(least - most_loss), self.value(), float(most - least_loss))

    def _truncated(self) -> CertifiedValue:
        """The truncated estimate for unbounded samples (Proposition 1)."""
        assert isinstance(self.rewards, SubGaussian)
        if self.max_blocks is not None:
            raise ValueError(
                "an interval of a stream with max_blocks needs bounded samples; got SubGaussian. "
                "Leave max_blocks out, or declare Bounded(low, high)."
            )
        edge = self.preference.truncation(self.rewards, self._samples)
        gain, loss = (self._part(side, 0.0, edge) for side in self._sides)
        return CertifiedValue(gain - loss, 0.0)

    # -- order statistics -------------------------------------------------------------------------

    @one_at_a_time
    def survival(self, x: float) -> float:
        """The share of samples above x."""
        self._require_samples()
        at = number("an outcome", x, "Give a float.")
        if math.isnan(at):
            raise ValueError("an outcome must be a number; got nan. Ask for the share above a number.")
        outcome = np.array([at])
        felt, merit = float(self.preference.felt(outcome)[0]), float(self._by_merit(outcome)[0])
        if self.preference.costs:  # X > x are the worse ones
            return 1.0 - self._better(felt, merit, or_equal=True) / self._samples
        return self._better(felt, merit, or_equal=False) / self._samples

    def _better(self, felt: float, merit: float, *, or_equal: bool) -> int:
        """How many samples are better than an outcome: those that feel better, or alike and are."""
        if self.max_blocks is not None:
            raise ValueError("a stream with max_blocks keeps no single samples; survival and quantile need them.")
        if felt > 0.0:
            return int(count_beyond(self._trees, GAINS, felt, merit, or_equal))
        everything = samples_of(self._trees, GAINS) + samples_of(self._trees, LOSSES)
        return everything - int(count_beyond(self._trees, LOSSES, 0.0 - felt, merit, not or_equal))

    @one_at_a_time
    def quantile(self, p: float) -> float:
        """The smallest sample that at least a share p of the samples do not exceed.

        >>> stream = ValueStream(expected_value())
        >>> stream.add_many(range(1, 11))
        >>> stream.quantile(0.9)
        9.0
        """
        self._require_samples()
        level = share("p", p, one=True)
        if self.max_blocks is not None:
            raise ValueError("a stream with max_blocks keeps no single samples; survival and quantile need them.")
        rank = max(1, math.ceil(level * self._samples - 1e-9))
        from_top = rank if self.preference.costs else self._samples - rank + 1
        gains = samples_of(self._trees, GAINS)
        losses = samples_of(self._trees, LOSSES)
        if from_top <= gains:
            merit = nth_from_top(self._trees, GAINS, from_top)
        else:
            merit = nth_from_top(self._trees, LOSSES, losses - (from_top - gains) + 1)
        return float(self._by_merit(np.array([merit]))[0])

    def _require_samples(self) -> None:
        if self._samples == 0:
            raise ValueError("a value needs at least one sample; this stream has none. Add some first.")

    # -- files ------------------------------------------------------------------------------------

    @one_at_a_time
    def save(self, path: str | Path) -> None:
        """Write the stream to one file; a crash while saving leaves the old one."""
        from allais.streams.document import write_stream

        write_stream(self, Path(path))

    @staticmethod
    def load(path: str | Path, trust: Sequence[str] = ()) -> ValueStream:
        """The stream that was saved; `trust` names the modules whose own types and functions it may use."""
        from allais.streams.document import read_stream

        return read_stream(Path(path), trust)
