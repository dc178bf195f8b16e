"""What the service refuses: a status of HTTP, and one sentence."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818
    """A call that is not done; nothing has changed."""

    def __init__(self, status: int, sentence: str, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.retry_after = status, sentence, retry_after


def unavailable(why: str = "the database does not answer") -> Refused:
    """The refusal of a call whose outcome nobody knows until the database is back; repeating it is safe."""
    return Refused(503, f"what is answered must be on disk first; {why}. Repeat the call in a moment.", retry_after=1)


def unknown(what: str, name: object, advice: str) -> Refused:
    """The refusal of a name that stands for nothing."""
    return Refused(404, f"{what} must exist; there is no {name!r}. {advice}")
