"""What a rule and a state say: values, intervals, the best arm; and how others see it, by their own preferences."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, TypeVar

import numpy as np

from allais._checks import FloatArray, brief, whole
from allais._kernels import held
from allais._system.locks import one_at_a_time
from allais.bands.base import Interval
from allais.learner.bounds import shared_bounds
from allais.learner.choices import NotNow, Recommendation
from allais.learner.unfinished import BoundsWithCuts, CutsView, cuts_view, unfinished_in_words, value_with_cuts
from allais.learner.views import (
    MOST,
    PreferenceView,
    SharedDraws,
    SharedTables,
    SharedView,
    choosing_for,
    same_utility,
)
from allais.numerics.sums import finite_parts
from allais.policies.core.base import Policy
from allais.policies.core.guardrails import KEEPS, Feasibility
from allais.policies.core.knowledge import worth_of
from allais.policies.core.verbs import SETTLED, bracket, choose, exponent, recommend
from allais.policies.npts import BinsRule
from allais.preferences import Preference
from allais.preferences.showing import Rows
from allais.preferences.valuation import certainty_equivalent_in_words, sure_amount, tail
from allais.problems.options import Option
from allais.samples.cells import RAW, RAW_HIGH, RAW_LOW, SUM, hidden, spread_out
from allais.samples.layout import cells_of_arm, outcomes_of_arm
from allais.samples.memory import Memory, measure
from allais.samples.trees import DISTINCT

if TYPE_CHECKING:
    from allais.learner._engine import Engine
    from allais.learner.view import View

Arguments = ParamSpec("Arguments")
Reader = TypeVar("Reader", bound="View")
Result = TypeVar("Result")

MANY = 50_000  # distinct outcomes in trees: to weigh them one by one takes longer than to tabulate a new weight
SHARED = ("memory", "kept", "lifetimes")  # which `choose` does not change, or only brings up to date


class Others:
    """The people who share a learner's memory."""

    def __init__(self) -> None:
        self.views: dict[Preference, PreferenceView] = {}  # of people who asked, the one who asked last at the end
        self.tables: SharedTables | None = None  # what people share where nothing is kept about them

    def see(self, engine: Engine, preference: Preference) -> PreferenceView | SharedView:
        """The arms for somebody else; with unfinished outcomes, also for the policy's own preference."""
        if not engine.policy.open_to_people and preference != engine.policy.preference:
            raise ValueError(
                f"{type(engine.policy).__name__} explores for one preference only; got another. Use NPTS, WUCB or "
                "LinTS, which choose for anybody."
            )
        if engine.cuts.any:
            view = self.views.pop(preference, None)
            if not isinstance(view, CutsView) or view.of is not engine.rule:
                view = cuts_view(engine, preference)
            return self._keep(view, engine)
        if self.tables is None or self.tables.of is not engine.rule:
            draws = isinstance(getattr(engine.rule, "band", None), BinsRule)
            self.tables = (
                SharedDraws(engine.policy, engine.rule) if draws else shared_bounds(engine.policy, engine.rule)
            )
        if self.tables is not None:
            self.tables.look(engine.state, engine.state_at)
            return self.tables.view(preference)
        view = self.views.pop(preference, None)
        return self._keep(engine.new_view(preference) if view is None or isinstance(view, CutsView) else view, engine)

    def _keep(self, view: PreferenceView, engine: Engine) -> PreferenceView:
        preference = view.policy.preference
        view.look(engine.state)
        self.views[preference] = view
        if len(self.views) > MOST:
            del self.views[next(iter(self.views))]
        return view

    def forget(self) -> None:
        """Drop all views, after a change that is more than one new outcome."""
        self.views = {}
        if self.tables is not None:
            self.tables.forget()


def someone(policy: Policy, preference: Preference | None) -> Preference:
    """The preference that was given, with the policy's reference and direction; or the policy's own."""
    if preference is None:
        return policy.preference
    if isinstance(preference, Mapping):
        raise TypeError(f"a context is given by its name; got {brief(preference)}. Write context={{...}}.")
    if not isinstance(preference, Preference):
        raise TypeError(f"an arm is valued by a preference; got {preference!r}. Write Preference(...).")
    return preference.in_frame_of(policy.preference)


