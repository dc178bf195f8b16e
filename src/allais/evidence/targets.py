"""What a target would have done in each decision of a log."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from allais._checks import FloatArray, IntArray, brief
from allais.evidence.data import known_ends
from allais.evidence.decisions import FEW, Decisions
from allais.policies.core.base import Policy
from allais.preferences import Preference
from allais.preferences.valuation import level_of
from allais.samples.cuts import require_monotone

LOGGING = "logging"  # the policy that made the log
FAR = 5.0  # standard errors: if the mean weight is below 1 by more, the target does what was not possible
AGAIN = 1.0 + 1.0 / 32.0  # the growth of the number of outcomes after which the best arm is found anew


def probabilities(log: Decisions, target: Any) -> tuple[FloatArray, FloatArray]:
    """The probability of each arm of the log, in each decision, under a target; and that of arms nobody ever tried."""
    places: dict[Hashable, int] = {str(arm): k for k, arm in enumerate(log.arms)}  # 2 may be written "2"
    places |= {arm: k for k, arm in enumerate(log.arms)}
    found, untried = np.zeros((log.n, len(log.arms))), np.zeros(log.n)
    if isinstance(target, list):
        rows: dict[int, tuple[FloatArray, float]] = {}
        for t, answer in enumerate(target):
            if id(answer) not in rows:  # most are the same object
                rows[id(answer)] = _row(places, answer, t + 1)
            found[t], untried[t] = rows[id(answer)]
        return found, untried
    if not callable(target):
        row, rest = _row(places, target, None)
        found[:], untried[:] = row, rest
        return found, untried
    known: dict[str, tuple[FloatArray, float]] = {}
    for t, context in enumerate(log.contexts()):
        key = repr(sorted(context.items(), key=lambda one: one[0]))
        if key not in known:  # a target is a function of the context
            try:
                answer = target(context)
            except Exception as error:
                advice = "Check the columns that it needs." if context else "Name the log's context columns."
                raise ValueError(
                    f"a target is a function from a context to an arm; it raised {type(error).__name__} for "
                    f"{brief(context)}: {error}. {advice}"
                ) from error
            known[key] = _row(places, answer, t + 1)
        found[t], untried[t] = known[key]
    return found, untried


def _row(places: dict[Hashable, int], answer: Any, row: int | None) -> tuple[FloatArray, float]:
    where = "" if row is None else f" in row {row}"
    if answer is None or not isinstance(answer, Mapping | Hashable):
        raise ValueError(
            f"a target is an arm, or a probability for each{where}; got {brief(answer)}. Return one or the other."
        )
    shares = answer if isinstance(answer, Mapping) else {answer: 1.0}
    found, rest = np.zeros(max(places.values()) + 1), 0.0
    for arm, share in shares.items():
        if not isinstance(share, int | float | np.number) or not 0.0 <= float(share) <= 1.0 + 1e-9:
            raise ValueError(f"a target gives each arm a probability{where}; got {brief(share)} for {brief(arm)}.")
        place = places.get(arm, places.get(str(arm)))
        if place is None:
            rest += float(share)
        else:
            found[place] += float(share)
    total = found.sum() + rest
    if abs(total - 1.0) > 1e-6:
        raise ValueError(f"a target's probabilities sum to 1{where}; got {total:g}. Check them.")
    return found / total, rest / total


class Rows(NamedTuple):
    """What a target would have done in each decision of a log."""

    shares: Any  # pi(a | x), of arms that were tried; sparse, (n, n_arms)
    weights: FloatArray  # w, (n,)
    untried: float  # the mean probability of other arms
    possible: float = 1.0  # the mean of the weights plus `untried`; 1 unless it differs from 1 by more than chance
    replayed: bool = False  # replayed in order, or only where it was possible: no model is used

    @property
    def effective(self) -> float:
        squares = float(self.weights @ self.weights)
        return float(self.weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def rows_of(log: Decisions, target: Any) -> Rows:
    """The weights of a log's decisions under a target."""
    if isinstance(target, str) and target == LOGGING:
        return Rows(None, np.ones(log.n), 0.0, replayed=True)  # the log is its own sample
    if isinstance(target, Policy):
        used, weights = replay(log, target), np.zeros(log.n)
        weights[used] = log.n / max(used.size, 1)
        return Rows(None, weights, 0.0, replayed=True)
    shares, untried = probabilities(log, target)
    tried = np.bincount(log.chosen, minlength=len(log.arms)) > 0
    rest = untried + shares[:, ~tried].sum(axis=1)
    shares[:, ~tried] = 0.0
    weights = shares[np.arange(log.n), log.chosen] / log.propensity
    possible = float(weights.mean() + rest.mean())  # 1 but for chance
    if 1.0 - possible <= FAR * float(weights.std()) / math.sqrt(log.n):
        possible = 1.0
    elif log.context:  # arms that were tried in other contexts only: a model would extrapolate
        return Rows(None, weights, 1.0 - float(weights.mean()), replayed=True)
    return Rows(scipy.sparse.csr_array(shares), weights, float(rest.mean()), possible)


