"""Learner: a policy with memory. Ask for an arm, tell what happened, survive restarts."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Sequence
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import finite_array, number
from allais._kernels import bound
from allais._random import Seed, generator
from allais._system.locks import Guarded, one_at_a_time, one_change_at_a_time
from allais.bands.base import Interval, refresh
from allais.linear.arm_sets import ArmSet, Judge
from allais.linear.factorisation import project
from allais.linear.features import checked_features
from allais.numerics.sums import finite_parts
from allais.policies.base import Policy
from allais.policies.knowledge import check_settings
from allais.policies.state import extended, no_such_arm, started
from allais.policies.verbs import SETTLED, WAITING, bracket, choose, learn, recommend
from allais.preferences import Preference
from allais.problems.base import checked_names
from allais.rewards import Rewards
from allais.samples.cells import RAW, RAW_HIGH, RAW_LOW, SUM, hidden, spread_out
from allais.samples.layout import cells_of_arm, grown, laid_out, outcomes_of_arm, with_arms
from allais.samples.memory import FLAT, NEVER, is_crowded, is_full, remove
from allais.samples.worth import measure

if TYPE_CHECKING:
    from allais.learner.journal import JournaledLearner


class Choice(NamedTuple):
    """An arm to play, and the number under which its outcome is told.

    >>> learner = NPTS(expected_value(), Bounded(0, 1)).start(["A21", "A28"], seed=1)
    >>> learner.ask(2)
    [Choice(id=1, arm='A21'), Choice(id=2, arm='A28')]
    """

    id: int
    arm: Hashable


class Recommendation(NamedTuple):
    """The arm that the policy thinks best.

    >>> learner = TopTwo(expected_value(), Finite([0, 1]), delta=0.05).start(["A21", "A28"], seed=1)
    >>> learner.observe("A21", [1.0] * 30)
    >>> learner.observe("A28", [0.0] * 30)
    >>> best = learner.recommend()
    >>> best.arm, best.settled, best.delta
    ('A21', True, 0.05)
    """

    arm: Hashable
    value: float  # its estimated value, as felt
    interval: Interval | None  # None where the policy has none
    settled: bool  # whether the policy is done
    delta: float | None  # the chance that a settled recommendation is wrong, for fixed confidence


class NotNow(RuntimeError):  # noqa: N818
    """Nothing can be asked: the policy has settled, or waits for what was asked.

    >>> learner = SR(budget=4).start(["A21", "A28"], seed=1)
    >>> batch = learner.ask(4)
    >>> learner.ask()
    Traceback (most recent call last):
        ...
    allais.learner.NotNow: ...
    """


LARGEST_SUMMED = 1e100  # of rewards that policies with features add up: sums and their products stay finite
_NOTHING = ((),)  # the arguments of a call that takes none, for `starmap`


class Learner(Guarded):
    """A policy with memory: `policy.start(arms, seed)` makes one.

    Threads may share it. It can be copied and pickled.

    >>> learner = WUCB.as_printed(Preference(TverskyKahneman(0.61)), Bounded(0, 50)).start(["A21", "A28"], seed=1)
    >>> for outcome in (0.0, 7.0, 50.0):
    ...     learner.tell(learner.ask(), outcome)
    >>> learner.recommend().arm, learner.pulls
    ('A28', {'A21': 1, 'A28': 2})
    """

    def __init__(self, policy: Policy, arms: int | Sequence[Hashable], seed: Seed, *, exact: bool = False) -> None:
        if not isinstance(policy, Policy):
            raise TypeError(f"a learner runs a policy; got {policy!r}. Write WUCB.as_printed(...).start(arms, seed=1).")
        self.policy = policy
        self._names = checked_names(arms)
        self._index = {name: index for index, name in enumerate(self._names)}
        self._known: list[Rewards] = policy.rewards_of(len(self._names))
        self._rule, self._state = started(policy, len(self._names))
        if exact:
            self._state.memory.limit[0] = NEVER
        self._rng = generator(seed)
        # what was asked and not told: arm, ticket, and its features where it came with a context
        self._out: dict[int, tuple[Any, float, tuple[float, ...] | None]] = {}
        self._next = 1
        self._draw: float | None = None  # the uniform draw of the next choice, once made
        self._choose, self._take_in = _verbs(self._rule, self._state)
        self._guard()

    @staticmethod
    def with_state(
        policy: Policy, arms: Sequence[Hashable], rng: np.random.Generator, rule: Any, state: Any
    ) -> Learner:
        """A learner that goes on from the rule and the state of a run."""
        learner = Learner(policy, arms, rng)
        learner._rule, learner._state = rule, state
        learner._choose, learner._take_in = _verbs(rule, state)
        return learner

    def __repr__(self) -> str:
        return f"<Learner of {type(self.policy).__name__}: {len(self._names)} arms, {self._samples()} samples>"

    def _samples(self) -> int:
        return int(self._state.memory.pulls.sum() if self.policy.keeps_outcomes else self._state.told[0])

    # -- what it knows ----------------------------------------------------------------------------

    @property
    @one_at_a_time
    def arms(self) -> tuple[Hashable, ...]:
        """The arms in play, in the order they came."""
        return tuple(name for name, active in zip(self._names, self._state.active, strict=True) if active)

    @property
    @one_at_a_time
    def samples(self) -> int:
        """How many outcomes it was told."""
        return self._samples()

    @property
    @one_at_a_time
    def pulls(self) -> dict[Hashable, int]:
        """How many outcomes of each arm it was told, retired arms included."""
        return dict(zip(self._names, self._state.memory.pulls.tolist(), strict=True))

    @property
    @one_at_a_time
    def outstanding(self) -> tuple[Choice, ...]:
        """The choices that were asked and neither told nor cancelled."""
        return tuple(Choice(id_, self._named(arm, x)) for id_, (arm, _, x) in self._out.items())

    def _named(self, arm: Any, features: tuple[float, ...] | None) -> Hashable:
        return self._names[arm] if features is None else arm

    @property
    def exact(self) -> bool:
        """Whether every outcome is kept, however many there are."""
        return bool(self._state.memory.limit[0] == NEVER)

    @one_at_a_time
    def outcomes(self, arm: Hashable) -> tuple[np.ndarray, np.ndarray]:
        """An arm's distinct outcomes, in the user's units, and how often each was seen.

        Of an arm with more than 16,384, neighbours share cells and are listed as one, unless the learner is `exact`.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0, 0.0])
        >>> learner.outcomes("A21")
        (array([ 0., 50.]), array([2, 1]))
        """
        if not self.policy.keeps_outcomes:
            raise ValueError(f"{type(self.policy).__name__} learns theta and keeps no outcomes of arms. See value().")
        _, raw, counts = outcomes_of_arm(self._state.memory, self._arm(arm))
        return raw, counts

    @one_at_a_time
    def value(self, preference: Preference | None = None) -> dict[Hashable, float]:
        """What each arm is worth by what was seen, to this preference or to another one's.

        An arm that was never told has the value NaN.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0])
        >>> learner.value(), round(learner.value(Preference(Power(0.5)))["A21"], 4)
        ({'A21': 25.0, 'A28': nan}, 35.3553)
        """
        other = self.policy.preference if preference is None else preference
        if not isinstance(other, Preference):
            raise TypeError(f"an arm is valued by a preference; got {other!r}. Write Preference(...).")
        if not self.policy.keeps_outcomes:
            rule = self.policy.but(preference=other).rule(len(self._names))
            recommend(rule, self._state)
            return dict(zip(self._names, self._state.memory.value.tolist(), strict=True))
        return {name: self._worth(k, other) for k, name in enumerate(self._names)}

    @one_at_a_time
    def memory_error(self, preference: Preference | None = None) -> dict[Hashable, float]:
        """The most that each arm's `value` may be off because outcomes share cells; 0 while every one is kept.

        Intervals are widened for it already.

        >>> learner = WUCB.as_printed(expected_value(), Bounded(0, 1)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", np.random.default_rng(1).random(20_000))
        >>> error = learner.memory_error()
        >>> 0.0 < error["A21"] < 1e-3, error["A28"]
        (True, 0.0)
        """
        other = self.policy.preference if preference is None else preference
        return {name: self._hidden(k, other) for k, name in enumerate(self._names)}

    def _hidden(self, k: int, preference: Preference) -> float:
        """How much of an arm's value its cells may hide."""
        cells = cells_of_arm(self._state.memory, k)
        if not cells.shape[1]:
            return 0.0
        felt, raw, counts = outcomes_of_arm(self._state.memory, k)
        table = spread_out(felt, raw, counts, cells)
        if preference == self.policy.preference:
            return hidden(table, counts, preference.gains, preference.losses, table[SUM] / counts)
        # the same cells as another preference feels them
        table = np.stack([preference.felt(table[row]) for row in (RAW_LOW, RAW_HIGH, RAW)])
        order = np.argsort(table[2], kind="stable")
        return hidden(table[:, order], counts[order], preference.gains, preference.losses)

    def _worth(self, k: int, preference: Preference) -> float:
        felt, outcomes, counts = outcomes_of_arm(self._state.memory, k)
        if not counts.size:
            return math.nan
        if preference != self.policy.preference:
            felt = preference.felt(outcomes)
        order = np.argsort(felt)
        felt, counts = felt[order], counts[order]
        above = np.cumsum(counts[::-1])[::-1] / counts.sum()
        below = (np.cumsum(counts) - counts) / counts.sum()
        return finite_parts(felt, above, below, preference.gains, preference.losses).value

    @one_at_a_time
    def intervals(self) -> dict[Hashable, Interval]:
        """The interval of every arm's value at the policy's present confidence.

        It ends where the declared rewards do; it is infinite for an arm that was never told, and where the policy
        keeps none.

        >>> learner = WUCB.as_printed(Preference(TverskyKahneman(0.61)), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0])
        >>> learner.intervals()["A21"]
        Interval(low=0.0, value=21.03..., high=50.0)
        """
        n_arms = len(self._names)
        low, high = np.empty(n_arms), np.empty(n_arms)
        bracket(self._rule, self._state, low, high)
        ends = zip(low.tolist(), self._state.memory.value.tolist(), high.tolist(), strict=True)
        return {
            name: Interval(*one).within(bounds) if math.isfinite(one[0]) and math.isfinite(one[2]) else Interval(*one)
            for name, one, bounds in zip(self._names, ends, self.policy.value_bounds(n_arms), strict=True)
        }

    @one_at_a_time
    def recommend(self) -> Recommendation:
        """The best arm so far, its value and interval, and whether the policy is done."""
        best = int(recommend(self._rule, self._state))
        interval = self.intervals()[self._names[best]]
        bounded = math.isfinite(interval.low) and math.isfinite(interval.high)
        return Recommendation(
            self._names[best], interval.value, interval if bounded else None, self.is_settled(), self.policy.error_rate
        )

    @one_at_a_time
    def is_settled(self) -> bool:
        """Whether the policy has stopped and its recommendation is final."""
        if self.policy.goal == "regret":
            return False
        # `choose` writes to everything but the memory; only its answer is wanted
        shared = ("memory", "kept")
        parts = {name: copy.deepcopy(getattr(self._state, name)) for name in self._state._fields if name not in shared}
        return bool(choose(self._rule, self._state._replace(**parts), 0.0) == SETTLED)

    # -- asking and telling -----------------------------------------------------------------------

    @overload
    def ask(self, *, features: ArrayLike | None = None, among: ArmSet | None = None) -> Choice: ...
    @overload
    def ask(self, n: int) -> list[Choice]: ...
    def ask(
        self, n: int | None = None, *, features: ArrayLike | None = None, among: ArmSet | None = None
    ) -> Choice | list[Choice]:
        """The next arm to play, or a batch of n to play side by side.

        A batch may be shorter than n where the policy settles or must wait; it is never empty. With `features`,
        the arms of this round are its rows, and the choice's arm is a row's number. `among` is a set of arms
        with an oracle, such as `Routes`.
        """
        if not self._durable and self._lock._is_owned():
            self._require_outermost()
        with self._lock:
            if self._midway:
                self._require_whole()
            if features is not None or among is not None:
                if n is not None or (features is not None and among is not None):
                    raise ValueError(
                        "a round with arms of its own is asked alone, among rows or a set; got more. "
                        "Leave the rest out."
                    )
                return self._ask_rows(features) if features is not None else self._ask_set(among)
            if n is None:
                return self._ask()
            if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
                raise ValueError(f"a batch must be of one choice or more; got {n!r}. Give an int.")
            return self._ask_batch(int(n))

    def _ask_batch(self, n: int) -> list[Choice]:
        first, late = self._next, None
        while self._next < first + n:
            try:
                self._ask()
            except NotNow:
                if self._next == first:
                    raise
                break
            except BaseException as error:  # of a signal's handler: between two choices, it waits for the last
                if self._midway or late is not None:
                    raise
                late = error
        if late is not None:
            raise late
        return [Choice(id_, self._names[self._out[id_][0]]) for id_ in range(first, self._next)]

    def _ask(self) -> Choice:
        before = self._midway  # True within a batch that is yet to be written down
        if self._draw is None:
            drawing = starmap(self._rng.random, _NOTHING)
            self._midway = True
            (self._draw,) = drawing
            self._midway = before
        choosing = starmap(self._choose, ((self._rule, self._state, self._draw),))
        self._midway = True
        (arm,) = choosing
        if arm >= len(self._names):  # a user's own kernel may err
            self._midway = before
            raise ValueError(no_such_arm(self.policy, int(arm), len(self._names)))
        if arm >= 0:
            id_ = self._next
            self._out[id_] = (arm, self._state.ticket[0], None)
            self._next = id_ + 1
            self._draw = None
            self._midway = self._durable
            return Choice(id_, self._names[arm])
        self._midway = before  # the draw is kept, so that asking in vain changes nothing
        if arm == WAITING:
            raise NotNow(
                f"this phase needs the outcomes of all its choices; {len(self._out)} are still out. "
                "Tell them, or cancel the lost ones."
            )
        raise NotNow("the policy has settled and asks for no more; see recommend(). Start another to go on.")

    def _ask_again(self, id_: int, name: Hashable) -> bool:
        """Ask as it was asked before, and leave the state as if this version had chosen alike; False if it cannot be.

        A policy may have improved since: what was played is what counts, unless it must know how likely that was.
        """
        if id_ != self._next or name not in self._names:
            return False
        arm = self._index[name]
        try:
            other = self._index[Learner._ask(self).arm]
        except NotNow:  # it would have stopped by now
            self._issued(arm, None)
        else:
            if other != arm and not self.policy.open_to_data:
                return False
            self._state.asked[other] -= 1
            self._out[id_] = (arm, self._out[id_][1], None)
        self._state.asked[arm] += 1
        return True

    def _make_draw(self) -> None:
        """Draw the number that decides the next choice, which is kept until there is one."""
        drawing = starmap(self._rng.random, _NOTHING)
        before = self._midway
        self._midway = True
        (self._draw,) = drawing
        self._midway = before

    def _issued(self, arm: Any, features: tuple[float, ...] | None) -> Choice:
        """Issue a choice that was not asked of the kernel as it is; its draw is used up."""
        if self._draw is None:
            self._make_draw()
        id_ = self._next
        self._midway = True
        self._out[id_] = (arm, self._state.ticket[0], features)
        self._next = id_ + 1
        self._draw = None
        self._midway = self._durable
        return Choice(id_, self._named(arm, features))

    def _ask_set(self, among: Any) -> Choice:
        """The best arm of a set, for the theta that the policy draws."""
        if not hasattr(self.policy, "drawn_theta"):
            raise ValueError(
                f"{type(self.policy).__name__} cannot choose among arms that are not listed. Use LinTS, which can."
            )
        if not (hasattr(among, "dimension") and hasattr(among, "best")):
            raise TypeError(f"a set of arms has a dimension and a best arm; got {among!r}. Write Routes(...).")
        if among.dimension != self._state.theta.size:
            raise ValueError(
                f"arms must have {self._state.theta.size} features, as before; this set has {among.dimension}. "
                "Use one set for one learner."
            )
        judge = Judge(self.policy.preference, self.policy.noise)  # type: ignore[attr-defined]
        if self._draw is None:
            self._make_draw()
        arm = among.best(self.policy.drawn_theta(self._rule, self._state, self._draw), judge)
        return self._issued(arm.name, tuple(arm.features.tolist()))

    @one_at_a_time
    def features_of(self, choice: Choice) -> np.ndarray:
        """The features of a choice that is out, for policies that have them."""
        found = self._out.get(self._id(choice))
        if found is None:
            raise ValueError(self._why_unknown(self._id(choice)))
        arm, _, features = found
        if features is None and not hasattr(self._rule, "world"):
            raise ValueError(f"{type(self.policy).__name__} knows arms by their names and has no features of them.")
        return np.array(self._rule.world.features[arm] if features is None else features)

    def _ask_rows(self, features: ArrayLike) -> Choice:
        """A choice among arms that belong to this round only."""
        if not self.policy.open_to_contexts:
            raise ValueError(
                f"{type(self.policy).__name__} takes no features in a round. Use WOFUL, which learns what arms share."
            )
        rows, rule, state = self._context(features)
        if self._draw is None:
            self._make_draw()
        arm = int(self._choose(rule, state, self._draw))
        return self._issued(arm, tuple(rows[arm].tolist()))

    def _context(self, features: ArrayLike) -> tuple[Any, Any, Any]:
        """Rule and state for other arms: what was learned is shared, what belongs to arms is new."""
        policy: Any = self.policy
        if policy.estimates:
            raise ValueError(
                "noise is estimated arm by arm, so arms must stay the same; got others. Declare the noise."
            )
        rows = checked_features(features)
        self._require_features(rows.shape[1])
        state = self._state._replace(**policy.of_arms(len(rows)))
        project(rows, state)
        return rows, policy.rule_for(rows), state

    def _require_features(self, count: int) -> None:
        if not hasattr(self._state, "theta") or count != self._state.theta.size:
            expected = self._state.theta.size if hasattr(self._state, "theta") else "no"
            raise ValueError(
                f"features must have {expected} numbers an arm, as before; got {count}. "
                "Give the same features in every round."
            )

    def tell(self, choice: Choice | int, reward: float) -> None:
        """What a choice brought, in the user's units; late, and in any order, if need be.

        A reward that cannot be is refused, and the learner stays as it was.
        """
        if not self._durable and self._lock._is_owned():
            self._require_outermost()
        with self._lock:
            if self._midway:
                self._require_whole()
            # the short way is for a choice that `ask` has just returned: a call in Python costs more than the lock
            id_ = choice.id if type(choice) is Choice else self._id(choice)
            found = self._out.get(id_)
            if found is None:
                raise ValueError(self._why_unknown(id_))
            arm, ticket, features = found
            if features is not None or type(choice) is not Choice or choice.arm is not self._names[arm]:
                self._require_own(choice, arm, features)
            outcome = self._checked(arm if features is None else 0, reward)
            felt = self._felt(outcome)
            if features is None:
                memory = self._state.memory
                if (memory.in_trees[arm] or memory.sizes[arm] == memory.felt.shape[1]) and is_full(memory, arm):
                    self._make_room(arm)
                learning = starmap(self._take_in, ((self._rule, self._state, arm, felt, outcome, ticket),))
                self._midway = True
                (_,) = learning
                del self._out[id_]
                self._midway = self._durable
                return
            _, rule, state = self._context([features])
            learning = starmap(self._take_in, ((rule, state, 0, felt, outcome, ticket),))
            listed = (self._rule.world.features, self._state)
            seeing = starmap(bound(project, *listed), (listed,))
            self._midway = True
            (_,) = learning
            (_,) = seeing  # what the listed arms see of it
            del self._out[id_]
            self._midway = self._durable

    @one_change_at_a_time
    def cancel(self, choice: Choice | int) -> None:
        """Give a lost choice back: it no longer counts, and nothing waits for it.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> lost, kept = learner.ask(2)
        >>> learner.cancel(lost)
        >>> learner.outstanding == (kept,)
        True
        """
        id_ = self._id(choice)
        if id_ not in self._out:
            raise ValueError(self._why_unknown(id_))
        arm, _, features = self._out[id_]
        self._require_own(choice, arm, features)
        self._midway = True
        del self._out[id_]
        if features is None:
            self._state.asked[arm] -= 1
        self._midway = self._durable

    @one_change_at_a_time
    def observe(self, arm: Hashable, rewards: ArrayLike) -> None:
        """Feed in what was known of an arm before, or seen elsewhere: all of it, or nothing if any is refused.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A28", [7.0, 7.0])
        >>> learner.pulls
        {'A21': 0, 'A28': 2}
        """
        k = self._arm(arm)
        if not self.policy.open_to_data:
            raise ValueError(
                f"{type(self.policy).__name__} learns from its own choices only; got data of arm {arm!r}. "
                "Use a policy that keeps an estimate of each arm, such as WUCB."
            )
        outcomes = self._known[k].check(rewards) if self._known else finite_array("rewards", rewards)
        if not np.isfinite(self.policy.preference.felt(outcomes)).all():
            raise ValueError("rewards must feel finite; some do not under this utility. Bound the rewards.")
        self._require_summable(float(np.abs(outcomes).max(initial=0.0)))
        self._learn_all(k, outcomes.tolist())

    @one_change_at_a_time
    def forget(self, arm: Hashable, reward: float) -> None:
        """Take back one outcome of an arm that was told or observed by mistake.

        Where outcomes share a cell, one sample is taken from it: whether it was this one cannot be checked.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A28", [7.0, 50.0])
        >>> learner.forget("A28", 50.0)
        >>> learner.pulls
        {'A21': 0, 'A28': 1}
        """
        k = self._arm(arm)
        if not (self.policy.open_to_data and self.policy.keeps_outcomes):
            raise ValueError(f"{type(self.policy).__name__} cannot unlearn. Start it anew from the right data.")
        outcome = self._checked(k, reward)
        felt = self._felt(outcome)
        self._midway = True
        if not remove(self._state.memory, k, felt, outcome):
            self._midway = False
            raise ValueError(
                f"only an outcome that was seen can be forgotten; {reward!r} of {arm!r} was not. Check it."
            )
        self._state.asked[k] -= 1
        _remeasure(self._rule, self._state, k)
        self._midway = self._durable

    def _learn_all(self, arm: int, outcomes: list[float]) -> None:
        """Learn outcomes that were not asked for: all of them, even if a signal's handler raises in between.

        What it raised is raised after the last; if it comes twice, or while outcomes move, the learner closes.
        """
        felt = [self._felt(outcome) for outcome in outcomes]
        late: BaseException | None = None
        done, inside, size = 0, False, len(outcomes)
        self._midway = True
        while done < size:
            try:
                while done < size:
                    if self._needs_room(arm):
                        inside = self._must_move(arm)
                        self._make_room(arm)
                        inside = False
                    arguments = (self._rule, self._state, arm, felt[done], outcomes[done], 0.0)
                    learning = starmap(self._take_in, (arguments,))
                    inside = True
                    self._state.asked[arm] += 1  # it counts as a round: the bounds need m to exceed every T_k
                    (_,) = learning
                    done += 1
                    inside = False
            except BaseException as error:
                if inside or late is not None:
                    raise
                late = error
        self._midway = self._durable
        if late is not None:
            raise late

    def _needs_room(self, arm: int) -> bool:
        memory = self._state.memory
        crowded = memory.in_trees[arm] or memory.sizes[arm] == memory.felt.shape[1]
        return bool(crowded and is_full(memory, arm))

    def _must_move(self, arm: int) -> bool:
        """Whether an arm's outcomes move to the trees or into cells for want of room: in place, and seldom."""
        memory = self._state.memory
        first = not memory.in_trees[arm] and memory.felt.shape[1] >= FLAT
        return bool(first or is_crowded(memory, arm))

    def _make_room(self, arm: int) -> None:
        while is_full(self._state.memory, arm):
            before = self._midway
            self._midway = before or self._must_move(arm)
            self._state = self._state._replace(memory=grown(self._state.memory, arm))
            self._midway = before

    def _felt(self, outcome: float) -> float:
        preference = self.policy.preference
        if preference.utility is None:
            return preference.reference - outcome if preference.costs else outcome - preference.reference
        # as an array, since numpy's vector loops may differ from its scalars in the last bit
        return float(preference.felt(np.array([outcome]))[0])

    def _checked(self, arm: int, reward: float) -> float:
        outcome = reward if type(reward) is float else number("a reward", reward, "Give what happened.")
        if not math.isfinite(outcome):
            raise ValueError(f"a reward must be finite; got {outcome}. Cancel the choice if it was lost.")
        if self._known and not self._known[arm].admits(outcome):
            self._known[arm].check([outcome])  # raises, and says which rule was broken
        preference = self.policy.preference
        if (preference.utility is not None or preference.reference) and not math.isfinite(self._felt(outcome)):
            raise ValueError(f"a reward must feel finite; {outcome:g} does not under this utility. Bound the rewards.")
        if abs(outcome) > LARGEST_SUMMED:
            self._require_summable(outcome)
        return outcome

    def _require_summable(self, outcome: float) -> None:
        if not self.policy.keeps_outcomes and abs(outcome) > LARGEST_SUMMED:
            raise ValueError(
                f"a reward must lie within {LARGEST_SUMMED:g} of 0 where sums of rewards are kept; got {outcome:g}. "
                "Rescale the rewards."
            )

    def _arm(self, name: Hashable) -> int:
        try:
            return self._index[name]
        except (KeyError, TypeError):
            listed = ", ".join(map(repr, self._names[:8])) + (", ..." if len(self._names) > 8 else "")
            raise ValueError(
                f"an arm must be one of {listed}; got {name!r}. Add it first, or check the name."
            ) from None

    def _id(self, choice: Any) -> int:
        if isinstance(choice, Choice):
            return choice.id
        if isinstance(choice, int) and not isinstance(choice, bool):
            return choice
        raise TypeError(f"tell and cancel take what ask returned, or its id; got {choice!r}.")

    def _require_own(self, choice: Choice | int, arm: Any, features: tuple[float, ...] | None) -> None:
        own = self._named(arm, features)
        if isinstance(choice, Choice) and choice.arm != own:
            raise ValueError(
                f"a choice is told to the learner that made it; {choice.id} was of arm {own!r} here, "
                f"not of {choice.arm!r}. Check which learner asked."
            )

    def _why_unknown(self, id_: int) -> str:
        if 0 < id_ < self._next:
            return f"a choice is told or cancelled once; {id_} already was. Use observe() for further data."
        return f"only a choice that was asked can be told; {id_} never was. Tell what ask() returned."

    # -- arms that come and go --------------------------------------------------------------------

    @one_change_at_a_time
    def add(self, arm: Hashable, rewards: Rewards | None = None) -> None:
        """Bring a new arm into play, or one that retired; `rewards` says what is known of a new one, if arms differ.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.add("B7")
        >>> learner.arms
        ('A21', 'A28', 'B7')
        """
        self._require_open("add")
        checked_names([arm])
        if rewards is not None:
            check_settings(self.policy.preference, rewards)
        if arm in self._index:
            self._bring_back(arm, rewards)
            return
        each = isinstance(getattr(self.policy, "rewards", None), Sequence)
        if each != (rewards is not None):
            raise ValueError(
                "a new arm needs rewards exactly if the policy has one an arm; "
                f"got {'none' if each else 'some'}. {'Give' if each else 'Leave out'} rewards=."
            )
        policy = self.policy
        if each:
            more = [*policy.rewards_of(len(self._names)), rewards]
            policy = policy.but(rewards=more)  # checks them
        names = (*self._names, arm)
        rule, state = started(policy, len(names))  # refuses what does not fit
        self._adopt(policy, names, rule, _extended(self._state, state))

    @one_change_at_a_time
    def retire(self, arm: Hashable) -> None:
        """Take an arm out of play; what was learned of it is kept, and `add` brings it back.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.retire("A21")
        >>> learner.ask().arm
        'A28'
        >>> learner.add("A21")
        >>> learner.arms
        ('A21', 'A28')
        """
        self._require_open("retire")
        k = self._arm(arm)
        if not self._state.active[k]:
            raise ValueError(f"only an arm in play can retire; {arm!r} already did.")
        if self._state.active.sum() == 1:
            raise ValueError(f"one arm must stay in play; {arm!r} is the last. Add another first.")
        self._midway = True
        self._state.active[k] = False
        self._midway = self._durable

    def _bring_back(self, arm: Hashable, rewards: Rewards | None) -> None:
        k = self._index[arm]
        if self._state.active[k]:
            raise ValueError(f"arms must have distinct names; {arm!r} is there already. Rename it.")
        if rewards is not None and (not self._known or rewards != self._known[k]):
            raise ValueError(
                f"an arm that comes back keeps what is known of it; got other rewards for {arm!r}. Leave out rewards=."
            )
        self._midway = True
        self._state.active[k] = True
        self._midway = self._durable

    def _require_open(self, verb: str) -> None:
        if not self.policy.open_to_arms:
            raise ValueError(
                f"{type(self.policy).__name__} fixes its arms when it starts, since its guarantee counts them; "
                f"cannot {verb} one. Start it anew, or use a regret policy such as WUCB."
            )

    def _adopt(self, policy: Policy, names: tuple[Hashable, ...], rule: Any, state: Any) -> None:
        """Go on with another rule and state; all that takes time is done before the change."""
        for k in range(len(names)):
            if state.memory.pulls[k] and policy.keeps_outcomes:
                _remeasure(rule, state, k)
        index = {name: index for index, name in enumerate(names)}
        known = policy.rewards_of(len(names))
        choosing, learning = _verbs(rule, state)
        self._midway = True
        self.policy, self._names, self._rule, self._state = policy, names, rule, state
        self._index, self._known = index, known
        self._choose, self._take_in = choosing, learning
        self._midway = self._durable

    def _lay_out_memory(self) -> None:
        """Lay the memory out as a file will, so that learner and file go on alike to the last bit."""
        if self._state.memory.in_trees.any():
            state = self._state._replace(memory=laid_out(self._state.memory))
            self._adopt(self.policy, self._names, self._rule, state)

    # -- copies and files -------------------------------------------------------------------------

    @one_at_a_time
    def copy(self) -> Learner:
        """An independent learner that knows the same and will choose the same."""
        twin = object.__new__(Learner)
        twin.__setstate__(self._contents())
        return twin

    def _contents(self) -> dict[str, Any]:
        """All that it is, as copies: what is pickled does not change while it is written."""
        shared = ("policy", "_names", "_index", "_known", "_rule", "_next", "_draw")  # of which nothing changes
        contents = {name: getattr(self, name) for name in shared}
        copies = {name: copy.deepcopy(getattr(self, name)) for name in ("_state", "_rng")}
        return {**contents, **copies, "_out": dict(self._out)}

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        return self._contents()

    def __setstate__(self, contents: dict[str, Any]) -> None:
        self.__dict__.update(contents)
        self._choose, self._take_in = _verbs(self._rule, self._state)
        self._guard()

    @one_change_at_a_time
    def save(self, path: str | Path) -> None:
        """Write everything to one readable JSON file; a crash while saving leaves the old one."""
        from allais.learner.document import write_document

        self._lay_out_memory()
        write_document(self, Path(path))

    @staticmethod
    def load(path: str | Path, trust: Sequence[str] = ()) -> Learner:
        """The learner that was saved, going on exactly where it was.

        A file is data: it may name types and functions outside of this library only from the modules in `trust`.

        >>> learner = NPTS(expected_value(), Bounded(0, 1)).start(["A21", "A28"], seed=1)
        >>> learner.save("advisor.json")
        >>> Learner.load("advisor.json").ask() == learner.ask()
        True
        """
        from allais.learner.document import read_document

        return read_document(Path(path), trust)

    @staticmethod
    def open(
        path: str | Path,
        policy: Policy | None = None,
        arms: int | Sequence[Hashable] | None = None,
        seed: Seed | None = None,
        features: ArrayLike | None = None,
        trust: Sequence[str] = (),
        *,
        exact: bool | None = None,
    ) -> JournaledLearner:
        """A learner that lives in a folder: every accepted call is on disk when it returns.

        The first time, say how to start; afterwards the folder knows, and what is given must agree. Linear policies
        need the `features` of the arms, one row for each. `trust` names the modules from which the folder may name
        types and functions, beside this library's and those of `policy`. With `exact=True` every outcome is kept,
        however many there are.

        >>> policy = NPTS(expected_value(), Bounded(0, 1))
        >>> with Learner.open("advisor", policy, arms=["A21", "A28"], seed=1) as learner:
        ...     learner.tell(learner.ask(), 1.0)
        >>> with Learner.open("advisor") as learner:
        ...     learner.pulls
        {'A21': 1, 'A28': 0}
        """
        from allais.learner.journal import open_journal

        return open_journal(Path(path), policy, arms, seed, features, trust, exact)


def _extended(old: Any, new: Any) -> Any:
    """A state for more arms that holds what the old one held."""
    for name in ("asked", "active", "ticket", "own"):
        extended(getattr(old, name), getattr(new, name))
    return new._replace(memory=with_arms(old.memory, new.memory.pulls.size))


def _verbs(rule: Any, state: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The machine code of `choose` and `learn` for a rule and a state."""
    kind, first, draw = type(rule), 0, 0.0
    choosing = bound(choose.kernels[kind], rule, state, draw)
    return choosing, bound(learn.kernels[kind], rule, state, first, draw, draw, draw)


def _remeasure(rule: Any, state: Any, arm: int) -> None:
    """Bring an arm's value, and what the band keeps of the arm, in line with its memory."""
    measure(rule.worth, state.memory, arm)
    refresh(rule.band, state.kept, state.memory, arm)
