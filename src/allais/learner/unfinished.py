"""Outcomes of a learner that are not finished: what is known of each, and the arms as they look with them.

Finished outcomes are in the memory. What is known of the others is a list of cuts beside it, and it is spread over the
memory's distribution when a value, an interval or a choice is needed: it costs nothing where all are finished.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import held
from allais._system.locks import one_at_a_time
from allais.bands import DKW, KL, Asymptotic, Envelope, Holder
from allais.bands._distribution_bounds import STEPS, memory_of_counts
from allais.bands.asymptotic import AsymptoticRule, clt_exponent, greenwood_ends, multiple
from allais.bands.base import GivenEnds, GivenRule, Interval, anytime_rule, bounds_of, refresh, widen
from allais.bands.holder import variation
from allais.errors import NotAdmitted
from allais.learner.choices import WIDEN
from allais.learner.views import PreferenceView, clock_of
from allais.lotteries import Discrete
from allais.policies.core.base import Policy
from allais.policies.core.verbs import exponent
from allais.policies.npts import NPTS, CutBins, CutBinsRule
from allais.policies.wlucb import WLUCB
from allais.policies.wucb import WUCB
from allais.preferences import Preference
from allais.rewards import SubGaussian
from allais.samples.censored import Places, cut_room, in_a_sentence, innermost, places_of, value_of_masses
from allais.samples.cuts import Cut, Cuts, admitted_cut, ends_of_cuts, in_words, known_cut, require_monotone
from allais.samples.layout import outcomes_of_arm
from allais.samples.memory import VALUE_SLACK

if TYPE_CHECKING:
    from allais.learner._engine import Engine
    from allais.learner.view import View

# -- who can use them ---------------------------------------------------------------------------------


def require_cuts(policy: Policy, cut: Cut, cuts: Cuts) -> None:
    """Refuse an unfinished outcome where a policy has no use for it."""
    kind, said = policy.plain(), in_words(cut)
    bands = (DKW, KL, Envelope, Holder, Asymptotic)
    if type(kind) not in (NPTS, WUCB, WLUCB) or policy.of_mean:
        name = type(policy).__name__
        raise ValueError(f"{name} learns from finished outcomes only; got {said}. Use NPTS, WUCB or WLUCB.")
    if type(kind) is not NPTS and type(policy.band) not in bands:
        band = type(policy.band).__name__
        raise ValueError(f"{band} bounds values by finished outcomes only; got {said}. Use KL() or DKW().")
    if policy.guardrails:
        raise ValueError(f"guardrails are judged by finished outcomes only; got {said}. Leave the guardrails out.")
    if any(isinstance(one, SubGaussian) for one in policy.rewards_of(1) if one) and type(kind) is not NPTS:
        raise ValueError(f"unfinished outcomes need bounded rewards; got {said} of SubGaussian ones. Declare Bounded.")
    require_monotone(policy.preference)
    if isinstance(policy.band, Asymptotic):
        _, low, high, _ = cuts.all()
        if not (np.isinf([*low, cut[0]]).all() or np.isinf([*high, cut[1]]).all()):
            raise ValueError(
                f"the asymptotic band takes cuts on one side, all at_least or all at_most; got {said}. Use KL()."
            )


def lapse(engine: Any) -> None:
    """Forget cuts whose time is over, where the memory forgets."""
    now = clock_of(engine.state)
    if not now or all(key[3] > now for key in engine.cuts.closed):
        return
    before = engine.guard.midway
    engine.guard.midway = True
    for (arm, _, _, end), many in engine.cuts.closed.items():
        engine.state.asked[arm] -= many if end <= now else 0
    engine.cuts.close({key: many for key, many in engine.cuts.closed.items() if key[3] > now})
    engine.guard.midway = before


# -- values -------------------------------------------------------------------------------------------


def _cuts_of(engine: Engine, arm: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    arms, low, high, many = engine.cuts.all()
    mine = arms == arm
    return low[mine], high[mine], many[mine]


def places_of_arm(engine: Engine, arm: int) -> Places:
    """Where the mass of an arm's outcomes may lie."""
    _, raw, counts = outcomes_of_arm(engine.state.memory, arm)
    order = np.argsort(raw, kind="stable")
    return places_of(raw[order], counts[order].astype(np.float64), *_cuts_of(engine, arm))


def value_with_cuts(engine: Engine, arm: int, preference: Preference) -> float:
    """What the most likely distribution of an arm's outcomes is worth."""
    places = places_of_arm(engine, arm)
    return value_of_masses(preference, places.at, places.masses())


