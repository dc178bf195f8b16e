"""The engine of a learner: rule, state and compiled code, by which it chooses and learns, for itself and for others.

An engine has no lock, no journal and no file. A change is marked while it is under way; between the two ends of a mark
there is no call and no loop where it can be avoided, so that no signal's handler breaks in (`_system/locks.py`).
"""

from __future__ import annotations

import copy
import functools
import math
import sys
from collections.abc import Callable, Hashable
from itertools import starmap
from typing import Any

import numpy as np

from allais._checks import number
from allais._kernels import bound, compiled_for, held
from allais._system.locks import Guard
from allais.files import Damaged
from allais.learner.choices import Choice, NotNow, no_arm, require_own, why_too_large
from allais.learner.reading import Others, someone
from allais.learner.unfinished import lapse
from allais.learner.views import PreferenceView, SharedView, remeasure, room_check, verbs_for
from allais.policies.core.base import Policy
from allais.policies.core.guardrails import AGAIN, feasibility_of
from allais.policies.core.state import no_such_arm, reopen, started
from allais.policies.core.verbs import SETTLED, WAITING
from allais.preferences import Preference
from allais.rewards import Rewards
from allais.samples.cuts import Cuts
from allais.samples.drift import FIRST, look, new_watch, with_more_arms
from allais.samples.layout import grown, laid_out
from allais.samples.memory import FLAT, NEVER, is_crowded, is_full

NOTHING = ((),)  # the arguments of a call that takes none, for `starmap`
new_choice: Callable[[tuple[int, Hashable]], Choice] = functools.partial(tuple.__new__, Choice)  # a call less
SAME = ("policy", "names", "index", "known", "rule", "next", "draw")  # of which nothing changes in place


