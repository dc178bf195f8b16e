"""Files of trips, as users of SUMO have them: read, joined, and when their traffic begins and ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import permutations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import numpy as np

from allais._checks import positive
from allais.traffic.network import RoadNetwork
from allais.traffic.sumo import parsed, read_text
from allais.traffic.ways import DECIMALS

THING = "a demand"
ROOTS = ("routes", "additional", "trips")
TRAVELLERS = ("vehicle", "trip", "flow", "person", "personFlow", "container", "containerFlow")


def read_trips(paths: Iterable[str | Path]) -> str:
    """The text of one file of trips, or of several as if they were one."""
    texts = []
    for path in paths:
        text = read_text(path, THING)
        trips_of(text, Path(path).name)
        texts.append(text)
    if not texts:
        raise ValueError("a demand is read from a file; got none. Give a .rou.xml.")
    if len(texts) == 1:
        return texts[0]
    joined = ElementTree.Element("routes")
    for text in texts:
        joined.extend(ElementTree.fromstring(text))
    return ElementTree.tostring(joined, encoding="unicode")


def trips_of(text: str, name: str = "the file") -> ElementTree.Element:
    """The trips in a text; refused where it is something else."""
    root = parsed(text, THING, name)
    if root.tag not in ROOTS:
        raise ValueError(f"{THING} is a file of trips or routes; {name} holds <{root.tag}>. Give a .rou.xml.")
    includes = root.find("include")
    if includes is not None:
        raise ValueError(f"{THING} must be whole; {name} includes {includes.get('href')!r}. Give both files instead.")
    return root


def until(text: str, last: float) -> str:
    """The trips of a text that begin by some time; later ones would never arrive.

    >>> until('<routes><trip depart="5"/><trip depart="9"/><flow begin="0" end="10" number="5"/></routes>', 6.0)
    '<routes><trip depart="5" /><flow begin="0" end="6.0" period="2.0" /></routes>'
    """
    root = ElementTree.fromstring(text)
    for element in list(root):
        begin, end = _departures(element) or (last, last)
        if begin > last:
            root.remove(element)
        elif end > last:
            number = element.attrib.pop("number", None)
            if number is not None and "period" not in element.attrib:  # evenly until the end that it had
                element.set("period", str((end - begin) / float(number)))
            element.set("end", str(last))
    return ElementTree.tostring(root, encoding="unicode")


def _departures(element: ElementTree.Element) -> tuple[float, float] | None:
    """When the first of a trip or of a flow leaves, and the last; None for one that leaves with another."""
    flow = element.tag.lower().endswith("flow")
    begin = _seconds(element.get("begin", "0") if flow else element.get("depart", ""))
    if element.tag not in TRAVELLERS or begin is None:
        return None
    end = _seconds(element.get("end", "")) if flow else begin
    if end is None:
        period, number = _seconds(element.get("period", "")), _seconds(element.get("number", ""))
        end = math.inf if period is None or number is None else begin + period * number
    return begin, end


def _seconds(text: str) -> float | None:
    """A time as SUMO writes it: seconds, or hours:minutes:seconds, or days before that.

    >>> _seconds("90"), _seconds("0:01:30"), _seconds("1:00:01:30"), _seconds("triggered")
    (90.0, 90.0, 86490.0, None)
    """
    parts = text.split(":")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        return None
    if len(numbers) not in (1, 3, 4) or not all(map(math.isfinite, numbers)):
        return None
    return sum(number * scale for number, scale in zip(reversed(numbers), (1.0, 60.0, 3600.0, 86400.0), strict=False))


DAY = 86_400.0
SLOWER = 1.05  # drivers pick evenly among routes at most this much slower than the fastest, on empty roads
WAYS = 4  # routes of a pair that drivers know
MOST_ENDS = 64  # of a network where traffic comes in and leaves: 4,032 pairs are as good as all
OPEN_END = 1e7  # seconds, past the end of any run
PROBE, CAR = "allais.probe", "allais.car"  # names that no file of a user has

Closure = tuple[float, float]  # from, to; seconds


@dataclass(frozen=True)
class Crossing:
    """A level crossing: a signal that closes at random times, for both directions.

    Args:
        node: The junction.
        closures_per_day: How many closures there are on average, a Poisson process.
        shortest: The shortest closure, in seconds; lengths are uniform.
        longest: The longest closure, in seconds.
    """

    node: str
    closures_per_day: float = 4.0
    shortest: float = 480.0
    longest: float = 720.0

    def __post_init__(self) -> None:
        if not 0.0 < self.shortest <= self.longest:
            raise ValueError(
                f"a closure lasts from shortest to longest; got {self.shortest:g} to {self.longest:g} s. Swap them."
            )
        if not self.closures_per_day >= 0.0:
            raise ValueError(f"closures_per_day must not be negative; got {self.closures_per_day:g}. Give a rate.")

    def closures(self, start: float, end: float, rng: np.random.Generator) -> list[Closure]:
        """The closures that begin between two times; those that overlap are joined.

        Args:
            start: Seconds.
            end: Seconds.
            rng: The generator of times and lengths.
        """
        return self.exactly(int(rng.poisson(self.closures_per_day * (end - start) / DAY)), start, end, rng)

    def exactly(self, n: int, start: float, end: float, rng: np.random.Generator) -> list[Closure]:
        """As `closures`, but a given number of them.

        Args:
            n: How many closures begin.
            start: Seconds.
            end: Seconds.
            rng: The generator of times and lengths.
        """
        begins = np.sort(rng.uniform(start, end, n))
        lengths = rng.uniform(self.shortest, self.longest, n)
        joined: list[Closure] = []
        for begin, until in zip(begins.round().tolist(), (begins + lengths).round().tolist(), strict=True):
            if joined and begin <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(joined[-1][1], until))
            else:
                joined.append((begin, until))
        return joined

    def program(self, network: RoadNetwork, closures: list[Closure]) -> str:
        """The signal's program from time 0: green, and red while closed.

        Args:
            network: The network of the crossing.
            closures: When the crossing is closed.
        """
        lights = network.lights(self.node)
        phases, clock = [], 0.0
        for begin, until in closures:
            if begin > clock:
                phases.append((begin - clock, "G"))
            phases.append((until - begin, "r"))
            clock = until
        phases.append((OPEN_END - clock, "G"))
        rows = "".join(f'<phase duration="{seconds:.0f}" state="{light * lights}"/>' for seconds, light in phases)
        return f'<tlLogic id={quoteattr(self.node)} type="static" programID="crossing" offset="0">{rows}</tlLogic>'


@dataclass(frozen=True)
class Demand:
    """Background traffic: a Poisson process of trips, evenly over pairs of ends, or a file of the user's own.

    `Demand.read` takes a file by its path.

    Args:
        vehicles_per_hour: How many trips begin per hour.
        sigma: The driver imperfection of Krauss's model, in [0, 1].
        speed_deviation: The standard deviation of the speeds that drivers want, relative to the limit.
        crossing: A level crossing; None for none.
        file: The text of a .rou.xml; then there are no random trips.
    """

    vehicles_per_hour: float = 1200.0
    sigma: float = 0.5
    speed_deviation: float = 0.1
    crossing: Crossing | None = None
    file: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "vehicles_per_hour", positive("vehicles_per_hour", self.vehicles_per_hour))
        if self.file is not None:
            trips_of(self.file)

    @classmethod
    def read(cls, *paths: str | Path, **settings: Any) -> Demand:
        """Read the trips of one .rou.xml or .rou.xml.gz, or of several together.

        Args:
            *paths: The files.
            **settings: What else a `Demand` takes.
        """
        return cls(file=read_trips(paths), **settings)

    @cached_property
    def span(self) -> tuple[float, float]:
        """Seconds between which vehicles depart: without an end, unless a file says when."""
        trips = () if self.file is None else trips_of(self.file)
        spans = [span for trip in trips if (span := _departures(trip)) is not None]
        return (min(begin for begin, _ in spans), max(end for _, end in spans)) if spans else (0.0, math.inf)

    def types(self) -> str:
        """The kinds of vehicle; probes are driven like all others."""
        driver = f'sigma="{self.sigma}" speedFactor="normc(1,{self.speed_deviation},0.5,1.5)"'
        return f'<vType id="{CAR}" {driver}/><vType id="{PROBE}" {driver}/>'

    def trips(
        self, network: RoadNetwork, start: float, end: float, rng: np.random.Generator
    ) -> list[tuple[float, str]]:
        """Departures between two times, with the edges driven along.

        Args:
            network: The network.
            start: Seconds.
            end: Seconds.
            rng: The generator of the trips.
        """
        if self.file is not None:
            return []
        pairs = pairs_of(network)
        times = np.sort(rng.uniform(start, end, rng.poisson(self.vehicles_per_hour * (end - start) / 3600.0)))
        whose = rng.integers(len(pairs), size=times.size).tolist()
        picks = rng.random(times.size).tolist()
        found = []
        for time, pair, pick in zip(times.tolist(), whose, picks, strict=True):
            options = ways_of(network, *pairs[pair])
            found.append((time, options[int(pick * len(options))]))
        return found


@lru_cache(maxsize=8)
def pairs_of(network: RoadNetwork) -> list[tuple[str, str]]:
    """The pairs of ends between which cars can drive; of more than MOST_ENDS ends, every second, third ... is taken."""
    for nodes in (network.ends, tuple(network.neighbours)):  # where no two ends connect, traffic is between all nodes
        ends = nodes[:: -(-len(nodes) // MOST_ENDS)]
        pairs = [pair for pair in permutations(ends, 2) if network.connects(*pair)]
        if pairs:
            return pairs
    raise ValueError(f"background traffic needs two nodes that connect; {network!r} has none. Check the network.")


@lru_cache(maxsize=1 << 16)
def ways_of(network: RoadNetwork, source: str, target: str) -> tuple[str, ...]:
    """The routes that drivers of a pair choose among: of those that are as fast, the ones over fewer edges."""
    routes = network.routes(source, target, 2 * WAYS, SLOWER)
    known = sorted(routes, key=lambda route: (round(network.time(route.edges), DECIMALS), len(route.edges)))[:WAYS]
    return tuple(" ".join(route.edges) for route in routes if route in known)
