"""What a recording says about each route: means, distorted values, their bootstrap, a linear fit, noise."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais.errors import DominanceWarning
from allais.linear.noise import ArmNoise
from allais.linear.regression import LinearFit, fit_linear
from allais.lotteries import Discrete, Empirical, Normal
from allais.preferences import Preference, expected_value
from allais.traffic.network import route_matrix
from allais.traffic.recording import Recording
from allais.weights import TverskyKahneman

RESAMPLES = 400  # of the bootstrap: a standard error to 4 %
PAPER_ETA = 0.1  # of the weight in Section VI
PAPER_SAMPLES = 25_000  # of the normal distribution, in Section VI
PRINTED = {7: (-21.67, -0.29), 8: (58.88, -0.45)}  # Table II: mean and distorted excess delay of both routes
NEGLIGIBLE = 1e-12  # probability below which an outcome of summed noise is left out


def objectives(reference: float) -> dict[str, Preference]:
    """The mean, two curves measured on people, and the paper's, all as costs around a baseline."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DominanceWarning)  # the paper's weight is not monotone (errata, 27)
        weights = {f"TK {eta}": TverskyKahneman(eta) for eta in (0.61, 0.69, PAPER_ETA)}
        named = {name: Preference(weight, reference=reference, costs=True) for name, weight in weights.items()}
    return {"mean": expected_value(reference=reference, costs=True), **named}


class Gap(NamedTuple):
    """How far one route is ahead of another, and how sure that is."""

    difference: float  # seconds, positive
    error: float  # standard error, by bootstrap over blocks

    @property
    def errors(self) -> float:
        """The difference in standard errors."""
        return self.difference / self.error


@dataclass(frozen=True, eq=False)
class RouteTable:
    """Excess delays of all routes under several objectives: lower is better."""

    names: tuple[str, ...]
    columns: tuple[str, ...]
    excess: FloatArray  # seconds, (objectives, routes)
    resampled: FloatArray  # the same for resampled blocks, (resamples, objectives, routes)

    @property
    def errors(self) -> FloatArray:
        """Standard errors, by bootstrap over blocks."""
        return self.resampled.std(axis=0, ddof=1)

    def best(self, column: str) -> int:
        """The route of the lowest excess delay."""
        return int(np.argmin(self.excess[self.columns.index(column)]))

    def gap(self, column: str, better: int, other: int) -> Gap:
        """By how much a route is better than another."""
        row = self.columns.index(column)
        difference = float(self.excess[row, other] - self.excess[row, better])
        spread = self.resampled[:, row, other] - self.resampled[:, row, better]
        return Gap(difference, float(spread.std(ddof=1)))

    def shares(self, column: str) -> FloatArray:
        """How often each route is the best of a resampled recording."""
        row = self.columns.index(column)
        best = np.argmin(self.resampled[:, row], axis=1)
        return np.bincount(best, minlength=len(self.names)) / best.size


def route_table(
    recording: Recording,
    resamples: int = RESAMPLES,
    people: Mapping[str, Preference] | None = None,
) -> RouteTable:
    """The table of Section VI, or of other objectives, with standard errors from independent blocks."""
    require_blocks(recording.n_blocks)
    people = objectives(recording.baseline) if people is None else people
    n_routes = len(recording.routes)
    # sorted once, so that a resample only repeats
    ordered = []
    for k in range(n_routes):
        delays, blocks = recording.samples(k), recording.block[recording.route == k]
        order = np.argsort(delays, kind="stable")
        ordered.append((delays[order], blocks[order]))
    rng = np.random.default_rng(0)
    every = np.arange(recording.n_blocks)
    picks = [every] + [rng.integers(recording.n_blocks, size=recording.n_blocks) for _ in range(resamples)]
    found = np.empty((len(picks), len(people), n_routes))
    for number, pick in enumerate(picks):
        times = np.bincount(pick, minlength=recording.n_blocks)
        for k, (delays, blocks) in enumerate(ordered):
            sample = np.repeat(delays, times[blocks])
            for row, preference in enumerate(people.values()):
                found[number, row, k] = -preference.estimate(sample)
    names = tuple(route.name for route in recording.routes)
    return RouteTable(names, tuple(people), found[0], found[1:])


def require_blocks(blocks: int) -> None:
    """Refuse too few blocks for standard errors."""
    if blocks < 2:
        raise ValueError(f"standard errors come from independent blocks; got {blocks}. Record 2 or more.")


class RoadFit(NamedTuple):
    """Ridge regression of delays on roads, as in Section VI."""

    fit: LinearFit
    roads: tuple[str, ...]
    misfit: FloatArray  # x.theta minus the recorded mean, seconds per route: roads do not determine routes


def road_fit(recording: Recording, regularisation: float = 1.0) -> RoadFit:
    """theta_off: the mean delay of each road."""
    features, roads = route_matrix(recording.routes)
    fit = fit_linear(features[recording.route], recording.delay, regularisation)
    means = np.array([recording.samples(k).mean() for k in range(len(features))])
    return RoadFit(fit, tuple(map(str, roads)), features @ fit.theta - means)


def residual_noise(recording: Recording) -> ArmNoise:
    """Each route's own recorded delays, centred: what a policy knows that is told the form of the noise."""
    samples = [recording.samples(k) for k in range(len(recording.routes))]
    return ArmNoise([Empirical(one - one.mean()) for one in samples], _lengths(recording))


def road_noise(recording: Recording) -> ArmNoise:
    """x.N with independent noise on each road, as recorded there: the paper's model, not normal."""
    distributions: dict[str, FloatArray] = {}
    for route in {road for one in recording.routes for road in one.roads}:
        times = [
            recording.road_times[recording.route == k, one.roads.index(route)]
            for k, one in enumerate(recording.routes)
            if route in one.roads
        ]
        seconds = np.concatenate(times).round().astype(np.int64)
        distributions[route] = np.bincount(np.maximum(seconds, 0)) / seconds.size
    lotteries = []
    for one in recording.routes:
        distribution = np.ones(1)
        for road in one.roads:
            distribution = np.convolve(distribution, distributions[road])
        distribution = np.where(distribution > NEGLIGIBLE, distribution, 0.0)
        distribution /= distribution.sum()
        seconds = np.flatnonzero(distribution)
        centre = float(distribution[seconds] @ seconds)
        lotteries.append(Discrete(dict(zip((seconds - centre).tolist(), distribution[seconds].tolist(), strict=True))))
    return ArmNoise(lotteries, _lengths(recording))


def normal_noise(recording: Recording) -> ArmNoise:
    """Normal noise with each route's recorded variance: the negative control."""
    spreads = [float(recording.samples(k).std()) for k in range(len(recording.routes))]
    return ArmNoise([Normal(0.0, spread) for spread in spreads], _lengths(recording))


def _lengths(recording: Recording) -> Sequence[float]:
    """sigma_x = |x|, as in the paper: far below what is proven for such tails, and so far faster."""
    return np.linalg.norm(route_matrix(recording.routes)[0], axis=1).tolist()


def scheme_error(mean: float, roads: int, repeats: int = 100) -> float:
    """The standard deviation of the paper's estimate of one route: Algorithm 1 on 25,000 normal samples, eta = 0.1."""
    preference = objectives(0.0)[f"TK {PAPER_ETA}"]
    rng = np.random.default_rng(0)
    spread = float(np.sqrt(roads))
    return float(np.std([preference.estimate(rng.normal(mean, spread, PAPER_SAMPLES)) for _ in range(repeats)], ddof=1))
