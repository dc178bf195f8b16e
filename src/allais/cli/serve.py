"""`allais serve`: the service, and what is done to its database from outside."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from allais._system.extras import extra
from allais.cli.options import Commands


class WithDefault(Commands):
    """A group whose first command is meant where none is named: `allais serve advisor.toml`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the first command if the arguments name none."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=WithDefault, help="""Serve experiments over HTTP, and keep the database of a service.

`allais serve advisor.toml` is short for `allais serve run advisor.toml`; see `allais serve run --help`.
""")  # fmt: skip

A_DATABASE = Annotated[str, typer.Option(help="A file, or postgresql://...")]
Settings = Annotated[Path | None, typer.Argument(help="A TOML file; without one, the usual settings.")]
DatabaseAddress = Annotated[
    str, typer.Option("--database", help="A file, or postgresql://...; instead of that of the settings.")
]


@app.command("run")
def serve_command(
    settings: Settings = None,
    database: DatabaseAddress = "",
    host: Annotated[str, typer.Option(help="The address to listen at; others than this machine need a proxy.")] = "",
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="The port to listen at; 0 for any that is free.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Serve this experiment and no others; may be repeated.")
    ] = None,
    log_requests: Annotated[bool, typer.Option("--log-requests", help="Write a line for every request.")] = False,
    log_json: Annotated[bool, typer.Option("--log-json", help="Write every line of the log as JSON.")] = False,
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
    with extra("serve", "the service"):
        from allais.serve.running import serve
        from allais.serve.settings_file import read_settings

    changes = {
        "database": database or None, "host": host or None, "port": port, "only": only or None,
        "request_log": log_requests or None, "log_format": "json" if log_json else None,
    }  # fmt: skip
    chosen = read_settings(settings).model_copy(update={name: to for name, to in changes.items() if to is not None})
    with tempfile.TemporaryDirectory(prefix="allais-demo-") as folder:
        if demo:
            from allais.serve.demo import NAME
            from allais.serve.demo import settings as of_demo

            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the server raises it again when it has ended
            place = database or str(Path(folder) / "demo.db")
            with_demo = {**chosen.experiments, NAME: of_demo()}
            chosen = chosen.model_copy(update={"database": place, "experiments": with_demo})
        serve(chosen, typer.echo, demo=demo)


@app.command("export")
def export_command(
    file: Annotated[Path, typer.Argument(help="A new file; compressed if its name ends with .gz.")],
    database: A_DATABASE = "advisor.db",
) -> None:
    """Write all that a service knows to one file: also while it runs, as of one moment.

    People, preferences, keys (their digests), experiments, decisions with the open ones, interviews, the audit trail.

    - `allais serve export advisor.jsonl.gz --database advisor.db`
    """
    with extra("serve", "the service"):
        from allais.serve.maintenance import export_to
        from allais.serve.store.database import Database

    with closing(Database(database)) as here:
        rows = export_to(here, file)
    typer.echo(f"Wrote {rows:,} rows to {file}")


@app.command("import")
def import_command(
    file: Annotated[Path, typer.Argument(help="A file that `allais serve export` wrote.")],
    database: A_DATABASE = "advisor.db",
) -> None:
    """Fill an empty database from an export: a service on it goes on where the other was.

    - `allais serve import advisor.jsonl.gz --database postgresql://me@localhost/advisor`
    """
    with extra("serve", "the service"):
        from allais.serve.maintenance import import_from
        from allais.serve.store.database import Database

    with closing(Database(database)) as there:
        rows = import_from(file, there)
    typer.echo(f"Read {rows:,} rows into {there.shown}")


key = typer.Typer(help="API keys, on the machine itself.", no_args_is_help=True)


@key.command("new")
def key_command(
    settings: Settings = None,
    database: DatabaseAddress = "",
    name: Annotated[str, typer.Option(help="What the key is for.")] = "console",
    scope: Annotated[
        list[str] | None, typer.Option(help="read, decide or manage; may be repeated. All, if it is left out.")
    ] = None,
    days: Annotated[float | None, typer.Option(help="Days after which it expires; never, if it is left out.")] = None,
    experiment: Annotated[
        list[str] | None, typer.Option(help="Open this experiment and no others; may be repeated.")
    ] = None,
) -> None:
    """Make an API key on the machine itself, with or without a server that runs: for a first key that was lost.

    Examples:

    - `allais serve key new advisor.toml`
    - `allais serve key new --database advisor.db --name shop --scope decide --experiment to-work --days 90`
    """
    with extra("serve", "the service"):
        from pydantic import ValidationError

        from allais.serve.maintenance import make_key
        from allais.serve.settings_file import sentence_of

    try:
        made = make_key(
            _address(settings, database), name, scope or ["read", "decide", "manage"], days, experiment or []
        )
    except ValidationError as error:
        raise ValueError(sentence_of(error.errors())) from None
    typer.echo(f"API key, shown this once: {made}")


def backup_command(
    to: Annotated[Path, typer.Argument(help="The file of the copy, which must not be there yet.")],
    settings: Settings = None,
    database: DatabaseAddress = "",
) -> None:
    """Copy an SQLite database, also while a server writes to it; `cp` would lose what is in the log beside it.

    Example: `allais serve backup copy.db advisor.toml`
    """
    with extra("serve", "the service"):
        from allais.serve.maintenance import back_up

    size = back_up(_address(settings, database), to)
    typer.echo(f"{to}: {size:,} bytes, whole and checked")


@app.command("check")
def check_command(
    settings: Annotated[Path, typer.Argument(help="The TOML file of a service.")],
    database: DatabaseAddress = "",
) -> None:
    """Check a service's file before a start: entries, policies, webhooks, the database. Nothing is changed.

    Example: `allais serve check advisor.toml`; the exit code is 2 if something is wrong.
    """
    with extra("serve", "the service"):
        from allais.serve.maintenance import check
        from allais.serve.settings_file import read_settings

    given = read_settings(settings)
    wrong = 0
    for right, sentence in check(given.model_copy(update={"database": database} if database else {})):
        typer.echo(f"{'ok   ' if right else 'WRONG'} {sentence}")
        wrong += not right
    if wrong:
        raise ValueError(f"{settings}: a start needs all of these; {wrong} {'is' if wrong == 1 else 'are'} wrong.")


def mcp_command(
    service: Annotated[str, typer.Option(help="The address of a service whose experiments may be read.")] = "",
    key_file: Annotated[
        Path | None, typer.Option(help="A file with the service's key; without it, the variable ALLAIS_KEY.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where the specs of searches are.")] = Path(),
    allow_writes: Annotated[
        bool, typer.Option("--allow-writes", help="Let assistants create and pause experiments, and run searches.")
    ] = False,
) -> None:
    """Answer assistants over MCP, on standard input and output: values, plans, experiments, verdicts.

    Without --allow-writes nothing is changed, and no search is run: a search runs the program that its spec names.

    Examples:

    - `allais mcp`
    - `ALLAIS_KEY=alk_... allais mcp --service https://advisor.example.org`
    - `allais mcp --folder searches --allow-writes`
    """
    with extra("mcp", "an MCP server"):
        from allais.mcp import make_server

    key = os.environ.get("ALLAIS_KEY", "")
    if key_file is not None:
        try:
            key = key_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"--key-file is a file with a key; {key_file} cannot be read ({error}).") from None
    if service and not key:
        raise ValueError("a service is called with a key; got none. Set ALLAIS_KEY, or give --key-file.")
    if not folder.is_dir():
        raise ValueError(f"--folder is a folder of specs; {folder} is none. Make it, or name another.")
    make_server(service or None, key, folder, allow_writes=allow_writes).run()


def _address(settings: Path | None, database: str) -> str:
    """The database that a command names, or else that of the settings."""
    from allais.serve.settings_file import read_settings

    return database or read_settings(settings).database
