"""What another policy would have been worth: the distribution of outcomes under a target, from a log of decisions.

Write w = pi(a | x) / p for a decision on a in the context x with the propensity p, where the target chooses a with
probability pi(a | x). Then the mean of w 1{Y <= y} is the target's distribution function F(y). Three estimates of it:

    importance-weighted   mean of w 1{Y <= y}
    self-normalised       the same, over the mean of w
    doubly robust         mean of sum_a pi(a | x) G(y | x, a) + w (1{Y <= y} - G(y | x, A)), made monotone

G is a model of outcomes that was fitted to other parts of the log (cross-fitting; `models.py`), so the last is unbiased
whatever G is, and varies less if G is near. Every preference is a value of such a distribution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from allais._checks import FloatArray, IntArray, share
from allais.evidence.decisions import Decisions
from allais.evidence.distributions import (
    Unseen,
    band,
    last_where,
    lower_end,
    pair_of,
    reach_of,
    shown,
    tails_of,
    unseen,
    value_of,
)
from allais.evidence.models import ESTIMATORS, Estimate, Estimator, Fitted, Model, best_model
from allais.evidence.targets import Worth, rows_of, told_part, with_unfinished
from allais.preferences import Preference
from allais.preferences.named import in_words
from allais.preferences.showing import as_frame, as_html, as_intervals
from allais.preferences.valuation import is_undistorted
from allais.weights import Step


class Evaluation:
    """The worth of each target by each preference, on one log.

    Attributes:
        worths: One for each target and preference, in the order given.
        findings: What is wrong with the log, in sentences.
    """

    _repr_html_, to_frame, plot = as_html, as_frame, as_intervals

    def __init__(
        self, log: Decisions, targets: Mapping[str, Any], by: Sequence[Preference], delta: float,
        bounds: tuple[float, float] | None, estimator: Estimator, model: Model,
    ) -> None:  # fmt: skip
        self.log, self.delta, self.bounds, self.estimator = log, delta, bounds, estimator
        self.preferences = tuple(by)
        self.findings = log.findings()
        self._told = log.told
        fitted = Fitted(self._told, model) if estimator == ESTIMATORS[0] else None
        self._estimates = {
            name: Estimate(rows_of(self._told, told_part(log, target)), estimator, fitted)
            for name, target in targets.items()
        }
        self._orders: dict[Preference, tuple[FloatArray, IntArray]] = {}
        self._chance = delta / (len(targets) * len(self.preferences))  # one error rate for all of them
        self.worths = tuple(self._worth(name, preference) for name in targets for preference in self.preferences)

    def worth(self, target: str, by: Preference | None = None) -> Worth:
        """The worth of one target.

        Args:
            target: What it is called.
            by: One of the preferences; the first if left out.
        """
        wanted = target, in_words(self.preferences[0] if by is None else by)
        found = next((one for one in self.worths if (one.target, one.by) == wanted), None)
        if found is not None:
            return found
        raise ValueError(f"only targets and preferences that were evaluated have a worth; got {target!r}. Check both.")

    def weights(self, target: str) -> FloatArray:
        """How much each decision with an outcome counts for a target.

        Args:
            target: What it is called.
        """
        return self._estimates[target].rows.weights

    def rows(self) -> list[dict[str, Any]]:
        """One row per target and preference."""
        return [one.row() for one in self.worths]

    @property
    def headline(self) -> str:
        """What is wrong with the log, and what should not be trusted."""
        return "\n".join(dict.fromkeys((*self.findings, *(one.caveat for one in self.worths))))

    def __str__(self) -> str:
        heads = f"{'target':<20} {'by':<24} {'value':>10} {'interval':>23} {'proven':>23} {'outcomes':>9}"
        lines = [self.headline, heads]  # what is wrong comes first
        for one in self.worths:
            proven = f"{one.proven[0]:.4g} to {one.proven[1]:.4g}" if one.proven else ""
            held, what = f"{one.interval[0]:.4g} to {one.interval[1]:.4g}", f"{one.target[:20]:<20} {one.by[:24]:<24}"
            lines.append(f"{what} {one.value:>10.4g} {held:>23} {proven:>23} {one.effective:>9.0f}")
        return "\n".join(lines).strip()

    # -- one target ---------------------------------------------------------------------------------

    def _worth(self, name: str, preference: Preference) -> Worth:
        one = self._estimates[name]
        rows = one.rows
        worst, best = self._ends(preference)
        value = self._value(one, preference)
        if isinstance(preference.gains, Step):
            low, high = self._quantiles(one, preference)
        else:
            low, high = self._span(one, preference, value)
            below, above = self._reach(self._influence(one, preference), *self._unseen(one, preference))
            low, high = low - below, high + above
        low, high = (min(max(end, worst), best) for end in (low, high))  # an estimate may lie beyond what could occur
        proven = None if self.bounds is None else self._proven(one, preference)
        value = shown(preference, value) if rows.effective else math.nan  # nothing of it was tried
        return Worth(
            name, in_words(preference), value, pair_of(preference, low, high),
            None if proven is None else pair_of(preference, *proven), rows.effective, rows.untried,
            bool(rows.effective) and np.ptp(self._told.outcome[rows.weights > 0.0]) == 0.0,
            " in such contexts" if rows.replayed else "", rows.possible,
        )  # fmt: skip

    def _ends(self, preference: Preference) -> tuple[float, float]:
        """The utilities of the worst and the best outcome that could occur."""
        if self.bounds is None:
            return -math.inf, math.inf
        ends = preference.utilities(np.array(self.bounds))
        return float(ends.min()), float(ends.max())

    def _distribution(self, one: Estimate, preference: Preference) -> tuple[FloatArray, FloatArray]:
        """Utilities in ascending order, and P(U >= u) at each, made monotone: at most 1 less what nobody tried."""
        utilities, order = self._sorted(preference)
        points, tails = tails_of(utilities, one.masses[order], 1.0 - one.rows.untried)
        return points, tails[:-1]

    def _sorted(self, preference: Preference) -> tuple[FloatArray, IntArray]:
        """Utilities in ascending order, and the place of each in the log."""
        if preference not in self._orders:
            utilities = preference.utilities(self._told.outcome)
            order = np.argsort(utilities, kind="stable")
            self._orders[preference] = utilities[order], order
        return self._orders[preference]

    def _value(self, one: Estimate, preference: Preference) -> float:
        """The value of what was tried."""
        tried = max(1.0 - one.rows.untried, 1e-300)
        if is_undistorted(preference):  # linear: nothing to be mended
            worst, best = self._ends(preference)
            return min(max(float(one.masses @ preference.utilities(self._told.outcome)) / tried, worst), best)
        utilities, above = self._distribution(one, preference)
        return value_of(preference, utilities, np.append(above / tried, 0.0), 1.0)

    def _span(self, one: Estimate, preference: Preference, value: float) -> tuple[float, float]:
        """The estimated value if what nobody tried is as bad, and as good, as it can be."""
        if one.rows.untried == 0.0 and not is_undistorted(preference):
            return value, value
        low, high = (self._with_rest(one, preference, end) for end in self._ends(preference))
        return low, high

    def _unseen(self, one: Estimate, preference: Preference) -> tuple[Unseen, Unseen]:
        """How much events that nobody saw would change the value."""
        utilities, order = self._sorted(preference)
        masses, full = one.masses[order], 1.0 - one.rows.untried
        seen = masses != 0.0  # other arms' outcomes tell nothing about this target
        chance, ends = self._chance / 2.0, self._ends(preference)
        return unseen(preference, utilities[seen], masses[seen], full, one.known_by, chance, ends)

    def _reach(self, parts: FloatArray, expected: Unseen, rare: Unseen) -> tuple[float, float]:
        """How far an interval reaches below and above its estimate.

        The expected effect of unseen events is a bias. How rare they are, and what was seen, vary independently, so
        the squares add up (Zou and Donner 2008).
        """
        below, above = reach_of(parts, self._chance)
        return expected.less + math.hypot(below, rare.less), expected.more + math.hypot(above, rare.more)

    def _influence(self, one: Estimate, preference: Preference) -> FloatArray:
        """What each decision adds to the estimated value, to first order: the integral of Psi by its measure.

        V changes by sum of (u_i - u_{i-1}) w'(S_i) dS_i, so an outcome y counts as Psi(y), the sum over u_i <= y. The
        derivative is taken over about one outcome, since it is infinite at an end for some weights.
        """
        utilities, above = self._distribution(one, preference)
        told, step = self._told, 1.0 / max(one.rows.effective, 2.0)
        lower, upper = np.clip(above - step / 2, 0.0, 1.0), np.clip(above + step / 2, 0.0, 1.0)
        over = np.maximum(upper - lower, step / 2)
        gains, losses = np.maximum(utilities, 0.0), np.minimum(utilities, 0.0)
        rises = np.diff(gains, prepend=gains[:1]) * (preference.gains(upper) - preference.gains(lower)) / over
        falls = preference.losses(1.0 - lower) - preference.losses(1.0 - upper)
        rises += np.diff(losses, prepend=losses[:1]) * falls / over
        psi_sorted = np.cumsum(rises)
        psi = np.empty(told.n)
        psi[self._sorted(preference)[1]] = psi_sorted
        return one.parts(psi)

    def _quantiles(self, one: Estimate, preference: Preference) -> tuple[float, float]:
        """The least and the greatest utility u at which P(U >= u), within its interval, is at the level."""
        assert isinstance(preference.gains, Step)
        level, untried = preference.gains.at, one.rows.untried
        utilities = preference.utilities(self._told.outcome)
        points = np.unique(utilities)

        def reached(u: float, upper: bool) -> bool:
            found = one.parts((utilities >= u).astype(float))
            below, above = reach_of(found, self._chance)
            more = untried + above if upper else -below  # what nobody tried may be anything
            return bool(found.mean() + more >= level)

        worst, best = self._ends(preference)
        low = last_where(points, lambda u: reached(u, False))
        high = best if untried >= level else last_where(points, lambda u: reached(u, True))
        return (worst if low is None else low), (worst if high is None else high)

    def _with_rest(self, one: Estimate, preference: Preference, end: float) -> float:
        """The value where the share that nobody tried has the utility `end`."""
        untried = one.rows.untried
        if untried > 0.0 and not math.isfinite(end):
            return end
        if is_undistorted(preference):
            rest = untried * end if untried > 0.0 else 0.0
            return float(one.masses @ preference.utilities(self._told.outcome)) + rest
        utilities, above = self._distribution(one, preference)
        if end <= utilities[0]:
            points, tails = np.append(end, utilities), np.concatenate([[1.0], above, [0.0]])
        else:
            points, tails = np.append(utilities, end), np.append(np.append(above, 0.0) + one.rows.untried, 0.0)
        return value_of(preference, points, tails, 1.0)

    # -- proven -------------------------------------------------------------------------------------

    def _proven(self, one: Estimate, preference: Preference) -> tuple[float, float]:
        """Bounds on the value that hold at all times at once, by a band of the distribution function."""
        worst, best = self._ends(preference)
        utilities = preference.utilities(self._told.outcome)
        if not ((utilities >= worst) & (utilities <= best)).all():
            low, high = self.bounds or (0.0, 0.0)
            raise ValueError(f"outcomes lie within the bounds; some are not within {low:g} to {high:g}. Widen them.")
        if is_undistorted(preference):
            scaled = (utilities - worst) / (best - worst)
            low, high = (lower_end(one.rows.weights * part, self._chance / 2.0) for part in (scaled, 1.0 - scaled))
            return worst + (best - worst) * low, best - (best - worst) * high
        thresholds, least, most = band(one.rows.weights, utilities, self._chance, (worst, best))
        points = np.concatenate([[worst], thresholds])
        low = value_of(preference, points, np.concatenate([[1.0], least, [0.0]]), 1.0)
        upper = np.concatenate([thresholds, [best]])  # between two thresholds, as good as the higher one
        high = value_of(preference, upper, np.concatenate([[1.0], most, [0.0]]), 1.0)
        return low, high

    # -- several targets ------------------------------------------------------------------------------

    def difference(self, one: str, other: str, by: Preference | None = None) -> tuple[float, tuple[float, float]]:
        """How much more a target is worth than another on the same decisions, as a utility, and its interval.

        Args:
            one: A target.
            other: The target that it is compared with.
            by: One of the preferences; the first if left out.
        """
        preference = self.preferences[0] if by is None else by
        if self.log.unfinished:
            raise ValueError("a difference needs finished outcomes; some of this log are not. Compare the intervals.")
        if isinstance(preference.gains, Step):
            raise ValueError("the difference of two quantiles has no influence function. Compare their intervals.")
        both = [self._estimates[name] for name in (one, other)]
        values = [self._value(each, preference) for each in both]
        (low, high), (least, most) = (self._span(*each) for each in zip(both, [preference] * 2, values, strict=True))
        parts = np.subtract(*(self._influence(each, preference) for each in both))
        w, v = (each.rows.weights for each in both)
        shared = float(w @ v) ** 2 / max(float(w @ w) * float(v @ v), 1e-300)
        rest = (a.apart(b, shared) for a, b in zip(*(self._unseen(each, preference) for each in both), strict=True))
        below, above = self._reach(parts, *rest)
        known = all(each.rows.effective for each in both)
        return values[0] - values[1] if known else math.nan, (low - most - below, high - least + above)


def evaluate(
    log: Decisions, targets: Any, by: Preference | Sequence[Preference], *, delta: float = 0.1,
    bounds: tuple[float, float] | None = None, estimator: Estimator = "doubly robust", model: Model = best_model,
) -> Evaluation:  # fmt: skip
    """What other policies would have been worth, from a log of decisions with propensities.

    Args:
        log: The log, from `read_decisions`.
        targets: What is evaluated: an arm, a mapping from arms to probabilities, a function from a context to either, a
            list with either for each decision (such as `best_so_far` makes), a policy that learns, which is replayed,
            or "logging" for the policy that made the log; or a mapping from names to such targets.
        by: The preference, or several.
        delta: The probability that any of the intervals misses; of both kinds.
        bounds: The least and the greatest outcome that could occur, for intervals that are proven.
        estimator: How the distribution is estimated.
        model: What the doubly robust estimate assumes of outcomes, and corrects by those that were seen: a function
            that fits a `Partition` of contexts and arms to decisions. By default a forest of conditional distributions
            where the log has contexts, and else each arm by itself.

    Returns:
        The evaluation. Intervals are asymptotic by influence functions. With bounds there are proven ones, too, which
        hold at all times at once for logs of policies that learned meanwhile; both assume that contexts and outcomes of
        each arm come from one distribution throughout. Outcomes that are not finished (`at_least`, `at_most` of
        `read_decisions`) count in values as the end that is known, and in intervals as whatever they may become.

    >>> import allais
    >>> from allais.evidence import read_decisions
    >>> rng = np.random.default_rng(1)
    >>> arm = rng.choice(["slow", "fast"], size=2_000, p=[0.8, 0.2])
    >>> table = {"arm": arm, "outcome": rng.normal(np.where(arm == "slow", 30.0, 20.0), 4.0),
    ...          "propensity": np.where(arm == "slow", 0.8, 0.2)}
    >>> found = evaluate(read_decisions(table), {"fast": "fast", "now": "logging"}, allais.expected_value(costs=True))
    >>> [round(one.value, 1) for one in found.worths]
    [20.0, 28.0]
    """
    preferences = [by] if isinstance(by, Preference) else list(by)
    if not preferences or not all(isinstance(one, Preference) for one in preferences):
        raise TypeError(f"a log is evaluated by a preference, or several; got {by!r}. Write expected_value().")
    if any(one.gains.jumps and not isinstance(one.gains, Step) for one in preferences):
        raise ValueError("an interval needs a weight without jumps, or a quantile alone. Evaluate by each part of it.")
    if estimator not in ESTIMATORS:
        raise ValueError(f"an estimator is one of {', '.join(ESTIMATORS)}; got {estimator!r}. Choose one.")
    if not log.told.n and not log.unfinished:
        raise ValueError("a log is evaluated by its outcomes; this one has none. Wait for some.")
    if bounds is not None and not (math.isfinite(bounds[0]) and math.isfinite(bounds[1]) and bounds[0] < bounds[1]):
        raise ValueError(f"bounds are the least and the greatest outcome; got {bounds}. Give two numbers that ascend.")
    named = targets if _are_named(targets) else {_name_of(targets): targets}
    share("delta", delta)

    def evaluated(part: Decisions) -> Evaluation:
        return Evaluation(part, named, preferences, delta, bounds, estimator, model)

    return with_unfinished(log, preferences, bounds, evaluated) if log.unfinished else evaluated(log)


def choose_policy(
    log: Decisions, targets: Mapping[str, Any], by: Preference, *, part: float = 0.5, **settings: Any
) -> Evaluation:
    """The target that looks best on one part of a log, and what it is worth on the other: luck does not count twice.

    Args:
        log: The log.
        targets: The candidates, by name.
        by: The preference.
        part: The share of the decisions, the first ones, by which it is chosen.
        **settings: Those of `evaluate`.
    """
    cut = int(log.n * share("part", part))
    parts = slice(0, cut), slice(cut, None)
    listed = {name: [target[part] if isinstance(target, list) else target for part in parts]
              for name, target in targets.items()}  # fmt: skip
    first = evaluate(log.where(parts[0]), {name: both[0] for name, both in listed.items()}, by, **settings)
    sign = -1.0 if by.costs else 1.0
    best = max(first.worths, key=lambda one: sign * one.value).target
    return evaluate(log.where(parts[1]), {best: listed[best][1]}, by, **settings)


# -- pieces ---------------------------------------------------------------------------------------


def _are_named(targets: Any) -> bool:
    """Whether targets are given by names, and not one target by its probabilities."""
    if not isinstance(targets, Mapping):
        return False
    return not all(isinstance(one, int | float) and not isinstance(one, bool) for one in targets.values())


def _name_of(target: Any) -> str:
    if isinstance(target, Mapping | list):
        return "a mixture" if isinstance(target, Mapping) else "the list"
    return getattr(target, "__name__", None) or str(target)
