"""A running test: one outcome at a time, and a verdict at any time."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from allais._checks import FloatArray, brief, nearest, real, share
from allais._system.locks import Guard, one_at_a_time, one_change_at_a_time
from allais.bands.quantiles import Sorted, least_evidence, log_joint, tilts
from allais.evidence._estimates import TWO_SIDES
from allais.evidence.comparisons import Metric
from allais.evidence.data import Log
from allais.evidence.ratio import Margin, Past, margin_of, metrics_of, planned_shares
from allais.evidence.tables import DAY, seconds_of
from allais.evidence.verdicts import Verdicts, verdict_of
from allais.preferences import Preference
from allais.preferences.showing import Rows, as_frame, as_html, as_intervals, in_a_line
from allais.rewards import Rewards
from allais.samples.cuts import Cut, admitted_cut, in_words, known_cut, require_monotone

SEARCHED = 128  # a new witness is searched for after 1 / SEARCHED more outcomes: a search takes a step per outcome
LOOKED = 32  # means and the like are looked at after 1 / LOOKED more outcomes


class Question:
    """Whether one quantile exceeds another by more than a given amount, answered after every outcome.

    While there is a point at which the evidence is below what decides, nothing is decided: such a witness is kept, with
    the counts on both sides of it, so that an outcome costs the same after ten and after ten million.
    """

    def __init__(self, table: FloatArray, lower: int, upper: int, by: float, relative: bool, exponent: float) -> None:
        self.table, self.lower, self.upper, self.exponent = table, lower, upper, exponent
        self.by, self.relative = by, relative
        self.x = 0.0 if relative else -math.inf
        self.below = self.upto = 0.0  # units of the lower group below x, and of the upper group up to its point
        self.searched = 0
        self.decided = False

    def part(self, place: int, outcomes: Collection[Cut]) -> float:
        """The share of a unit's outcomes that count for a group; unfinished ones are placed where evidence is least."""
        if place == self.lower:
            return sum(high < self.x for _, high in outcomes) / max(len(outcomes), 1)
        point = self.x * (1.0 + self.by) if self.relative else self.x + self.by
        return sum(low <= point for low, _ in outcomes) / max(len(outcomes), 1)

    def note(self, place: int, change: float) -> None:
        """Move a group's count."""
        if place == self.lower:
            self.below += change
        else:
            self.upto += change

    def is_open(self, units: Sequence[int]) -> bool:
        """Whether the witness stands: nothing is decided."""
        counts = self.below, float(units[self.lower]), self.upto, float(units[self.upper])
        return self.decided or bool(log_joint(self.table, *counts) < self.exponent)

    def search(self, lower: Sorted, upper: Sorted, seen: int) -> None:
        """Search for another witness; without one, the question is decided."""
        self.searched = seen
        pair = (self.table, *lower, *upper, self.by, self.relative)
        if least_evidence(*pair, self.exponent)[0] >= self.exponent:
            self.decided = True
            return
        self.x = float(least_evidence(*pair, math.inf)[1])  # the point with the least evidence stands longest
        right = self.x * (1.0 + self.by) if self.relative else self.x + self.by
        self.below = float(lower.before[np.searchsorted(lower.outcomes, self.x, side="left")])
        self.upto = float(upper.before[np.searchsorted(upper.outcomes, right, side="right")])


