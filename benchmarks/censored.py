"""Outcomes that were cut off: the bias of dropping them, and how often both kinds of band hold the value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from allais import Bounded, expected_value, quantile
from allais.bands import DKW, Asymptotic
from allais.evidence import verdict
from allais.streams import CensoredSample, ValueStream
from benchmarks.tables import Table

SIZE, RUNS = 200, 400  # outcomes of a sample; samples, which give a coverage of 90 % to 1.5 %
TESTS, OUTCOMES, LOOKS = 100, 1_000, 7  # verdicts of one kind; outcomes of each group; times at which it is looked
SLOWER = 1.5  # the second group, where there is something to find
SHARES = (0.0, 0.05, 0.2, 0.5)  # that are cut off
COVERED = 0.9  # the confidence of bands
RAREST = 0.05  # the rarest event that matters

MEAN, MEDIAN = expected_value(costs=True), quantile(0.5, costs=True)

# cut by times of their own, so that the longest outcomes are known now and then: quantile functions, and upper bounds
DISTRIBUTIONS: dict[str, tuple[Any, float]] = {
    "exponential": (lambda u: -np.log1p(-u), 40.0),
    "uniform": (lambda u: u, 1.0),
    "log-normal": (lambda u: np.exp(_normal(u)), 400.0),
    "Weibull, shape 2": (lambda u: np.sqrt(-np.log1p(-u)), 7.0),
    "Pareto, index 3": (lambda u: (1.0 - u) ** (-1.0 / 3.0), 1e5),
    "two modes": (lambda u: np.where(u < 0.7, 0.1 + 0.1 * u, 1.5 + 0.2 * u), 2.0),
}


def _normal(u: Any) -> Any:
    from scipy.special import ndtri

    return ndtri(u)


def _cut(share: float, size: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Quantiles of outcomes, and of where each is cut off.

    Each has a chance of twice the share to be cut at a random quantile of its own. So about a share of all outcomes is
    not finished, for reasons that have nothing to do with what would have come.
    """
    u = rng.random(size)
    return u, np.where(rng.random(size) < min(2.0 * share, 1.0), rng.random(size), 1.0)


def cut_sample(draw: Any, share: float, rng: np.random.Generator) -> CensoredSample:
    """Outcomes, of which a share is cut off."""
    u, watched = _cut(share, SIZE, rng)
    known = u <= watched
    return CensoredSample(draw(u[known]), at_least=draw(watched[~known]))


def _value_table() -> Table:
    table = Table(
        "distribution", "cut off", "mean, dropped, %", "mean, cut as outcome, %", "mean, ours, %",
        "median, dropped, %", "median, ours, %",
    )  # fmt: skip
    for name, (draw, _) in DISTRIBUTIONS.items():
        grid = draw((np.arange(2_000_000) + 0.5) / 2_000_000)
        mean, median = float(grid.mean()), float(np.median(grid))
        for share in SHARES:
            rng = np.random.default_rng([1, round(100 * share)])
            samples = [cut_sample(draw, share, rng) for _ in range(RUNS)]
            means = [(one.exact.mean(), np.append(one.exact, one.low).mean(), -one.value(MEAN)) for one in samples]
            medians = [(np.median(one.exact), -one.value(MEDIAN)) for one in samples]
            relative = np.column_stack([np.array(means) / mean, np.array(medians) / median])
            bias, error = relative.mean(axis=0) - 1.0, relative.std(axis=0) / math.sqrt(RUNS)
            table.add(
                name, f"{share:.0%}", *(f"{100 * a:+.1f} ± {100 * b:.1f}" for a, b in zip(bias, error, strict=True))
            )
    return table


