"""`allais serve`: the service."""

from __future__ import annotations

import signal
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer


def serve_command(
    settings: Annotated[Path | None, typer.Argument(help="A TOML file; without one, the usual settings.")] = None,
    database: Annotated[str, typer.Option(help="A file, or postgresql://...; instead of that of the settings.")] = "",
    host: Annotated[str, typer.Option(help="The address to listen at; others than this machine need a proxy.")] = "",
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="The port to listen at; 0 for any that is free.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Serve this experiment and no others; may be repeated.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Travellers past a level crossing, to look at; kept only with --database.")
    ] = False,
) -> None:
    """Serve experiments over HTTP: decide, reward, many people, nothing lost.

    Examples:

    - `allais serve advisor.toml`
    - `allais serve --demo`
    - `allais serve --database postgresql://me@localhost/advisor`
    """
    from allais._system.extras import extra

    with extra("serve", "the service"):
        from allais.serve.running import serve
        from allais.serve.settings_file import read_settings

    changes = {"database": database or None, "host": host or None, "port": port, "only": only or None}
    chosen = read_settings(settings).model_copy(update={name: to for name, to in changes.items() if to is not None})
    with tempfile.TemporaryDirectory(prefix="allais-demo-") as folder:
        if demo:
            from allais.serve.demo import NAME
            from allais.serve.demo import settings as of_demo

            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the server raises it again when it has ended
            place = database or str(Path(folder) / "demo.db")
            with_demo = {**chosen.experiments, NAME: of_demo()}
            chosen = chosen.model_copy(update={"database": place, "experiments": with_demo})
        serve(chosen, lambda line: typer.echo(line), demo=demo)
