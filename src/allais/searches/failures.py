"""The log of failed runs: tracebacks, and what programs printed, in a text file beside the journal."""

from __future__ import annotations

import time
from pathlib import Path

from allais.searches.runs import Run

TITLE = b"# Failed runs of a search by allais\n"
MOST_KEPT = 1 << 16  # characters of one failure, its end
MOST_BYTES = 1 << 24  # of the whole log: the first failures say most


class FailureLog:
    """A file that is made with the first failure; one of this name that somebody else made is never touched."""

    def __init__(self, journal: Path) -> None:
        self.path = journal.with_name(f"{journal.stem}.failures.log").absolute()
        try:
            with open(self.path, "rb") as file:
                beginning = file.read(len(TITLE))
        except FileNotFoundError:
            return
        except OSError as error:
            raise ValueError(
                f"failed runs are written to {self.path}, which cannot be read ({error.strerror}). Move it away."
            ) from None
        if beginning and beginning != TITLE:
            raise ValueError(
                f"failed runs are written to {self.path}, which exists and is something else. Move it away."
            )

    def write(self, arm: object, run: Run, failure: str, details: str) -> str:
        """Append a failure; the sentence that says where its details are, if they could be written."""
        when = time.strftime("%Y-%m-%d %H:%M:%S")
        entry = f"\n{when} run {run.number} of {arm!r}, seed {run.seed}\n{failure}\n{details[-MOST_KEPT:].rstrip()}\n"
        try:
            with open(self.path, "ab") as file:
                if file.tell() > MOST_BYTES:
                    return ""
                file.write((b"" if file.tell() else TITLE) + entry.encode(errors="replace"))
        except OSError:  # a failure that cannot be logged is still said
            return ""
        if not details:
            return ""
        return f"{'The traceback' if details.startswith('Traceback') else 'What it printed'} is in {self.path}."