def left_open(engine: Engine, preference: Preference) -> dict[Hashable, Interval]:
    """The least and the greatest value that arms with unfinished outcomes may come to have."""
    found = {}
    for arm in np.flatnonzero(engine.cuts.counts(len(engine.names))).tolist():
        ends = [
            value_of_masses(preference, raw, counts.astype(np.float64)) if np.isfinite(raw).all() else far
            for (raw, counts), far in zip(_completed(engine, arm), (-math.inf, math.inf), strict=True)
        ]
        if preference.costs:
            ends = [end if math.isfinite(end) else -end for end in ends]
        found[engine.names[arm]] = Interval(min(ends), value_with_cuts(engine, arm, preference), max(ends))
    return found


def _completed(engine: Engine, arm: int) -> list[tuple[FloatArray, IntArray]]:
    """An arm's outcomes with the unfinished ones at their lower ends, and at their upper ends."""
    _, raw, counts = outcomes_of_arm(engine.state.memory, arm)
    low, high, many = _cuts_of(engine, arm)
    ends = ends_of_cuts(low, high, engine.known[arm]) if engine.known else (low, high)
    return [_merged(np.append(raw, end), np.append(counts, many.astype(np.int64))) for end in ends]


def _merged(raw: FloatArray, counts: IntArray) -> tuple[FloatArray, IntArray]:
    at, where = np.unique(raw, return_inverse=True)
    return at, np.bincount(where, counts).astype(np.int64)


def unfinished_in_words(engine: Engine, preference: Preference, arm: Hashable) -> str:
    """How many outcomes of an arm are not finished, and what that leaves open; empty where all are."""
    place = engine.names.index(arm)
    if not (many := int(engine.cuts.counts(len(engine.names))[place])):
        return ""
    told, beyond = int(engine.state.memory.pulls[place]) + many, places_of_arm(engine, place).share_beyond()
    return in_a_sentence(f"outcomes of {arm!r}", preference, told, many, left_open(engine, preference)[arm], beyond)


def checked_cut(engine: Any, arm: int, cut: Cut) -> Cut:
    """What is known of an outcome, if the policy has a use for it and the declared rewards admit it."""
    require_cuts(engine.policy, cut, engine.cuts)
    try:
        admitted_cut(cut, engine.known[arm] if engine.known else None)
    except NotAdmitted as error:
        raise NotAdmitted(error.rule, WIDEN) from None
    for end in cut:
        if math.isfinite(end) and not (abs(end) <= engine.largest and math.isfinite(engine.utilities(end))):
            raise ValueError(f"the utility of {in_words(cut)} must be finite; it is not. Bound the rewards.")
    return cut


def check_cut(self: View, arm: Hashable, at_least: Any = None, at_most: Any = None, between: Any = None) -> Cut:  # noqa: D417
    """See whether `tell` would take what is known of an unfinished outcome.

    Args:
        arm: The name of the arm.
        at_least: What it will be at least.
        at_most: What it will be at most.
        between: What it will be at least and at most.

    Returns:
        The two ends; one may be infinite.
    """
    engine = self._engine
    return checked_cut(engine, engine.arm_of(arm), known_cut(at_least, at_most, between))


@one_at_a_time
def unfinished_outcomes(self: View) -> dict[Hashable, int]:
    """How many outcomes of each arm are not finished: what is known of them is at_least, at_most or between.

    >>> learner = NPTS(expected_value(costs=True), Bounded(0, 60)).start(["A21", "A28"], seed=1)
    >>> learner.observe("A21", [20, 25, 40], at_least=[30])
    >>> learner.unfinished
    {'A21': 1, 'A28': 0}
    """
    engine = self._engine
    return dict(zip(engine.names, engine.cuts.counts(len(engine.names)).tolist(), strict=True))


@one_at_a_time
def values_left_open(self: View, preference: Preference | None = None) -> dict[Hashable, Interval]:  # noqa: D417
    """The least and the greatest value that each arm with unfinished outcomes may have when all of them are known.

    Nothing is assumed. The value between the two is that of `value`: it assumes that outcomes are cut off for reasons
    that have nothing to do with what would have come.

    Args:
        preference: Whose value it is, as in `value`.

    >>> learner = NPTS(expected_value(costs=True), Bounded(0, 60)).start(["A21", "A28"], seed=1)
    >>> learner.observe("A21", [20, 25, 40], at_least=[30])
    >>> learner.left_open()
    {'A21': Interval(low=-36.25, value=-31.25, high=-28.75)}
    """
    engine = self._engine
    own = engine.policy.preference
    return left_open(engine, own if preference is None else preference.in_frame_of(own))


