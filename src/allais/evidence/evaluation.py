"""What another policy would have been worth: the distribution of outcomes under a target, from a log of decisions.

Write w = pi(a | x) / p for a decision on a in the context x with the propensity p, where the target chooses a with
probability pi(a | x). Then the mean of w 1{Y <= y} is the target's distribution function F(y). Three estimates of it:

    importance-weighted   mean of w 1{Y <= y}
    self-normalised       the same, over the mean of w
    doubly robust         mean of sum_a pi(a | x) G_a(y) + w (1{Y <= y} - G_A(y)), made monotone

G_a is the distribution of an arm's outcomes in other parts of the log (cross-fitting), so the last is unbiased whatever
G is, and varies less if G is near. Every preference is a value of such a distribution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from allais._checks import FloatArray, share
from allais.evidence.decisions import FEW, Decisions
from allais.evidence.distributions import band, is_mean, last_where, lower_end, pair_of, shown, tails_of, value_of
from allais.evidence.targets import Rows, rows_of
from allais.preferences import Preference
from allais.preferences.named import in_words
from allais.weights import Step

Estimator = Literal["doubly robust", "self-normalised", "importance-weighted"]
ESTIMATORS = ("doubly robust", "self-normalised", "importance-weighted")
FOLDS = 5


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
    """

    target: str
    by: str
    value: float
    interval: tuple[float, float]
    proven: tuple[float, float] | None
    effective: float
    untried: float
    alike: bool = False

    @property
    def caveat(self) -> str:
        """Why the estimate should not be trusted, in a sentence; empty if nothing speaks against it."""
        if self.untried > 0.0:
            return f"{self.untried:.1%} of {self.target}'s decisions are on arms that nobody tried."
        if self.effective < FEW:
            return f"{self.target} rests on {self.effective:.1f} outcomes in effect: the log hardly tried what it does."
        if self.alike:
            return f"All outcomes that {self.target} rests on are equal: only a proven interval says how they may vary."
        return ""