def refuse_features(policy: Policy, context: Any = None) -> NoReturn:
    """Refuse features, or a context, that a policy does not take."""
    if context is not None:
        raise TypeError(
            f"{type(policy).__name__} takes no context; got one. Use ContextualNPTS, which learns from any."
        )
    raise TypeError(
        f"{type(policy).__name__} knows arms by their names and takes no features. Leave them out, or use a linear "
        "policy, such as WOFUL."
    )


def without_context(
    method: Callable[Concatenate[Reader, Arguments], Result],
) -> Callable[Concatenate[Reader, Arguments], Result]:
    """A reading, one at a time, that refuses a context: its signature has none, and contextual learners have their own.

    >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
    >>> learner.value(context={"hour": 8})
    Traceback (most recent call last):
    TypeError: NPTS takes no context; got one. Use ContextualNPTS, which learns from any.
    """
    reading = one_at_a_time(method)

    @functools.wraps(method)
    def read(self: Reader, /, *arguments: Arguments.args, **settings: Arguments.kwargs) -> Result:
        if (context := settings.pop("context", None)) is not None:
            refuse_features(self.policy, context)
        return reading(self, *arguments, **settings)

    return read


# -- values -------------------------------------------------------------------------------------------


def values_of(engine: Engine, preference: Preference) -> FloatArray:
    """What each arm is worth to somebody, with unfinished outcomes by the product limit; NaN where nothing is known."""
    policy, memory = engine.policy, engine.state.memory
    n_arms, told, own = memory.pulls.size, memory.pulls > 0, policy.preference
    many = preference == own or memory.trees.heads[:, DISTINCT].sum() > MANY
    summed = told & memory.in_trees if many and same_utility(preference, own) else np.zeros_like(told)
    values = np.full(n_arms, np.nan)
    if summed.any():
        worth, summing = worth_of(preference, [], n_arms), memory._replace(value=values, slack=memory.slack.copy())
        for k in np.flatnonzero(summed).tolist():
            measure(worth, summing, k)
    for k in np.flatnonzero(told & ~summed).tolist():
        values[k] = _value(policy, memory, k, preference)
    for arm in np.flatnonzero(engine.cuts.counts(len(engine.names))).tolist() if engine.cuts.any else ():
        values[arm] = value_with_cuts(engine, arm, preference)
    return values


def shown(engine: Engine) -> tuple[Any, Any]:
    """Rule and state as a reader sees them: the learner's own, or those that know of unfinished outcomes, too."""
    view = _cuts_of(engine)
    return (engine.rule, engine.state) if view is None else (view.rule, view.state)


def _cuts_of(engine: Engine) -> CutsView | None:
    if not engine.cuts.any:
        return None
    view = engine.others.see(engine, engine.policy.preference)
    assert isinstance(view, CutsView)
    view.complete()
    return view


def _value(policy: Policy, memory: Memory, k: int, preference: Preference) -> float:
    utility, outcomes, counts = outcomes_of_arm(memory, k)
    if not same_utility(preference, policy.preference):
        utility = preference.utilities(outcomes)
    order = np.argsort(utility)
    utility, counts = utility[order], counts[order]
    above = np.cumsum(counts[::-1])[::-1] / counts.sum()
    below = (np.cumsum(counts) - counts) / counts.sum()
    return finite_parts(utility, above, below, preference.gains, preference.losses).value


def hidden_by_cells(policy: Policy, memory: Memory, k: int, preference: Preference) -> float:
    """How much of an arm's value its cells may hide."""
    cells = cells_of_arm(memory, k)
    if not (cells.shape[1] and memory.pulls[k]):
        return 0.0
    utility, raw, counts = outcomes_of_arm(memory, k)
    table = spread_out(utility, raw, counts, cells)
    if preference == policy.preference:
        return hidden(table, counts, preference.gains, preference.losses, table[SUM] / counts)
    # the same cells by another preference's utilities
    table = np.stack([preference.utilities(table[row]) for row in (RAW_LOW, RAW_HIGH, RAW)])
    order = np.argsort(table[2], kind="stable")
    return hidden(table[:, order], counts[order], preference.gains, preference.losses)