@one_at_a_time
def likely_distribution(learner: View, arm: Hashable) -> Discrete:
    """An arm's most likely distribution, by its outcomes and what is known of those that are not finished.

    >>> learner = NPTS(expected_value(costs=True), Bounded(0, 60)).start(["A21", "A28"], seed=1)
    >>> learner.observe("A21", [20, 25, 40], at_least=[30])
    >>> likely_distribution(learner, "A21")
    Discrete({40: 0.5, 25: 0.25, 20: 0.25})
    """
    places = places_of_arm(learner._engine, learner._engine.arm_of(arm))
    masses = places.masses() if places.mass.size else places.base
    shares = (masses[masses > 0.0] / masses.sum()).tolist()
    return Discrete(dict(zip(places.at[masses > 0.0].tolist(), shares, strict=True)))


# -- the arms as they look with unfinished outcomes ---------------------------------------------------


class CutsView(PreferenceView):
    """The arms for the policy's own preference or another one, with what is known of unfinished outcomes."""

    def __init__(self, engine: Engine, preference: Preference) -> None:
        self._engine, self.preference, n_arms = engine, preference, len(engine.names)
        self.of = engine.rule  # after arms, rewards or the preference have changed, a view is made anew
        own = preference == engine.policy.preference
        self._of_other = None if own else PreferenceView(engine.policy, preference, n_arms)
        self.policy = engine.policy if self._of_other is None else self._of_other.policy
        self._shared: Any = None  # the state that this one was made of,
        self._key: Any = None  # and how often cuts had changed
        self._ends: dict[int, tuple[Any, tuple[float, float]]] = {}
        self._values: dict[int, tuple[Any, float]] = {}

    def look(self, shared: Any) -> None:
        rule, state, cuts = self._engine.rule, shared, self._engine.cuts
        if self._of_other is not None:
            self._of_other.look(shared)
            rule, state = self._of_other.rule, self._of_other.state
        self.own_rule, self.own_state = rule, state
        if self._key != cuts.changes:
            self._many = cuts.counts(len(self._engine.names))
            self.cut_arms = np.flatnonzero(self._many).tolist()
        if self._shared is not state or (self._key != cuts.changes and not self._renewed()):
            memory = state.memory._replace(pulls=state.memory.pulls + 0, value=state.memory.value.copy())
            self.rule, kept = self._prepared(rule, state)
            self.rule_at = held(self.rule)
            self._take_place(state, state._replace(memory=memory, kept=kept))
        self._key = cuts.changes
        self.state.memory.pulls[:] = state.memory.pulls + self._many
        self.state.memory.value[:] = state.memory.value
        if self._needs_values():
            self.complete_values()

    _prepared: Callable[..., tuple[Any, Any]]  # the rule for choices, and what its band keeps

    def _renewed(self) -> bool:
        """Whether the cuts as they are now fit into the arrays that compiled code has."""
        return True

    def _needs_values(self) -> bool:
        """Whether a choice needs values."""
        return True

    def _key_of(self, arm: int) -> tuple[int, int, int]:
        return self._engine.cuts.changes, int(self._engine.state.memory.pulls[arm]), clock_of(self._engine.state)

    def complete_values(self) -> None:
        """Value the arms with unfinished outcomes by the product limit."""
        for arm in self.cut_arms:
            if self._values.get(arm, (None,))[0] != (key := self._key_of(arm)):
                self._values[arm] = key, value_with_cuts(self._engine, arm, self.preference)
            self.state.memory.value[arm] = self._values[arm][1]

    def complete(self) -> None:
        self.complete_values()
        self.prepare(0.0)

    def values(self) -> FloatArray:
        self.complete_values()
        return np.asarray(self.state.memory.value)


class DrawsWithCuts(CutsView):
    """For `NPTS`: the Bayesian bootstrap for censored data (Lo 1993), compiled."""

    def _tables(self) -> list[Any]:
        """Cuts and gaps of one arm after the other, as `CutBins` has them."""
        arms, low, high, many = self._engine.cuts.all()
        low, high = _as_utilities(self.preference, low, high)
        order, every = np.lexsort((high, low, arms)), np.arange(len(self._engine.names) + 1)
        arms, low, high, many = arms[order], low[order], high[order], many[order]
        sizes, gaps = np.zeros(every.size, dtype=np.int64), []
        for k in self.cut_arms:
            inner, outer = innermost(low[arms == k], high[arms == k])
            least, most = bounds_of(self.preference, self._engine.known[k])
            with np.errstate(invalid="ignore"):  # mass is placed in the middle of a gap, or at the bound if it is open
                middle = 0.5 * inner + 0.5 * outer
            gaps.append((inner, outer, np.where(np.isinf(outer), most, np.where(np.isinf(inner), least, middle))))
            sizes[k + 1] = inner.size
        each = [np.concatenate(part) for part in zip(*gaps, strict=True)]
        return [np.searchsorted(arms, every), low, high, many, np.cumsum(sizes), *each]

    def _prepared(self, rule: Any, state: Any) -> tuple[Any, Any]:
        tables = self._tables()
        room = 2 * tables[1].size + 16  # for more cuts, so that compiled code finds them where these were
        tables = [one if k in (0, 4) else np.append(one, np.zeros(room - one.size)) for k, one in enumerate(tables)]
        scratch = cut_room(state.kept.places.shape[1] + room, room)
        kept = CutBins._make([state.kept, state.memory, *tables, scratch])
        return rule._replace(band=CutBinsRule(rule.band)), kept

    def _renewed(self) -> bool:
        tables, old = self._tables(), self.state.kept[2:10]
        fits: bool = tables[1].size <= old[1].size
        for one, place in zip(tables, old, strict=True) if fits else ():
            place[: one.size] = one
        return fits

    def _needs_values(self) -> bool:
        return bool(self.rule.optimism)


