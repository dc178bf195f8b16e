"""`allais traffic`: record, compare, watch a learner, list routes of a network of your own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allais._system.extras import extra
from allais.cli import options
from allais.cli.options import Commands, Scale, Seed, Workers, taking
from allais.preferences.named import weight_of

if TYPE_CHECKING:
    from allais.traffic import RoadNetwork, Route, TrafficProblem
    from allais.traffic.problem import Way

PLACES = "a node, an edge, x,y in metres, or lon,lat where the network has a projection"
OWN_HOURS, OWN_SPACING = 1.0, 60.0  # of a recording on a network that is not the paper's

app = typer.Typer(cls=Commands, help="Vehicular routing on Eclipse SUMO (Section VI).", no_args_is_help=True)

Blocks = Annotated[int, typer.Option(help="Independent blocks of simulated hours.")]
Hours = Annotated[
    float | None,
    typer.Option(help="Simulated hours per block; else 6, and 1 on a network of your own or what its demand has."),
]
Routes = Annotated[int, typer.Option(help="How many routes.")]
Slower = Annotated[float, typer.Option(help="Leave out routes that take more than this many times the fastest.")]


@dataclass(frozen=True)
class Journey:
    """A traveller's routes from one place to another, and the other traffic: the paper's, or the user's own."""

    network: Annotated[Path | None, typer.Option("--network", help="Your own NET.net.xml; else the paper's grid.")] = (
        None
    )
    source: Annotated[str | None, typer.Option("--from", help=f"Where the traveller starts: {PLACES}.")] = None
    target: Annotated[str | None, typer.Option("--to", help="Where the traveller goes.")] = None
    k: Routes = 6
    slower: Slower = 3.0
    demand: Annotated[
        list[Path] | None, typer.Option("--demand", help="Your own trips, a .rou.xml; may be repeated.")
    ] = None
    vehicles_per_hour: Annotated[
        float, typer.Option(help="Random trips per hour on the whole network, without --demand.")
    ] = 1200.0

    def problem(self, way: Way) -> TrafficProblem:
        """The routes as arms."""
        from allais.traffic import Demand, RoadNetwork, TrafficProblem, grid_problem

        if self.network is None:
            if self.source is not None or self.target is not None or self.demand:
                raise ValueError("places and a demand need a network of your own; got none. Add --network NET.net.xml.")
            return grid_problem(way, vehicles_per_hour=self.vehicles_per_hour)
        if self.source is None or self.target is None:
            raise ValueError("a traveller goes from one place to another; one is missing. Add --from A --to B.")
        roads = RoadNetwork.read(self.network)
        others = Demand.read(*self.demand) if self.demand else Demand(vehicles_per_hour=self.vehicles_per_hour)
        choices = _found(roads, self.source, self.target, self.k, self.slower)
        if len(choices) == 1:
            raise ValueError(
                f"there must be two routes to choose from; only one leads from {self.source!r} to {self.target!r} in "
                f"at most {self.slower:g} times the fastest. Choose other places, or allow more with --slower."
            )
        return TrafficProblem(roads, choices, others, way)


@app.callback()
def _needs_sumo() -> None:
    """Vehicular routing on Eclipse SUMO (Section VI)."""
    from allais.traffic import sumo

    sumo.program("sumo")


@app.command()
def routes(
    network: Annotated[Path, typer.Argument(help="A network that netconvert or netgenerate wrote, NET.net.xml.")],
    source: Annotated[str, typer.Option("--from", help=f"Where the traveller starts: {PLACES}.")],
    target: Annotated[str, typer.Option("--to", help="Where the traveller goes.")],
    k: Routes = 10,
    slower: Slower = 3.0,
) -> None:
    """The k fastest routes of a network of your own, on empty roads, that pass no node twice.

    Examples:

    - `allais traffic routes town.net.xml --from A --to B --k 5`
    - `allais traffic routes berlin.net.xml.gz --from 13.59,52.31 --to 13.60,52.29`
    """
    from allais.traffic.network import RoadNetwork

    roads = RoadNetwork.read(network)
    for route in _found(roads, source, target, k, slower):
        taken, metres = roads.time(route.edges), roads.length(route.edges)
        typer.echo(f"{route.name:<4}{taken:7.1f} s {metres / 1000.0:6.2f} km  {'-'.join(route.nodes)}")


@app.command()
@taking(Journey)
def record(
    journey: Journey,
    path: Annotated[Path, typer.Argument(help="The file to write, a .npz.")],
    seed: Seed = 1,
    blocks: Blocks = 15,
    hours: Hours = None,
    spacing: Annotated[
        float | None, typer.Option(help="Seconds between two probes; else 13.5, and 60 on a network of your own.")
    ] = None,
    workers: Workers = -1,
    poisson: Annotated[
        bool, typer.Option("--poisson", help="Closures at random, instead of as many in every block.")
    ] = False,
) -> None:
    """Record delays of all routes, of the paper's network or of your own, and write them to one file.

    Examples:

    - `allais traffic record delays.npz --blocks 60 --poisson`
    - `allais traffic record delays.npz --network town.net.xml --from A --to B --demand town.rou.xml`
    """
    from allais.traffic.recording import SPACING
    from allais.traffic.recording import record as recorded

    at_once = options.counted(workers)
    path = path.absolute()
    options.require_writable(path)
    problem = journey.problem("stream")
    own = journey.network is not None
    if hours is None:
        hours = min(OWN_HOURS, problem.clock.room / 3600.0) if own else 6.0
    if spacing is None:
        spacing = OWN_SPACING if own else SPACING
    recording = recorded(problem, blocks, seed, hours, at_once, stratified=not (poisson or own), spacing=spacing)
    recording.save(path)
    typer.echo(f"{recording!r} is in {path}.")


