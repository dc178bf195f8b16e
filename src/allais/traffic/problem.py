"""Routing as a bandit: an arm is a route, its outcome the delay of a probe; on any network, or that of the paper."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from allais._checks import FloatArray, positive
from allais.errors import RunCut
from allais.problems import Problem
from allais.traffic import sumo
from allais.traffic.demand import OPEN_END, Closure, Crossing, Demand
from allais.traffic.network import RoadNetwork, Route, route_matrix
from allais.traffic.probes import BEHIND, PATIENCE, Passages, longest_time, prepare, send

SOURCE, TARGET = "12", "4"
CROSSING = "X"  # the level crossing, halfway along J00-J01
ARTERIAL = ("12", "J20", "J10", "J00", "J01", "J02", "4")
SAFE = ("12", "J20", "J10", "J11", "J01", "J02", "4")  # one block aside: around the crossing
# the two routes that the figure highlights
PAPER_SHORT = ("12", "J20", "J21", "J11", "J01", "J02", "4")  # dotted blue, Route 7
PAPER_DETOUR = ("12", "J20", "J21", "J22", "J12", "J11", "J10", "J00", "J01", "J02", "4")  # dotted green, Route 8
KMH = 1.0 / 3.6


@dataclass(frozen=True)
class GridSettings:
    """What the paper's figure of the grid network does not say.

    Args:
        block: The distance between junctions, in metres.
        cycle: The length of a signal's program, in seconds.
        arterial_speed: The speed limit in km/h of the arterial, which has two lanes each way.
        street_speed: The speed limit in km/h of streets, which have one lane each way.
    """

    block: float = 300.0
    cycle: int = 60
    arterial_speed: float = 60.0
    street_speed: float = 50.0


def grid_network(settings: GridSettings | None = None) -> RoadNetwork:
    """The network, built with netconvert.

    Args:
        settings: Sizes and speeds; by default those of `GridSettings()`.
    """
    settings = settings or GridSettings()
    with tempfile.TemporaryDirectory(prefix="allais-grid-") as name:
        folder = Path(name)
        nodes, edges, built = (folder / part for part in ("nodes.xml", "edges.xml", "grid.net.xml"))
        nodes.write_text(_nodes(settings), encoding="utf-8")
        edges.write_text(_edges(settings), encoding="utf-8")
        sumo.run(
            "netconvert",
            [
                *("--node-files", nodes, "--edge-files", edges, "--output-file", built),
                *("--no-turnarounds", "true", "--tls.cycle.time", str(settings.cycle)),
            ],
        )
        return RoadNetwork.read(built)


def grid_routes(network: RoadNetwork) -> tuple[Route, ...]:
    """The twelve simple routes from 12 to 4, fastest on empty roads first: R1 the arterial, R2 one block aside.

    Args:
        network: What `grid_network` returned.
    """
    return network.routes(SOURCE, TARGET, k=100)  # more than there are


def named(routes: tuple[Route, ...], nodes: tuple[str, ...]) -> Route:
    """The route that passes these nodes, whether or not the crossing is listed among them."""
    for route in routes:
        if tuple(node for node in route.nodes if node != CROSSING) == nodes:
            return route
    raise ValueError(f"a route must be one of those listed; {'-'.join(nodes)} is not. Check the nodes.")


def places() -> dict[str, tuple[float, float]]:
    """Where the nodes are, in blocks: J (row, column) with row 0 on top, 1 to 12 clockwise as in the figure."""
    spots = {f"J{row}{column}": (column, -row) for row in range(3) for column in range(3)}
    for k in range(3):
        spots[str(1 + k)] = (k, 1)  # on top
        spots[str(4 + k)] = (3, -k)  # on the right
        spots[str(7 + k)] = (k, -3)  # below
        spots[str(10 + k)] = (-1, -k)  # on the left
    return {name: (float(x), float(y)) for name, (x, y) in spots.items()} | {CROSSING: (0.5, 0.0)}


def _streets() -> list[tuple[str, str]]:
    """Neighbouring nodes, one direction of each pair."""
    spots = {spot: name for name, spot in places().items() if name != CROSSING}
    streets = []
    for (x, y), name in spots.items():
        for neighbour in ((x + 1.0, y), (x, y - 1.0)):
            other = spots.get(neighbour)
            if other is not None and "J" in name + other:  # nodes at the rim are joined to junctions only
                streets.append((name, other))
    streets.remove(("J00", "J01"))
    return [*streets, ("J00", CROSSING), (CROSSING, "J01")]


def _nodes(settings: GridSettings) -> str:
    rows = []
    for name, (x, y) in places().items():
        kind = "traffic_light" if name == CROSSING or name.startswith("J") else "priority"
        rows.append(f'<node id="{name}" x="{x * settings.block}" y="{y * settings.block}" type="{kind}"/>')
    return "<nodes>" + "".join(rows) + "</nodes>"


def _edges(settings: GridSettings) -> str:
    along = set(pairwise(ARTERIAL)) | {("J00", CROSSING), (CROSSING, "J01")}
    rows = []
    for a, b in _streets():
        fast = (a, b) in along or (b, a) in along
        lanes, speed = (2, settings.arterial_speed) if fast else (1, settings.street_speed)
        rows += [
            f'<edge id="{start}_{end}" from="{start}" to="{end}" numLanes="{lanes}" speed="{speed * KMH:.4f}"/>'
            for start, end in ((a, b), (b, a))
        ]
    return "<edges>" + "".join(rows) + "</edges>"


WARM_UP = 1800.0  # seconds until empty roads have filled; thrice the slowest route, where that is more
SHORTEST = 300.0  # seconds: less time to send probes in than this is a mistake in a demand
MOST_LOST = 0.05  # the share of probes that may fail: those left out are the longest delays, and people mind these
STATES = 16  # saved moments of one long run, so that a draw hardly depends on any of them
APART = 600.0  # seconds between two saved moments: several times what a car stays
LOOK_BACK = 1800.0  # seconds: a closure, and the queue that it leaves, are over by then
LEAD = (180.0, 240.0)  # seconds from a saved moment to the probe, over a whole cycle of the signals
FIRST_PATIENCE = 420.0  # seconds after which a run of one probe is repeated with all patience
HEADWAY = 30.0  # seconds between probes of a stream, on average

Way = Literal["fresh", "stream"]


class Clock(NamedTuple):
    """When a run begins, and when probes may leave; seconds."""

    begin: float
    warm_up: float
    room: float  # between the first probe and the last; infinite unless the demand is a file that ends

    @staticmethod
    def of(network: RoadNetwork, demand: Demand, routes: Sequence[Route]) -> Clock:
        """Probes leave while others do: a file's first quarter fills the roads, if it is short."""
        begin, end = math.floor(demand.span[0]), demand.span[1]
        warm_up = min(max(WARM_UP, 3.0 * longest_time(network, routes)), (end - begin) / 4.0)
        room = end - begin - warm_up
        if room < SHORTEST:
            raise ValueError(
                f"a demand must last, so that probes meet traffic; its vehicles depart from {begin:g} to {end:g} s. "
                "Give trips over ten minutes or more."
            )
        return Clock(begin, warm_up, room)


