"""A problem around any program that simulates one outcome and prints it."""

from __future__ import annotations

import json
import math
import os
import selectors
import shlex
import signal
import string
import subprocess
import time
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from allais._checks import FloatArray, brief, positive
from allais._system.guard import end_group, end_marked
from allais._system.processes import guard, marked_environment
from allais.errors import RunCut, RunFailed
from allais.problems.base import Arms, OneByOne, Problem
from allais.problems.options import Option, settings_of, written

MOST_KEPT = 1 << 16  # bytes at the end of an output: a program may print without limit
LONGEST_WAIT = 3600.0  # seconds that every selector accepts


class Output:
    """The end of what a program printed."""

    def __init__(self) -> None:
        self.size = 0
        self._kept = bytearray()

    def add(self, printed: bytes) -> None:
        """Take in what comes next."""
        self.size += len(printed)
        self._kept += printed
        if len(self._kept) > 2 * MOST_KEPT:
            del self._kept[:-MOST_KEPT]

    @property
    def is_whole(self) -> bool:
        """Whether nothing was dropped."""
        return self.size <= MOST_KEPT

    @property
    def text(self) -> str:
        """All of it, or its end."""
        return bytes(self._kept[-MOST_KEPT:]).decode(errors="replace")

    @property
    def whole_lines(self) -> str:
        """All of it, or its end without the line that lacks its beginning."""
        return self.text if self.is_whole else self.text.partition("\n")[2]