class Evaluation:
    """The worth of each target by each preference, on one log.

    Attributes:
        worths: One for each target and preference, in the order given.
        findings: What is wrong with the log, in sentences.
    """

    def __init__(
        self, log: Decisions, targets: Mapping[str, Any], by: Sequence[Preference], delta: float,
        bounds: tuple[float, float] | None, estimator: Estimator,
    ) -> None:  # fmt: skip
        self.log, self.delta, self.bounds, self.estimator = log, delta, bounds, estimator
        self.preferences = tuple(by)
        self.findings = log.findings()
        self._told = log.told
        self._folds = np.random.default_rng(0).permutation(self._told.n) % FOLDS
        self._rows = {name: rows_of(self._told, target) for name, target in targets.items()}
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
        raise ValueError(f"a worth is of a target and a preference that were evaluated; got {target!r}. Check both.")

    def __str__(self) -> str:
        lines = [f"{'target':<20} {'by':<24} {'value':>10} {'interval':>23} {'proven':>23} {'outcomes':>9}"]
        for one in self.worths:
            proven = f"{one.proven[0]:.4g} to {one.proven[1]:.4g}" if one.proven else ""
            held, what = f"{one.interval[0]:.4g} to {one.interval[1]:.4g}", f"{one.target[:20]:<20} {one.by[:24]:<24}"
            lines.append(f"{what} {one.value:>10.4g} {held:>23} {proven:>23} {one.effective:>9.0f}")
        caveats = [one.caveat for one in self.worths if one.caveat]
        return "\n".join([*lines, *dict.fromkeys((*self.findings, *caveats))])

    # -- one target ---------------------------------------------------------------------------------

    def _worth(self, name: str, preference: Preference) -> Worth:
        rows = self._rows[name]
        z = float(special.ndtri(1.0 - self._chance / 2.0))
        worst, best = self._ends(preference)
        value, spread = self._estimate(rows, preference)
        if isinstance(preference.gains, Step):
            low, high = self._quantiles(rows, preference, z)
        else:
            low = high = value
            if rows.untried > 0.0:  # what nobody tried may be anything
                low, high = (self._with_rest(rows, preference, end, value) for end in (worst, best))
            bias = self._bias(rows, preference, value)
            low, high = low - z * spread - max(-bias, 0.0), high + z * spread + max(bias, 0.0)
        low, high = max(low, worst), min(high, best)
        if not rows.effective:
            value = math.nan  # nothing of it was tried
        elif is_mean(preference):
            value = min(max(value / (1.0 - rows.untried), worst), best)  # of what was tried
        elif rows.untried > 0.0:
            points, above = self._distribution(rows, preference)
            value = value_of(preference, points, np.append(above / (1.0 - rows.untried), 0.0), 1.0)
        proven = None if self.bounds is None else self._proven(rows, preference)
        return Worth(
            name, in_words(preference), shown(preference, value), pair_of(preference, low, high),
            None if proven is None else pair_of(preference, *proven), rows.effective, rows.untried,
            bool(rows.effective) and np.ptp(self._told.outcome[rows.weights > 0.0]) == 0.0,
        )  # fmt: skip

    def _ends(self, preference: Preference) -> tuple[float, float]:
        """The utilities of the worst and the best outcome that could occur."""
        if self.bounds is None:
            return -math.inf, math.inf
        ends = preference.utilities(np.array(self.bounds))
        return float(ends.min()), float(ends.max())

    def _masses(self, rows: Rows) -> FloatArray:
        """A signed measure on the outcomes, in the order of the log: its mass is 1 less what nobody tried."""
        n, w = self._told.n, rows.weights
        if self.estimator == "importance-weighted":
            return w / n
        if self.estimator == "self-normalised":
            total = float(w.sum())
            return w * ((1.0 - rows.untried) / total) if total > 0.0 else np.zeros(n)
        masses = w / n
        for f in range(FOLDS):
            own, other = self._folds == f, self._folds != f
            excess = rows.shares[own].sum(axis=0) - np.bincount(
                self._told.chosen[own], weights=w[own], minlength=len(self._told.arms)
            )
            counts = np.bincount(self._told.chosen[other], minlength=len(self._told.arms))
            each = np.divide(excess, counts * n, out=np.zeros(counts.size), where=counts > 0)
            masses[other] += each[self._told.chosen[other]]  # an arm of which no other part knows has no model
        return masses

    def _distribution(self, rows: Rows, preference: Preference) -> tuple[FloatArray, FloatArray]:
        """Utilities in ascending order, and P(U >= u) at each, made monotone: at most 1 less what nobody tried."""
        points, tails = tails_of(preference.utilities(self._told.outcome), self._masses(rows), 1.0 - rows.untried)
        return points, tails[:-1]

    def _estimate(self, rows: Rows, preference: Preference) -> tuple[float, float]:
        """The value of what was tried, and its standard error by the influence function."""
        utilities, above = self._distribution(rows, preference)
        if is_mean(preference):
            value = float(self._masses(rows) @ preference.utilities(self._told.outcome))  # linear: nothing to be mended
        else:
            value = value_of(preference, utilities, np.append(above, 0.0), 1.0 - rows.untried)
        phi = self._influence(rows, preference, utilities, above)
        return value, float(phi.std(ddof=1)) / math.sqrt(max(phi.size, 1)) if phi.size > 1 else math.inf

    def _bias(self, rows: Rows, preference: Preference, value: float) -> float:
        """How much the value is too low, by how it grows from halves of the decisions to all of them.

        A weight that is steep at an end makes rare outcomes count that few decisions have not seen. What is missing
        shrinks like n^-b with b about 1/2, so that as much is missing as came with the second half, times 1/(2^b - 1).
        """
        if is_mean(preference):
            return 0.0
        order = np.random.default_rng(1).permutation(self._told.n)
        masses, utilities, full = self._masses(rows), preference.utilities(self._told.outcome), 1.0 - rows.untried
        halves = []
        for half in (order[::2], order[1::2]):
            total = float(masses[half].sum())
            if total <= 0.0:
                return 0.0
            halves.append(value_of(preference, *tails_of(utilities[half], masses[half] * (full / total), full), full))
        return (value - 0.5 * (halves[0] + halves[1])) / (math.sqrt(2.0) - 1.0)

    def _influence(self, rows: Rows, preference: Preference, utilities: FloatArray, above: FloatArray) -> FloatArray:
        """What each decision adds to the estimated value, to first order: the integral of Psi by its measure.

        V changes by sum of (u_i - u_{i-1}) w'(S_i) dS_i, so an outcome y counts as Psi(y), the sum over u_i <= y. The
        derivative is taken over about one outcome, since it is infinite at an end for some weights.
        """
        told, step = self._told, 1.0 / max(rows.effective, 2.0)
        lower, upper = np.clip(above - step / 2, 0.0, 1.0), np.clip(above + step / 2, 0.0, 1.0)
        over = np.maximum(upper - lower, step / 2)
        gains, losses = np.maximum(utilities, 0.0), np.minimum(utilities, 0.0)
        rises = np.diff(gains, prepend=gains[:1]) * (preference.gains(upper) - preference.gains(lower)) / over
        falls = preference.losses(1.0 - lower) - preference.losses(1.0 - upper)
        rises += np.diff(losses, prepend=losses[:1]) * falls / over
        psi_sorted = np.cumsum(rises)
        psi = np.empty(told.n)
        psi[np.argsort(preference.utilities(told.outcome), kind="stable")] = psi_sorted
        return self._contributions(rows, psi)

    def _contributions(self, rows: Rows, psi: FloatArray) -> FloatArray:
        """Each decision's part of the mean of psi, whose average is the estimate."""
        told, w = self._told, rows.weights
        if self.estimator == "importance-weighted":
            return w * psi
        if self.estimator == "self-normalised":
            mean = float(w.mean())
            centre = float(w @ psi) / max(float(w.sum()), 1e-300)
            return centre + w * (psi - centre) / max(mean, 1e-300)
        found = np.empty(told.n)
        for f in range(FOLDS):
            own, other = self._folds == f, self._folds != f
            counts = np.bincount(told.chosen[other], minlength=len(told.arms))
            sums = np.bincount(told.chosen[other], weights=psi[other], minlength=len(told.arms))
            model = np.divide(sums, counts, out=np.zeros(counts.size), where=counts > 0)
            found[own] = rows.shares[own] @ model + w[own] * (psi[own] - model[told.chosen[own]])
        return found

    def _quantiles(self, rows: Rows, preference: Preference, z: float) -> tuple[float, float]:
        """The least and the greatest utility u at which P(U >= u), give or take z standard errors, is at the level."""
        assert isinstance(preference.gains, Step)
        level, told = preference.gains.at, self._told
        utilities = preference.utilities(told.outcome)
        points = np.unique(utilities)

        def reached(u: float, sign: float) -> bool:
            found = self._contributions(rows, (utilities >= u).astype(float))
            tail = found.mean() + sign * z * found.std(ddof=1) / math.sqrt(found.size)
            return bool(tail + (rows.untried if sign > 0.0 else 0.0) >= level)  # what nobody tried may be anything

        worst, best = self._ends(preference)
        low = last_where(points, lambda u: reached(u, -1.0))
        high = best if rows.untried >= level else last_where(points, lambda u: reached(u, 1.0))
        return (worst if low is None else low), (worst if high is None else high)

    def _with_rest(self, rows: Rows, preference: Preference, end: float, value: float) -> float:
        """The value where the share that nobody tried has the utility `end`."""
        if not math.isfinite(end):
            return end
        if is_mean(preference):
            return value + rows.untried * end
        utilities, above = self._distribution(rows, preference)
        if end <= utilities[0]:
            points, tails = np.append(end, utilities), np.concatenate([[1.0], above, [0.0]])
        else:
            points, tails = np.append(utilities, end), np.append(np.append(above, 0.0) + rows.untried, 0.0)
        return value_of(preference, points, tails, 1.0)

    # -- proven -------------------------------------------------------------------------------------

    def _proven(self, rows: Rows, preference: Preference) -> tuple[float, float]:
        """Bounds on the value that hold at all times at once, by a band of the distribution function."""
        worst, best = self._ends(preference)
        utilities = preference.utilities(self._told.outcome)
        if not ((utilities >= worst) & (utilities <= best)).all():
            low, high = self.bounds or (0.0, 0.0)
            raise ValueError(f"outcomes lie within the bounds; some are not within {low:g} to {high:g}. Widen them.")
        if is_mean(preference):
            scaled = (utilities - worst) / (best - worst)
            low, high = (lower_end(rows.weights * part, self._chance / 2.0) for part in (scaled, 1.0 - scaled))
            return worst + (best - worst) * low, best - (best - worst) * high
        thresholds, least, most = band(rows.weights, utilities, self._chance)
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
        if isinstance(preference.gains, Step):
            raise ValueError("the difference of two quantiles has no influence function. Compare their intervals.")
        values, parts = [], []
        for name in (one, other):
            rows = self._rows[name]
            utilities, above = self._distribution(rows, preference)
            values.append(self._estimate(rows, preference)[0])
            parts.append(self._influence(rows, preference, utilities, above))
        both = parts[0] - parts[1]
        reach = float(special.ndtri(1.0 - self._chance / 2.0)) * float(both.std(ddof=1)) / math.sqrt(both.size)
        found = values[0] - values[1]
        return found, (found - reach, found + reach)