def told_part(log: Decisions, target: Any) -> Any:
    """What a target that lists every decision of a log says of those whose outcome is known."""
    if not isinstance(target, list):
        return target
    if len(target) != log.n:
        raise ValueError(f"a list has what is done in each decision; got {len(target)} for {log.n}. Check it.")
    return [answer for answer, known in zip(target, np.isfinite(log.outcome).tolist(), strict=True) if known]


def best_so_far(log: Decisions, by: Preference, *, floor: float = 0.0) -> list[Any]:
    """A target: in each decision the best arm by the outcomes of earlier decisions, as a preference judges them.

    Later outcomes are not used, so its value on the same log is not too good. The best arm is found anew whenever
    there are 1/32 more outcomes. Before the first one, every arm is equally likely.

    Args:
        log: The log, in the order of decisions.
        by: The preference.
        floor: The probability that every arm has at least.

    Returns:
        The probability of each arm, for each decision.

    >>> import allais
    >>> from allais.evidence import read_decisions
    >>> log = read_decisions({"arm": ["a", "b"] * 2, "outcome": [1.0, 2.0] * 2, "propensity": [0.5] * 4})
    >>> best_so_far(log, allais.expected_value())[-1]
    {'a': 0.0, 'b': 1.0}
    """
    many = len(log.arms)
    if not 0.0 <= floor * many <= 1.0:
        raise ValueError(f"floors of all arms sum to 1 at most; got {floor:g} for each of {many} arms. Give less.")
    known = np.concatenate([[0], np.cumsum(np.isfinite(log.outcome))])
    even = dict.fromkeys(log.arms, 1.0 / many)
    found: list[Any] = []
    while len(found) < log.n:
        seen = int(known[len(found)])
        until = int(np.searchsorted(known[:-1], max(int(seen * AGAIN), seen + 1)))  # where so many are known
        now = even
        if seen:
            best = _leader(log, len(found), by)
            now = {arm: floor + (1.0 - floor * many if k == best else 0.0) for k, arm in enumerate(log.arms)}
        found += [now] * (until - len(found))
    return found


def _leader(log: Decisions, upto: int, by: Preference) -> int:
    """The best arm by the outcomes of the first decisions."""
    chosen, outcome = log.chosen[:upto], log.outcome[:upto]
    values = np.full(len(log.arms), -np.inf)
    for k in range(len(log.arms)):
        own = outcome[(chosen == k) & np.isfinite(outcome)]
        if own.size:
            values[k] = by.estimate(own)
    return int(np.argmax(values))