class Execution:
    """One program, started in a process group of its own and known to the guard."""

    def __init__(self, words: list[str], folder: str | None) -> None:
        self._guard = guard()
        self._mark = self._guard.mark()
        self.out, self.err = Output(), Output()
        self._process = subprocess.Popen(
            words,
            cwd=folder,
            env=marked_environment(self._mark),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._guard.watch(self._process.pid)

    def wait(self, time_limit: float | None) -> int:
        """The exit code, once the program has ended and its output too; a `TimeoutError` if that takes too long."""
        deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        try:
            if os.name == "posix":
                self._read(deadline)
            else:  # pragma: no cover
                out, err = self._process.communicate(timeout=time_limit)
                self.out.add(out)
                self.err.add(err)
            return self._process.wait(None if time_limit is None else max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def _read(self, deadline: float) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ, self.out)
            selector.register(self._process.stderr, selectors.EVENT_READ, self.err)
            while selector.get_map():
                left = deadline - time.monotonic()
                if left <= 0.0:
                    raise TimeoutError
                for key, _ in selector.select(min(left, LONGEST_WAIT)):
                    printed = os.read(key.fd, MOST_KEPT)
                    if printed:
                        key.data.add(printed)
                    else:
                        selector.unregister(key.fileobj)

    def end(self) -> None:
        """Kill the program and all that it started, even what left its group."""
        if self._process.returncode is None:
            self._kill()
            end_marked(self._mark)

    def close(self) -> None:
        """End what a run that is over left in its group."""
        with self._process:  # closes the pipes, and waits
            self._kill()
        self._guard.leave(self._process.pid)

    def _kill(self) -> None:
        if hasattr(os, "killpg"):
            end_group(self._process.pid)
        elif self._process.returncode is None:  # pragma: no cover
            self._process.send_signal(signal.SIGTERM)


PLACEHOLDERS = ("arm", "seed")
MOST_SEED = 2**31  # every program can hold a seed below it, even in a signed 32-bit integer


class Program(OneByOne):
    """Arms simulated by an external program, one outcome per call.

    No shell sees the command, so an arm's name cannot become one. Of a long output the last 64 kB are kept. A run that
    takes too long is ended, with everything that it started; so is a run whose search ends or dies. What a program
    leaves in the background ends with it.

    Args:
        command: What to run; it is split into words as a shell would, and only then `{arm}` and `{seed}` are filled in,
            and settings of options by their names, such as `{s}`.
        arms: The names of the arms, or how many there are; or dictionaries of settings, a data frame, or what
            `problems.grid` and `problems.table` return.
        field: The entry of the JSON that the program prints, such as `"result.delay"`; by default the reward is the
            last line that it prints.
        time_limit: Seconds after which a run is ended; None for no limit.
        folder: Where the program runs; by default the current folder.

    >>> problem = Program("python3 -c 'print({arm} + {seed} % 2)'", arms=[10, 20])
    >>> problem.run(1, seed=7)
    21.0
    >>> Program("python3 -c 'print({s} * {S} + {seed} % 2)'", arms=[{"s": 2, "S": 6}, {"s": 3, "S": 6}]).run(1, seed=7)
    19.0
    """

    def __init__(
        self,
        command: str,
        arms: Arms,
        field: str | None = None,
        time_limit: float | None = None,
        folder: str | None = None,
    ) -> None:
        for what, text in (("command", command), ("field", field), ("folder", folder)):
            if not (isinstance(text, str) or (text is None and what != "command")):
                raise TypeError(
                    f"{what} must be one text; got {brief(text)}. Write it in quotes, as you would type it."
                )
        self.command, self.field = command, field
        self.folder = None if folder is None else os.path.abspath(folder)  # wherever the process goes later
        self.time_limit = None if time_limit is None else positive("time_limit", time_limit)
        super().__init__(arms)
        self._words = _checked_words(command, next(iter(settings_of(self._arms)), {}))
        for name in self._arms:
            _require_harmless(name, self._words)
        self._require_different()
        self._running: set[Execution] = set()
        self._closed = False

    def __repr__(self) -> str:
        return f"Program({self.command!r}, {list(self._arms)!r}, field={self.field!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_running": set()}  # a copy elsewhere runs nothing yet

    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        return np.array([self.run(arm, int(rng.integers(MOST_SEED))) for _ in range(size)])

    def run(self, arm: int, seed: int) -> float:
        """Run the program once.

        Args:
            arm: The arm's index.
            seed: The seed of this run.

        Raises:
            RunFailed: If the program crashed, took too long, or printed no number.
        """
        words = self._filled(arm, seed)
        return self._reward(self._printed(words), shlex.join(words))

    def _filled(self, arm: int, seed: int) -> list[str]:
        name = self._arms[arm]
        settings = name.settings if isinstance(name, Option) else {}
        texts = {key: written(value) for key, value in settings.items()}
        return [word.format(arm=str(name), seed=seed, **texts) for word in self._words]

    def _require_different(self) -> None:
        """Refuse a command that is the same for two options."""
        seen: dict[tuple[str, ...], Hashable] = {}
        for arm, name in enumerate(self._arms):
            words = tuple(self._filled(arm, 0))
            if words in seen:
                raise ValueError(
                    f"a command must tell options apart; it is the same for {str(seen[words])!r} and {str(name)!r}. "
                    "Hand every setting that varies to the program, as {name of the setting}."
                )
            seen[words] = name

    def part(self, arms: Sequence[int]) -> Problem:
        if type(self) is not Program:  # a subclass may know its arms by their places
            return self
        return Program(self.command, [self._arms[arm] for arm in arms], self.field, self.time_limit, self.folder)

    def close(self) -> None:
        """End the runs that other threads have under way; further ones are refused."""
        self._closed = True
        for execution in list(self._running):
            execution.end()

    def _printed(self, words: list[str]) -> Output:
        """What a program prints; `RunFailed` if it cannot start, is too slow, or ends in an error."""
        command = shlex.join(words)
        execution = _started(words, self.folder)
        self._running.add(execution)
        try:
            if self._closed:
                raise RunFailed(f"a program must be open to be run; `{command}` was closed. Make another.")
            code = execution.wait(self.time_limit)
        except TimeoutError:
            execution.end()
            assert self.time_limit is not None
            raise RunCut(
                f"a run must end within {self.time_limit:g} s; `{command}` did not. Raise time_limit, or repair it.",
                _details(execution),
                at_least=self.time_limit,
            ) from None
        except BaseException:
            execution.end()
            raise
        finally:
            self._running.discard(execution)
            execution.close()
        if code != 0:
            complaint = (execution.err.text.strip().splitlines() or ["no message"])[-1][:200]
            raise RunFailed(
                f"a program must end with exit code 0; `{command}` ended with {code} ({complaint}). Repair it.",
                _details(execution),
            )
        return execution.out

    def _reward(self, out: Output, command: str) -> float:
        lines = out.whole_lines.strip().splitlines()
        last = lines[-1].strip() if lines else ""
        found: Any = last if self.field is None else _entry(out.text if out.is_whole else "", last, self.field)
        try:
            reward = math.nan if isinstance(found, bool) else float(found)
        except (TypeError, ValueError, OverflowError):
            reward = math.nan
        if not math.isfinite(reward):
            where = "on its last line" if self.field is None else f"in the JSON field {self.field!r}"
            cut = "" if out.is_whole else f" (of {out.size:,} bytes, the last {MOST_KEPT:,} are kept)"
            raise RunFailed(
                f"a program must print its reward as a number {where}; `{command}` printed {last[:80]!r} last{cut}. "
                "Repair it, or say where the reward stands (field=).",
                out.text,
            )
        return reward


