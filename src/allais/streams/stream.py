"""ValueStream: a distorted value that is up to date after every sample, and never slows down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from allais._checks import number, share
from allais._system.locks import one_at_a_time
from allais.bands import Asymptotic, Betting, Holder, Interval
from allais.bands._distribution_bounds import shifted
from allais.bands._wagers import FIRST
from allais.bands.asymptotic import counted_interval
from allais.bands.base import bounds_of
from allais.bands.betting import ends_by_bets
from allais.files import DAMAGE, read_arrays, reason, require, whole, write_arrays
from allais.numerics.sums import Parts
from allais.policies.wagers import check_wagers
from allais.preferences.showing import SHOWN_PROBABILITIES, Rows, as_frame, as_html, quantiles_drawn
from allais.preferences.valuation import plain
from allais.rewards import Bounded, Finite, SubGaussian
from allais.samples.censored import in_a_sentence, parts_of_masses, value_of_masses
from allais.samples.cuts import Cuts
from allais.samples.layout import check_outcomes
from allais.samples.trees import count_beyond, nth_from_top, outcomes_of, samples_of
from allais.settings import checked_trust, from_spec, to_spec
from allais.streams.samples import GAINS, LOSSES, Samples
from allais.streams.sketches import Sketch, check_sketch, sketch_parts


class CertifiedValue(NamedTuple):
    """A value, and a bound on what bounded memory may have added to or taken from it.

    Attributes:
        value: The value of the samples.
        error: How far bounded memory may have moved it.

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

    Threads may share it.

    Args:
        preference: What values the samples.
        rewards: What is known about the samples, which `interval` needs.
        max_blocks: A bound on memory, 3 or more; `certified` says how much it may have changed the value. None keeps
            every distinct sample.
        band: `Betting()` for an `interval` by bets on every sample as it comes, which may be looked at after any of
            them; `Asymptotic(rarest)` for one by the central limit theorem, with or without bounds, that holds for one
            look; left out, one that bounds alone prove, for one look.

    >>> stream = ValueStream(Preference(TverskyKahneman(0.61)), rewards=Bounded(0, 50))
    >>> for sample in [50.0] * 10 + [0.0] * 90:
    ...     stream.add(sample)
    >>> stream.value(), len(stream)
    (9.31512831885..., 100)
    """

    _repr_html_, to_frame, plot = as_html, as_frame, quantiles_drawn

    @property
    def headline(self) -> str:
        """The line above its table in a notebook, and what unfinished samples leave open."""
        said = f"{len(self):,} samples" + (f", value {plain(self.value())}" if self._samples or self._cuts.any else "")
        if not self._cuts.any:
            return said
        known = self._samples + self.unfinished, self.unfinished, self.left_open(), self.beyond
        return f"{said}. {in_a_sentence('samples', self.preference, *known)}"

    def __str__(self) -> str:
        return self.headline

    def rows(self) -> Rows:
        """The outcomes that shares of the samples do not exceed; none before the first sample or with `max_blocks`."""
        if not len(self) or self.max_blocks is not None:
            return []
        return [{"share": p, "outcome": self.quantile(p)} for p in SHOWN_PROBABILITIES]

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
        if self._cuts.any:
            return parts_of_masses(self.preference, *self._most_likely())
        if self.max_blocks is not None:
            self._flush()
            return sketch_parts(self._sketch, self.preference.gains, self.preference.losses)
        gain, loss = (self._part(side, 0.0) for side in self._sides)
        return Parts(gain, loss)

    def _part(self, side: tuple[Any, ...], shift: float, edge: float = math.inf) -> float:
        tree, distortion = side
        return float(self._tree_value(self._trees, tree, distortion, self._samples, shift, edge))

    @one_at_a_time
    def left_open(self) -> Interval:
        """The least and the greatest value that the stream may have once samples that were cut off are known.

        Nothing is assumed about them. The value between the two is that of `value`, which assumes that they were cut
        off for reasons that have nothing to do with what would have come.

        >>> stream = ValueStream(expected_value(costs=True), rewards=Bounded(0, 60))
        >>> stream.add_many([20, 25, 40], at_least=[30])
        >>> stream.left_open(), stream.unfinished
        (Interval(low=-36.25, value=-31.25, high=-28.75), 1)
        """
        self._require_samples()
        ends = []
        for (at, masses), far in zip(self._completed(), (-math.inf, math.inf), strict=True):
            open_end = -far if self.preference.costs else far
            ends.append(value_of_masses(self.preference, at, masses) if np.isfinite(at).all() else open_end)
        return Interval(min(ends), self.value(), max(ends))

    @one_at_a_time
    def interval(self, confidence: float = 0.95) -> Interval:
        """The value with an interval that holds the true one with the given confidence.

        For a monotone weight and bounded samples, it is the band of Dvoretzky, Kiefer and Wolfowitz seen through the
        weight, which always lies inside the Hölder interval; else the Hölder interval. With `band=Betting()` it is a
        confidence sequence: all intervals of a stream hold at once with that confidence, whenever one looks. That of
        `band=Asymptotic(rarest)` is what the band says of the same samples (Greenwood's, if some are unfinished).

        Args:
            confidence: The probability that the interval holds the true value, in (0, 1).

        >>> stream = ValueStream(expected_value(), rewards=Bounded(0, 1))
        >>> stream.add_many([1.0] * 30 + [0.0] * 70)
        >>> low, value, high = stream.interval(confidence=0.95)
        >>> round(low, 3), round(value, 3), round(high, 3)
        (0.164, 0.3, 0.436)
        >>> watched = ValueStream(expected_value(), rewards=Bounded(0, 1), band=Betting())
        >>> watched.add_many(np.random.default_rng(1).beta(2, 30, size=1_000))
        >>> low, value, high = watched.interval()
        >>> low < value < high, high - low < 0.02
        (True, True)
        """
        self._require_samples()
        exponent = math.log(2.0 / (1.0 - share("confidence", confidence)))
        if isinstance(self.band, Asymptotic):
            at, counts = self._known()
            seen = at, counts, self._places() if self._cuts.any else None
            return counted_interval(self.band, self.preference, self.rewards, *seen, self.value(), exponent)
        if self.rewards is None:
            raise ValueError(
                "an interval needs to know the samples' bounds; this stream was made without rewards. "
                "Write ValueStream(preference, rewards=Bounded(low, high)), or band=Asymptotic(rarest=0.01)."
            )
        if self._cuts.any:
            ends = self._ends_with_cuts(exponent)
            return Interval(min(ends), self.value(), max(ends))
        if self.band is not None:
            least, most = bounds_of(self.preference, self.rewards)
            self._first.value[0] = 0.5 * (least + most)  # the search for ends begins alike in a stream that was loaded
            start, end = ends_by_bets(self._bets, self._wagers, self._first, 0, exponent - math.log(2.0))
            return Interval(float(start), self.value(), float(end)).within((least, most))
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
        """The share of samples above x.

        Args:
            x: A number.
        """
        self._require_samples()
        at = number("an outcome", x, "Give a float.")
        if math.isnan(at):
            raise ValueError("an outcome must be a number; got nan. Ask for the share above a number.")
        self._require_single_samples()
        if self._cuts.any:
            places, masses = self._most_likely()
            return float(masses[places > at].sum() / masses.sum())
        outcome = np.array([at])
        utility, merit = float(self.preference.utilities(outcome)[0]), float(self._by_merit(outcome)[0])
        if self.preference.costs:  # X > x are the worse ones
            return 1.0 - self._better(utility, merit, or_equal=True) / self._samples
        return self._better(utility, merit, or_equal=False) / self._samples

    def _require_single_samples(self) -> None:
        if self.max_blocks is not None:
            raise ValueError("a stream with max_blocks keeps no single samples; survival and quantile need them.")

    def _better(self, utility: float, merit: float, *, or_equal: bool) -> int:
        """How many samples are better than an outcome: those that feel better, or alike and are."""
        if utility > 0.0:
            return int(count_beyond(self._trees, GAINS, utility, merit, or_equal))
        everything = samples_of(self._trees, GAINS) + samples_of(self._trees, LOSSES)
        return everything - int(count_beyond(self._trees, LOSSES, 0.0 - utility, merit, not or_equal))

    @one_at_a_time
    def quantile(self, p: float) -> float:
        """The smallest sample that at least a share p of the samples do not exceed.

        Args:
            p: A share in [0, 1].

        >>> stream = ValueStream(expected_value())
        >>> stream.add_many(range(1, 11))
        >>> stream.quantile(0.9)
        9.0
        """
        self._require_samples()
        level = share("p", p, one=True)
        self._require_single_samples()
        if self._cuts.any:
            at, masses = self._most_likely()
            up_to = np.cumsum(masses) / masses.sum()
            return float(at[min(int(np.searchsorted(up_to, level - 1e-12)), at.size - 1)])
        rank = max(1, math.ceil(level * self._samples - 1e-9))
        from_top = rank if self.preference.costs else self._samples - rank + 1
        gains, losses = samples_of(self._trees, GAINS), samples_of(self._trees, LOSSES)
        if from_top <= gains:
            merit = nth_from_top(self._trees, GAINS, from_top)
        else:
            merit = nth_from_top(self._trees, LOSSES, losses - (from_top - gains) + 1)
        return float(self._by_merit(np.array([merit]))[0])

    # -- files ------------------------------------------------------------------------------------

    @one_at_a_time
    def save(self, path: str | Path) -> None:
        """Write the stream to one file; a crash while saving leaves the old one.

        Args:
            path: The file.
        """
        header, arrays = stream_document(self)
        version = STREAM_VERSION if self._cuts.any else 1
        write_arrays(Path(path), {"format": STREAM_FORMAT, "version": version, **header}, arrays)

    @staticmethod
    def load(path: str | Path, trust: Sequence[str] = ()) -> ValueStream:
        """Read a stream that was saved.

        Args:
            path: The file.
            trust: Modules outside of this library whose types and functions the file may name.
        """
        checked_trust(trust)
        header, arrays = read_arrays(Path(path), STREAM_FORMAT, STREAM_VERSION)
        try:
            return stream_from(header, arrays, trust)
        except DAMAGE as error:
            raise ValueError(
                f"a saved stream must be whole; {path} is damaged ({reason(error)}). Use a backup."
            ) from None


STREAM_FORMAT, STREAM_VERSION = "allais stream", 2  # 2: with samples that were cut off; else 1, as before
BETS = "bets_"  # begins the names of arrays that bets are kept in; a stream without them is as version 0.2.0 wrote it


def stream_document(stream: ValueStream) -> tuple[dict[str, Any], dict[str, Any]]:
    """Everything a stream knows: settings as JSON, outcomes as arrays."""
    stream._flush()
    header = {
        "preference": to_spec(stream.preference),
        "rewards": to_spec(stream.rewards),
        "max_blocks": stream.max_blocks,
        "samples": stream._samples,
    }
    if stream._cuts.any:
        header["unfinished"] = stream._cuts.document()
    arrays: dict[str, Any] = dict(zip(Sketch._fields, stream._sketch, strict=True))
    for name, tree in (("gains", GAINS), ("losses", LOSSES)):
        utility, merit, counts = outcomes_of(stream._trees, tree)
        arrays |= {f"{name}_felt": utility, f"{name}_raw": stream._by_merit(merit), f"{name}_counts": counts}
    if stream.band is not None:
        header["band"] = to_spec(stream.band)
    if isinstance(stream.band, Betting):
        wagers, first, size = stream._wagers, stream._first, stream._first.sizes[0]
        arrays |= {BETS + name: part for name, part in wagers.of_one_arm().items()}
        arrays |= {f"{BETS}first": first.utility[0, :size], f"{BETS}counts": first.counts[0, :size]}
    return header, arrays


def stream_from(header: dict[str, Any], arrays: dict[str, Any], trust: Sequence[str] = ()) -> ValueStream:
    """The stream that a document describes."""
    preference, rewards = from_spec(header["preference"], trust), from_spec(header["rewards"], trust)
    require(rewards is None or isinstance(rewards, Bounded | Finite | SubGaussian), "its rewards are invalid")
    band = from_spec(header["band"], trust) if "band" in header else None
    require(band is None or isinstance(band, Betting | Asymptotic), "its band is invalid")
    stream = ValueStream(preference, rewards, header["max_blocks"], band)
    for name in ("low", "high", "at", "gains_felt", "gains_raw", "losses_felt", "losses_raw"):
        require(arrays[name].dtype == np.float64 and arrays[name].ndim == 1, f"{name} must be a row of numbers")
    for name in ("counts", "gains_counts", "losses_counts"):
        require(arrays[name].dtype == np.int64 and arrays[name].ndim == 1, f"{name} must be a row of whole numbers")
    for name, sign in (("gains", 1.0), ("losses", -1.0)):
        utility, raw, counts = (np.ascontiguousarray(arrays[f"{name}_{part}"]) for part in ("felt", "raw", "counts"))
        utility = sign * utility + 0.0
        require((utility > 0.0).all() if sign > 0.0 else (utility <= 0.0).all(), f"{name} have the wrong sign")
        require(utility.size == raw.size == counts.size, f"{name} and their counts must be as many")
        order = np.lexsort((raw, utility))
        check_outcomes(utility[order], raw[order], counts[order], preference)
        if rewards is not None and raw.size:
            rewards.check(raw)
        stream._take_in(utility, stream._by_merit(raw), counts)
    blocks = Sketch(*(np.ascontiguousarray(arrays[name]) for name in Sketch._fields))
    check_sketch(blocks)
    require(stream.max_blocks is None or stream._samples == 0, "blocks and single outcomes exclude each other")
    require(stream.max_blocks is not None or blocks.samples == 0, "blocks need max_blocks")
    samples = stream._samples + blocks.samples
    require(whole(header["samples"], "the number of samples") == samples, "the number of samples differs")
    stream._sketch, stream._samples = blocks, samples
    known = [] if rewards is None else [rewards]
    stream._cuts = Cuts.of(header.get("unfinished"), {}, known, 1)
    if isinstance(stream.band, Betting):
        _bet_again(stream, arrays)
    return stream


def _bet_again(stream: ValueStream, arrays: dict[str, Any]) -> None:
    """Go on with the bets of a file."""
    first, counts = arrays[f"{BETS}first"], arrays[f"{BETS}counts"]
    require(first.shape == counts.shape and counts.dtype == np.int64, "the first samples are incomplete")
    require((counts > 0).all() and counts.sum() == min(stream._samples, FIRST), "the number of first samples differs")
    felt = np.repeat(first.astype(np.float64), counts)
    assert stream.rewards is not None
    low, high = bounds_of(stream.preference, stream.rewards)
    require(((felt >= low) & (felt <= high)).all(), "a first sample lies beyond the bounds")
    stream._betting(stream._bets, stream._wagers, stream._first, felt)
    stream._first.pulls[0] = stream._samples
    for name, part in stream._wagers.of_one_arm().items():
        saved = arrays[BETS + name]
        require(saved.shape == part.shape and saved.dtype == part.dtype, f"{BETS}{name} has another shape")
        require(bool((np.isnan(saved) == np.isnan(part)).all()), f"{BETS}{name} has no numbers")
        part[...] = saved
    check_wagers(stream._wagers, 1)