def replay(log: Decisions, policy: Policy, *, seed: int = 0) -> IntArray:
    """The places of the decisions in which a policy that learns would have chosen the same arm, in order.

    A decision is used where the learner chooses the arm of the log, and then with the probability of the least
    propensity over its own, so that those that are used are as if each arm had been equally likely (Li et al. 2011).

    Args:
        log: The log, whose outcomes are all known.
        policy: The policy, which begins with nothing known.
        seed: The seed of its draws.
    """
    learner, rng = policy.start(list(log.arms), seed), np.random.default_rng(seed)
    found = []
    for place in np.flatnonzero(rng.random(log.n) < log.propensity.min() / log.propensity).tolist():
        choice = learner.ask()
        if choice.arm == log.arms[log.chosen[place]]:
            learner.tell(choice, float(log.outcome[place]))
            found.append(place)
        else:
            learner.cancel(choice)
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True)
class Worth:
    """What a target would have been worth, by one preference.

    Attributes:
        target: What it is called.
        by: The preference in words.
        value: The certainty equivalent, in the unit of outcomes, of what was tried; NaN if nothing was.
        interval: What holds it with the confidence that was asked for, asymptotically.
        proven: What holds it whatever the distribution within the bounds, at all times at once; None without bounds.
        effective: (sum of w)^2 / sum of w^2, the number of outcomes that the estimate rests on in effect.
        untried: The share of the target's decisions that are on arms that the log never tried.
        alike: Whether all outcomes that it rests on are equal, so that nothing is known of how they vary.
        where: Where these arms were not tried, if elsewhere they were.
        possible: The share of the decisions in which the target's arms were possible, by the logged propensities.
    """

    target: str
    by: str
    value: float
    interval: tuple[float, float]
    proven: tuple[float, float] | None
    effective: float
    untried: float
    alike: bool = False
    where: str = ""
    possible: float = 1.0

    @property
    def caveat(self) -> str:
        """Why the estimate should not be trusted, in a sentence; empty if nothing speaks against it."""
        if self.untried > 0.0:
            return f"{self.untried:.1%} of {self.target}'s decisions are on arms that nobody tried{self.where}."
        if self.effective < FEW:
            return f"{self.target} rests on {self.effective:.1f} outcomes in effect: the log hardly tried what it does."
        if self.possible < 1.0:
            return (
                f"By the propensities, what {self.target} does was possible in {self.possible:.1%} of the decisions: "
                "propensities are too large, or at times its arms were out of play."
            )
        if self.alike:
            return f"All outcomes that {self.target} rests on are equal: only a proven interval says how they may vary."
        return ""

    def row(self) -> dict[str, Any]:
        """A row of a table."""
        low, high = self.proven or (None, None)
        return {
            "target": self.target, "by": self.by, "value": self.value, "value low": self.interval[0],
            "value high": self.interval[1], "proven low": low, "proven high": high,
            "outcomes in effect": self.effective, "untried": self.untried,
        }  # fmt: skip


def with_unfinished(
    log: Decisions, by: Sequence[Preference], bounds: tuple[float, float] | None, evaluated: Callable[[Decisions], Any]
) -> Any:
    """The evaluation of a log in which some outcomes are not finished: each interval holds whatever they will be.

    A value never falls with the outcomes. So it lies above what it is where each of them is as low as it may be, and
    below what it is where each is as high: from the one interval comes the lower end, from the other the upper one.
    """
    reach = log.reach
    assert reach is not None
    for one in by:
        require_monotone(one)
    known = known_ends(reach)
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    wide = (2.0 * low - high - 1.0, 2.0 * high - low + 1.0)  # values beyond these stand for infinity
    if bounds is None:
        far = (2.0 * wide[0] - low, 2.0 * wide[1] - high)
    elif np.any(reach[0] > bounds[1]) or np.any(reach[1] < bounds[0]):
        raise ValueError(
            f"outcomes lie within the bounds; some are not within {bounds[0]:g} to {bounds[1]:g}. Widen them."
        )
    else:
        far, known = bounds, np.clip(known, *bounds)
    found = evaluated(log.completed(known))
    sides = [evaluated(log.completed(np.clip(one, *far))) for one in reach]
    told = ~np.isnan(known)
    preferences = islice(cycle(by), len(found.worths))  # all of them for each target in turn

    def end(place: int, worth: Worth, side: Worth, preference: Preference) -> float:
        """An end of an interval; infinite if it rests on what stands for infinity."""
        reached, open_ = side.interval[place], (-math.inf, math.inf)[place]
        if bounds is not None or not np.any(np.isinf(reach[place][told]) & (found.weights(worth.target) > 0.0)):
            return reached
        return open_ if level_of(preference) is None or (reached - wide[place]) * open_ >= 0.0 else reached

    found.worths = tuple(
        replace(
            worth,
            interval=(end(0, worth, least, preference), end(1, worth, most, preference)),
            proven=None if bounds is None else (least.proven[0], most.proven[1]),
        )
        for worth, least, most, preference in zip(
            found.worths, *(one.worths for one in sides), preferences, strict=True
        )
    )
    found.log, found.findings = log, log.findings()
    return found
