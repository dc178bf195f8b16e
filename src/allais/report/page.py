"""A one-page report of an answer: HTML that needs no other file."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allais import __version__
from allais._checks import FloatArray
from allais.files import write_atomically
from allais.learner.reading import sure_intervals
from allais.policies.core.base import PROMISES, promise_in_words
from allais.preferences import Explanation
from allais.preferences.explain import small_share
from allais.preferences.named import heading_of, is_mean
from allais.preferences.valuation import amount, plain
from allais.report.effort import distance, explained, more_runs
from allais.report.markup import duration, macro, number, render, share, style
from allais.report.pictures import (
    PARTS,
    Curve,
    axis_label,
    contenders_first,
    intervals_as_svg,
    over_settings,
    over_time,
)
from allais.report.words import by_mean, contrast, ranked, recommendation, withdrawal
from allais.searches.forecast import chances
from allais.searches.limit import Proof, Seen, least_proof
from allais.simulation import BestArm

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_FAILURES_LISTED = 20
MOST_DRAWN = 5  # options over time: more bands hide each other


def write_page(
    answer: BestArm,
    path: str | Path,
    title: str = "Which option people will prefer",
    *,
    name: str = "",
    unit: str = "",
) -> None:
    """Write the report of an answer to one HTML file.

    Args:
        answer: What `best_arm` or `search` returned.
        path: The file.
        title: The heading of the page.
        name: What was searched, such as the file that describes it.
        unit: What outcomes are measured in.

    >>> problem = Bandit([Discrete({18: 0.9, 60: 0.1}), Discrete({25: 1.0})], arms=["motorway", "train"])
    >>> people = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), reference=20, costs=True)
    >>> answer = best_arm(WSR(people, budget=500, rewards=Bounded(0, 60)), problem, seed=1)
    >>> write_page(answer, "commute.html", "How to get to work", unit="minutes")
    """
    proof, policy = _proof(answer), answer.learner.policy
    fewest = proof.runs if proof is not None and proof.own else math.inf
    drawn, words = over_settings(answer)
    failed = [
        [str(one.arm), str(one.seed), "left out" if one.reward is None else f"{one.reward:g}", one.reason]
        for one in answer.failures[:MOST_FAILURES_LISTED]
    ]
    text = render(
        "report/templates/page.html.j2", title=title, style=style("report/static/report.css"),
        about=_about(answer, name), recommendation=_unbroken(recommendation(answer, unit), unit),
        picture=intervals_as_svg(answer), axis=axis_label(answer, unit), options=_options(answer),
        measured=f"in {unit}" if unit else "in the units of the outcomes", intervals=_intervals_in_words(answer),
        reference=amount(policy.preference.reference, unit), settings_picture=drawn,
        settings_words=words, history=closing(answer, unit, fewest),
        contrast=contrast(answer, unit), explanations=_explanations(answer), promise=_promise(answer),
        effort=" ".join(_effort(answer, proof, unit)), failures=answer.failures, failed=failed,
        settings=repr(policy),
    )  # fmt: skip
    write_atomically(Path(path), text)


def _about(answer: BestArm, name: str) -> str:
    """What was searched, when, from which seed, by which version, and how long it took."""
    origin, version = answer.origin, f"allais {__version__}"
    if origin is None:
        return " · ".join([name, version] if name else [version])
    took = f"took {duration(origin.seconds)}"
    if origin.continued:
        took = f"the last part took {duration(origin.seconds)}"
    if origin.run_seconds is not None:
        took += f", its runs {duration(origin.run_seconds)} in all"
    date = time.strftime("%Y-%m-%d %H:%M", time.localtime(origin.finished))
    return " · ".join([*([name] if name else []), date, f"seed {origin.seed}", version, took])


def _unbroken(text: str, unit: str) -> str:
    """The text with every amount on one line with its unit."""
    return re.sub(rf"(?<=\d) (?={re.escape(unit)})", "\N{NO-BREAK SPACE}", text) if unit else text


def _options(answer: BestArm) -> dict[str, Any]:
    """The table of options: those that are shown, and the rest of many."""
    best_in, means = chances(answer), by_mean(answer.learner).means
    sure = sure_intervals(answer.learner, answer.pulls, answer.intervals)
    shown, rest = contenders_first(answer)
    preference = answer.learner.policy.preference
    of_mean = is_mean(preference)  # then the first number is the mean

    def row(name: Hashable) -> list[str]:
        low, value, high = sure[name]
        bounded = math.isfinite(low) and math.isfinite(high)
        return [
            str(name), number(value), f"{plain(low)} to {plain(high)}" if bounded else "none",
            *([] if of_mean else [number(means[name])]), f"{answer.pulls[name]:,}",
            "" if math.isnan(best_in[name]) else f"{best_in[name]:.2f}",
        ]  # fmt: skip

    means_too = [] if of_mean else ["mean"]
    return {
        "header": ["option", heading_of(preference), "interval", *means_too, "runs", "chance of best"],
        "shown": list(map(row, shown)), "rest": list(map(row, rest)),
        "best": shown.index(answer.arm) if answer.arm in shown else -1,
    }  # fmt: skip


def _intervals_in_words(answer: BestArm) -> str:
    if not any(math.isfinite(one.low) and math.isfinite(one.high) for one in answer.intervals.values()):
        return "This policy keeps no intervals."
    asked = answer.learner.policy.error_rate
    if asked is None:
        return "Each interval holds at the confidence of the policy."
    if answer.excluded and answer.learner.policy.promise != "proven":
        return "Options with runs that were left out have no interval."
    held = "" if not answer.excluded else ", whatever the runs that were left out would have brought"
    return f"All intervals hold together, but for a chance of {share(asked)}{held}."


def closing(answer: BestArm, unit: str = "", fewest: float = math.inf) -> Markup | str:
    """How the intervals closed: a picture with words; nothing where less than two moments are known."""
    curves = _curves(answer)
    times = sorted({samples for curve in curves.values() for samples, _ in curve.points})
    if len(times) < 2:
        return ""
    banded = any(curve.bounded for curve in curves.values())
    marked = banded and times[0] < fewest <= times[-1]
    label = "What each option is worth, by the number of runs"
    picture = over_time(label, list(curves.values()), "runs in all", framed=2, limit=fewest if marked else None)
    return render(
        "report/templates/history.html.j2", answer=answer, names=list(curves), axis=axis_label(answer, unit),
        picture=picture, banded=banded, marked=marked, in_the_end=_in_the_end(answer),
    )  # fmt: skip


def _curves(answer: BestArm) -> dict[Hashable, Curve]:
    """Each drawn option's interval at every moment from which on it has a value."""
    if answer.learner.policy.of_mean:  # its intervals are those of no value
        return {}
    moments = [
        (samples, sure_intervals(answer.learner, pulls, intervals)) for samples, pulls, intervals in answer.history
    ]
    return {
        name: Curve(f"s{place}", [(t, sure[name]) for t, sure in moments if math.isfinite(sure[name].value)])
        for place, name in enumerate(ranked(answer)[:MOST_DRAWN])
    }


