"""How commands end: one sentence on standard error, and a code that a script can tell apart."""

from __future__ import annotations

import signal
import threading
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


class Terminated(KeyboardInterrupt):
    """A signal asked the command to end, as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = 128 + number  # as a shell says it


@contextmanager
def terminations() -> Iterator[None]:
    """Within: a signal to end is an interruption, so that what was started is ended and what was done is kept."""

    def handle(number: int, _: Any) -> None:
        signal.signal(number, signal.SIG_DFL)  # the second one ends at once
        raise Terminated(number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]  # nohup ignores one
    if threading.current_thread() is not threading.main_thread():
        ours = []
    for number in ours:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
