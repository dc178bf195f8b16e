"""A recorded sample: delays of all routes over independent blocks of hours, in one file, and a problem made of it."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from allais._checks import FloatArray, IntArray, positive
from allais._system.processes import process_pool
from allais.files import read_arrays, write_arrays
from allais.lotteries import Empirical
from allais.problems.base import LotteryArms
from allais.simulation.simulate import workers
from allais.traffic import sumo
from allais.traffic.demand import DAY
from allais.traffic.network import Route, route_matrix
from allais.traffic.problem import TrafficProblem

Watch = Callable[[float], None]  # told the share of the work that is done

FORMAT, VERSION = "allais traffic recording", 1
SPACING = 13.5  # seconds between probes, on average: 22 per hour on each of twelve routes


MOST_MINUTES = 24.0 * 60.0
COPIES = 40  # of a block: incidents are rare, and one hour may see none
MOST_NAMED = 8  # places in a sentence


@dataclass(frozen=True)
class Incident:
    """A place that is blocked at random times.

    Args:
        place: A node or an edge.
        per_day: How many incidents there are a day, on average; a Poisson process.
        shortest: The shortest, in minutes; lengths are uniform.
        longest: The longest, in minutes.

    >>> Incident.of("X:4:8-12")
    Incident(place='X', per_day=4.0, shortest=8.0, longest=12.0)
    """

    place: str
    per_day: float
    shortest: float
    longest: float

    @classmethod
    def of(cls, text: str) -> Incident:
        """An incident from a text such as "X:4:8-12": the place, how many a day, and minutes.

        Args:
            text: The text.
        """
        place, _, rest = text.partition(":")
        found = re.fullmatch(r"([\d.]+):([\d.]+)-([\d.]+)", rest)
        try:
            numbers = [float(number) for number in found.groups()] if found else []
        except ValueError:
            numbers = []
        if not place or not numbers:
            raise ValueError(
                f"an incident is PLACE:PER_DAY:SHORTEST-LONGEST, the last two in minutes; got {text!r}. "
                "Write X:4:8-12 for four a day of 8 to 12 minutes at X."
            )
        if not (numbers[0] > 0.0 and 0.0 < numbers[1] <= numbers[2] <= MOST_MINUTES):
            raise ValueError(
                f"an incident has a rate above 0 and lasts from shortest to longest, {MOST_MINUTES:g} minutes at "
                f"most; got {text!r}. Give other numbers."
            )
        return cls(place, *numbers)

    def road_of(self, route: Route) -> int | None:
        """Which road of a route meets it first; None where the route does not pass.

        Args:
            route: The route.
        """
        if self.place in route.edges:
            edge = route.edges.index(self.place)
        elif self.place in route.nodes:
            edge = max(route.nodes.index(self.place) - 1, 0)  # the one that leads there
        else:
            return None
        ends = np.cumsum(_on_roads(route, np.ones(len(route.edges))))
        return int(np.searchsorted(ends, edge, side="right"))

    def waits(self, moments: FloatArray, seconds: float, rng: np.random.Generator) -> FloatArray:
        """How long a traveller who arrives at each of these moments waits, with incidents drawn for this time.

        Args:
            moments: Seconds.
            seconds: The length of the stretch.
            rng: The generator of the incidents.
        """
        before = 60.0 * self.longest  # one that began earlier may still be there
        many = rng.poisson(self.per_day * (seconds + before) / DAY)
        begins = rng.uniform(-before, seconds, many)
        ends = begins + 60.0 * rng.uniform(self.shortest, self.longest, many)
        until = np.where((begins <= moments[:, None]) & (moments[:, None] < ends), ends, moments[:, None])
        return until.max(axis=1, initial=-math.inf) - moments if many else np.zeros(moments.size)


@dataclass(frozen=True, eq=False)
class Recording:
    """Delays of probes on all routes, block by block; blocks are independent, probes of one block are not.

    Attributes:
        routes: The routes.
        route: The index of each probe's route, (probes,).
        block: The block of each probe, (probes,).
        delay: The delay of each probe in seconds, (probes,).
        road_times: Seconds on each road of the route, NaN beyond its end; (probes, most roads).
        teleported: How many probes were left out because SUMO teleported them out of a jam.
        lost: How many probes were left out because they took too long or never arrived.
        about: Seed, blocks, hours, closures, version of SUMO.
    """

    routes: tuple[Route, ...]
    route: IntArray
    block: IntArray
    delay: FloatArray
    road_times: FloatArray
    teleported: int
    lost: int
    about: dict[str, Any]

    def __repr__(self) -> str:
        return (
            f"<Recording of {len(self.routes)} routes: {self.delay.size} probes in {self.n_blocks} blocks, "
            f"{self.teleported} teleported and {self.lost} lost left out>"
        )

    @property
    def n_blocks(self) -> int:
        """How many independent runs there were."""
        return int(self.about["blocks"])

    def samples(self, route: int) -> FloatArray:
        """All delays of a route.

        Args:
            route: The route's index.
        """
        return self.delay[self.route == route]

    @property
    def baseline(self) -> float:
        """B: the mean delay of a router that picks routes evenly at random, as in the paper."""
        return float(np.mean([self.samples(k).mean() for k in range(len(self.routes))]))

    def with_incidents(self, *incidents: Incident, seed: int = 1, copies: int = COPIES) -> Recording:
        """The recording as if roads had been blocked at random times: at a blocked place, travellers wait for the end.

        Every block is repeated with incidents of its own, and every probe is at a random moment of it. The jam that
        dissolves after an incident is not simulated, so that delays are underestimated if anything.

        Args:
            *incidents: What happens where.
            seed: The seed of the incidents.
            copies: How often each block is repeated.
        """
        hours = float(self.about["hours"])
        rng, size = np.random.default_rng(seed), self.delay.size
        waits, times = np.zeros((copies, size)), np.repeat(self.road_times[None], copies, axis=0)
        for incident in incidents:
            roads = [incident.road_of(route) for route in self.routes]
            if all(road is None for road in roads):
                passed = sorted({node for route in self.routes for node in route.nodes[1:-1]})
                raise ValueError(
                    f"an incident is where a route passes; none passes {incident.place!r}. Name one of "
                    f"{', '.join(passed[:MOST_NAMED])}{', ...' if len(passed) > MOST_NAMED else ''}, or an edge."
                )
            road = np.array([-1 if one is None else one for one in roads])[self.route]
            for copy in range(copies):
                for block in range(self.n_blocks):
                    rows = np.flatnonzero((self.block == block) & (road >= 0))
                    wait = incident.waits(rng.uniform(0.0, 3600.0 * hours, rows.size), 3600.0 * hours, rng)
                    waits[copy, rows] += wait
                    times[copy, rows, road[rows]] += wait
        known = [[one.place, one.per_day, one.shortest, one.longest] for one in incidents]
        return dataclasses.replace(
            self,
            route=np.tile(self.route, copies),
            block=np.tile(self.block, copies),
            delay=(self.delay + waits).ravel(),
            road_times=times.reshape(-1, times.shape[2]),
            about={**self.about, "incidents": known},
        )

    def problem(self) -> RecordedTraffic:
        """The recorded delays as a problem, drawn with replacement."""
        return RecordedTraffic(self)

    def save(self, path: str | Path) -> None:
        """Write everything to one file.

        Args:
            path: The file.
        """
        routes = [[route.name, route.nodes, route.edges, route.roads] for route in self.routes]
        header = {"format": FORMAT, "version": VERSION, "routes": routes, "about": self.about}
        header |= {"teleported": self.teleported, "lost": self.lost}
        arrays = {"route": self.route.astype(np.int16), "block": self.block.astype(np.int32)}
        arrays |= {"delay": self.delay, "road_times": self.road_times.astype(np.float32)}
        write_arrays(Path(path), header, arrays)

    @staticmethod
    def load(path: str | Path) -> Recording:
        """Read a recording that was saved.

        Args:
            path: The file.
        """
        header, arrays = read_arrays(Path(path), FORMAT, VERSION)
        try:
            return Recording._of(header, arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"a recording must be whole; {path} lacks a part ({error}). Record it again.") from None

    @staticmethod
    def _of(header: dict[str, Any], arrays: dict[str, Any]) -> Recording:
        routes = tuple(
            Route(name, tuple(nodes), tuple(edges), tuple(roads)) for name, nodes, edges, roads in header["routes"]
        )
        probes = arrays["delay"].shape
        if any(arrays[name].shape[:1] != probes for name in ("route", "block", "road_times")):
            raise ValueError("its tables do not fit together")
        if not np.isin(arrays["route"], np.arange(len(routes))).all():
            raise ValueError("a probe is of a route that is not there")
        return Recording(
            routes, arrays["route"].astype(np.int64), arrays["block"].astype(np.int64), arrays["delay"],
            arrays["road_times"].astype(np.float64), header["teleported"], header["lost"], header["about"],
        )  # fmt: skip


class RecordedTraffic(LotteryArms):
    """Routes whose delays are those of a recording, each as likely: exact values, and features for linear policies.

    Args:
        recording: The delays.
    """

    def __init__(self, recording: Recording) -> None:
        names = [route.name for route in recording.routes]
        super().__init__([Empirical(recording.samples(k)) for k in range(len(names))], names)
        self.features, self.roads = route_matrix(recording.routes)

    def __repr__(self) -> str:
        return f"RecordedTraffic({len(self.lotteries)} routes)"


def record(
    problem: TrafficProblem,
    blocks: int,
    seed: int,
    hours: float = 6.0,
    n_jobs: int = -1,
    stratified: bool = False,
    spacing: float = SPACING,
    watch: Watch = lambda share: None,
) -> Recording:
    """Record all routes at once over independent blocks; the same seed gives the same numbers for any `n_jobs`.

    Args:
        problem: The traffic.
        blocks: How many independent runs.
        seed: The seed of all randomness.
        hours: The length of a run.
        n_jobs: How many processes run side by side; -1 for one per core.
        stratified: Whether every block has the same number of closures instead of a Poisson process; the bootstrap's
            standard errors are then smaller than those of a traveller who does not know that number.
        spacing: Seconds between two probes, on average; probes are traffic, too, so more disturbs less and takes
            longer.
        watch: Called with the share that is done.
    """
    spacing = positive("spacing", spacing)
    if blocks < 1 or not 0.0 < hours < math.inf:
        raise ValueError(f"a recording needs a block and some time; got {blocks} blocks of {hours:g} h. Give more.")
    if 3600.0 * hours > problem.clock.room:
        raise ValueError(
            f"a block must fit into its demand, whose vehicles depart for {problem.clock.room / 3600.0:.2f} h once the "
            f"roads have filled; got {hours:g} h. Give {math.floor(problem.clock.room / 36.0) / 100.0:g} h or less."
        )
    crossing = problem.demand.crossing
    each = 0.0 if crossing is None else crossing.closures_per_day * 3600.0 * hours / DAY
    if stratified and abs(each - round(each)) > 1e-9:
        raise ValueError(
            f"as many closures in every block must be a whole number; {hours:g} h have {each:g}. "
            "Give other hours, or leave them to chance (Poisson)."
        )
    sumo.program("sumo")  # says what to install before workers start
    seeds = np.random.SeedSequence(seed).spawn(blocks)
    tasks = [(problem, one, hours, round(each) if stratified else None, spacing) for one in seeds]
    parts = []
    with ExitStack() as stack:
        alone = workers(n_jobs) == 1
        pool = None if alone else stack.enter_context(process_pool(min(workers(n_jobs), blocks)))
        for part in map(_block, tasks) if pool is None else pool.map(_block, tasks):
            parts.append(part)
            watch(len(parts) / blocks)
    routes, delays, times, teleported, lost = zip(*parts, strict=True)
    counts = np.bincount(np.concatenate(routes), minlength=len(problem.routes))
    if counts.min() == 0:
        raise sumo.SumoError(
            f"probes must arrive on every route; none did on {problem.routes[int(counts.argmin())].name}. "
            "Lower the demand, or choose other routes."
        )
    about = {"seed": seed, "blocks": blocks, "hours": hours, "closures": "stratified" if stratified else "Poisson"}
    about |= {"spacing": spacing, "closures_per_day": 0.0 if crossing is None else crossing.closures_per_day}
    return Recording(
        problem.routes,
        np.concatenate(routes),
        np.repeat(np.arange(blocks), [part.size for part in delays]),
        np.concatenate(delays),
        np.concatenate(times),
        sum(teleported),
        sum(lost),
        {**about, "sumo": sumo.version()},
    )


def _block(task: tuple[TrafficProblem, np.random.SeedSequence, float, int | None, float]) -> tuple[Any, ...]:
    """One block: what a worker does."""
    problem, seed, hours, closed, spacing = task
    rng = np.random.default_rng(seed)
    seconds, n_routes = 3600.0 * hours, len(problem.routes)
    rounds = max(1, round(seconds / spacing / n_routes))  # every route as often, in an order of its own each round
    arms = [arm for _ in range(rounds) for arm in rng.permutation(n_routes).tolist()]
    closures = None
    crossing = problem.demand.crossing
    if closed is not None and crossing is not None:
        first = problem.clock.begin + problem.clock.warm_up
        closures = crossing.exactly(closed, first, first + seconds, rng)
    passages = problem.stream(arms, seconds, rng, closures)
    most = max(len(route.roads) for route in problem.routes)
    kept = passages.arrived
    times = np.full((kept.size, most), np.nan)
    for row, k in enumerate(kept.tolist()):
        on_roads = _on_roads(problem.routes[arms[k]], passages.edge_times[k])
        times[row, : len(on_roads)] = on_roads
    return passages.route[kept], passages.delay[kept], times, passages.teleported, passages.lost


def _on_roads(route: Route, of_edges: Sequence[float] | FloatArray) -> list[float]:
    """The sum of the numbers of the edges of each road."""
    steps = iter(zip(route.edges, of_edges, strict=True))
    found = []
    for road in route.roads:
        name, spent = next(steps)
        while name != road:  # an edge's own name may have a plus in it, so that a road cannot be taken apart
            edge, more = next(steps)
            name, spent = f"{name}+{edge}", spent + more
        found.append(spent)
    return found