class Test:
    """Groups that are compared while outcomes come in.

    One outcome costs O(log n), amortised, with several outcomes per user as much as that user has. Percentiles are
    looked at after every outcome, other metrics whenever there are 1/32 more of them; `verdict` may be called at any
    time, as often as one likes. An outcome that is not finished counts where it is worse for a verdict until `complete`
    says what became of it; without bounds, other metrics than percentiles take it for one that was cut off at random,
    so before a look `complete` should say how long it has lasted by then.

    Args:
        groups: The groups, the control first; or a mapping from each to the share that is planned.
        by: What they are compared by: 'mean', 'p95', 'cvar:0.1', a preference, or several of them.
        costs: Whether less is better.
        no_worse_than: How much worse is still fine: '5%', or a number in the unit of outcomes.
        bounds: The least and the greatest outcome that are possible.
        rarest: The rarest event that matters, where no bounds are known; percentiles need neither.
        delta: The probability that any verdict is wrong, ever.
        unit: What outcomes are measured in.

    >>> test, rng = Test(["control", "canary"], by="p95", unit="ms"), np.random.default_rng(1)
    >>> while not test.decided:
    ...     _ = test.add("control", rng.lognormal(5, 0.5))
    ...     _ = test.add("canary", 1.3 * rng.lognormal(5, 0.5))
    >>> test.verdict()[0].word, len(test) < 6_000
    ('worse', True)
    >>> late = test.add("canary", at_least=2_000.0)  # milliseconds: still waiting
    >>> test.unfinished
    1
    >>> test.complete(late, 4_312.0)
    """

    __test__ = False  # for pytest, which would collect it by its name

    def __init__(
        self,
        groups: Sequence[Hashable] | Mapping[Hashable, float],
        by: str | Preference | Sequence[str | Preference] = "mean",
        *,
        costs: bool = True,
        no_worse_than: str | float | None = None,
        bounds: tuple[float, float] | Rewards | None = None,
        rarest: float | None = None,
        delta: float = 0.05,
        unit: str = "",
    ) -> None:
        names = tuple(groups)
        if isinstance(groups, str) or len(set(names)) < 2 or len(set(names)) < len(names):
            raise ValueError(f"a test compares two groups or more, each named once; got {brief(groups)}. Name them.")
        self._guard = Guard("test")
        self.groups = names
        shares = dict(groups) if isinstance(groups, Mapping) else None
        share("delta", delta, advice="Give a share of 1, such as 0.05.")
        margin, planned = margin_of(no_worse_than), planned_shares(shares, names)
        metrics = metrics_of(by, costs, bounds, rarest, delta, planned, names)
        self._settings = (by, costs, no_worse_than, bounds, rarest, shares, delta, unit)
        self._questions = [
            question
            for place, of_group in enumerate(metrics, start=1)
            for metric in of_group
            if metric.level is not None
            for question in _questions(metric, place, margin)
        ]
        self._metrics = metrics[0]
        self._watched = any(metric.level is None for metric in metrics[0])  # metrics without a witness
        smooth = [metric.preference for metric in metrics[0] if metric.level is None]
        self._felt = [preference for preference in smooth if preference.utility is not None]
        self._one_sided = any(metric.promise == "asymptotic" for metric in metrics[0])
        self._looked, self._decided = 0, False
        self._codes, self._outcomes, self._times = array("q"), array("d"), array("d")
        self._users: array[int] | None = None
        self._numbers: dict[Hashable, int] = {}
        self._of_user: list[tuple[int, dict[int, Cut]]] = []
        self._units = [0] * len(names)
        self._past: dict[Any, Past] = {}
        self._open: dict[int, Cut] = {}  # what is known of outcomes that are not finished, by their numbers
        self._sides: Counter[tuple[int, bool]] = Counter()  # of each group, by whether the lower end is open
        self._told = 0  # outcomes, and what was told of them later
        self._fresh = [array("d") for _ in names]  # finished outcomes of each group since they were last sorted
        self._sorted = [np.zeros(0) for _ in names]

    _repr_html_, to_frame, plot, headline = as_html, as_frame, as_intervals, property(in_a_line)

    def rows(self) -> Rows:
        """One row per verdict; none before each group has two units."""
        return self.verdict().rows() if min(self._units) > 1 else []

    def __repr__(self) -> str:
        return f"<Test of {', '.join(map(str, self.groups))}: {len(self):,} outcomes>"

    def __len__(self) -> int:
        return len(self._outcomes)

    @property
    def unfinished(self) -> int:
        """How many outcomes are not finished."""
        return len(self._open)

    @one_change_at_a_time
    def add(
        self, group: Hashable, outcome: float | None = None, user: Hashable | None = None, time: Any = None, *,
        at_least: float | None = None, at_most: float | None = None, between: Any = None,
    ) -> int:  # fmt: skip
        """Take one outcome in, or what is known so far of one that is not finished.

        Args:
            group: Its group.
            outcome: The outcome, a finite number.
            user: The user, for all outcomes or for none.
            time: When it came, for all outcomes or for none; times ascend.
            at_least: In the place of an outcome that is not finished: what it will be at least.
            at_most: What it will be at most.
            between: What it will be at least and at most.

        Returns:
            The number of the outcome, by which it is completed later.
        """
        if group not in self.groups:
            known = nearest(str(group), map(str, self.groups))
            raise ValueError(f"an outcome belongs to a group of the test; {brief(group)} is not one of them.{known}")
        place, cut = self.groups.index(group), self._checked(outcome, at_least, at_most, between)
        self._require_fit(place, cut)
        when, before = self._checked_time(time), self._checked_user(place, user)
        number = len(self._outcomes)
        self._guard.midway = True  # everything is checked: from here on nothing is refused
        if before is None:
            self._units[place] += 1
            before = {}
            if user is not None:
                self._numbers[user] = len(self._of_user)
                self._of_user.append((place, before))
        if user is not None:
            self._users = array("q") if self._users is None else self._users
            self._users.append(self._numbers[user])
        self._codes.append(place)
        self._outcomes.append(0.0)
        self._note(number, before, cut)
        if when is not None:
            self._times.append(when)
        self._guard.midway = False
        self._watch()
        return number

    @one_change_at_a_time
    def complete(
        self, number: int, outcome: float | None = None, *, at_least: float | None = None,
        at_most: float | None = None, between: Any = None,
    ) -> None:  # fmt: skip
        """Say what became of an outcome that was not finished, or more of what is known of it.

        Args:
            number: What `add` returned.
            outcome: The outcome; it must agree with what was told before.
            at_least: In its place: what it will be at least, as in `add`.
            at_most: What it will be at most.
            between: What it will be at least and at most.
        """
        if not isinstance(number, int | np.integer) or number not in self._open:
            what = "is finished" if number in range(len(self._outcomes)) else "was not added"
            raise ValueError(
                f"an outcome is completed once, by the number that add() returned; {brief(number)} {what}."
            )
        cut = self._checked(outcome, at_least, at_most, between)
        both = max(cut[0], self._open[number][0]), min(cut[1], self._open[number][1])
        if both[0] > both[1]:
            was, now = in_words(self._open[number]), in_words(cut) if outcome is None else f"{cut[0]:g}"
            raise ValueError(f"an outcome must agree with what was told of it, {was}; got {now}. Check it.")
        self._require_fit(self._codes[number], both)
        before = {number: self._open[number]} if self._users is None else self._of_user[self._users[number]][1]
        self._guard.midway = True
        self._note(number, before, both)
        self._guard.midway = False
        self._watch()

    def _checked(self, outcome: float | None, at_least: Any, at_most: Any, between: Any) -> Cut:
        if outcome is None:
            for metric in self._metrics:
                require_monotone(metric.preference)
            return known_cut(at_least, at_most, between)
        if at_least is not None or at_most is not None or between is not None:
            raise ValueError(f"an outcome is known, or bounded; got {outcome!r} and bounds. Leave one out.")
        value = real("an outcome", outcome, "Repair it, or leave it out.")
        return value, value

    def _require_fit(self, place: int, cut: Cut) -> None:
        """Refuse what no look could judge: a look comes after it is in."""
        rewards = self._metrics[0].rewards
        if cut[0] < cut[1]:
            admitted_cut(cut, rewards)
        elif rewards is not None and not rewards.admits(cut[0]):
            rewards.check([cut[0]])  # raises, and says which rule was broken
        ends = [end for end in cut if math.isfinite(end)]
        for preference in self._felt:
            preference.finite_utilities("outcomes", np.array(ends))
        if cut[0] < cut[1] and self._one_sided and (len(ends) > 1 or self._sides[place, math.isfinite(cut[0])]):
            raise ValueError(TWO_SIDES)

    def _note(self, number: int, unit: dict[int, Cut], cut: Cut) -> None:
        """Put what is known of an outcome in its place, also in the counts of its unit."""
        place, finished = self._codes[number], cut[0] == cut[1]
        after = {**unit, number: cut}
        for question in self._questions:
            if place in (question.lower, question.upper):
                question.note(place, question.part(place, after.values()) - question.part(place, unit.values()))
        unit[number] = cut
        if number in self._open:
            self._sides[place, math.isinf(self._open.pop(number)[0])] -= 1
        if finished:
            self._fresh[place].append(cut[0])
        else:
            self._open[number] = cut
            self._sides[place, math.isinf(cut[0])] += 1
        self._outcomes[number] = cut[1] if math.isinf(cut[0]) else cut[0]
        self._told += 1

    def _checked_time(self, time: Any) -> float | None:
        if self._outcomes and (time is None) != (not self._times):
            raise ValueError("times are given for all outcomes or for none; this one differs. Give time= always.")
        if time is None:
            return None
        when = seconds_of(time)
        if self._times and when < self._times[-1]:
            raise ValueError(f"times ascend; {brief(time)} is before the last one. Add outcomes in the order of time.")
        return when

    def _checked_user(self, place: int, user: Hashable | None) -> dict[int, Cut] | None:
        """The outcomes of this user so far."""
        if self._outcomes and (user is None) != (self._users is None):
            raise ValueError("users are given for all outcomes or for none; this one differs. Give user= always.")
        if user is None or user not in self._numbers:
            return None
        home, outcomes = self._of_user[self._numbers[user]]
        if home != place:
            was, now = brief(self.groups[home]), brief(self.groups[place])
            raise ValueError(f"a user stays in one group; {brief(user)} was in {was}, and is now in {now}. Check it.")
        return outcomes

    def _watch(self) -> None:
        """Search for new witnesses where one has fallen; after some more outcomes, look at metrics without any."""
        seen = self._told
        for question in self._questions:
            if question.is_open(self._units) or seen < question.searched + max(question.searched // SEARCHED, 1):
                continue
            if self._units[question.lower] and self._units[question.upper]:
                question.search(self._group(question.lower, 1), self._group(question.upper, 0), seen)
                self._decided |= question.decided
                if question.decided:
                    self._look()
        if self._watched and not self._decided and seen >= self._looked + max(self._looked // LOOKED, 2):
            self._look()

    def _group(self, place: int, end: int) -> Sorted:
        """A group's outcomes, sorted, with unfinished ones as low, or as high, as they may be."""
        if self._users is not None:
            log = self._log()
            outcomes, before = log.sides[place].upto(len(self._outcomes)).ends[end].sorted
            low, high = log.far
            return Sorted(np.where(outcomes >= high, math.inf, np.where(outcomes <= low, -math.inf, outcomes)), before)
        merged = _merged(self._sorted[place], self._fresh[place])
        self._sorted[place], self._fresh[place] = merged, array("d")
        if self._open:
            merged = _merged(merged, [cut[end] for number, cut in self._open.items() if self._codes[number] == place])
        return Sorted(merged, np.arange(merged.size + 1.0))

    def _log(self) -> Log:
        users = None if self._users is None else np.array(self._users, dtype=np.int64)
        known, reach = np.array(self._outcomes), None
        if self._open:
            reach, numbers = (known.copy(), known.copy()), np.fromiter(self._open, dtype=np.int64)
            reach[0][numbers], reach[1][numbers] = np.array(list(self._open.values())).T
        return Log(self.groups, np.array(self._codes, dtype=np.int64), known, users, None, reach=reach)

    def _look(self) -> Verdicts | None:
        self._looked = self._told
        if min(self._units) < 2:
            return None
        days = (self._times[-1] - self._times[0]) / DAY if len(self._times) > 1 else None
        found = verdict_of(self._log(), *self._settings, past=self._past, days=days)
        self._decided |= any(one.word != "not yet" for one in found)
        return found

    @property
    def decided(self) -> bool:
        """Whether a verdict is there, for any pair and metric."""
        return self._decided

    @one_at_a_time
    def verdict(self) -> Verdicts:
        """What is known now: intervals and p-values hold at all calls together."""
        found = self._look()
        if found is None:
            few = next(name for name, units in zip(self.groups, self._units, strict=True) if units < 2)
            raise ValueError(f"a group needs two units or more; {brief(few)} has fewer. Wait for outcomes.")
        return found


def _merged(known: FloatArray, more: Sequence[float]) -> FloatArray:
    """Both in ascending order: two runs, merged in one pass."""
    return np.sort(np.concatenate([known, np.sort(np.array(more, dtype=np.float64))]), kind="stable")


def _questions(metric: Metric, place: int, margin: Margin | None) -> list[Question]:
    """Each direction, and each side of the margin."""
    assert metric.level is not None
    up, down = tilts(metric.level, metric.share), tilts(metric.level, 1.0 - metric.share)
    exponent = math.log(2.0 / metric.delta)
    found = [Question(up, 0, place, 0.0, False, exponent), Question(down, place, 0, 0.0, False, exponent)]
    if margin is not None:
        size = margin.size if metric.costs else -margin.size  # of the group above the control
        if not metric.costs:
            found.append(Question(up, 0, place, size, margin.relative, exponent))
        else:
            back = -size / (1.0 + size) if margin.relative else -size
            found.append(Question(down, place, 0, back, margin.relative, exponent))
    return found