class TrafficProblem(Problem):
    """Delays of routes in SUMO, in seconds: costs, so use preferences with `costs=True` and a reference.

    All randomness comes from the generator of a draw, except for the saved states.

    Args:
        network: The roads.
        routes: The arms.
        demand: The other traffic; by default `Demand()`.
        way: `"fresh"` runs SUMO anew for every probe, from one of several saved states: independent draws. `"stream"`
            sends many probes of a route through one long run: much faster, but neighbouring draws correlate.
        seed: The seed of the saved states.
        headway: Seconds between two probes of a stream, on average.
        cut: Whether a fresh draw whose probe has not arrived at the end counts as censored (`errors.RunCut`, for a
            search with `then="at least"`); else another probe is sent.
    """

    def __init__(
        self,
        network: RoadNetwork,
        routes: Sequence[Route],
        demand: Demand | None = None,
        way: Way = "fresh",
        seed: int = 0,
        headway: float = HEADWAY,
        cut: bool = False,
    ) -> None:
        if way not in ("fresh", "stream"):
            raise ValueError(f"a way to draw is 'fresh' or 'stream'; got {way!r}. Choose one.")
        if cut and way != "fresh":
            raise ValueError(f"probes are cut off one by one, in fresh draws; got way={way!r}. Use Passages.sample().")
        if not routes:
            raise ValueError("there must be a route to choose; got none. Give network.routes(a, b, k).")
        self.network, self.demand = network, Demand() if demand is None else demand
        self.routes = tuple(network.route(route.name, route.edges) for route in routes)  # refuses what does not connect
        if self.demand.crossing is not None:
            network.lights(self.demand.crossing.node)  # refuses a node without a signal
        self.way, self.seed, self.headway, self.cut = way, seed, positive("headway", headway), cut
        longest = longest_time(network, self.routes)
        if longest > PATIENCE / 2.0:
            raise ValueError(
                f"a route must take {PATIENCE / 7200.0:g} h at most on empty roads, since probes are given up after "
                f"{PATIENCE / 3600.0:g} h; got one of {longest / 3600.0:.1f} h. Choose nearer places."
            )
        self.features, self.roads = route_matrix(self.routes)
        self.failed = 0  # probes that were sent again because they never arrived, or were teleported
        self._moments: list[tuple[float, str]] | None = None
        if len(set(self.arms)) < len(self.arms):
            raise ValueError(f"routes must have different names; got {', '.join(map(str, self.arms))}. Rename them.")
        self.clock = Clock.of(network, self.demand, self.routes)
        if self.demand.file is not None and way == "fresh":
            raise ValueError(
                "fresh draws need random trips, since a file's trips are the same each time; got a file. "
                "Use way='stream', or leave the file out."
            )

    def __repr__(self) -> str:
        return f"TrafficProblem({len(self.routes)} routes of {self.network.name}, {self.way} draws)"

    @property
    def arms(self) -> tuple[Hashable, ...]:
        return tuple(route.name for route in self.routes)

    @property
    def batch(self) -> int:
        return 1 if self.way == "fresh" else 256

    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        if self.way == "stream":
            return self._stream(arm, rng, size)
        return np.array([self._fresh(arm, rng) for _ in range(size)])

    def delay(self, route: str, rng: np.random.Generator) -> float:
        """The delay of one traveller along a route, for use as an expensive simulator `f(arm, rng)`.

        Args:
            route: The route's name.
            rng: The generator of the traffic.
        """
        if route not in self.arms:
            names = ", ".join(map(str, self.arms))
            raise ValueError(f"a route must be one of {names}; got {route!r}. Choose one of them.")
        return float(self.draw(self.arms.index(route), rng, 1)[0])

    def _fresh(self, arm: int, rng: np.random.Generator) -> float:
        for _ in range(10):
            moment, state = self.moments[int(rng.integers(len(self.moments)))]
            lead = float(rng.uniform(*LEAD))
            crossing = self.demand.crossing
            nearby = [] if crossing is None else crossing.closures(-LOOK_BACK, PATIENCE, rng)
            if nearby and nearby[0][0] < 0.0:
                lead -= nearby[0][0]  # begin early enough to see the whole closure
            departure = float(round(moment + lead))
            closures = [(departure + begin, departure + until) for begin, until in nearby]
            seed = int(rng.integers(2**63))
            # a saved signal knows when it will switch: that is when the first closure begins
            first = closures[0][0] if closures else OPEN_END
            state = state.replace(f'until="{1000 * OPEN_END:.0f}"', f'until="{1000 * round(first):.0f}"')
            usual = 2.0 * self.network.time(self.routes[arm].edges)
            for patience in (max(FIRST_PATIENCE, usual), PATIENCE):  # the same run, shown for longer
                passages = send(
                    self.network, self.demand, self.routes, [(departure, arm)], np.random.default_rng(seed),
                    begin=moment, closures=closures, state=state, patience=patience,
                )  # fmt: skip
                if not passages.lost:
                    break
            if np.isfinite(passages.delay[0]):
                return float(passages.delay[0])
            if self.cut and np.isfinite(passages.at_least[0]):
                raise RunCut(
                    f"a probe must arrive within {PATIENCE:g} s; one along {self.routes[arm].name} did not.",
                    at_least=float(passages.at_least[0]),
                )
            self.failed += 1
        raise sumo.SumoError(
            f"a probe must arrive; ten in a row along {self.routes[arm].name} did not. Lower the demand."
        )

    @property
    def moments(self) -> list[tuple[float, str]]:
        """Times and saved states of one long run without closures."""
        if self._moments is None:
            times = [self.clock.warm_up + k * APART for k in range(STATES)]
            rng = np.random.default_rng(self.seed)
            with tempfile.TemporaryDirectory(prefix="allais-warm-") as name:
                folder = Path(name)
                after = [(times[-1] + 10.0, 0)]  # the run ends before this probe leaves
                options = prepare(folder, self.network, self.demand, self.routes, after, rng, 0.0, [], True)
                options += ["--begin", "0", "--end", f"{times[-1] + 1:.0f}"]
                options += ["--save-state.times", ",".join(f"{time:.0f}" for time in times)]
                options += ["--save-state.prefix", str(folder / "state"), "--save-state.suffix", ".xml"]
                sumo.run("sumo", options)
                found = {float(re.split("[_.]", path.name)[1]): path for path in folder.glob("state_*.xml")}
                self._moments = [(time, found[time].read_text(encoding="utf-8")) for time in times]
        return self._moments

    def _stream(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        drawn: list[float] = []
        while len(drawn) < size:
            missing = int(min(size - len(drawn), max(1.0, self.clock.room // self.headway)))
            passages = self.stream([arm] * missing, missing * self.headway, rng)
            self.failed += passages.lost + passages.teleported
            drawn += passages.delay[passages.arrived].tolist()
        return np.array(drawn)

    def stream(
        self,
        arms: Sequence[int],
        seconds: float,
        rng: np.random.Generator,
        closures: Sequence[Closure] | None = None,
    ) -> Passages:
        """One long run from empty roads: after a warm-up, probes at random times, in the given order.

        Times are random, since a headway that divides the signals' cycle would see one moment of it only. It is an
        error if more than one probe in twenty fails, since the rest would not show the jams.

        Args:
            arms: The indices of the routes, one per probe.
            seconds: How long probes depart.
            rng: The generator of the traffic.
            closures: When the crossing is closed; by default at random.
        """
        first = self.clock.begin + self.clock.warm_up
        times = np.sort(rng.uniform(first, first + min(seconds, self.clock.room), len(arms)))
        if closures is None:
            crossing = self.demand.crossing
            closures = [] if crossing is None else crossing.closures(0.0, first + seconds + BEHIND, rng)
        probes = list(zip(times.round(2).tolist(), arms, strict=True))
        passages = send(
            self.network, self.demand, self.routes, probes, rng, begin=self.clock.begin, closures=closures
        )  # fmt: skip
        failed = passages.lost + passages.teleported
        if failed > MOST_LOST * len(arms):
            named = ", ".join(self.routes[arm].name for arm in sorted(set(arms)))
            raise sumo.SumoError(
                f"probes must arrive; {failed} of {len(arms)} along {named} did not within {PATIENCE / 3600:g} hours, "
                "so the roads are jammed. Lower the demand, or choose other routes."
            )
        return passages


def grid_problem(way: Way = "fresh", settings: GridSettings | None = None, **demand: Any) -> TrafficProblem:
    """The paper's traveller, from 12 to 4, with a level crossing on the fastest route.

    Args:
        way: `"fresh"` or `"stream"`, as in `TrafficProblem`.
        settings: Sizes and speeds of the network.
        **demand: What a `Demand` takes, such as `vehicles_per_hour` and `crossing`.
    """
    network = grid_network(settings)
    return TrafficProblem(network, grid_routes(network), Demand(**{"crossing": Crossing(CROSSING), **demand}), way)