def shares_of(engine: Engine, view: PreferenceView | SharedView | None, draws: int) -> dict[Hashable, float]:
    """The share of each arm in play among choices that nobody is told."""
    many = whole("draws", draws)
    rule, state = (engine.rule, engine.state) if view is None else (view.rule, view.state)
    counts = {name: 0 for name, active in zip(engine.names, engine.state.active, strict=True) if active}
    state = apart(state)
    places = held(rule), held(state)
    choosing = choosing_for(type(rule), *places)
    asked = state.asked.copy()
    for u in np.random.default_rng(0).random(many).tolist():
        if view is not None:
            view.prepare(u)
        arm = int(choosing(*places, u))
        if arm < 0:
            raise NotNow("nothing can be asked now; the policy has settled or waits. See recommend().")
        counts[engine.names[arm]] += 1
        state.asked[:] = asked
    return {name: count / many for name, count in counts.items()}


def why(engine: Engine, place: int, values: FloatArray, preference: Preference | None, unit: str) -> str:
    """A sentence about an arm that was just chosen, by what arms are worth to somebody."""
    memory, own, arm = engine.state.memory, engine.policy.preference, engine.names[place]
    if not (pulls := int(memory.pulls[place])):
        return f"no outcome of {arm} is finished" if engine.cuts.any else f"{arm} was never seen"
    whose = own if preference is None else preference.in_frame_of(own)
    best = bool(((values[place] >= values) | (memory.pulls == 0)).all())
    return f"{worth_in_words(arm, best, whose, values[place], unit)}, by {pulls} outcome{'s' if pulls > 1 else ''}"


def worth_in_words(arm: Hashable, best: bool, preference: Preference, value: float, unit: str, where: str = "") -> str:
    """What an arm that was chosen is worth, as the first part of a sentence."""
    judged = "is worth most so far" if best else "may be worth more than it seems"
    return f"{arm} {judged}{where}: {certainty_equivalent_in_words(preference, float(value), unit, subject='it')}"


def best_guess(arms: Sequence[Hashable], values: dict[Hashable, float], pulls: dict[Hashable, int]) -> Recommendation:
    """The arm of the highest value, without an interval and without a promise; ties go to the most pulls."""
    known = {name: values[name] for name in arms if not math.isnan(values[name])}
    best = max(known, key=lambda name: (known[name], pulls.get(name, 0)), default=arms[0])
    return Recommendation(best, known.get(best, math.nan), None, False, None, "none")


# -- intervals and the end ----------------------------------------------------------------------------


def intervals_of(policy: Policy, names: tuple[Hashable, ...], rule: Any, state: Any) -> dict[Hashable, Interval]:
    """The interval of every arm's value, by the rule and the state of a learner or of a run."""
    low, high = np.empty(len(names)), np.empty(len(names))
    bracket(rule, state, low, high)
    ends = zip(low.tolist(), state.memory.value.tolist(), high.tolist(), strict=True)
    return {
        name: Interval(*one).within(bounds) if math.isfinite(one[0]) and math.isfinite(one[2]) else Interval(*one)
        for name, one, bounds in zip(names, ends, policy.value_bounds(len(names)), strict=True)
    }


def apart(state: Any) -> Any:
    """The state with copies of all that `choose` writes, so that asking changes nothing."""
    return state._replace(**{name: copy.deepcopy(getattr(state, name)) for name in state._fields if name not in SHARED})


def is_settled(policy: Policy, rule: Any, state: Any) -> bool:
    """Whether a policy has stopped and its recommendation is final."""
    if policy.guardrails and policy.goal != "regret":
        return Feasibility(policy, state.asked.size).is_settled(rule, apart(state))
    return policy.goal != "regret" and bool(choose(rule, apart(state), 0.0) == SETTLED)


def recommended(engine: Engine, policy: Policy, rule: Any, state: Any) -> Recommendation:
    """The best arm by a rule and a state: those of the policy, or of somebody else's view."""
    limits = Feasibility(policy, state.asked.size) if policy.guardrails else None
    if limits is not None and not state.active.any():
        said = limits.in_words(engine.names, state, None)
        return Recommendation(None, math.nan, None, True, policy.error_rate, policy.promise, "", said)
    place = int(recommend(rule, state))
    said = "" if limits is None else limits.in_words(engine.names, state, place)
    best = engine.names[place]
    interval = intervals_of(policy, engine.names, rule, state)[best]
    found = interval if math.isfinite(interval.low) and math.isfinite(interval.high) else None
    settled = is_settled(engine.policy, *shown(engine))
    doubt = doubt_of(policy, engine.names, best, state) if policy.promise == "asymptotic" else ""
    delta, promise = (None, "none") if doubt else (policy.error_rate, policy.promise)
    unfinished = unfinished_in_words(engine, policy.preference, best) if engine.cuts.any else ""
    return Recommendation(best, interval.value, found, settled, delta, promise, doubt, said, unfinished)