def _as_utilities(preference: Preference, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    ends = []
    for end, far in zip((high, low) if preference.costs else (low, high), (-math.inf, math.inf), strict=True):
        known = np.isfinite(end)
        ends.append(np.full(end.size, far))
        ends[-1][known] = preference.utilities(end[known]) if known.any() else far
    return ends[0], ends[1]


class BoundsWithCuts(CutsView):
    """For `WUCB` and `WLUCB`: intervals that assume nothing of the cuts, or Greenwood's."""

    def _prepared(self, rule: Any, state: Any) -> tuple[Any, Any]:
        n_arms = len(self._engine.names)
        return rule._replace(band=GivenRule()), GivenEnds(np.full(n_arms, -np.inf), np.full(n_arms, np.inf))

    def _needs_values(self) -> bool:
        return type(self.policy.plain()) is WLUCB

    def prepare(self, u: float) -> None:
        """Bound what each arm may be worth, at the exponent of the next choice."""
        confidence = float(exponent(self.own_rule, self.state))
        self.ends_at(self.own_rule, confidence, self.state.kept.low, self.state.kept.high)

    def ends_at(self, rule: Any, confidence: float, low: FloatArray, high: FloatArray) -> None:
        """Write the ends of all intervals at an exponent, by a rule that may have another delta than the policy's."""
        widen(rule.band, self.own_state.kept, self.own_state.memory, confidence, low, high)
        rounded = math.ceil(STEPS * confidence) / STEPS
        for arm in self.cut_arms:
            key = (*self._key_of(arm), rounded)
            if self._ends.get(arm, (None,))[0] != key:
                self._ends[arm] = key, self._bounded(arm, rounded)
            low[arm], high[arm] = self._ends[arm][1]

    def _bounded(self, arm: int, confidence: float) -> tuple[float, float]:
        known, band, preference = self._engine.known[arm : arm + 1], self.policy.band, self.preference
        assert band is not None
        always = anytime_rule(band, preference, known) if type(self.policy.plain()) is WLUCB else None
        rule = band.rule(preference, known) if always is None else always
        memory = self.own_state.memory
        hidden = max(variation(preference.gains), variation(preference.losses)) * memory.slack[arm, :VALUE_SLACK].sum()
        if isinstance(rule, AsymptoticRule):
            start, pulls, once = rule.least(confidence), int(memory.pulls[arm]), clt_exponent(rule, confidence)
            if pulls < start:
                return -math.inf, math.inf
            many = pulls + int(self._many[arm])
            squared = float(multiple(once, rule.always)) ** 2
            squared += math.log(many / start) if rule.always else 0.0
            support = known[0].support if known else (-math.inf, math.inf)
            places = places_of_arm(self._engine, arm)
            low, high = greenwood_ends(preference, places, math.sqrt(squared), once, rule.rarest, support)
            return low - hidden, high + hidden
        ends, found = np.zeros((2, 1)), []
        for one in _completed(self._engine, arm):
            if not np.isfinite(one[0]).all():
                found += [-math.inf, math.inf]
                continue
            whole, kept = memory_of_counts(preference, [one]), rule.kept(1)
            whole.value[0] = value_of_masses(preference, one[0], one[1].astype(np.float64))
            refresh(rule, kept, whole, 0)
            widen(rule, kept, whole, confidence, ends[0], ends[1])
            found += ends[:, 0].tolist()
        return min(found) - hidden, max(found) + hidden


def cuts_view(engine: Engine, preference: Preference) -> CutsView:
    """The arms for somebody, with what is known of unfinished outcomes."""
    return (DrawsWithCuts if type(engine.policy.plain()) is NPTS else BoundsWithCuts)(engine, preference)
