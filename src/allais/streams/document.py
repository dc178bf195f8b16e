"""Streams as files: settings as JSON, outcomes as arrays, checked before use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allais.files.arrays import read_arrays, write_arrays
from allais.files.reading import DAMAGE, LARGEST_COUNT, reason, require, whole
from allais.rewards import Bounded, Finite, SubGaussian
from allais.samples.checks import check_outcomes
from allais.samples.tree_search import outcomes_of
from allais.settings import checked_trust, from_spec, to_spec
from allais.streams.samples import GAINS, LOSSES
from allais.streams.sketch import Sketch
from allais.streams.stream import ValueStream

STREAM_FORMAT, STREAM_VERSION = "allais stream", 1


def write_stream(stream: ValueStream, path: Path) -> None:
    """Write a stream to one file."""
    header, arrays = stream_document(stream)
    write_arrays(path, {"format": STREAM_FORMAT, "version": STREAM_VERSION, **header}, arrays)


def read_stream(path: Path, trust: Sequence[str] = ()) -> ValueStream:
    """The stream that a file holds."""
    checked_trust(trust)
    header, arrays = read_arrays(path, STREAM_FORMAT, STREAM_VERSION)
    try:
        return stream_from(header, arrays, trust)
    except DAMAGE as error:
        raise ValueError(f"a saved stream must be whole; {path} is damaged ({reason(error)}). Use a backup.") from None


def stream_document(stream: ValueStream) -> tuple[dict[str, Any], dict[str, Any]]:
    """Everything a stream knows: settings as JSON, outcomes as arrays."""

    stream._flush()
    header = {
        "preference": to_spec(stream.preference),
        "rewards": to_spec(stream.rewards),
        "max_blocks": stream.max_blocks,
        "samples": stream._samples,
    }
    arrays: dict[str, Any] = dict(zip(Sketch._fields, stream._sketch, strict=True))
    for name, tree in (("gains", GAINS), ("losses", LOSSES)):
        felt, merit, counts = outcomes_of(stream._trees, tree)
        arrays |= {f"{name}_felt": felt, f"{name}_raw": stream._by_merit(merit), f"{name}_counts": counts}
    return header, arrays


def stream_from(header: dict[str, Any], arrays: dict[str, Any], trust: Sequence[str] = ()) -> ValueStream:
    """The stream that a document describes."""

    preference, rewards = from_spec(header["preference"], trust), from_spec(header["rewards"], trust)
    require(rewards is None or isinstance(rewards, Bounded | Finite | SubGaussian), "its rewards are none")
    stream = ValueStream(preference, rewards, header["max_blocks"])
    for name in ("low", "high", "at", "gains_felt", "gains_raw", "losses_felt", "losses_raw"):
        require(arrays[name].dtype == np.float64 and arrays[name].ndim == 1, f"{name} must be a row of numbers")
    for name in ("counts", "gains_counts", "losses_counts"):
        require(arrays[name].dtype == np.int64 and arrays[name].ndim == 1, f"{name} must be a row of whole numbers")
    for name, sign in (("gains", 1.0), ("losses", -1.0)):
        felt, raw, counts = (np.ascontiguousarray(arrays[f"{name}_{part}"]) for part in ("felt", "raw", "counts"))
        felt = sign * felt + 0.0
        require((felt > 0.0).all() if sign > 0.0 else (felt <= 0.0).all(), f"{name} have the wrong sign")
        require(felt.size == raw.size == counts.size, f"{name} and their counts must be as many")
        order = np.lexsort((raw, felt))
        check_outcomes(felt[order], raw[order], counts[order], preference)
        if rewards is not None and raw.size:
            rewards.check(raw)
        stream._take_in(felt, stream._by_merit(raw), counts)
    blocks = Sketch(*(np.ascontiguousarray(arrays[name]) for name in Sketch._fields))
    _check_sketch(blocks)
    require(stream.max_blocks is None or stream._samples == 0, "blocks and single outcomes exclude each other")
    require(stream.max_blocks is not None or blocks.samples == 0, "blocks need max_blocks")
    samples = stream._samples + blocks.samples
    require(whole(header["samples"], "the number of samples") == samples, "the number of samples is another")
    stream._sketch, stream._samples = blocks, samples
    return stream


def _check_sketch(blocks: Sketch) -> None:
    """Refuse blocks that overlap, hold nothing, or lie on both sides of zero."""

    low, high, at, counts = blocks
    require(low.size == high.size == at.size == counts.size, "blocks must have as many of each number")
    require(all(np.isfinite(part).all() for part in (low, high, at)), "a block is not finite")
    require(((low <= at) & (at <= high)).all() and (low[1:] > high[:-1]).all(), "blocks must ascend")
    require(((low > 0.0) | (high < 0.0) | (low == high)).all(), "a block lies on both sides of zero")
    require((counts > 0).all() and counts.sum(dtype=np.float64) < LARGEST_COUNT, "a count is impossible")
