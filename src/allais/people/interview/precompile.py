"""Compile ahead what an interview needs."""

from __future__ import annotations

from allais.people.interview.interview import Interview
from allais.people.model.presets import family_named

STAKES = (-50.0, 200.0)


def warm_interview() -> None:
    """Ask a question and another, and read what the answers show: that compiles all that an interview needs.

    >>> warm_interview()
    """
    talk = Interview(family_named("cpt", STAKES), stakes=STAKES, questions=3, checks=0, seed=1)
    for answer in "AB":
        talk.tell(talk.ask(), answer)
    assert talk.preference
