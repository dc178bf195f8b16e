"""What `allais` warns about and raises, beside ValueError and TypeError with one sentence."""

from __future__ import annotations

__all__ = [
    "AccuracyWarning",
    "DominanceWarning",
    "MissingExtra",
    "MissingFile",
    "NotAdmitted",
    "OutOfBounds",
    "RunCut",
    "RunFailed",
    "RunRefused",
    "SpeedWarning",
    "ToolFailed",
    "UndefinedValueError",
]


class AccuracyWarning(UserWarning):
    """A value is returned with an error bound larger than the usual 1e-9."""


class DominanceWarning(UserWarning):
    """A weight is not monotone, so better lotteries may be valued lower."""


class SpeedWarning(UserWarning):
    """Something runs far slower than it could."""


class UndefinedValueError(ArithmeticError):
    """A lottery has no value: its gain and its loss part are both infinite."""


class NotAdmitted(ValueError):  # noqa: N818
    """A reward that the declared rewards rule out; `rule` is the sentence without what a caller can do about it."""

    def __init__(self, rule: str, advice: str = "") -> None:
        super().__init__(f"{rule} {advice}".rstrip())
        self.rule = rule


class RunFailed(RuntimeError):  # noqa: N818
    """A simulation run gave no reward: it crashed, took too long, or printed no number."""

    def __init__(self, sentence: str, details: str = "") -> None:
        super().__init__(sentence)
        self.details = details  # a traceback, or what a program printed: for a log


class RunCut(RunFailed):
    """A run that was cut off: its outcome, had it gone on, would be at least `at_least`."""

    def __init__(self, sentence: str, details: str = "", *, at_least: float) -> None:
        super().__init__(sentence, details)
        self.at_least = at_least


class RunRefused(RunFailed, ValueError):  # noqa: N818
    """A search cannot go on with what its runs brought: an outcome out of bounds, or failures only."""


class OutOfBounds(RunRefused):
    """A run brought what the declared rewards rule out: the search may go on with wider ones."""


class MissingFile(FileNotFoundError, ValueError):  # noqa: N818
    """A file that was to be read is not there."""


class ToolFailed(RuntimeError):  # noqa: N818
    """A program that the library runs for its own work ended badly; its sentence says which one, and why."""


class MissingExtra(ImportError):  # noqa: N818
    """A package that only some work needs is not installed; its sentence names the extra that brings it."""
