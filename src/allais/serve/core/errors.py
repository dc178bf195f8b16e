"""What the service refuses: a status of HTTP, and one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allais.errors import NotAdmitted
from allais.learner import NotNow


class Refused(Exception):  # noqa: N818
    """A call that is not done; nothing has changed."""

    def __init__(self, status: int, sentence: str, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.retry_after = status, sentence, retry_after


def unavailable(why: str = "the database does not answer") -> Refused:
    """The refusal of a call whose outcome nobody knows until the database is back; repeating it is safe."""
    return Refused(503, f"what is answered must be on disk first; {why}. Repeat the call in a moment.", retry_after=1)


def broken(name: str, why: str) -> Refused:
    """The refusal of an experiment that could not be read; the others go on."""
    return Refused(
        503,
        f"an experiment must be on disk as it was written; {name!r} cannot be read ({why}). Restore a backup, or "
        "delete the experiment.",
    )


def reason_of(error: BaseException) -> str:
    """What an error says, briefly and on one line, without its last full stop."""
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


def not_found(what: str, name: object, advice: str) -> Refused:
    """The refusal of a name that stands for nothing."""
    return Refused(404, f"{what} must exist; there is no {name!r}. {advice}")


DEEPEST = 20  # levels of a document


def is_too_deep(document: Any) -> bool:
    """Whether a document has lists and objects in each other beyond `DEEPEST` levels.

    >>> is_too_deep({"weather": {"rain": [1, 2]}})
    False
    """
    level, levels = [document], 0
    while level and levels <= DEEPEST:
        levels += 1
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        ]
    return levels > DEEPEST


REFUSED = (NotNow, ValueError, TypeError)  # what a learner raises that refuses a call


def refusal_of(error: BaseException, experiment: str = "") -> Refused:
    """What a learner refuses, as a refusal of the service; `experiment` is one whose bounds its caller may widen."""
    if isinstance(error, NotNow):
        return Refused(409, str(error))
    if isinstance(error, NotAdmitted) and experiment:
        advice = f'PATCH /v1/experiments/{experiment} with {{"rewards": ...}} does so.'
        return Refused(422, f"{error.rule} {advice}")
    return Refused(422, str(error))


@contextmanager
def refusing(experiment: str = "") -> Iterator[None]:
    """Within: what a learner refuses becomes a refusal of the service; nothing has changed then."""
    try:
        yield
    except REFUSED as error:
        raise refusal_of(error, experiment) from None
