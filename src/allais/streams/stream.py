"""ValueStream: a distorted value that is up to date after every sample, and never slows down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from allais._checks import number, share
from allais._system.locks import one_at_a_time
from allais.bands import Holder, Interval
from allais.bands.base import bounds_of
from allais.bands.tail_ends import shifted
from allais.numerics.sums import Parts
from allais.rewards import SubGaussian
from allais.samples.tree_search import count_beyond, nth_from_top, samples_of
from allais.streams.samples import GAINS, LOSSES, Samples
from allais.streams.sketch import sketch_parts


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


class ValueStream(Samples):
    """The value of all samples so far, for any preference: O(log n) per sample, exact to 1e-12.

    `rewards` says what is known about the samples, which `interval` needs. With `max_blocks`, memory is
    bounded, and `certified` says how much that may have changed the value. Threads may share it.

    >>> stream = ValueStream(Preference(TverskyKahneman(0.61)), rewards=Bounded(0, 50))
    >>> for sample in [50.0] * 10 + [0.0] * 90:
    ...     stream.add(sample)
    >>> stream.value(), len(stream)
    (9.31512831885..., 100)
    """

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
