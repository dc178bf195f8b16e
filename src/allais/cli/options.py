"""What commands share: options with one name, one meaning and one help, and how a command ends.

An error is one sentence on standard error, with a code that a script can tell apart.
"""

from __future__ import annotations

import errno
import functools
import inspect
import re
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from typer.core import TyperGroup

from allais._checks import nearest
from allais._system.extras import extra
from allais.errors import MissingExtra, RunFailed, ToolFailed

Workers = Annotated[int, typer.Option(help="How many runs or experiments at the same time; -1 means one per core.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")]
Plot = Annotated[Path | None, typer.Option(help="Draw the picture into this file (.png, .svg, .pdf).")]
Costs = Annotated[bool, typer.Option("--costs", help="Outcomes are costs: less is better.")]
Reference = Annotated[float, typer.Option(help="The outcome that is neither a gain nor a loss.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue after an interruption, from the results on disk.")]
Scale = Annotated[str, typer.Option(help="quick (minutes) or full (as large as the paper's, or larger).")]


def taking(kind: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of a dataclass as options beside its own; its first argument is then such an object."""
    shared = list(inspect.signature(kind, eval_str=True).parameters.values())

    def with_fields(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        listed = sorted([*own, *shared], key=lambda one: one.default is not inspect.Parameter.empty)

        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            command(kind(**{one.name: given.pop(one.name) for one in shared}), **given)

        wrapped.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]  # which typer reads
        wrapped.__annotations__ = {one.name: one.annotation for one in listed}
        return wrapped

    return with_fields


def counted(workers: int) -> int:
    """The number of workers: -1 is one per core."""
    require_workers(workers)
    from allais.simulation.simulate import workers as available

    return available(workers)


def require_workers(workers: int) -> None:
    """Refuse an invalid number of workers."""
    if workers < 1 and workers != -1:
        raise ValueError(f"--workers must be 1 or more, or -1 for every core; got {workers}. Give another number.")


def require_scale(scale: str) -> None:
    """Refuse an unknown scale."""
    from allais.paper.experiments import SCALES

    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}; got {scale!r}. Choose one.")


WIDTH = 132  # where there is no terminal to ask: rich would squeeze tables into 80 columns


def console() -> Console:
    """A console as wide as the terminal; for a file, wide enough for tables."""
    found = Console()
    return found if found.is_terminal else Console(width=WIDTH)


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
    """Within: an error that users can mend ends the command with its sentence; a failure also says what is `kept`."""
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
        return "a worker process died, perhaps for lack of memory. Free some, or use --workers 1.", FAILED
    if isinstance(error, OSError):
        return about_files(error), FAILED if error.errno in FULL else WRONG
    return None


def about_usage(error: Any) -> tuple[str, int] | None:
    """The sentence about a mistake in the arguments of a command, and its exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":  # it prints the help
        return None
    if type(error).__name__ == "NoSuchOption" and error.ctx is not None:
        return no_such_option(error.option_name, error.ctx), WRONG
    said = error.format_message()
    where = "" if error.ctx is None else f" See: {error.ctx.command_path} --help"
    return f"{said[:1].lower()}{said[1:].rstrip('.')}.{where}", WRONG


def no_such_option(name: str, ctx: Any) -> str:
    """The refusal of an option, with the one that was probably meant."""
    known = [option for one in ctx.command.get_params(ctx) for option in one.opts if option.startswith("-")]
    now = FORMER.get(name, "")
    if now.partition(" ")[0] in known:
        return f"the option {name} is now called {now}. Write that instead."
    return f"there is no option {name!r}.{nearest(name, known)}"


def about_files(error: OSError) -> str:
    """What the system says about a file, in a sentence that says what to do.

    >>> about_files(OSError(errno.ENOSPC, "No space left on device", "report.html"))
    'the disk of report.html is full. Free some space, and try again.'
    """
    name = "a file" if error.filename is None else f"{error.filename}"
    if error.errno in FULL:
        where = "" if error.filename is None else f" of {name}"
        return f"the disk{where} is full. Free some space, and try again."
    if error.errno in CLOSED:
        return f"{name} cannot be written or read ({error.strerror}). Choose another place, or change its permissions."
    return f"{name} cannot be opened ({error.strerror or error}). Check the path."


@contextmanager
def writing(path: Path, what: str = "") -> Iterator[None]:
    """Within, a file is written: say where it is, and give an error of the system its name if it has none."""
    try:
        yield
        if what:
            typer.echo(f"The {what} is in {path}.")
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


def two_numbers(option: str, text: str, example: str) -> tuple[float, float]:
    """The least and the greatest number of an option."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(
            f"{option} are two numbers, the least and the greatest; got {text!r}. Write {example}."
        ) from None
    return low, high


PICTURES = (".png", ".svg", ".pdf")


def require_writable(path: Path | None) -> None:
    """Refuse a file that cannot be written; None means that none is wanted."""
    if path is None:
        return
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file. Name a file in it.")
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: its folder does not exist. Make {path.parent} first.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ValueError(f"the folder {path.parent} cannot be written to ({error.strerror}). Choose another.") from None


def require_picture(path: Path | None) -> None:
    """Refuse a picture that cannot be written; None means that none is wanted."""
    if path is None:
        return
    if path.suffix.lower() not in PICTURES:
        raise ValueError(f"a picture ends in {', '.join(PICTURES)}; got {path}. Rename it.")
    require_writable(path)
    with extra("plot", "a picture"):
        import matplotlib  # noqa: F401


def made(folder: Path) -> Path:
    """The folder, made if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{folder} cannot be made a folder ({error.strerror}). Choose another.") from None
    return folder
