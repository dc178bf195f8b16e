"""What is answered about evidence: verdicts, what other policies would have brought, and apprentices."""

from __future__ import annotations

from allais.serve.api.schemas import EndOfTest, Strict


class Comparison(Strict):
    """An arm beside the control, by one metric; ends of intervals are null where they are not known yet."""

    group: str
    control: str
    by: str
    word: str  # better, worse, no worse than the margin, equal within the margin, or not yet
    sentence: str
    difference: list[float | None]  # the low end, the estimate and the high end; they hold at all looks at once
    relative: list[float | None] | None  # as a share of the control's amount
    p_value: float
    e_value: float
    promise: str
    doubt: str
    forecast: str | None


class GroupShown(Strict):
    """What is known of a group, and what is missing."""

    name: str
    share: float | None  # planned
    decisions: int
    outcomes: int
    waiting: int
    lost: int  # expired or cancelled


class VerdictShown(Strict):
    """What the outcomes so far say."""

    summary: str
    notes: list[str]
    decided: bool  # whether every arm is decided
    verdicts: list[Comparison]
    groups: list[GroupShown]
    assumptions: list[str]
    ended: EndOfTest | None


class TargetShown(Strict):
    """What a policy would have brought, by one preference; ends of intervals are null where there are none."""

    target: str
    by: str
    value: float | None  # in the experiment's unit; null if nothing of what it does was tried
    interval: list[float | None]  # asymptotic: the low end and the high end
    proven: list[float | None] | None  # where the rewards have bounds; it holds at all times at once
    outcomes: float  # that the estimate rests on, in effect
    untried: float  # the share of its decisions that are on arms which nobody tried
    caveat: str


class EvaluationShown(Strict):
    """What other policies would have brought."""

    summary: str
    notes: list[str]
    targets: list[TargetShown]
    decisions: int
    outcomes: int
    delta: float  # the chance that any of the intervals misses
    assumptions: list[str]


class Brought(Strict):
    """What decisions bring on average, with its interval, by the experiment's preference and in its unit."""

    value: float | None
    low: float | None
    high: float | None


class Apprenticed(Strict):
    """What an apprentice would have done beside what the application did."""

    decisions: int
    agreed: int  # decisions in which both are the same
    worth: float | None  # the mean value of what the application did, by what is known now
    would_be_worth: float | None  # that of what the policy would have chosen
    brought: Brought | None = None  # by what the application did; null with features, and before there are outcomes
    would_have_brought: Brought | None = None  # by what the policy would have chosen
    notes: list[str] | None = None  # what the two rest on
