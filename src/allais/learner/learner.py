"""Learner: a policy with memory. Ask for an arm, tell what happened, survive restarts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import Seed, brief, generator, truth, whole
from allais._system.locks import one_change_at_a_time
from allais.errors import NotAdmitted
from allais.files import DAMAGE, reason
from allais.learner import changes
from allais.learner import document as documents
from allais.learner.choices import WIDEN, Choice, number_of, require_own
from allais.learner.journal import Journal
from allais.learner.reading import refuse_features
from allais.learner.view import View
from allais.policies.core.base import Policy
from allais.policies.core.knowledge import RewardsOfArms
from allais.preferences import Preference
from allais.problems.base import checked_names
from allais.rewards import Rewards
from allais.samples.cuts import Cut, cuts_of, known_cut

Whose = Preference | None
Names = Sequence[Hashable] | None
Known = float | None


class Learner(View):
    """A policy with memory: `policy.start(arms, seed)` makes one.

    Threads may share it. It can be copied and pickled.

    Args:
        policy: The policy that it runs.
        arms: The names of the arms, or how many there are.
        seed: A seed, or a generator that the learner uses from now on.
        exact: Whether every outcome is kept, however many there are.

    >>> learner = WUCB.as_printed(Preference(TverskyKahneman(0.61)), Bounded(0, 50)).start(["A21", "A28"], seed=1)
    >>> for outcome in (0.0, 7.0, 50.0):
    ...     learner.tell(learner.ask(), outcome)
    >>> learner.recommend().arm, learner.pulls
    ('A28', {'A21': 1, 'A28': 2})
    """

    def __init__(self, policy: Policy, arms: int | Sequence[Hashable], seed: Seed, *, exact: bool = False) -> None:
        if not isinstance(policy, Policy):
            raise TypeError(f"a learner runs a policy; got {policy!r}. Write WUCB.as_printed(...).start(arms, seed=1).")
        self._guard = self._journal = Journal(type(self).__name__)
        self._engine = self._engine_type(policy, checked_names(arms), generator(seed), self._journal, exact)

    @staticmethod
    def with_state(
        policy: Policy, arms: Sequence[Hashable], rng: np.random.Generator, rule: Any, state: Any
    ) -> Learner:
        """A learner that continues from the rule and the state of a run."""
        learner = policy.start(arms, rng)
        learner._engine.hold(rule, state)
        return learner

    # -- asking and telling -----------------------------------------------------------------------

    @overload
    def ask(self, n: None = None, *, preference: Whose = None, allowed: Names = None) -> Choice: ...
    @overload
    def ask(self, n: int, *, preference: Whose = None, allowed: Names = None) -> list[Choice]: ...
    def ask(
        self, n: int | None = None, *, preference: Whose = None, allowed: Names = None, features: Any = None,
        among: Any = None, context: Any = None,
    ) -> Choice | list[Choice]:  # fmt: skip
        """The next arm to play, or a batch of n to play side by side.

        Args:
            n: The size of a batch, which may be shorter where the policy settles or must wait; it is never empty.
            preference: For whom the arm is chosen, by what all have taught. She brings weights and a utility; direction
                and reference are the policy's own (`Preference.in_frame_of`). `NPTS`, `WUCB`, `LinTS` choose for all.
            allowed: The arms that may be chosen this time, all of them in play; any arm if left out.
            features: For linear policies only: the rows of this round's arms.
            among: For linear policies only: a set of arms to choose from.
            context: For `ContextualNPTS` only: what is known about this round, by name.

        Returns:
            The choice, or a list of them. Tell what each brought, or cancel it.

        Raises:
            NotNow: The policy has settled, or waits for the outcomes of earlier choices.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0] * 10 + [0.0] * 90)
        >>> learner.observe("A28", [7.0] * 100)
        >>> alice = Preference(TverskyKahneman(0.61))
        >>> learner.ask().arm, learner.ask(preference=alice).arm, learner.ask(allowed=["A21"]).arm
        ('A28', 'A21', 'A21')
        """
        if features is not None or among is not None or context is not None:
            refuse_features(self.policy, context)
        journal, engine = self._journal, self._engine
        if journal.lock._is_owned():
            journal.require_outermost()
        with journal.lock:
            if journal.midway or journal.durable:
                journal.require_ready()
            try:
                if n is None and allowed is None:
                    choice = engine.ask() if preference is None else engine.ask(engine.view_for(preference))
                    if journal.durable:
                        journal.write({"ask": [choice]}, self)
                    return choice
                size = 1 if n is None else whole("a batch", n, "of one choice or more")
                batch = changes.among(engine, allowed, lambda: engine.ask_batch(size, preference))
                if journal.durable:
                    more = {} if allowed is None else {"allowed": list(allowed)}
                    journal.write({"ask": batch, **more}, self)
                return batch[0] if n is None else batch
            except BaseException:
                journal.end_broken()
                raise

    def tell(
        self, choice: Choice | int, reward: float | None = None, *, checked: bool = False, at_least: Known = None,
        at_most: Known = None, between: Any = None, final: bool = False,
    ) -> None:  # fmt: skip
        """What a choice brought, in the user's units; late, and in any order, if need be.

        Args:
            choice: What `ask` returned, or its id.
            reward: The outcome. One that is refused leaves the learner as it was.
            checked: Whether `check_reward` has returned this reward already, so that it is not checked again.
            at_least: Until it is finished: what it will be at least, such as the time that has passed.
            at_most: What it will be at most.
            between: What it will be at least and at most.
            final: Whether no more will ever be known, as after a time-out: then the choice is no longer outstanding.

        Raises:
            ValueError: The choice is not outstanding, or the reward is not finite or not admitted.

        >>> learner = NPTS(quantile(0.95, costs=True), Bounded(0, 60)).start(["A21", "A28"], seed=1)
        >>> trip = learner.ask()
        >>> learner.tell(trip, at_least=30.0)
        >>> learner.value()[trip.arm]
        -30.0
        >>> learner.tell(trip, 47.0)
        """
        if reward is None:
            return self._tell_cut(choice, known_cut(at_least, at_most, between), truth("final", final))
        if at_least is not None or at_most is not None or between is not None:
            raise ValueError(f"an outcome is known, or bounded; got {reward!r} and bounds. Leave one out.")
        journal, engine = self._journal, self._engine
        if journal.lock._is_owned():
            journal.require_outermost()
        with journal.lock:
            if journal.midway or journal.durable:
                journal.require_ready()
            try:
                # the short way is for a choice that `ask` has just returned: a call in Python costs more than the lock
                id_ = choice.id if type(choice) is Choice else number_of(choice)
                found = engine.out.get(id_)
                if found is None:
                    outcome = engine.learn_other(id_, choice, reward)
                else:
                    arm, ticket = found
                    if type(choice) is not Choice or choice.arm is not engine.names[arm]:
                        require_own(choice, engine.names[arm])
                    outcome = reward if checked else engine.checked(arm, reward)
                    engine.learn(id_, arm, ticket, outcome)
                if journal.durable:
                    journal.write({"tell": id_, "reward": outcome}, self)
            except NotAdmitted as error:
                raise NotAdmitted(error.rule, WIDEN) from None
            except BaseException:
                journal.end_broken()
                raise

    @one_change_at_a_time
    def _tell_cut(self, choice: Choice | int, cut: Cut, final: bool) -> None:
        self._write(changes.tell_cut(self._engine, choice, cut, final))

    @one_change_at_a_time
    def cancel(self, choice: Choice | int) -> None:
        """Give a lost choice back: it no longer counts, and nothing waits for it.

        Args:
            choice: What `ask` returned, or its id.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> lost, kept = learner.ask(2)
        >>> learner.cancel(lost)
        >>> learner.outstanding == (kept,)
        True
        """
        id_ = number_of(choice)
        self._engine.cancel(id_, choice)
        self._write({"cancel": id_})

    def _write(self, event: dict[str, Any]) -> None:
        if self._journal.durable:
            self._journal.write(event, self)

    @one_change_at_a_time
    def observe(
        self, arm: Hashable | list[Any], rewards: ArrayLike = (), *, at_least: ArrayLike = (), at_most: ArrayLike = (),
        between: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        """Feed in outcomes that were known before or seen elsewhere: all of them, or none if any is refused.

        Args:
            arm: The name of the arm; or a list of names, one for each outcome, in the order of the arguments.
            rewards: The outcomes, in the user's units.
            at_least: Of outcomes that were cut off, what each would have been at least.
            at_most: What each would have been at most.
            between: Pairs: what each would have been at least and at most.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A28", [7.0, 7.0])
        >>> learner.observe(["A21", "A28", "A21"], [50.0, 7.0, 0.0])
        >>> learner.pulls
        {'A21': 2, 'A28': 3}
        """
        self._write(changes.observe(self._engine, arm, rewards, cuts_of(at_least, at_most, between)))

    @one_change_at_a_time
    def forget(self, arm: Hashable, reward: float) -> None:
        """Take back one outcome of an arm that was told or observed by mistake.

        Args:
            arm: The name of the arm.
            reward: The outcome, as it was told. Of outcomes that share a cell, one sample is taken out.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A28", [7.0, 50.0])
        >>> learner.forget("A28", 50.0)
        >>> learner.samples
        1
        """
        self._write(changes.forget(self._engine, arm, reward))

    # -- arms and settings ------------------------------------------------------------------------

    @one_change_at_a_time
    def add(self, arm: Hashable, rewards: Rewards | None = None) -> None:
        """Bring a new arm into play, or one that retired.

        Args:
            arm: The name of the arm.
            rewards: What is known about a new one, if arms differ.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.add("B7")
        >>> learner.arms
        ('A21', 'A28', 'B7')
        """
        self._write(changes.add(self._engine, arm, rewards))

    @one_change_at_a_time
    def add_all(self, arms: Sequence[Hashable], rewards: Rewards | None = None) -> None:
        """Bring new arms into play, all or none, at the cost of one.

        Args:
            arms: Their names, of which none is there already.
            rewards: What is known about each of them, if arms differ.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.add_all(["B7", "B9"])
        >>> learner.arms
        ('A21', 'A28', 'B7', 'B9')
        """
        self._write(changes.add_all(self._engine, arms, rewards))

    @one_change_at_a_time
    def retire(self, arm: Hashable) -> None:
        """Take an arm out of play; what was learned about it is kept, and `add` brings it back.

        Args:
            arm: The name of the arm.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.retire("A21")
        >>> learner.ask().arm
        'A28'
        """
        self._write(changes.retire(self._engine, arm))

    @one_change_at_a_time
    def widen(self, rewards: RewardsOfArms) -> None:
        """Go on with wider bounds; what was learned is kept, and every interval is wider from now on.

        Args:
            rewards: What the policy takes: one for all arms, or one per arm. It must admit all that was admitted.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.widen(Bounded(0, 60))
        >>> learner.policy.rewards
        Bounded(low=0.0, high=60.0)
        """
        self._write(changes.widen(self._engine, rewards))

    @one_change_at_a_time
    def change_preference(self, preference: Preference) -> None:
        """Serve another preference from now on; outcomes that were told count with their utilities under it.

        Args:
            preference: What is maximised from now on.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0] * 10 + [0.0] * 90)
        >>> learner.observe("A28", [7.0] * 100)
        >>> learner.change_preference(Preference(TverskyKahneman(0.61)))
        >>> learner.recommend().arm
        'A21'
        """
        self._write(changes.change_preference(self._engine, preference))

    # -- events and files -------------------------------------------------------------------------

    def apply(self, event: dict[str, Any], trust: Sequence[str] = ()) -> None:
        """Do what an event says: the calls that change a learner, as its folder writes them down.

        Args:
            event: The event.
            trust: As in `load`, for events that bring an arm with rewards of its own.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> for event in ({"ask": [[1, "A21"]]}, {"tell": 1, "reward": 7.0}, {"retire": "A21"}):
        ...     learner.apply(event)
        >>> learner.pulls, learner.arms
        ({'A21': 1, 'A28': 0}, ('A28',))
        """
        try:
            self._apply(event, trust)
        except DAMAGE as error:
            raise ValueError(f"invalid event {brief(event)}: {reason(error)}. Check where it came from.") from None

    def _apply(self, event: dict[str, Any], trust: Sequence[str]) -> None:
        documents.apply_event(self, event, trust)

    @one_change_at_a_time
    def _repeat(self, choices: list[tuple[int, Hashable]], allowed: Names) -> None:
        self._write(changes.repeat(self._engine, choices, allowed))

    @one_change_at_a_time
    def lay_out(self) -> None:
        """Lay the memory out as a snapshot has it, so that both continue identically to the last bit."""
        self._engine.lay_out()
        self._engine.others.forget()

    def _document(self) -> dict[str, Any]:
        self._engine.lay_out()
        return documents.document_of(self._engine)

    def save(self, path: str | Path) -> None:
        """Write everything to one readable JSON file; a crash while saving leaves the old one.

        Args:
            path: The file.
        """
        documents.save(self, Path(path))

    load, from_snapshot = staticmethod(documents.load), staticmethod(documents.learner_from)

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

        The first time, say how to start; afterwards what is given must agree. One process at a time can open it.

        Args:
            path: The folder.
            policy: The policy that it runs.
            arms: The names of the arms, or how many there are.
            seed: A seed, or a generator, which stays as it is.
            features: For linear policies: the features of the arms, one row for each.
            trust: Modules whose types and functions the folder may name, beside this library's and those of `policy`.
            exact: Whether every outcome is kept, however many there are.

        >>> policy = NPTS(expected_value(), Bounded(0, 1))
        >>> with Learner.open("advisor", policy, arms=["A21", "A28"], seed=1) as learner:
        ...     learner.tell(learner.ask(), 1.0)
        >>> with Learner.open("advisor") as learner:
        ...     learner.pulls
        {'A21': 1, 'A28': 0}
        """
        return documents.open_learner(Path(path), policy, arms, seed, features, trust, exact)
