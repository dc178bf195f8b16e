"""The intervals of an answer as a picture."""

from __future__ import annotations

from collections.abc import Hashable

from allais.report.rows_svg import Row, rows_as_svg
from allais.report.sure import sure_intervals
from allais.report.words import ranked
from allais.simulation import BestArm

MOST_SHOWN = 15  # options in a picture: as many as a screen has room for


def axis_label(answer: BestArm, unit: str) -> str:
    """What the numbers of a picture are."""
    less = "; less is better" if answer.learner.policy.preference.costs else ""
    return f"what it feels like for sure{f', in {unit}' if unit else ''}{less}"


def contenders_first(answer: BestArm) -> tuple[list[Hashable], list[Hashable]]:
    """The options that a page shows, the recommended one first and then by value; and the rest of many."""
    names = ranked(answer)
    seen = set(names)
    names += [name for name in answer.intervals if name not in seen]
    shown = MOST_SHOWN if len(names) > MOST_SHOWN + 1 else len(names)  # to fold one away would save nothing
    return names[:shown], names[shown:]


def intervals_as_svg(answer: BestArm) -> str:
    """What the options that are shown feel like for sure, with their intervals; the colours come from the page."""
    names, _ = contenders_first(answer)
    sure = sure_intervals(answer.learner, answer.pulls, answer.intervals)
    rows = [
        Row(
            str(name), f"{answer.pulls[name]:,} runs" if answer.pulls[name] else "no run yet",
            "best" if name == answer.arm else "other", sure[name],
        )
        for name in names
    ]  # fmt: skip
    worst = sure[answer.arm].high if answer.learner.policy.preference.costs else sure[answer.arm].low
    return rows_as_svg("What each option feels like for sure, with its interval", rows, worst)