class Engine:
    """A policy's rule and state over some arms."""

    rule: Any
    state: Any
    rule_at: Any  # where compiled code finds rule, state and watch
    state_at: Any
    watch_at: Any
    choosing: Callable[..., Any]
    taking_in: Callable[..., Any]
    lacks_room: Callable[..., Any] | None  # whether what the algorithm remembers needs more room; None: it never does
    looking: Callable[..., Any] | None = None  # for drift; compiled when there is something to compare
    largest: float = sys.float_info.max  # how far from 0 a reward may lie

    def __init__(
        self, policy: Policy, names: tuple[Hashable, ...], rng: np.random.Generator, guard: Guard, exact: bool
    ) -> None:
        self.guard = guard  # has the mark
        self.policy, self.names = policy, names
        self.index = {name: index for index, name in enumerate(names)}
        self.known: list[Rewards] = policy.rewards_of(len(names))
        rule, state = started(policy, len(names))
        if exact:
            state.memory.limit[0] = NEVER
        self.watch = new_watch(len(names))
        self.rng = rng
        self.out: dict[int, tuple[int, float]] = {}  # what was asked and not told: arm and ticket
        self.cuts = Cuts()  # what is known of outcomes that are not finished
        self.next = 1  # the number of the next choice
        self.draw: float | None = None  # the uniform draw of the next choice, once made
        self.others = Others()
        self.hold(rule, state)

    @property
    def exact(self) -> bool:
        """Whether every outcome is kept, however many there are."""
        return bool(self.state.memory.limit[0] == NEVER)

    def contents(self) -> dict[str, Any]:
        """All that it is, as copies: what is pickled does not change while it is written."""
        copies = {name: copy.deepcopy(getattr(self, name)) for name in ("state", "rng", "watch", "cuts")}
        return {**{name: getattr(self, name) for name in SAME}, **copies, "out": dict(self.out)}

    @classmethod
    def of(cls, contents: dict[str, Any], guard: Guard) -> Engine:
        """The engine that has these contents."""
        engine = cls.__new__(cls)
        engine.__dict__.update({"cuts": Cuts(), **contents}, guard=guard, others=Others())
        engine.hold(engine.rule, engine.state)
        return engine

    def arm_of(self, name: Hashable) -> int:
        """An arm by its name."""
        try:
            return self.index[name]
        except (KeyError, TypeError):
            raise ValueError(no_arm(self.names, name)) from None

    # -- choosing ---------------------------------------------------------------------------------

    def ask(self, view: PreferenceView | SharedView | None = None) -> Choice:
        """Choose the next arm, as somebody sees the arms."""
        guard = self.guard
        before = guard.midway  # True within a batch that is yet to be written down
        if self.draw is None:
            drawing = starmap(self.rng.random, NOTHING)
            guard.midway = True
            (self.draw,) = drawing
            guard.midway = before
        if view is None and self.cuts.any:
            view = self.view_for(None)
        if view is None:
            choosing = starmap(self.choosing, ((self.rule_at, self.state_at, self.draw),))
        else:
            view.prepare(self.draw)
            choosing = starmap(view.choose, ((view.rule_at, view.state_at, self.draw),))
        guard.midway = True
        (arm,) = choosing
        if arm == SETTLED and self.feasibility is not None:
            guard.midway = before
            arm = self.feasibility.instead(self.rule, self.state)  # a guardrail may ask for more of the leader
            if arm == AGAIN:
                self.draw = None
                return self.ask(view)
            guard.midway = True
            self.state.asked[max(arm, 0)] += arm >= 0
        if arm >= len(self.names):  # a user's own kernel may err
            guard.midway = before
            raise ValueError(no_such_arm(self.policy, int(arm), len(self.names)))
        if arm >= 0:
            id_, ticket = self.next, self.state.ticket[0]
            self.out[id_] = (arm, ticket)
            self.next = id_ + 1
            self.draw = None
            guard.midway = guard.durable
            choice = new_choice((id_, self.names[arm]))
            if ticket or self.policy.propensity == "one":  # of other tickets of 0 it is not known: a call less
                choice.propensity = self.likely(ticket)
            return choice
        guard.midway = before  # the draw is kept, so that asking in vain changes nothing
        if arm == WAITING:
            raise NotNow(
                f"this phase needs the outcomes of all its choices; {len(self.out)} are still out. "
                "Tell them, or cancel the lost ones."
            )
        raise NotNow("the policy has settled and asks for no more; see recommend(). Start another to go on.")

    def ask_batch(self, n: int, preference: Preference | None) -> list[Choice]:
        """Choose n arms, or fewer where the policy settles or must wait."""
        view = self.view_for(preference)
        first, last, late, done = self.next, self.next + n, None, False
        while not done:
            try:  # around the loop: a signal's handler may run wherever one begins anew
                while self.next < last:
                    self.ask(view)
                done = True
            except NotNow:
                if self.next == first:
                    raise
                done = True
            except BaseException as error:  # of a signal's handler: between two choices, it waits for the last
                if self.guard.midway or late is not None:
                    raise
                late = error
        if late is not None:
            raise late
        return [self.choice(id_) for id_ in range(first, self.next)]

    def choice(self, id_: int) -> Choice:
        """A choice that is out."""
        arm, ticket = self.out[id_]
        choice = Choice(id_, self.names[arm])
        choice.propensity = self.likely(ticket)
        return choice

    def likely(self, ticket: float) -> float | None:
        """The probability of a choice with this ticket; None where it is not known."""
        known = self.policy.propensity
        if known == "ticket":
            return float(ticket) or None  # 0: drawn once, so that only the winner is known; or by an earlier version
        return 1.0 if known == "one" else None

    def view_for(self, preference: Preference | None) -> PreferenceView | SharedView | None:
        """The arms as somebody sees them, or None where it is the policy's own view."""
        own, other = self.policy.preference, someone(self.policy, preference)
        return self.others.see(self, other) if other != own or self.cuts.any else None

    def make_draw(self) -> None:
        """Draw the number that decides the next choice, which is kept until there is one."""
        if self.draw is None:
            drawing = starmap(self.rng.random, NOTHING)
            before, self.guard.midway = self.guard.midway, True
            (self.draw,) = drawing
            self.guard.midway = before

    # -- choices that are out ---------------------------------------------------------------------

    def cancel(self, id_: int, choice: Choice | int) -> None:
        """Give a choice back."""
        if id_ not in self.out:
            raise ValueError(self.why_unknown(id_))
        require_own(choice, self.names[(arm := self.out[id_][0])])
        self.guard.midway = True
        del self.out[id_]
        if id_ in self.cuts.open:
            self.cuts.without(id_)
        self.state.asked[arm] -= 1
        self.guard.midway = self.guard.durable

    def learn_other(self, id_: int, choice: Choice | int, reward: float) -> float:
        """Learn the outcome of a choice that is not a listed arm; returns the reward as it was checked."""
        raise ValueError(self.why_unknown(id_))

    def why_unknown(self, id_: int) -> str:
        """Say why a choice is not out."""
        if 0 < id_ < self.next:
            return f"a choice is told or cancelled once; {id_} already was. Use observe() for further data."
        return f"only a choice that was asked can be told; {id_} never was. Tell what ask() returned."

    def is_out(self, id_: int) -> bool:
        """Whether a choice waits for its outcome."""
        return id_ in self.out

    def outstanding(self) -> list[Choice]:
        """The choices that are out."""
        return [self.choice(id_) for id_ in self.out]

    def entries(self) -> list[list[Any]]:
        """The choices that are out, for a file: number, arm, ticket, and the features of an arm that is not listed."""
        return [[id_, arm, float(ticket), None] for id_, (arm, ticket) in self.out.items()]

    def put_out_row(self, id_: int, arm: Any, ticket: float, features: tuple[float, ...]) -> None:
        """Take over a choice of an arm that is not listed from a file."""
        raise Damaged("its policy takes no features")

    # -- learning ---------------------------------------------------------------------------------

    def learn(self, id_: int, arm: int, ticket: float, outcome: float) -> None:
        """Learn what a choice brought, which was checked."""
        cut = self.cuts.any
        if cut and id_ in self.cuts.open:
            self.cuts.check(id_, outcome)
        utilities = self.utilities(outcome)
        memory = self.state.memory
        if (memory.in_trees[arm] or memory.sizes[arm] == memory.utility.shape[1]) and is_full(memory, arm):
            self._make_room(arm)
        if self.lacks_room is not None:
            self._make_own_room(arm, ticket)
        learning = starmap(self.taking_in, ((self.rule_at, self.state_at, arm, utilities, outcome, ticket),))
        watching = starmap(self.looking or self._looking(arm), ((self.watch_at, arm, outcome),))
        guard = self.guard
        guard.midway = True
        (_,) = learning
        (_,) = watching
        del self.out[id_]
        if cut and id_ in self.cuts.open:
            self.cuts.without(id_)
        guard.midway = guard.durable
        if cut and self.cuts.closed:
            lapse(self)
        if self.feasibility is not None:
            self.feasibility.look(self.rule, self.state)

    def learn_all(self, arms: list[int], outcomes: list[float]) -> None:
        """Learn outcomes of arms that were not asked for: all of them, even if a signal's handler raises in between.

        What it raised is raised after the last; if it comes twice, or while outcomes move, the learner closes.
        """
        utilities = [self.utilities(outcome) for outcome in outcomes]
        late: BaseException | None = None
        done, inside, size, guard = 0, False, len(outcomes), self.guard
        self.others.forget()
        guard.midway = True
        reopen(self.policy, self.state)
        while done < size:
            try:
                while done < size:
                    arm, memory = arms[done], self.state.memory
                    crowded = memory.in_trees[arm] or memory.sizes[arm] == memory.utility.shape[1]
                    if crowded and is_full(memory, arm):
                        inside = self._must_move(arm)
                        self._make_room(arm)
                        inside = False
                    arguments = (self.rule_at, self.state_at, arm, utilities[done], outcomes[done], 0.0)
                    learning = starmap(self.taking_in, (arguments,))
                    watching = starmap(self.looking or self._looking(arm), ((self.watch_at, arm, outcomes[done]),))
                    inside = True
                    self.state.asked[arm] += 1  # it counts as a round: the bounds need m to exceed every T_k
                    (_,) = learning
                    (_,) = watching
                    done += 1
                    inside = False
            except BaseException as error:
                if inside or late is not None:
                    raise
                late = error
        guard.midway = guard.durable
        if self.cuts.closed:
            lapse(self)
        if late is not None:
            raise late

    def _looking(self, arm: int) -> Callable[..., Any]:
        """The function that watches an arm's next outcome for drift; the first ones are only written down."""
        if self.looking is None:
            if self.watch.seen[arm] < FIRST - 1:
                return self._note
            self.looking = bound(look, self.watch_at, 0, 0.0)
        return self.looking

    def _note(self, _: Any, arm: int, outcome: float) -> None:
        self.watch.edges[arm, self.watch.seen[arm]] = outcome
        self.watch.seen[arm] += 1

    def _must_move(self, arm: int) -> bool:
        """Whether an arm's outcomes must move to the trees or into cells for lack of room; it is rare, and in place."""
        memory = self.state.memory
        return bool((not memory.in_trees[arm] and memory.utility.shape[1] >= FLAT) or is_crowded(memory, arm))

    def _make_room(self, arm: int) -> None:
        guard = self.guard
        while is_full(self.state.memory, arm):
            before = guard.midway
            guard.midway = before or self._must_move(arm)
            state = self.state._replace(memory=grown(self.state.memory, arm))
            self.state, self.state_at = state, held(state)
            guard.midway = before

    def _make_own_room(self, arm: int, ticket: float) -> None:
        assert self.lacks_room is not None
        while self.lacks_room(self.rule_at, self.state_at, arm, ticket):
            state = self.state._replace(own=self.policy.roomier(self.state.own))
            self.state, self.state_at = state, held(state)

    def utilities(self, outcome: float) -> float:
        """What an outcome counts as."""
        preference = self.policy.preference
        if preference.utility is None:
            return preference.reference - outcome if preference.costs else outcome - preference.reference
        # as an array, since numpy's vector loops may differ from its scalars in the last bit
        return float(preference.utilities(np.array([outcome]))[0])

    def checked(self, arm: int, reward: float) -> float:
        """A reward as a number that an arm can pay; the one place where that is decided."""
        outcome = reward if type(reward) is float else number("a reward", reward, "Give what happened.")
        if not -self.largest <= outcome <= self.largest:
            raise ValueError(why_too_large(self.largest, outcome))
        if self.known and not self.known[arm].admits(outcome):
            self.known[arm].check([outcome])  # raises, and says which rule was broken
        preference = self.policy.preference
        if (preference.utility is not None or preference.reference) and not math.isfinite(self.utilities(outcome)):
            raise ValueError(f"the utility of a reward must be finite; that of {outcome:g} is not. Bound the rewards.")
        return outcome

    # -- another state ----------------------------------------------------------------------------

    def hold(self, rule: Any, state: Any) -> None:
        """Make a rule and a state ready for compiled code."""
        self.rule, self.state = rule, state
        self.rule_at, self.state_at = held(self.rule), held(self.state)
        self.feasibility = feasibility_of(self.policy, len(self.names))
        self.watch_at = held(self.watch)
        self.others.forget()
        with compiled_for(type(self.policy).__name__):
            self.choosing, self.taking_in = verbs_for(type(self.rule), self.rule_at, self.state_at)
            self.lacks_room = room_check(self.policy, type(self.rule), self.rule_at, self.state_at)

    def adopt(self, policy: Policy, names: tuple[Hashable, ...], rule: Any, state: Any) -> None:
        """Go on with another rule and state; all that takes time is done before the change."""
        for k in range(len(names)):
            if state.memory.pulls[k] and policy.keeps_outcomes:
                remeasure(rule, state, k)
        index = {name: index for index, name in enumerate(names)}
        known, feasibility = policy.rewards_of(len(names)), feasibility_of(policy, len(names))
        places = held(rule), held(state)
        watch = with_more_arms(self.watch, len(names))
        watch_at = held(watch)
        choosing, taking_in = verbs_for(type(rule), *places)
        guard = self.guard
        self.others.forget()
        guard.midway = True
        self.policy, self.names, self.rule, self.state = policy, names, rule, state
        self.index, self.known, self.feasibility = index, known, feasibility
        self.rule_at, self.state_at = places
        self.watch, self.watch_at = watch, watch_at
        self.choosing, self.taking_in = choosing, taking_in
        guard.midway = guard.durable

    def lay_out(self) -> None:
        """Lay the memory out as a file will, so that learner and file continue identically to the last bit."""
        if self.state.memory.in_trees.any():
            self.adopt(self.policy, self.names, self.rule, self.state._replace(memory=laid_out(self.state.memory)))

    def new_view(self, preference: Preference) -> PreferenceView:
        """The arms for somebody who has no view of them yet."""
        return PreferenceView(self.policy, preference, len(self.names))
