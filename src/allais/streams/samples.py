"""The samples of a stream: in trees, or, where memory is bounded, in blocks with a certified bound on the error."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, IntArray, brief, finite_array, real, whole
from allais._kernels import bound
from allais._system.locks import Guard, one_at_a_time, one_change_at_a_time
from allais.bands import DKW, Asymptotic, Betting
from allais.bands._distribution_bounds import ends_of, memory_of_counts
from allais.bands._wagers import no_wagers
from allais.bands.base import refuse_unbounded
from allais.bands.betting import bet_in_order
from allais.numerics.table import distortion_of
from allais.preferences import Preference
from allais.rewards import Rewards
from allais.samples.censored import Places, places_of
from allais.samples.cuts import NEVER, Cut, Cuts, admitted_cut, cuts_of, ends_of_cuts, known_cut, require_monotone
from allais.samples.memory import empty_memory
from allais.samples.tree import insert_outcomes, tree_value
from allais.samples.trees import grown_trees, new_trees, outcomes_of
from allais.streams.sketches import Sketch, absorb, empty_sketch, join, thinned

GAINS, LOSSES = 0, 1  # the trees of a stream
ONCE = np.ones(1, dtype=np.int64)  # how often a single sample was seen; read only
NO_BETS: Iterator[Any] = iter(())  # for outcomes that are not bet on
BUFFER = 1 << 14  # samples that a stream of bounded memory collects before it sorts them in


class Samples:
    """What a stream has seen, and how it takes in more."""

    def __init__(
        self,
        preference: Preference,
        rewards: Rewards | None = None,
        max_blocks: int | None = None,
        band: Betting | Asymptotic | None = None,
    ) -> None:
        if not isinstance(preference, Preference):
            raise TypeError(f"a stream is valued by a preference; got {preference!r}. Write Preference(...).")
        if max_blocks is not None:
            whole("max_blocks", max_blocks, least=3)
        if band is not None and not isinstance(band, Betting | Asymptotic):
            raise TypeError(
                f"the band of a stream must be Betting(), Asymptotic(rarest) or None; got {brief(band)}. Leave it out "
                "for an interval that bounds alone prove."
            )
        if isinstance(band, Betting) and rewards is None:
            raise ValueError("bets need to know the samples' bounds; got no rewards. Write rewards=Bounded(low, high).")
        if isinstance(band, Asymptotic) and max_blocks is not None:
            raise ValueError("an asymptotic interval needs every distinct sample; got max_blocks. Leave it out.")
        self.preference, self.rewards, self.max_blocks, self.band = preference, rewards, max_blocks, band
        self._samples = 0
        self._sketch = empty_sketch()
        self._buffer: list[float] = []
        self._trees = new_trees(2)
        self._cuts = Cuts()  # what is known of samples that are not finished; arm 0
        self._wagers = no_wagers(1 if isinstance(band, Betting) else 0)
        self._first = empty_memory(1)  # the first samples, by which bets begin
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
        known = [] if self.rewards is None else [self.rewards]
        if self.band is not None:
            self._bets = self.band.rule(self.preference, known)  # refuses what is unfit
        if isinstance(self.band, Betting):
            self._betting = bound(bet_in_order, self._bets, self._wagers, self._first, one)

    @property
    def unfinished(self) -> int:
        """How many samples were cut off, so that only a part of each is known; `len` counts the others."""
        return sum(self._cuts.closed.values())

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        derived = ("_sides", "_insert", "_tree_value", "_guard", "_bets", "_betting")
        settings = {name: value for name, value in self.__dict__.items() if name not in derived}
        # what is pickled, or belongs to a copy, does not change while this stream goes on
        copies = {name: copy.deepcopy(self.__dict__[name]) for name in ("_trees", "_cuts", "_wagers", "_first")}
        return {**settings, "_buffer": list(self._buffer), **copies}

    def __setstate__(self, state: dict[str, Any]) -> None:
        since = {"band": None, "_cuts": Cuts(), "_wagers": no_wagers(0), "_first": empty_memory(1)}  # version 0.2.0
        self.__dict__.update({**since, **state})
        self._prepare()
        self._guard = Guard(type(self).__name__)

    def __len__(self) -> int:
        return self._samples

    @property
    def beyond(self) -> float:
        """The share of the most likely distribution beyond the last sample: the value has it at the last cut."""
        return self._places().share_beyond() if self._cuts.any else 0.0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._samples} samples>"

    def add(
        self, sample: float | None = None, *, at_least: float | None = None, at_most: float | None = None,
        between: Any = None,
    ) -> None:  # fmt: skip
        """Take in one sample, or what is known of one that was cut off.

        Args:
            sample: A finite number that the declared rewards admit.
            at_least: In its place: what it would have been at least.
            at_most: What it would have been at most.
            between: What it would have been at least and at most.
        """
        if sample is None:
            self._add_all((), [known_cut(at_least, at_most, between)])
            return
        if at_least is not None or at_most is not None or between is not None:
            raise ValueError(f"a sample is known, or bounded; got {sample!r} and bounds. Leave one out.")
        known = type(sample) is float and math.isfinite(sample)
        told = sample if known else real("a sample", sample, "Leave it out, or say what it stands for.")
        if self.rewards is not None and not self.rewards.admits(told):
            self.rewards.check([told])  # raises, and says which rule was broken
        one = np.array([told])
        utility = self.preference.utilities(one)
        if not math.isfinite(utility[0]):
            self.preference.finite_utilities("samples", one)  # raises
        guard = self._guard
        if guard.lock._is_owned():
            guard.require_outermost()
        with guard.lock:
            if guard.midway:
                guard.require_whole()
            betting = self._bet(utility)
            if self.max_blocks is not None:
                guard.midway = True
                self._buffer += (told,)
                self._samples += 1
                (*_,) = betting
                guard.midway = False
                if len(self._buffer) >= BUFFER:
                    self._flush()
            else:
                self._take_in(utility, self._by_merit(one), ONCE, betting)

    def add_many(
        self, samples: ArrayLike = (), *, at_least: ArrayLike = (), at_most: ArrayLike = (), between: Sequence[Any] = ()
    ) -> None:
        """Take in many samples, all of them or, if one is refused, none.

        Args:
            samples: Finite numbers that the declared rewards admit.
            at_least: Of samples that were cut off, what each would have been at least.
            at_most: What each would have been at most.
            between: Pairs: what each would have been at least and at most.
        """
        self._add_all(samples, cuts_of(at_least, at_most, between))

    @one_change_at_a_time
    def _add_all(self, samples: ArrayLike, cuts: list[Cut]) -> None:
        self._check_cuts(cuts)
        if not cuts or np.size(np.asarray(samples, dtype=object)):
            self._add(samples)
        if cuts:
            self._cuts.close(self._cuts.with_more((((0, *cut, NEVER), 1) for cut in cuts), exact=False))

    def _check_cuts(self, cuts: list[Cut]) -> None:
        if cuts and self.max_blocks is not None:
            raise ValueError("a stream with max_blocks keeps no single samples; cut off ones need them. Leave it out.")
        if cuts and isinstance(self.band, Betting):
            raise ValueError("bets are on finished samples; got one that was cut off. Use Asymptotic(rarest).")
        if not cuts:
            return
        require_monotone(self.preference)
        for cut in cuts:
            admitted_cut(cut, self.rewards)
        ends = [end for cut in cuts for end in cut if math.isfinite(end)]
        self.preference.finite_utilities("samples", np.array(ends))

    def _add(self, samples: ArrayLike) -> None:
        array = finite_array("samples", samples)
        if self.rewards is not None:
            array = self.rewards.check(array)
        raw, counts = np.unique(array, return_counts=True)
        utility = self.preference.finite_utilities("samples", raw)
        betting = self._bet(self.preference.utilities(array))  # in their order
        if self.max_blocks is not None:
            self._flush()
            blocks = self._sketch
            for start in range(0, array.size, 8 * BUFFER):
                blocks = self._absorbed(blocks, array[start : start + 8 * BUFFER])
            self._guard.midway = True
            self._sketch = blocks
            self._samples += array.size
            (*_,) = betting
            self._guard.midway = False
        else:
            self._take_in(utility, self._by_merit(raw), counts.astype(np.int64), betting)

    def _by_merit(self, outcomes: FloatArray) -> FloatArray:
        """Outcomes as the trees order them where they feel alike, the better ones larger; and back."""
        return 0.0 - outcomes if self.preference.costs else outcomes

    def _bet(self, utility: FloatArray) -> Iterator[Any]:
        """A call that bets on samples, for a stretch in which no signal's handler may raise."""
        if not isinstance(self.band, Betting):
            return NO_BETS
        return starmap(self._betting, ((self._bets, self._wagers, self._first, utility),))

    def _take_in(
        self, utility: FloatArray, merit: FloatArray, counts: IntArray, betting: Iterator[Any] = NO_BETS
    ) -> None:
        """Put outcomes into the trees: all of them, even if a signal's handler raises in between.

        What it raised is raised after the last outcome; if it raises twice, the stream closes.
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
        (*_,) = betting
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
        return self._thinned(self._with(blocks, samples))

    def _with(self, blocks: Sketch, samples: Sequence[float] | FloatArray) -> Sketch:
        utility, counts = np.unique(self.preference.utilities(samples), return_counts=True)
        return absorb(blocks, utility, counts.astype(np.int64))

    def _thinned(self, blocks: Sketch) -> Sketch:
        assert self.max_blocks is not None
        return thinned(blocks, self.max_blocks, self.preference.gains, self.preference.losses)

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
        if isinstance(self.band, Betting) or isinstance(other.band, Betting):
            raise ValueError(
                "bets follow the order of one stream; got two. Keep both apart, or add their samples to a third."
            )
        mine, theirs_are = ((one.rewards, one.max_blocks, one.band) for one in (self, other))
        if mine != theirs_are:
            raise ValueError(
                f"streams merge only with the same rewards, max_blocks and band; got {mine} and {theirs_are}. Make "
                "both alike."
            )
        theirs = copy.copy(other)  # of one moment; never two locks at once, which two threads could take crosswise
        if theirs._samples or theirs._cuts.any:
            self._take_over(theirs)

    @one_change_at_a_time
    def _take_over(self, theirs: Samples) -> None:
        self._cuts.close(self._cuts.with_more(theirs._cuts.closed.items(), exact=False))
        if self.max_blocks is not None:
            self._flush()
            more = self._with(theirs._sketch, theirs._buffer) if theirs._buffer else theirs._sketch
            joined = self._thinned(join(self._sketch, more))
            self._guard.midway = True
            self._sketch = joined
            self._samples += theirs._samples
            self._guard.midway = False
            return
        gains, losses = outcomes_of(theirs._trees, GAINS), outcomes_of(theirs._trees, LOSSES)
        utility = np.concatenate([gains[0], 0.0 - losses[0]])
        merit, counts = (np.concatenate([gains[i], losses[i]]) for i in (1, 2))
        self._take_in(utility, merit, counts)

    def _most_likely(self) -> tuple[FloatArray, FloatArray]:
        """Places and masses of the most likely distribution: product limit, or self-consistent (`CensoredSample`)."""
        places = self._places()
        return places.at, places.masses()

    @one_at_a_time
    def _places(self) -> Places:
        return places_of(*self._known(), *self._cuts.all()[1:])

    def _known(self) -> tuple[FloatArray, FloatArray]:
        """The samples that are known, ascending, and how often each was seen."""
        gains, losses = outcomes_of(self._trees, GAINS), outcomes_of(self._trees, LOSSES)
        raw, counts = self._by_merit(np.append(gains[1], losses[1])), np.append(gains[2], losses[2])
        order = np.argsort(raw)
        return raw[order], counts[order].astype(np.float64)

    def _completed(self) -> list[tuple[FloatArray, FloatArray]]:
        """All samples, with those that were cut off at their lower ends, and at their upper ends."""
        at, counts = self._known()
        _, low, high, many = self._cuts.all()
        ends = (low, high) if self.rewards is None else ends_of_cuts(low, high, self.rewards)
        return [(np.append(at, end), np.append(counts, many)) for end in ends]

    def _ends_with_cuts(self, exponent: float) -> list[float]:
        """The band of Dvoretzky, Kiefer and Wolfowitz, with samples that were cut off where they are worst for it."""
        assert self.rewards is not None
        refuse_unbounded("an interval of samples that were cut off", [self.rewards])
        rule, ends = DKW().rule(self.preference, [self.rewards]), list[float]()
        for at, counts in self._completed():
            distinct, where = np.unique(at, return_inverse=True)
            completed = distinct, np.bincount(where, counts).astype(np.int64)
            ends.extend(map(float, ends_of(rule, memory_of_counts(self.preference, [completed]), 0, exponent)))
        return ends

    def _require_samples(self) -> None:
        if self._samples == 0 and not self._cuts.any:
            raise ValueError("a value needs at least one sample; this stream has none. Add some first.")
