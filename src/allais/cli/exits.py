"""How commands end: one sentence on standard error, and a code that a script can tell apart."""

from __future__ import annotations

import errno
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from allais.errors import MissingExtra, RunFailed, ToolFailed

FAILED, WRONG, INTERRUPTED = 1, 2, 130

BREAK = r"\r?\n(?!  )|\r"  # of a line, unless the next one is indented
FULL = (errno.ENOSPC, errno.EDQUOT)
CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)
USAGE: Any = typer.BadParameter.__mro__[1]  # what typer raises about the words of a command; it has no other name there
FORMER = {"--jobs": "--workers", "--output": "--out", "--quick": "--scale quick"}  # options that had another name


def stop(sentence: str, code: int = WRONG) -> NoReturn:
    """End with a sentence; what is indented below it is a list, and stays one."""
    typer.echo(f"error: {re.sub(BREAK, ' ', sentence.strip())}", err=True)
    raise typer.Exit(code)


def say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning as a user reads it: no line of code."""
    typer.echo(f"note: {message}", err=True)


class Commands(TyperGroup):
    """A group of commands: whatever a user can mend ends in its own sentence, not in a traceback."""

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Read the arguments of the group itself."""
        with sentences():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        with sentences():
            return super().invoke(ctx)


@contextmanager
def sentences(kept: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Within: an error that has an ending ends the command; a failure or an interruption also says what is `kept`."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        ending = ending_of(error)
        if ending is None:
            raise
        more = kept() if isinstance(error, RunFailed | KeyboardInterrupt) else ""
        stop(f"{ending[0]} {more}".rstrip(), ending[1])


def ending_of(error: BaseException) -> tuple[str, int] | None:
    """The sentence and the exit code of an error; None for one that is ours, and shows its traceback.

    >>> ending_of(ValueError("delta must be below 1; got 2. Give a chance.")), ending_of(KeyError("x"))
    (('delta must be below 1; got 2. Give a chance.', 2), None)
    """
    if isinstance(error, BrokenPipeError):  # a reader such as `head` has seen enough: typer knows what to do
        return None
    if isinstance(error, Terminated):
        return f"ended by {error}.", error.code
    if isinstance(error, KeyboardInterrupt):
        return "interrupted.", INTERRUPTED
    if isinstance(error, USAGE):
        return about_usage(error)
    if isinstance(error, RunFailed):
        return str(error), FAILED
    if isinstance(error, ValueError | ToolFailed | MissingExtra):
        return str(error), WRONG
    if isinstance(error, BrokenExecutor):
        return "workers must live until their work is done; one died. Check the memory, or use --workers 1.", FAILED
    if isinstance(error, OSError):
        return about_files(error), FAILED if error.errno in FULL else WRONG
    return None


def about_usage(error: Any) -> tuple[str, int] | None:
    """What is wrong with the words of a command."""
    if type(error).__name__ == "NoArgsIsHelpError":  # it prints the help
        return None
    if type(error).__name__ == "NoSuchOption" and error.ctx is not None:
        return no_such_option(error.option_name, error.ctx), WRONG
    said = error.format_message()
    where = "" if error.ctx is None else f" See: {error.ctx.command_path} --help"
    return f"{said[:1].lower()}{said[1:].rstrip('.')}.{where}", WRONG


def no_such_option(name: str, ctx: Any) -> str:
    """The refusal of an option, with the one that was probably meant."""
    from allais.cli.reader import nearest

    known = [option for one in ctx.command.get_params(ctx) for option in one.opts if option.startswith("-")]
    now = FORMER.get(name, "")
    if now.partition(" ")[0] in known:
        return f"the option {name} has another name now: {now}. Write that instead."
    return f"there is no option {name!r}.{nearest(name, known)}"


def about_files(error: OSError) -> str:
    """What the system says about a file, in a sentence that says what to do.

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
