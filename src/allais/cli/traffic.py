"""`allais traffic`: record, compare, watch a learner, list routes of a network of your own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from allais.cli.exits import INTERRUPTED, stop
from allais.cli.places import made, require_writable

app = typer.Typer(help="Vehicular routing on Eclipse SUMO (Section VI).", no_args_is_help=True)

Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same delays, with the same version of SUMO.")]
Blocks = Annotated[int, typer.Option(help="Independent blocks of simulated hours.")]
Hours = Annotated[float, typer.Option(help="Simulated hours a block.")]
Jobs = Annotated[int, typer.Option(help="Processes; -1 is one a core.")]
Poisson = Annotated[bool, typer.Option("--poisson", help="Closures at random, instead of as many in every block.")]


@contextmanager
def _in_a_sentence() -> Iterator[None]:
    """What goes wrong is said in one sentence, without a traceback."""
    from allais.traffic.sumo import SumoError, SumoMissingError

    try:
        yield
    except (ValueError, SumoError, SumoMissingError) as error:
        stop(" ".join(str(error).split()))
    except OSError as error:
        stop(f"files must be readable and writable; {error.filename} is not ({error.strerror}). Check it.")
    except BrokenExecutor:
        stop("workers must live until their block is done; one died. Check the memory, or use --jobs 1.")
    except KeyboardInterrupt:
        stop("interrupted; what was not saved is lost.", INTERRUPTED)


@app.callback()
@_in_a_sentence()
def _needs_sumo() -> None:
    """Vehicular routing on Eclipse SUMO (Section VI)."""
    from allais.traffic import sumo

    sumo.program("sumo")


@app.command()
@_in_a_sentence()
def record(
    path: Annotated[Path, typer.Argument(help="The file to write, a .npz.")],
    seed: Seed = 1,
    blocks: Blocks = 15,
    hours: Hours = 6.0,
    jobs: Jobs = -1,
    poisson: Poisson = False,
) -> None:
    """Record delays of all twelve routes of the paper's network, and write them to one file.

    Example: `allais traffic record delays.npz --blocks 60 --poisson`
    """
    from allais.traffic.problem import grid_problem
    from allais.traffic.recording import record as recorded

    require_writable(path)
    recording = recorded(grid_problem("stream"), blocks, seed, hours, jobs, stratified=not poisson)
    recording.save(path)
    typer.echo(f"{recording!r} is in {path}")


@app.command()
@_in_a_sentence()
def run(
    recording: Annotated[Path | None, typer.Option(help="A file that `record` wrote; else one is recorded.")] = None,
    output: Annotated[Path | None, typer.Option(help="A folder for the report and the pictures.")] = None,
    seed: Seed = 1,
    blocks: Blocks = 15,
    jobs: Jobs = -1,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and shorter runs of the policies.")] = False,
) -> None:
    """The experiment: the table of routes, which route each policy settles on, and whether the findings hold.

    Examples:

    - `allais traffic run --quick --output traffic`
    - `allais traffic run --recording delays.npz`
    """
    from allais.traffic.experiment import Scale, study
    from allais.traffic.recording import Recording

    if output is not None:
        require_writable(made(output) / "traffic.md")
    sample = None if recording is None else Recording.load(recording)
    found = study(seed, Scale.quick() if quick else Scale(), jobs, sample, blocks)
    typer.echo(found.text)
    if output is not None:
        found.save(output)
        typer.echo(f"the report and the pictures are in {output}")


@app.command()
@_in_a_sentence()
def routes(
    network: Annotated[Path, typer.Argument(help="A network that netconvert or netgenerate wrote, NET.net.xml.")],
    source: Annotated[str, typer.Option("--from", help="The node where the traveller starts.")],
    target: Annotated[str, typer.Option("--to", help="The node where the traveller goes.")],
    k: Annotated[int, typer.Option(help="How many routes.")] = 10,
) -> None:
    """The k fastest simple routes of a network of your own, on empty roads.

    Example: `allais traffic routes town.net.xml --from A --to B --k 5`
    """
    from allais.traffic.network import RoadNetwork

    roads = RoadNetwork.read(network)
    for route in roads.routes(source, target, k):
        typer.echo(f"{route.name}  {roads.time(route.edges):7.1f} s  {'-'.join(route.nodes)}")


@app.command()
@_in_a_sentence()
def watch(
    days: Annotated[int, typer.Option(min=1, help="How many days to advise.")] = 60,
    seed: Seed = 1,
    recording: Annotated[
        Path | None, typer.Option(help="Draw delays from a recording; else SUMO is run every day.")
    ] = None,
    pause: Annotated[float, typer.Option(min=0.0, help="Seconds between two days.")] = 0.0,
) -> None:
    """A learner that advises day after day: the route, its delay, what the learner believes.

    Example: `allais traffic watch --days 100 --recording delays.npz --pause 0.1`
    """
    from allais.traffic.problem import grid_problem
    from allais.traffic.recording import Recording
    from allais.traffic.watch import watch as watched

    watched(grid_problem("fresh") if recording is None else Recording.load(recording).problem(), days, seed, pause)
