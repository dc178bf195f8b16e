"""`allais serve key` and `allais serve backup`: what is done on the machine itself, beside a server or without one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Settings = Annotated[Path | None, typer.Argument(help="A TOML file; without one, the usual settings.")]
DatabaseAddress = Annotated[
    str, typer.Option("--database", help="A file, or postgresql://...; instead of that of the settings.")
]
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
    from allais._system.extras import extra

    with extra("serve", "the service"):
        from pydantic import ValidationError

        from allais.serve.offline import make_key
        from allais.serve.settings_file import sentence_of

    try:
        made = make_key(
            _address(settings, database), name, scope or ["read", "decide", "manage"], days, experiment or []
        )
    except ValidationError as error:
        raise ValueError(sentence_of(error)) from None
    typer.echo(f"API key, shown this once: {made}")


def backup_command(
    to: Annotated[Path, typer.Argument(help="The file of the copy, which must not be there yet.")],
    settings: Settings = None,
    database: DatabaseAddress = "",
) -> None:
    """Copy an SQLite database, also while a server writes to it; `cp` would lose what is in the log beside it.

    Example: `allais serve backup copy.db advisor.toml`
    """
    from allais._system.extras import extra

    with extra("serve", "the service"):
        from allais.serve.offline import back_up

    size = back_up(_address(settings, database), to)
    typer.echo(f"{to}: {size:,} bytes, whole and checked")


def _address(settings: Path | None, database: str) -> str:
    """The database of a command that is given as the service's is."""
    from allais.serve.settings_file import read_settings

    return database or read_settings(settings).database