@app.command()
def prefer(
    recording: Annotated[Path, typer.Argument(help="A file that `record` wrote.")],
    weight: Annotated[str, typer.Option(help="tk:ETA, or another that `allais value` takes.")] = "tk:0.61",
    reference: Annotated[
        float | None, typer.Option(help="The delay that is neither gain nor loss; else the mean over all routes.")
    ] = None,
    incident: Annotated[
        list[str] | None,
        typer.Option(help="PLACE:PER_DAY:SHORTEST-LONGEST, in minutes: a node or an edge that is blocked at random."),
    ] = None,
    seed: Seed = 1,
    plot: Annotated[Path | None, typer.Option(help="Write a map here, a picture; with --network.")] = None,
    network: Annotated[Path | None, typer.Option("--network", help="Your own NET.net.xml, for the map.")] = None,
) -> None:
    """The route that people prefer and the one that is the fastest on average, by a recording.

    Examples:

    - `allais traffic prefer delays.npz --weight prelec:0.65`
    - `allais traffic prefer delays.npz --incident B1:4:8-12 --plot map.png --network town.net.xml`: what if B1 is
      blocked four times a day, for 8 to 12 minutes
    """
    from allais.traffic import Incident, RoadNetwork, grid_network
    from allais.traffic.recording import Recording
    from allais.traffic.report import HIGH, WIDE, draw_preferred, preferred, require_recorded

    kept, incidents = Recording.load(recording), [Incident.of(one) for one in incident or ()]
    roads = None
    if plot is not None:
        options.require_picture(plot.absolute())
        roads = grid_network() if network is None else RoadNetwork.read(network)
        require_recorded(roads, kept)
    if incidents:
        kept = kept.with_incidents(*incidents, seed=seed)
        for one in incidents:
            if all(one.road_of(route) is not None for route in kept.routes):
                options.say_warning(
                    f"every route passes {one.place!r}, so incidents there hardly change which one is better."
                )
    found = preferred(kept, weight_of(weight), reference)
    out = options.console()
    out.print(found.view())
    out.print(found.sentence, markup=False, highlight=False, soft_wrap=True)
    if plot is not None and roads is not None:
        with extra("plot", "a map"):
            from matplotlib.figure import Figure
        figure = Figure(figsize=(WIDE, HIGH), layout="constrained")
        draw_preferred(figure.subplots(), roads, found)
        figure.savefig(plot, dpi=110)
        typer.echo(f"The map is in {plot}.")


@app.command()
def run(
    recording: Annotated[Path | None, typer.Option(help="A file that `record` wrote; else one is recorded.")] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for the report and the pictures.")] = None,
    seed: Seed = 1,
    blocks: Blocks = 15,
    workers: Workers = -1,
    scale: Scale = "full",
) -> None:
    """The experiment: the table of routes, which route each policy ends on, and whether that is as it should be.

    Examples:

    - `allais traffic run --scale quick --out traffic`
    - `allais traffic run --recording delays.npz`
    """
    from allais.traffic.recording import Recording
    from allais.traffic.study import Scale as Played
    from allais.traffic.study import study

    options.require_scale(scale)
    at_once = options.counted(workers)
    if out is not None:
        out = out.absolute()
        options.require_picture(options.made(out) / "traffic-map.png")
    sample = None if recording is None else Recording.load(recording)
    found = study(seed, Played.quick() if scale == "quick" else Played(), at_once, sample, blocks)
    typer.echo(found.text)
    if out is not None:
        found.save(out)
        typer.echo(f"The report and the pictures are in {out}.")


@app.command()
@taking(Journey)
def watch(
    journey: Journey,
    days: Annotated[int, typer.Option(min=1, help="How many days to advise.")] = 60,
    seed: Seed = 1,
    recording: Annotated[
        Path | None, typer.Option(help="Draw delays from a recording; else SUMO is run every day.")
    ] = None,
    pause: Annotated[float, typer.Option(min=0.0, help="Seconds between two days.")] = 0.0,
) -> None:
    """A learner that advises day after day: the route, its delay, what the learner believes.

    Examples:

    - `allais traffic watch --days 100 --recording delays.npz --pause 0.1`
    - `allais traffic watch --network town.net.xml --from A --to B`
    """
    from allais.traffic.play import USUAL
    from allais.traffic.play import watch as watched
    from allais.traffic.recording import Recording

    if recording is not None:
        if journey.network is not None:
            raise ValueError("delays come from a recording or from a network; got both. Leave one out.")
        kept = Recording.load(recording)
        watched(kept.problem(), days, seed, pause, usual=kept.baseline)
        return
    problem = journey.problem("stream" if journey.demand else "fresh")
    usual = USUAL if journey.network is None else problem.network.time(problem.routes[-1].edges)
    watched(problem, days, seed, pause, usual=usual)


def _found(network: RoadNetwork, source: str, target: str, k: int, slower: float) -> tuple[Route, ...]:
    """The routes between two places, with a word on what was understood and what was not found."""
    choices = network.routes(source, target, k, slower)
    for where, place in ((source, network.place(source)), (target, network.place(target, leaving=False))):
        if place.name != where:
            options.say_warning(f"{where} is next to node {place.name!r}, {place.away:.0f} m away.")
    if len(choices) < k:
        number = "only one route leads" if len(choices) == 1 else f"only {len(choices)} routes lead"
        options.say_warning(f"{number} there in at most {slower:g} times the fastest; {k} were asked for.")
    return choices