def _checked_words(command: str, settings: Mapping[str, Any]) -> list[str]:
    try:
        words = shlex.split(command)
        fields = [field for word in words for field in _placeholders(word)]
    except ValueError as error:
        raise ValueError(f"a command must be words as a shell splits them; got {command!r} ({error}).") from None
    if not words:
        raise ValueError('a command must name a program; got nothing. Write "./sim --plan {arm} --seed {seed}".')
    for name in fields:
        if name not in (*PLACEHOLDERS, *settings):
            known = [f"{{{one}}}" for one in (*settings, *PLACEHOLDERS)]
            raise ValueError(
                f"a command may hold {', '.join(known[:-1])} and {known[-1]}; got {{{name}}} in {command!r}. "
                "Double a brace that is meant as itself."
            )
    for name in PLACEHOLDERS[1:] if settings else PLACEHOLDERS:
        if name not in fields:
            raise ValueError(
                f"a command needs {{{name}}}, or every run would be the same; got {command!r}. Hand it to the program."
            )
    return words


def _placeholders(word: str) -> list[str]:
    """What stands in braces, with conversions and formats, which are refused too."""
    return [
        field + (f"!{conversion}" if conversion else "") + (f":{format_}" if format_ else "")
        for _, field, format_, conversion in string.Formatter().parse(word)
        if field is not None
    ]


def _require_harmless(name: Hashable, words: list[str]) -> None:
    if "\0" in str(name):
        raise ValueError(f"an arm of a program must be text without null characters; got {name!r}. Rename it.")
    settings = name.settings if isinstance(name, Option) else {}
    texts = {key: value for key, value in settings.items() if isinstance(value, str)}  # a number is no option
    for key, text in {PLACEHOLDERS[0]: str(name), **texts}.items():
        if text.startswith("-") and any(word.startswith(f"{{{key}}}") for word in words):
            raise ValueError(
                f"an arm that begins with a dash would be read as an option; got {text!r}. "
                f"Rename it, or write --option={{{key}}} in the command."
            )


def _started(words: list[str], folder: str | None) -> Execution:
    try:
        return Execution(words, folder)
    except OSError as error:
        command = shlex.join(words)
        raise RunFailed(f"a program must start; `{command}` does not ({error.strerror}). Check its path.") from None


def _details(execution: Execution) -> str:
    """What a program printed, for a log."""
    parts = (("standard output", execution.out.text), ("standard error", execution.err.text))
    return "\n".join(f"-- {name}\n{text.rstrip()}" for name, text in parts if text.strip())


def _entry(text: str, last: str, field: str) -> Any:
    """An entry of the JSON that a program printed: all of its output, or its last line."""
    for candidate in (text, last):
        try:
            found = json.loads(candidate)
            for key in field.split("."):
                found = found[int(key)] if isinstance(found, list) else found[key]
        except (ValueError, KeyError, IndexError, TypeError):
            continue
        return found
    return None
