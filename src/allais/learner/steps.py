"""The steps by which a learner changes: choosing, learning, making room, taking over another state.

A change is marked while it is under way; between the two ends of a mark there is no call and no loop where it can be
avoided, so that no signal's handler breaks in (`_system/locks.py`).
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Hashable
from itertools import starmap
from typing import Any

import numpy as np

from allais._checks import number
from allais._kernels import compiled_for, held
from allais.learner.choices import Choice, NotNow
from allais.learner.recommending import Recommending
from allais.learner.views import PreferenceView, SharedView, remeasure, room_check, verbs_for
from allais.learner.watching import Watching
from allais.policies.core.base import Policy
from allais.policies.core.state import no_such_arm
from allais.policies.core.verbs import WAITING
from allais.rewards import Rewards
from allais.samples.drift import with_more_arms
from allais.samples.layout import grown, laid_out
from allais.samples.memory import FLAT, is_crowded, is_full

NOTHING = ((),)  # the arguments of a call that takes none, for `starmap`
new_choice: Callable[[tuple[int, Hashable]], Choice] = functools.partial(tuple.__new__, Choice)  # a call less


class Steps(Watching, Recommending):
    """What the public calls of a learner are made of."""

    _known: list[Rewards]
    _rng: np.random.Generator
    _draw: float | None  # the uniform draw of the next choice, once made
    _rule_at: Any  # where compiled code finds them
    _state_at: Any
    _choose: Callable[..., Any]
    _take_in: Callable[..., Any]
    _lacks_room: Callable[..., Any] | None  # whether what the algorithm remembers needs more room; None: it never does
    _largest: float = sys.float_info.max  # how far from 0 a reward may lie

    # -- choosing ---------------------------------------------------------------------------------

    def _ask_batch(self, n: int, view: PreferenceView | SharedView | None = None) -> list[Choice]:
        first, last, late = self._next, self._next + n, None
        done = False
        while not done:
            try:  # around the loop: a signal's handler may run wherever one begins anew
                while self._next < last:
                    self._ask(view)
                done = True
            except NotNow:
                if self._next == first:
                    raise
                done = True
            except BaseException as error:  # of a signal's handler: between two choices, it waits for the last
                if self._midway or late is not None:
                    raise
                late = error
        if late is not None:
            raise late
        return [Choice(id_, self._names[self._out[id_][0]]) for id_ in range(first, self._next)]

    def _ask(self, view: PreferenceView | SharedView | None = None) -> Choice:
        before = self._midway  # True within a batch that is yet to be written down
        if self._draw is None:
            drawing = starmap(self._rng.random, NOTHING)
            self._midway = True
            (self._draw,) = drawing
            self._midway = before
        if view is None:
            choosing = starmap(self._choose, ((self._rule_at, self._state_at, self._draw),))
        else:
            view.prepare(self._draw)
            choosing = starmap(view.choose, ((view.rule_at, view.state_at, self._draw),))
        self._midway = True
        (arm,) = choosing
        if arm >= len(self._names):  # a user's own kernel may err
            self._midway = before
            raise ValueError(no_such_arm(self.policy, int(arm), len(self._names)))
        if arm >= 0:
            id_ = self._next
            self._out[id_] = (arm, self._state.ticket[0])
            self._next = id_ + 1
            self._draw = None
            self._midway = self._durable
            return new_choice((id_, self._names[arm]))
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
            other = self._index[self._ask().arm]
        except NotNow:  # it would have stopped by now
            self._make_draw()
            self._midway = True
            self._out[id_] = (arm, self._state.ticket[0])
            self._next = id_ + 1
            self._draw = None
        else:
            self._midway = True
            if other != arm and not self.policy.open_to_data:
                return False
            self._state.asked[other] -= 1
            self._out[id_] = (arm, self._out[id_][1])
        self._state.asked[arm] += 1
        self._midway = self._durable
        return True

    def _make_draw(self) -> None:
        """Draw the number that decides the next choice, which is kept until there is one."""
        if self._draw is None:
            drawing = starmap(self._rng.random, NOTHING)
            before = self._midway
            self._midway = True
            (self._draw,) = drawing
            self._midway = before

    # -- choices that are none of the listed arms ------------------------------------------------

    def _tell_other(self, id_: int, choice: Choice | int, reward: float) -> None:
        """Tell what a choice brought that is none of the listed arms."""
        raise ValueError(self._why_unknown(id_))

    def _cancel_other(self, id_: int, choice: Choice | int) -> None:
        """Cancel a choice that is none of the listed arms."""
        raise ValueError(self._why_unknown(id_))

    # -- learning ---------------------------------------------------------------------------------

    def _learn(self, id_: int, arm: int, ticket: float, outcome: float) -> None:
        """Learn what a choice brought, which was checked."""
        utilities = self._utilities(outcome)
        memory = self._state.memory
        if (memory.in_trees[arm] or memory.sizes[arm] == memory.utility.shape[1]) and is_full(memory, arm):
            self._make_room(arm)
        if self._lacks_room is not None:
            self._make_own_room(arm, ticket)
        learning = starmap(self._take_in, ((self._rule_at, self._state_at, arm, utilities, outcome, ticket),))
        watching = starmap(self._look or self._watching(arm), ((self._watch_at, arm, outcome),))
        self._midway = True
        (_,) = learning
        (_,) = watching
        del self._out[id_]
        self._midway = self._durable
        if self._durable:
            self._write({"tell": id_, "reward": outcome})

    def _learn_all(self, arm: int, outcomes: list[float]) -> None:
        """Learn outcomes that were not asked for: all of them, even if a signal's handler raises in between.

        What it raised is raised after the last; if it comes twice, or while outcomes move, the learner closes.
        """
        utilities = [self._utilities(outcome) for outcome in outcomes]
        late: BaseException | None = None
        done, inside, size = 0, False, len(outcomes)
        self._forget_views()
        self._midway = True
        while done < size:
            try:
                while done < size:
                    if self._needs_room(arm):
                        inside = self._must_move(arm)
                        self._make_room(arm)
                        inside = False
                    arguments = (self._rule_at, self._state_at, arm, utilities[done], outcomes[done], 0.0)
                    learning = starmap(self._take_in, (arguments,))
                    watching = starmap(self._look or self._watching(arm), ((self._watch_at, arm, outcomes[done]),))
                    inside = True
                    self._state.asked[arm] += 1  # it counts as a round: the bounds need m to exceed every T_k
                    (_,) = learning
                    (_,) = watching
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
        crowded = memory.in_trees[arm] or memory.sizes[arm] == memory.utility.shape[1]
        return bool(crowded and is_full(memory, arm))

    def _must_move(self, arm: int) -> bool:
        """Whether an arm's outcomes move to the trees or into cells for want of room: in place, and seldom."""
        memory = self._state.memory
        first = not memory.in_trees[arm] and memory.utility.shape[1] >= FLAT
        return bool(first or is_crowded(memory, arm))

    def _make_room(self, arm: int) -> None:
        while is_full(self._state.memory, arm):
            before = self._midway
            self._midway = before or self._must_move(arm)
            state = self._state._replace(memory=grown(self._state.memory, arm))
            place = held(state)
            self._state, self._state_at = state, place
            self._midway = before

    def _make_own_room(self, arm: int, ticket: float) -> None:
        assert self._lacks_room is not None
        while self._lacks_room(self._rule_at, self._state_at, arm, ticket):
            state = self._state._replace(own=self.policy.roomier(self._state.own))  # type: ignore[attr-defined]
            place = held(state)
            self._state, self._state_at = state, place

    def _utilities(self, outcome: float) -> float:
        preference = self.policy.preference
        if preference.utility is None:
            return preference.reference - outcome if preference.costs else outcome - preference.reference
        # as an array, since numpy's vector loops may differ from its scalars in the last bit
        return float(preference.utilities(np.array([outcome]))[0])

    def _checked(self, arm: int, reward: float) -> float:
        """A reward as a number that an arm can pay; the one place where that is decided."""
        outcome = reward if type(reward) is float else number("a reward", reward, "Give what happened.")
        if not -self._largest <= outcome <= self._largest:
            raise ValueError(self._why_too_large(outcome))
        if self._known and not self._known[arm].admits(outcome):
            self._known[arm].check([outcome])  # raises, and says which rule was broken
        preference = self.policy.preference
        if (preference.utility is not None or preference.reference) and not math.isfinite(self._utilities(outcome)):
            raise ValueError(f"the utility of a reward must be finite; that of {outcome:g} is not. Bound the rewards.")
        return outcome

    def _why_too_large(self, outcome: float) -> str:
        if not math.isfinite(outcome):
            return f"a reward must be finite; got {outcome}. Cancel the choice if it was lost."
        return (
            f"a reward must lie within {self._largest:g} of 0 where sums of rewards are kept; got {outcome:g}. "
            "Rescale the rewards."
        )

    # -- another state ----------------------------------------------------------------------------

    def _hold(self) -> None:
        """Make the rule and the state ready for compiled code."""
        self._rule_at, self._state_at = held(self._rule), held(self._state)
        self._watch_at = held(self._watch)
        self._forget_views()
        with compiled_for(type(self.policy).__name__):
            self._choose, self._take_in = verbs_for(type(self._rule), self._rule_at, self._state_at)
            self._lacks_room = room_check(self.policy, type(self._rule), self._rule_at, self._state_at)

    def _adopt(self, policy: Policy, names: tuple[Hashable, ...], rule: Any, state: Any) -> None:
        """Go on with another rule and state; all that takes time is done before the change."""
        for k in range(len(names)):
            if state.memory.pulls[k] and policy.keeps_outcomes:
                remeasure(rule, state, k)
        index = {name: index for index, name in enumerate(names)}
        known = policy.rewards_of(len(names))
        places = held(rule), held(state)
        watch = with_more_arms(self._watch, len(names))
        watch_at = held(watch)
        choosing, learning = verbs_for(type(rule), *places)
        self._forget_views()
        self._midway = True
        self.policy, self._names, self._rule, self._state = policy, names, rule, state
        self._index, self._known = index, known
        self._rule_at, self._state_at = places
        self._watch, self._watch_at = watch, watch_at
        self._choose, self._take_in = choosing, learning
        self._midway = self._durable

    def _lay_out_memory(self) -> None:
        """Lay the memory out as a file will, so that learner and file go on alike to the last bit."""
        if self._state.memory.in_trees.any():
            state = self._state._replace(memory=laid_out(self._state.memory))
            self._adopt(self.policy, self._names, self._rule, state)
