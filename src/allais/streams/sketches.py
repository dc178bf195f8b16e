"""Samples in blocks, where memory is bounded: a certified bound says what the blocks may have changed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.files import LARGEST_COUNT, require
from allais.numerics.sums import Parts, finite_parts
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


def _tails(blocks: Sketch) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """P(Y >= block), P(Y < block), P(Y > block) and P(Y <= block) of each block."""
    total, up_to = blocks.counts.sum(), np.cumsum(blocks.counts)
    at_least, below = (total - up_to + blocks.counts) / total, (up_to - blocks.counts) / total
    return at_least, below, np.append(at_least[1:], 0.0), np.append(below[1:], 1.0)


def _pair_costs(blocks: Sketch, gains: Weight, losses: Weight) -> FloatArray:
    """What merging each block with the next one would add to the bound; inf across zero."""
    at_least, below, above, up_to = _tails(blocks)
    gain = gains.of_tails(at_least[:-1], below[:-1]) - gains.of_tails(above[1:], up_to[1:])
    loss = losses.of_tails(up_to[1:], above[1:]) - losses.of_tails(below[:-1], at_least[:-1])
    low, high = blocks.low[:-1], blocks.high[1:]
    cost = (high - low) * np.abs(np.where(low >= 0.0, gain, loss))
    same_side = (low > 0.0) | (high < 0.0)
    return np.where(same_side, cost, np.inf)


def sketch_parts(blocks: Sketch, gains: Weight, losses: Weight) -> Parts:
    """Gain and loss part, with a bound on what the blocks hide."""
    at_least, below, above, up_to = _tails(blocks)
    exact = finite_parts(blocks.at, at_least, below, gains, losses)
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


def check_sketch(blocks: Sketch) -> None:
    """Refuse blocks that overlap, hold nothing, or lie on both sides of zero."""
    low, high, at, counts = blocks
    require(low.size == high.size == at.size == counts.size, "blocks must have as many of each number")
    require(all(np.isfinite(part).all() for part in (low, high, at)), "a block is not finite")
    require(((low <= at) & (at <= high)).all() and (low[1:] > high[:-1]).all(), "blocks must ascend")
    require(((low > 0.0) | (high < 0.0) | (low == high)).all(), "a block lies on both sides of zero")
    require((counts > 0).all() and counts.sum(dtype=np.float64) < LARGEST_COUNT, "a count is impossible")
