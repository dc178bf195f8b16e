"""`allais warm`: compile ahead."""

from __future__ import annotations

import time
from typing import Annotated

import typer


def warm_command(
    policies: Annotated[list[str] | None, typer.Argument(help="NPTS, TopTwo, ...; all if none is named.")] = None,
) -> None:
    """Compile what policies and interviews need for this machine, once, so that no first use has to.

    Examples:

    - `allais warm`
    - `allais warm NPTS TopTwo`
    """
    from allais._kernels import CACHE
    from allais.people.warming import warm_interview
    from allais.simulation.warm import warm

    def told(name: str, seconds: float) -> None:
        typer.echo(f"{name:20}{seconds:6.1f} s")

    warm(policies or [], told)
    if not policies:
        begin = time.perf_counter()
        warm_interview()
        told("Interview", time.perf_counter() - begin)
    typer.echo(f"Compiled code is in {CACHE}. The folder may be deleted at any time.")
