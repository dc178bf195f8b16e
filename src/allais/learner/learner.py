"""Learner: a policy with memory. Ask for an arm, tell what happened, survive restarts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import brief
from allais._random import Seed, generator
from allais._system.locks import one_change_at_a_time
from allais.errors import NotAdmitted
from allais.files.reading import DAMAGE, reason
from allais.learner.choices import WIDEN, Choice
from allais.learner.copies import Copies
from allais.policies.core.base import Policy
from allais.policies.core.state import started
from allais.preferences import Preference
from allais.problems.base import checked_names
from allais.samples.drift import new_watch
from allais.samples.memory import NEVER
from allais.settings import from_spec


class Learner(Copies):
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
        self._known = policy.rewards_of(len(self._names))
        self._rule, self._state = started(policy, len(self._names))
        if exact:
            self._state.memory.limit[0] = NEVER
        self._watch = new_watch(len(self._names))
        self._rng = generator(seed)
        self._out = {}
        self._next = 1
        self._draw = None
        self._hold()
        self._guard()

    @staticmethod
    def with_state(
        policy: Policy, arms: Sequence[Hashable], rng: np.random.Generator, rule: Any, state: Any
    ) -> Learner:
        """A learner that goes on from the rule and the state of a run."""
        learner = policy.start(arms, rng)
        learner._rule, learner._state = rule, state
        learner._hold()
        return learner

    # -- asking and telling -----------------------------------------------------------------------

    @overload
    def ask(
        self, n: None = None, *, features: None = None, among: None = None, preference: Preference | None = None
    ) -> Choice: ...
    @overload
    def ask(self, n: int, *, preference: Preference | None = None) -> list[Choice]: ...
    def ask(
        self, n: int | None = None, *, features: Any = None, among: Any = None, preference: Preference | None = None
    ) -> Choice | list[Choice]:
        """The next arm to play, or a batch of n to play side by side.

        A batch may be shorter than n where the policy settles or must wait; it is never empty. Linear policies
        also take `features`, or a set to choose `among`.

        With a `preference`, the choice is for somebody else: what was learned serves all, and the arm is the one to
        try for her. She brings weights and a utility; direction and reference are those of the policy's own preference
        (`Preference.in_frame_of`). `NPTS`, `WUCB` and `LinTS` choose for anybody.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0] * 10 + [0.0] * 90)
        >>> learner.observe("A28", [7.0] * 100)
        >>> learner.ask().arm, learner.ask(preference=Preference(TverskyKahneman(0.61))).arm
        ('A28', 'A21')
        """
        if features is not None or among is not None:
            self._refuse_features()
        if self._lock._is_owned():
            self._require_outermost()
        with self._lock:
            if self._midway or self._durable:
                self._require_ready()
            try:
                view = None if preference is None else self._view_for(preference)
                if n is None:
                    choice = self._ask(view)
                    if self._durable:
                        self._write({"ask": [choice]})
                    return choice
                if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
                    raise ValueError(f"a batch must be of one choice or more; got {n!r}. Give an int.")
                batch = self._ask_batch(int(n), view)
                if self._durable:
                    self._write({"ask": batch})
                return batch
            except BaseException:
                self._end_broken()
                raise

    def tell(self, choice: Choice | int, reward: float) -> None:
        """What a choice brought, in the user's units; late, and in any order, if need be.

        A reward that cannot be is refused, and the learner stays as it was.
        """
        if self._lock._is_owned():
            self._require_outermost()
        with self._lock:
            if self._midway or self._durable:
                self._require_ready()
            try:
                # the short way is for a choice that `ask` has just returned: a call in Python costs more than the lock
                id_ = choice.id if type(choice) is Choice else self._id(choice)
                found = self._out.get(id_)
                if found is None:
                    self._tell_other(id_, choice, reward)
                    return
                arm, ticket = found
                if type(choice) is not Choice or choice.arm is not self._names[arm]:
                    self._require_own(choice, self._names[arm])
                self._learn(id_, arm, ticket, self._checked(arm, reward))
            except NotAdmitted as error:
                raise NotAdmitted(error.rule, WIDEN) from None
            except BaseException:
                self._end_broken()
                raise

    @one_change_at_a_time
    def _tell_checked(self, choice: Choice, outcome: float) -> None:
        """Tell what was checked already, when it came in."""
        self._learn(choice.id, *self._out[choice.id], outcome)

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
        if id_ in self._out:
            arm, _ = self._out[id_]
            self._require_own(choice, self._names[arm])
            self._midway = True
            del self._out[id_]
            self._state.asked[arm] -= 1
            self._midway = self._durable
        else:
            self._cancel_other(id_, choice)
        if self._durable:
            self._write({"cancel": id_})

    # -- events -----------------------------------------------------------------------------------

    def apply(self, event: dict[str, Any], trust: Sequence[str] = ()) -> None:
        """Do what an event says: the calls that change a learner, as its folder writes them down.

        A learner to which all events of another are applied knows the same and will choose the same. `trust` is that
        of `load`, for events that bring an arm with rewards of its own.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> for event in ({"ask": [[1, "A21"], [2, "A28"]]}, {"tell": 1, "reward": 7.0}, {"cancel": 2},
        ...               {"observe": "A28", "rewards": [50.0]}, {"add": "B7", "rewards": None}, {"retire": "A21"}):
        ...     learner.apply(event)
        >>> learner.pulls, learner.arms
        ({'A21': 1, 'A28': 1, 'B7': 0}, ('A28', 'B7'))
        """
        try:
            self._apply(event, trust)
        except DAMAGE as error:
            raise ValueError(f"invalid event {brief(event)}: {reason(error)}. Check where it came from.") from None

    def _apply(self, event: dict[str, Any], trust: Sequence[str]) -> None:
        match event:
            case {"ask": choices}:
                self._repeat([(id_, arm) for id_, arm in choices])
            case {"tell": id_, "reward": reward}:
                self.tell(id_, reward)
            case {"cancel": id_}:
                self.cancel(id_)
            case {"observe": arm, "rewards": rewards}:
                self.observe(arm, rewards)
            case {"forget": arm, "reward": reward}:
                self.forget(arm, reward)
            case {"add": arm, "rewards": rewards}:
                self.add(arm, from_spec(rewards, trust))
            case {"add all": arms, "rewards": rewards}:
                self.add_all(arms, from_spec(rewards, trust))
            case {"retire": arm}:
                self.retire(arm)
            case {"widen": rewards}:
                self.widen(from_spec(rewards, trust))
            case {"prefer": preference}:
                self.change_preference(from_spec(preference, trust))
            case _:
                raise ValueError(
                    f"an event must be one that this version knows; got {brief(event)}. Update allais, or check it."
                )

    @one_change_at_a_time
    def _repeat(self, choices: list[tuple[int, Hashable]]) -> None:
        """Make choices as they were made."""
        next_ones = [id_ for id_, _ in choices] == list(range(self._next, self._next + len(choices)))
        known = all(arm in self._index for _, arm in choices)
        if not (next_ones and known and all(self._ask_again(*one) for one in choices)):
            raise ValueError(
                f"events must repeat to the same choices; {brief(choices)} does not. Use a backup of both, or a "
                "learner that began alike."
            )
        if self._durable:
            self._write({"ask": choices})

    # -- files ------------------------------------------------------------------------------------

    def _document(self) -> dict[str, Any]:
        from allais.learner.document import document_of

        self._lay_out_memory()
        return document_of(self)

    def save(self, path: str | Path) -> None:
        """Write everything to one readable JSON file; a crash while saving leaves the old one."""
        from allais.learner.document import write_document

        self._require_outermost()
        with self._lock:
            self._require_whole()
            if self._log is None:
                self._lay_out_memory()
            elif not self._log.closed:
                self._take_snapshot()  # so that folder and file go on alike, to the last bit
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
    ) -> Learner:
        """A learner that lives in a folder: every accepted call is on disk when it returns.

        The first time, say how to start; afterwards the folder knows, and what is given must agree. Linear policies
        need the `features` of the arms, one row for each. `trust` names the modules from which the folder may name
        types and functions, beside this library's and those of `policy`. With `exact=True` every outcome is kept,
        however many there are. It can be opened by one process at a time, until `close`.

        >>> policy = NPTS(expected_value(), Bounded(0, 1))
        >>> with Learner.open("advisor", policy, arms=["A21", "A28"], seed=1) as learner:
        ...     learner.tell(learner.ask(), 1.0)
        >>> with Learner.open("advisor") as learner:
        ...     learner.pulls
        {'A21': 1, 'A28': 0}
        """
        from allais.learner.folder import open_folder

        return open_folder(Path(path), policy, arms, seed, features, trust, exact)