def _in_the_end(answer: BestArm) -> str:
    """Where the interval of the answer lies when the policy has stopped."""
    if answer.arm is None:
        return "In the end every option was shown to break a guardrail."
    low = answer.intervals[answer.arm].low
    overlap = max((one.high for name, one in answer.intervals.items() if name != answer.arm), default=low) - low
    if overlap <= 0.0:
        return "In the end the interval of the answer lies apart from all others."
    if overlap <= getattr(answer.learner.policy, "tolerance", 0.0):
        return "In the end the interval of the answer overlaps with others by no more than the tolerance."
    return "This policy is sure before all intervals part, since it compares the answer with one option at a time."


def _explanations(answer: BestArm) -> list[tuple[str, Markup]]:
    """Why the answer, and the option of the best mean where it is another, have their values."""
    mean = by_mean(answer.learner).arm
    if mean is None or answer.arm is None or not answer.pulls[answer.arm]:
        return []
    return [(str(name), _explanation(explained(answer.learner, name))) for name in dict.fromkeys([answer.arm, mean])]


def _explanation(rows: Explanation) -> Markup:
    columns = rows.labels, rows.probabilities, rows.decision_weights, rows.contributions
    cells = [[label, small_share(p), small_share(w), f"{c:.4g}"] for label, p, w, c in zip(*columns, strict=True)]
    return macro(PARTS, "table")(["outcome", "seen", "decision weight", rows.contribution], cells)


def _proof(answer: BestArm) -> Proof | None:
    """What a proof takes at least, if the options go on as before."""
    policy = answer.learner.policy
    if not policy.keeps_outcomes or policy.of_mean:
        return None
    return least_proof(policy, *_seen(answer))


def _seen(answer: BestArm) -> tuple[FloatArray, list[Seen]]:
    """The values of all options by their estimates, and their outcomes."""
    values = [answer.intervals[name].value if answer.pulls[name] else math.nan for name in answer.pulls]
    return np.array(values), [answer.learner.outcomes(name) for name in answer.pulls]


def _promise(answer: BestArm) -> str:
    """Which of the three promises holds, in its own words."""
    if answer.withdrawn:
        return f"None: {' '.join([PROMISES['none'], *withdrawal(answer)])}"
    stopped = "" if answer.settled else " The search was stopped before it settled, so this is not reached yet."
    return promise_in_words(answer.learner.policy) + stopped


def _effort(answer: BestArm, proof: Proof | None, unit: str) -> Iterator[str]:
    yield f"{answer.samples:,} runs were used."
    if answer.learner.policy.keeps_outcomes:
        yield from more_runs(answer, *_seen(answer))
    yield from distance(answer, proof, unit)
