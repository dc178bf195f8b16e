"""How commands end: one sentence on standard error, and a code that a script can tell apart."""

from __future__ import annotations

import errno
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

FAILED, WRONG, INTERRUPTED = 1, 2, 130

FULL = (errno.ENOSPC, errno.EDQUOT)
CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)


def stop(sentence: str, code: int = WRONG) -> NoReturn:
    """End with a sentence."""
    typer.echo(f"error: {sentence}", err=True)
    raise typer.Exit(code)


def say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning as a user reads it: no line of code."""
    typer.echo(f"note: {message}", err=True)


class Commands(TyperGroup):
    """A group of commands in which what a user gave wrong ends in its own sentence, not in a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        with refusals():
            return super().invoke(ctx)


@contextmanager
def refusals() -> Iterator[None]:
    """End in a sentence what is a user's to mend."""
    try:
        yield
    except BrokenPipeError:  # a reader such as `head` has seen enough: the library of commands knows what to do
        raise
    except ValueError as error:
        stop(str(error))
    except OSError as error:
        stop(about_files(error), FAILED if error.errno in FULL else WRONG)
    except KeyboardInterrupt:
        stop("interrupted.", INTERRUPTED)


def about_files(error: OSError) -> str:
    """What the system says of a file, in a sentence that says what to do.

    >>> about_files(OSError(errno.ENOSPC, "No space left on device", "report.html"))
    'a disk must have room for what is written; that of report.html is full. Make room, and try again.'
    """
    name = "one" if error.filename is None else f"{error.filename}"
    if error.errno in FULL:
        where = "the one in use" if error.filename is None else f"that of {name}"
        return f"a disk must have room for what is written; {where} is full. Make room, and try again."
    if error.errno in CLOSED:
        return f"a file needs a place that allows it; {name} has none ({error.strerror}). Choose another."
    return f"a file must be there and readable; {name} is not ({error.strerror or error}). Check the path."


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Give an error of the system the name of the file that was being written, which it leaves out itself."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


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