def evaluate(
    log: Decisions, targets: Any, by: Preference | Sequence[Preference], *, delta: float = 0.1,
    bounds: tuple[float, float] | None = None, estimator: Estimator = "doubly robust",
) -> Evaluation:  # fmt: skip
    """What other policies would have been worth, from a log of decisions with propensities.

    Args:
        log: The log, from `read_decisions`.
        targets: What is evaluated: an arm, a mapping from arms to probabilities, a function from a context to either, a
            policy that learns, which is replayed, or "logging" for the policy that made the log; or a mapping from
            names to such targets.
        by: The preference, or several.
        delta: The probability that any of the intervals misses; of both kinds.
        bounds: The least and the greatest outcome that could occur, for intervals that are proven.
        estimator: How the distribution is estimated.

    Returns:
        The evaluation. Intervals are asymptotic by influence functions. With bounds there are proven ones, too, which
        hold at all times at once for logs of policies that learned meanwhile; both assume that contexts and outcomes of
        each arm come from one distribution throughout.

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
    if not log.told.n:
        raise ValueError("a log is evaluated by its outcomes; this one has none. Wait for some.")
    if bounds is not None and not (math.isfinite(bounds[0]) and math.isfinite(bounds[1]) and bounds[0] < bounds[1]):
        raise ValueError(f"bounds are the least and the greatest outcome; got {bounds}. Give two numbers that ascend.")
    named = targets if _are_named(targets) else {_name_of(targets): targets}
    return Evaluation(log, named, preferences, share("delta", delta), bounds, estimator)


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
    first = evaluate(log.where(slice(0, cut)), targets, by, **settings)
    sign = -1.0 if by.costs else 1.0
    best = max(first.worths, key=lambda one: sign * one.value).target
    return evaluate(log.where(slice(cut, None)), {best: targets[best]}, by, **settings)


# -- pieces ---------------------------------------------------------------------------------------


def _are_named(targets: Any) -> bool:
    """Whether targets are given by names, and not one target by its probabilities."""
    if not isinstance(targets, Mapping):
        return False
    return not all(isinstance(one, int | float) and not isinstance(one, bool) for one in targets.values())


def _name_of(target: Any) -> str:
    return getattr(target, "__name__", None) or ("a mixture" if isinstance(target, Mapping) else str(target))
