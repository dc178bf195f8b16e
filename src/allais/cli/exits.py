"""How commands end: one sentence on standard error, and a code that a script can tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

FAILED, WRONG, INTERRUPTED = 1, 2, 130


def stop(sentence: str, code: int = WRONG) -> NoReturn:
    """End with a sentence."""
    typer.echo(f"error: {sentence}", err=True)
    raise typer.Exit(code)


def say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning as a user reads it: no line of code."""
    typer.echo(f"note: {message}", err=True)


@contextmanager
def refusals() -> Iterator[None]:
    """What a user gave wrong ends in its own sentence, not in a traceback."""
    try:
        yield
    except ValueError as error:
        stop(str(error))
    except OSError as error:
        stop(f"{error.strerror or error}: {error.filename or 'a file'}. Check the path and its rights.")
