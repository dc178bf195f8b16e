"""Send probes through a simulation and measure their delays; those that fail are counted, and never imputed."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.samples.cuts import CensoredSample
from allais.traffic import sumo
from allais.traffic.demand import CAR, PROBE, Closure, Demand, until
from allais.traffic.network import RoadNetwork, Route

PATIENCE = 7200.0  # seconds after which a probe is given up
BEHIND = 1200.0  # seconds that others go on departing after the last probe, so that it meets as many as the rest
TELEPORTED = re.compile(rf"[Tt]eleporting vehicle '({re.escape(PROBE)}[^']*)'")


@dataclass(frozen=True, eq=False)
class Passages:
    """What became of probes, in the order in which they were sent."""

    route: IntArray  # (probes,)
    delay: FloatArray  # seconds from wanting to leave to arriving; NaN where a probe failed
    edge_times: tuple[tuple[float, ...], ...]  # seconds on each edge of the route; empty where a probe failed
    teleported: int  # probes that SUMO teleported out of a jam: their delays would be wrong
    lost: int  # probes that took more than PATIENCE seconds, or never arrived
    at_least: FloatArray  # of probes that were lost: the seconds that they had been under way; NaN elsewhere, (probes,)

    @property
    def arrived(self) -> IntArray:
        """The probes with a delay."""
        return np.flatnonzero(np.isfinite(self.delay))

    def sample(self, route: int) -> CensoredSample:
        """The delays along a route, with probes that had not arrived at the end: each takes at least so long.

        Args:
            route: The number of the route.
        """
        mine = self.route == route
        return CensoredSample(
            self.delay[mine & np.isfinite(self.delay)], at_least=self.at_least[mine & np.isfinite(self.at_least)]
        )


def send(
    network: RoadNetwork,
    demand: Demand,
    routes: Sequence[Route],
    probes: Sequence[tuple[float, int]],
    rng: np.random.Generator,
    *,
    begin: float = 0.0,
    closures: Sequence[Closure] = (),
    state: str | None = None,
    patience: float = PATIENCE,
) -> Passages:
    """One run of SUMO from `begin`, or from the text of a saved state of that time, until every vehicle has arrived.

    `probes` are departure times and numbers of routes, ascending in time. The run ends `patience` after the last
    departure at the latest, whatever has jammed; a probe that takes longer than that is lost.
    """
    with tempfile.TemporaryDirectory(prefix="allais-traffic-") as name:
        folder = Path(name)
        options = prepare(folder, network, demand, routes, probes, rng, begin, closures, state is None)
        options += ["--begin", f"{begin:.0f}", "--end", f"{probes[-1][0] + patience:.0f}"]
        if state is not None:
            (folder / "state.xml").write_text(state, encoding="utf-8")
            options += ["--load-state", str(folder / "state.xml")]
        written = folder / "passages.xml"
        options += ["--vehroute-output", str(written), "--vehroute-output.exit-times", "true"]
        options += ["--device.vehroute.probability", "0"]
        warned = sumo.run("sumo", options)
        return _read(written, probes, set(TELEPORTED.findall(warned)), patience)


def prepare(
    folder: Path,
    network: RoadNetwork,
    demand: Demand,
    routes: Sequence[Route],
    probes: Sequence[tuple[float, int]],
    rng: np.random.Generator,
    begin: float,
    closures: Sequence[Closure],
    with_types: bool,
) -> list[str]:
    """Write the files of a run; the options that name them."""
    (folder / "net.xml").write_text(network.content, encoding="utf-8")
    end = probes[-1][0] + max(BEHIND, 2.0 * longest_time(network, routes))
    cars = [
        (time, f'<vehicle id="{CAR}{begin:.0f}.{k}" type="{CAR}" depart="{time:.2f}" departLane="best" '
         f'departSpeed="max"><route edges={quoteattr(edges)}/></vehicle>')
        for k, (time, edges) in enumerate(demand.trips(network, begin, end, rng))
    ]  # fmt: skip
    cars += [
        (time, f'<vehicle id="{PROBE}{k}" type="{PROBE}" depart="{time:.2f}" departLane="best" departSpeed="max">'
         f'<param key="has.vehroute.device" value="true"/>'
         f'<route edges={quoteattr(" ".join(routes[route].edges))}/></vehicle>')
        for k, (time, route) in enumerate(probes)
    ]  # fmt: skip
    rows = "\n".join(row for _, row in sorted(cars))
    types = demand.types() if with_types else ""
    (folder / "traffic.rou.xml").write_text(f"<routes>{types}\n{rows}\n</routes>", encoding="utf-8")
    options = ["--net-file", str(folder / "net.xml"), "--route-files", str(folder / "traffic.rou.xml")]
    if demand.file is not None:
        (folder / "own.rou.xml").write_text(until(demand.file, end), encoding="utf-8")
        options[-1] += f",{folder / 'own.rou.xml'}"
        options += ["--route-steps", "0"]  # read at once: else SUMO leaves out what is not sorted by departure
    if demand.crossing is not None:
        program = demand.crossing.program(network, list(closures))
        (folder / "crossing.xml").write_text(f"<additional>{program}</additional>", encoding="utf-8")
        options += ["--additional-files", str(folder / "crossing.xml")]
    return [
        *options,
        *("--seed", str(int(rng.integers(2**31 - 1)))),
        *("--time-to-teleport", "-1"),  # teleports cut delays off
        *("--no-step-log", "true", "--xml-validation", "never"),
    ]


def longest_time(network: RoadNetwork, routes: Sequence[Route]) -> float:
    """Seconds along the slowest of some routes on empty roads."""
    return max(network.time(route.edges) for route in routes)


def _read(path: Path, probes: Sequence[tuple[float, int]], teleported: set[str], patience: float) -> Passages:
    departure = np.array([time for time, _ in probes])
    delay = np.full(len(probes), np.nan)
    edge_times: list[tuple[float, ...]] = [() for _ in probes]
    for element in ElementTree.parse(path).getroot().iter("vehicle"):
        name = element.attrib["id"]
        if not name.startswith(PROBE) or name in teleported:
            continue
        k = int(name.removeprefix(PROBE))
        route = element.find("route")
        assert route is not None
        spent = float(element.attrib["arrival"]) - departure[k]
        if spent > patience:  # one that left early had more time than the last
            continue
        delay[k] = spent
        exits = [departure[k], *map(float, route.attrib["exitTimes"].split())]
        edge_times[k] = tuple(np.diff(exits).tolist())
    missing = int(np.isnan(delay).sum())
    moved = np.array([f"{PROBE}{k}" in teleported for k in range(len(probes))])
    return Passages(
        np.array([route for _, route in probes]), delay, tuple(edge_times),
        len(teleported), missing - len(teleported), np.where(np.isnan(delay) & ~moved, patience, np.nan),
    )  # fmt: skip
