"""`allais traffic`: record, compare, watch a learner, list routes of a network of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from allais.traffic import sumo

app = typer.Typer(help="Vehicular routing on Eclipse SUMO (Section VI).", no_args_is_help=True)

Seed = Annotated[int, typer.Option(help="The same seed gives the same delays, with the same version of SUMO.")]
Blocks = Annotated[int, typer.Option(help="Independent blocks of simulated hours.")]
Hours = Annotated[float, typer.Option(help="Simulated hours a block.")]
Jobs = Annotated[int, typer.Option(help="Processes; -1 is one a core.")]
Poisson = Annotated[bool, typer.Option(help="Closures at random, instead of as many in every block.")]


@app.callback()
def _needs_sumo() -> None:
    if not sumo.is_installed():
        typer.echo("traffic needs Eclipse SUMO, which is not installed; run: pip install 'allais[traffic]'", err=True)
        raise typer.Exit(2)


@app.command()
def record(
    path: Annotated[Path, typer.Argument(help="The file to write, a .npz.")],
    seed: Seed = 1,
    blocks: Blocks = 15,
    hours: Hours = 6.0,
    jobs: Jobs = -1,
    poisson: Poisson = False,
) -> None:
    """Record delays of all twelve routes of the paper's network, and write them to one file."""
    from allais.traffic.problem import grid_problem
    from allais.traffic.recording import record as recorded

    recording = recorded(grid_problem("stream"), blocks, seed, hours, jobs, stratified=not poisson)
    recording.save(path)
    typer.echo(f"{recording!r} is in {path}")


@app.command()
def run(
    recording: Annotated[Path | None, typer.Option(help="A file that `record` wrote; else one is recorded.")] = None,
    output: Annotated[Path | None, typer.Option(help="A folder for the report and the pictures.")] = None,
    seed: Seed = 1,
    blocks: Blocks = 15,
    jobs: Jobs = -1,
    quick: Annotated[bool, typer.Option(help="Fewer and shorter runs of the policies.")] = False,
) -> None:
    """The experiment: the table of routes, and which route each policy settles on."""
    from allais.traffic import experiment
    from allais.traffic.figures import histograms, maps
    from allais.traffic.grid import grid_network
    from allais.traffic.problem import grid_problem
    from allais.traffic.recording import Recording
    from allais.traffic.recording import record as recorded
    from allais.traffic.text import report

    if recording is None:
        sample = recorded(grid_problem("stream"), blocks, seed, n_jobs=jobs, stratified=True)
    else:
        sample = Recording.load(recording)
    scale = experiment.Scale.quick() if quick else experiment.Scale()
    found = experiment.run(sample, scale, seed)
    text = report(found)
    typer.echo(text)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        (output / "traffic.md").write_text(text, encoding="utf-8")
        maps(grid_network(), sample, found.table, output / "traffic-map.png")
        histograms(sample, output / "traffic-delays.png")
        typer.echo(f"the report and the pictures are in {output}")


@app.command()
def routes(
    network: Annotated[Path, typer.Argument(help="A network that netconvert or netgenerate wrote, NET.net.xml.")],
    source: Annotated[str, typer.Option("--from", help="The node where the traveller starts.")],
    target: Annotated[str, typer.Option("--to", help="The node where the traveller goes.")],
    k: Annotated[int, typer.Option(help="How many routes.")] = 10,
) -> None:
    """The k fastest simple routes of a network of your own, on empty roads."""
    from allais.traffic.network import RoadNetwork

    try:
        roads = RoadNetwork.read(network)
        for route in roads.routes(source, target, k):
            typer.echo(f"{route.name}  {roads.time(route.edges):7.1f} s  {'-'.join(route.nodes)}")
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


@app.command()
def watch(
    days: Annotated[int, typer.Option(help="How many days to advise.")] = 60,
    seed: Seed = 1,
    recording: Annotated[
        Path | None, typer.Option(help="Draw delays from a recording; else SUMO is run every day.")
    ] = None,
    pause: Annotated[float, typer.Option(help="Seconds between two days.")] = 0.0,
) -> None:
    """A learner that advises day after day: the route, its delay, what the learner believes."""
    from allais.traffic.watch import watch as watched

    watched(days, seed, recording, pause)
