"""The intervals of an answer as a picture."""

from __future__ import annotations

from allais.report.rows_svg import Row, rows_as_svg
from allais.report.sure import sure_intervals
from allais.report.words import ranked
from allais.simulation import BestArm


def axis_label(answer: BestArm, unit: str) -> str:
    """What the numbers of a picture are."""
    less = "; less is better" if answer.learner.policy.preference.costs else ""
    return f"what it feels like for sure{f', in {unit}' if unit else ''}{less}"


def intervals_as_svg(answer: BestArm) -> str:
    """What every option feels like for sure, with its interval, the best on top; its colours come from the page."""
    sure = sure_intervals(answer.learner, answer.pulls, answer.intervals)
    names = ranked(answer)
    names += [name for name in answer.intervals if name not in names]
    rows = [
        Row(
            str(name), f"{answer.pulls[name]:,} runs" if answer.pulls[name] else "no run yet",
            "best" if name == answer.arm else "other", sure[name],
        )
        for name in names
    ]  # fmt: skip
    worst = sure[answer.arm].high if answer.learner.policy.preference.costs else sure[answer.arm].low
    return rows_as_svg("What each option feels like for sure, with its interval", rows, worst)