def _interval_table() -> tuple[Table, int]:
    """The table, and of how many samples a stream says the same."""
    band, same = Asymptotic(RAREST), 0
    table = Table(
        "distribution", "cut off", "Greenwood holds, %", "open, %", "finite ones hold, %",
        "Greenwood with bounds holds, %", "its width beside DKW's", "DKW holds, %", "median: Greenwood holds, %",
    )  # fmt: skip
    for name, (draw, high) in DISTRIBUTIONS.items():
        grid, bounds = draw((np.arange(2_000_000) + 0.5) / 2_000_000), Bounded(0.0, high)
        mean, median = -float(grid.mean()), -float(np.median(grid))
        for share in SHARES:
            rng = np.random.default_rng([1, round(100 * share)])
            held, width = dict.fromkeys(("DKW", "open", "Greenwood", "finite", "bounded", "median"), 0), []
            for _ in range(RUNS):
                sample = cut_sample(draw, share, rng)
                proven = DKW().interval(MEAN, bounds, sample, COVERED)
                free, bounded = (band.interval(MEAN, known, sample, COVERED) for known in (None, bounds))
                stream = ValueStream(MEAN, band=band)
                stream.add_many(sample.exact, at_least=sample.low)
                same += bool(np.allclose(stream.interval(COVERED), free, rtol=1e-9))
                held["DKW"] += _holds(proven, mean)
                held["open"] += not math.isfinite(free.low)
                held["Greenwood"] += _holds(free, mean)
                held["finite"] += math.isfinite(free.low) and _holds(free, mean)
                held["bounded"] += _holds(bounded, mean)
                held["median"] += _holds(band.interval(MEDIAN, None, sample, COVERED), median)
                width.append((bounded.high - bounded.low) / (proven.high - proven.low))
            finite = RUNS - held["open"]
            of_finite = "" if finite < 20 else _percent(held.pop("finite"), finite)
            covered = {key: _percent(held[key], RUNS) for key in ("Greenwood", "open", "bounded", "DKW", "median")}
            cells = covered["Greenwood"], covered["open"], of_finite, covered["bounded"], f"{np.median(width):.2f}"
            table.add(name, f"{share:.0%}", *cells, covered["DKW"], covered["median"])
    return table, same


def _verdict_table() -> Table:
    kinds: list[tuple[str, str, dict[str, Any]]] = [
        ("log-normal", "mean", {"rarest": RAREST}),
        ("log-normal", "cvar:0.2", {"rarest": RAREST}),
        ("uniform", "mean", {"bounds": (0.0, SLOWER)}),
    ]
    found_worse = f"{SLOWER:g} times is found to be worse, %"
    rows = Table("distribution", "compared by", "cut off", "wrong, %", found_worse)
    for name, by, settings in kinds:
        draw, _ = DISTRIBUTIONS[name]
        for share in SHARES[:3]:
            wrong = right = 0
            for test in range(TESTS):
                for factor in (1.0, SLOWER):
                    table = _two_groups(draw, factor, share, np.random.default_rng([2, round(100 * share), test]))
                    found = verdict(table, group="group", outcome="outcome", time="time", by=by, **settings)[0]
                    wrong += factor == 1.0 and found.word != "not yet"
                    right += factor > 1.0 and found.word == "worse"
            known = "the product limit" if "rarest" in settings else "bounds"
            rows.add(name, f"{by}, by {known}", f"{share:.0%}", _percent(wrong, TESTS), _percent(right, TESTS))
    return rows


def _two_groups(draw: Any, factor: float, share: float, rng: np.random.Generator) -> dict[str, Any]:
    u, watched = _cut(share, 2 * OUTCOMES, rng)
    group = np.arange(2 * OUTCOMES) % 2
    outcome, limit = (draw(one) * np.where(group == 1, factor, 1.0) for one in (u, np.minimum(watched, 1.0 - 1e-9)))
    return {
        "group": np.array(["control", "canary"])[group],
        "outcome": np.where(u <= watched, outcome, np.nan),
        "at_least": np.where(u > watched, limit, np.nan),
        "time": np.linspace(0.0, 86_400.0 * LOOKS, 2 * OUTCOMES),
    }


def _percent(many: int, of: int) -> str:
    share = many / of
    return f"{100 * share:.1f} ± {100 * math.sqrt(max(share * (1.0 - share), 0.25 / of) / of):.1f}"


def _holds(interval: Any, value: float) -> bool:
    return bool(interval.low <= value <= interval.high)


def run() -> str:
    intervals, same = _interval_table()
    return (
        f"## Outcomes that were cut off\n\nBias in % of the true value, from {RUNS} samples of {SIZE} outcomes. A cut "
        f"comes at a random time of its own.\n\n{_value_table()}\n\n"
        f"How often intervals at {COVERED:.0%} hold the true mean: Greenwood's by `Asymptotic({RAREST})`, without "
        "bounds and with them, and DKW's, which assumes nothing. An open interval has no upper end, since too few "
        "outcomes could have been seen in the tail. On the lines with 0% all outcomes are finished. A "
        f"`ValueStream` with that band has the same interval in {same:,} of "
        f"{len(DISTRIBUTIONS) * len(SHARES) * RUNS:,} samples.\n\n{intervals}\n\n"
        f"Verdicts about two groups of {OUTCOMES:,} outcomes, looked at {LOOKS} times, at an error rate of 5%: how "
        f"many of {TESTS} about equal groups are wrong at any look, and how many find that the second group is "
        f"{SLOWER:g} times the first. Within bounds, cut off outcomes are where it is worse for the verdict.\n\n"
        f"{_verdict_table()}"
    )