def doubt_of(policy: Policy, names: tuple[Hashable, ...], best: Hashable, state: Any) -> str:
    """Why an asymptotic promise does not hold: the value of the best arm, or of the next, rests on few outcomes."""
    memory = state.memory
    order = sorted(np.flatnonzero(memory.pulls > 0).tolist(), key=lambda k: (names[k] != best, -memory.value[k]))
    for k in order[:2]:  # the two arms that the answer is between
        _, raw, counts = outcomes_of_arm(memory, k)
        if not raw.size:  # no outcome of it is finished
            continue
        found = tail(policy.preference, raw, counts)
        if found.heavy:
            some = "one" if found.extreme == 1 else str(found.extreme)
            return (
                f"the most extreme {some} of {found.outcomes:,} outcomes of {names[k]!r} make {found.share:.0%} of the "
                f"variance of its value ({found.usual:.0%} if they were normal): too much for a central limit theorem."
            )
    return ""


def reached_delta(engine: Engine) -> float | None:
    """The smallest delta at which a policy would have settled on what it has seen; None if no delta would do."""
    policy, view = engine.policy, _cuts_of(engine)
    rule, state = shown(engine)
    if not (hasattr(policy, "delta") and hasattr(rule, "band")) or int(state.memory.pulls.min()) < rule.first:
        return None
    if not state.active.any():  # no arm keeps the guardrails, by what was asked for
        return policy.error_rate
    best = int(recommend(rule, state))
    low, high = np.empty(state.asked.size), np.empty(state.asked.size)

    def parts(log_delta: float) -> bool:
        wanted = policy.but(delta=math.exp(log_delta))
        if wanted.guardrails and Feasibility(wanted, state.asked.size).shown(state.memory)[best] != KEEPS:
            return False
        other = wanted.rule(state.asked.size)
        if isinstance(view, BoundsWithCuts):
            view.ends_at(other, float(exponent(other, state)), low, high)
        else:
            bracket(other, state, low, high)
        rivals = np.where(state.active, high, -np.inf)[np.arange(high.size) != best]
        return rivals.size == 0 or bool(rivals.max() - low[best] <= rule.tolerance)

    surest, least = -700.0, math.log1p(-1e-9)
    if not parts(least):
        return None
    if parts(surest):
        return math.exp(surest)
    while least - surest > 1e-3:
        middle = (surest + least) / 2.0
        surest, least = (surest, middle) if parts(middle) else (middle, least)
    return math.exp(least)


def rows(self: View) -> Rows:
    """One row per arm, the best first: samples, and value with its interval, in the unit of outcomes."""
    return arm_rows(self, self.pulls, self.intervals())


def sure_interval(preference: Preference, interval: Interval) -> Interval:
    """An interval of values in the user's units, the smaller end first; of costs, the smaller is the better one."""
    low, value, high = (sure_amount(preference, end) for end in interval)
    return Interval(high, value, low) if preference.costs else Interval(low, value, high)


def sure_intervals(
    learner: View, pulls: dict[Hashable, int], intervals: dict[Hashable, Interval]
) -> dict[Hashable, Interval]:
    """What each option feels like for sure; NaN where nothing is known about it, or it has no interval."""
    preference = learner.policy.preference
    if learner.policy.of_mean:  # such a policy compares w(mean), which is no value of outcomes
        values = learner.value()
        return {name: Interval(math.nan, sure_amount(preference, values[name]), math.nan) for name in intervals}
    return {
        name: sure_interval(preference, one) if pulls[name] else Interval(math.nan, math.nan, math.nan)
        for name, one in intervals.items()
    }


def arm_rows(learner: View, pulls: dict[Hashable, int], intervals: dict[Hashable, Interval]) -> Rows:
    """One row per arm, the best first; arms that were never seen come last."""
    sure, sign = sure_intervals(learner, pulls, intervals), 1.0 if learner.policy.preference.costs else -1.0
    rows = [
        {
            "arm": name, "samples": pulls[name], "value": one.value, "value low": one.low, "value high": one.high,
            **(name.settings if isinstance(name, Option) else {}),
        }
        for name, one in sure.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: math.inf if math.isnan(row["value"]) else sign * row["value"])
