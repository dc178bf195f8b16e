"""An experiment in memory: its learner, the decisions that are open, and the rows that every change writes.

A change is made here first and written afterwards; its caller is answered when the rows are on disk. If they do not
get there, the whole object is thrown away and read from the database again.
"""

from __future__ import annotations

import asyncio
import heapq
import threading
from collections import Counter, deque
from collections.abc import Iterable
from itertools import groupby, islice, repeat, takewhile
from typing import Any, NamedTuple

from allais.forests.encoding import Flat, checked_context
from allais.learner import ContextualLearner, Learner, LinearLearner
from allais.serve.api.schemas import MOST_ARMS, MOST_GROUPS, Decide, EndOfTest, ExperimentSettings
from allais.serve.core.errors import REFUSED, Refused, refusal_of, refusing
from allais.serve.core.features import FeatureReader, NumberedPreference, ask_with, fixed_arm, reason_for
from allais.serve.core.keys import Clock
from allais.serve.store.tables import ARCHIVED, CANCELLED, EXPIRED, OPEN, RUNNING, TOLD
from allais.serve.store.writer import Kind, Row, as_json, checksum

FEW = 300  # arms
COST_OF_A_DRAW = 5  # microseconds of one arm's value, roughly
LONG = 10_000  # microseconds, roughly, after which the event loop should have its turn
OUTCOMES_PER_EVENT = 1_000  # of an import
MOST_AT_ONCE = 500  # decisions that expire in one go


class OpenDecision(NamedTuple):
    """A decision that waits for its reward."""

    arm: str
    asked_at: float
    clock: float  # when it was asked, by the experiment's own clock
    apprentice: bool = False  # its arm is what the application did, which the learner did not ask for
    row: tuple[float, ...] = ()  # what the learner sees of that, where there are terms
    key: str | None = None  # the caller's own name for it
    context: Flat | None = None  # where the policy learns from contexts


class Closed(NamedTuple):
    """How a decision ended."""

    arm: str
    state: str
    outcome: float | None
    key: str | None


class Experiment:
    """One experiment of this process; all its calls are made by the thread of the event loop."""

    def __init__(
        self, id_: int, name: str, state: str, settings: ExperimentSettings, created_at: float, learner: Learner,
        seq: int, snapshot_at: int, open_: dict[int, OpenDecision], clock: Clock,
    ) -> None:  # fmt: skip
        self.id, self.name, self.state, self.settings, self.created_at = id_, name, state, settings, created_at
        self.learner, self.seq, self.snapshot_at, self.open = learner, seq, snapshot_at, open_
        self.clock = clock
        self.features = FeatureReader(settings)
        self.draws: int = getattr(learner.policy, "draws", 0)
        self.guarded = bool(learner.policy.guardrails)
        self.elapsed = settings.outcome == "elapsed"  # then a heap: when an open decision is next noted to be older
        self.due = [(found.clock, number) for number, found in open_.items() if self.elapsed]
        self.numbers = {found.key: number for number, found in open_.items() if found.key is not None}  # of open ones
        self.busy: asyncio.Future[None] | None = None  # until the end of a long change,
        self.worker: int | None = None  # by this thread
        self.told: Counter[str] = Counter()  # outcomes by arm where there are terms: a linear learner does not count
        self.closing: dict[int, Closed] = {}  # decisions whose end is not yet on disk
        self.counts = {TOLD: 0, CANCELLED: 0, EXPIRED: 0, "asked": 0}  # since this process began

    async def idle(self) -> None:
        """Wait until no long change is under way."""
        while self.busy is not None:
            await asyncio.wait([self.busy])

    # -- calls ------------------------------------------------------------------------------------

    def decide(
        self, call: Decide, preference: NumberedPreference | None, now: float
    ) -> tuple[dict[str, Any], list[Row]]:
        """The arm for a caller, and the rows of the decision."""
        self.require_open(running=True)
        if (call.did is not None) != self.settings.apprentice:
            raise Refused(422, _ABOUT_DID[self.settings.apprentice])
        among, unused, context, allowed = None, None, None, call.allowed
        try:
            if isinstance(self.learner, ContextualLearner):
                context, unused = self.features.context_of(call, self.learner)
            elif self.features.encoding is not None or call.features is not None or call.context is not None:
                among, unused = self.features.of(call, self.learner)
            if call.did is not None and call.did not in (self.learner.arms if among is None else among.arms or ()):
                raise ValueError(f"what was done must be an arm in play; got {call.did!r}. Add it first.")
            fixed = None if self.settings.test is None else fixed_arm(self.settings.test, call, self.learner)
            if fixed is not None:
                preference, allowed, among = None, [fixed[0]], None
            whose, plain = None if preference is None else preference[1], among is None and context is None
            if plain:
                choice = self.learner.ask(preference=whose, allowed=allowed)
                event: dict[str, Any] = {"ask": [[choice.id, choice.arm]]}
            else:
                choice, event = ask_with(self.learner, whose, allowed, among, context)
        except REFUSED as error:
            raise refusal_of(error) from None
        if among is None:
            event |= {} if allowed is None else {"allowed": list(allowed)}
            event |= {} if preference is None else {"preference": preference[0]}
        number = choice.id
        shown: Any = choice.arm if among is None else among.name_of(choice.arm)
        likely, reason = (choice.propensity, "") if fixed is None else fixed[1:]
        if not reason:
            asked = shown, whose, self.settings.unit
            reason = self.learner.why(*asked) if plain else reason_for(self.learner, *asked, among, context)
        answer = {"choice": number, "arm": shown, "propensity": likely, "why": reason, "would": None}
        detail: dict[str, Any] = {"why": reason}
        if unused is not None:
            answer["unused"] = detail["unused"] = unused
        if context is not None:
            detail["context"] = context
        rows = [self.event(event, now)]
        if call.did is not None:
            self.learner.cancel(number)  # nobody will tell what it would have brought
            rows.append(self.event({"cancel": number}, now))
            answer["would"] = detail["would"] = str(shown)
            answer["arm"] = call.did
        row: tuple[float, ...] = ()
        if among is not None:
            row = detail["features"] = among.row_of(answer["arm"])
            if call.did is not None:
                detail["would features"] = among.row_of(shown)
            if among.arms is None:
                detail["row"] = shown
        arm, clock = str(answer["arm"]), self.clock.now()
        entries = (
            self.id, number, arm, call.person, call.key, now, answer["propensity"], OPEN,
            as_json(detail), clock,
        )  # fmt: skip
        rows.append((Kind.DECISION, entries))
        self.open[number] = OpenDecision(arm, now, clock, call.did is not None, row, call.key, context)
        if call.key is not None:
            self.numbers[call.key] = number
        self.counts["asked"] += 1
        if self.elapsed:
            heapq.heappush(self.due, (clock, number))
        return answer, rows

    @property
    def has_few_arms(self) -> bool:
        """Whether its learner is copied, and looked at, in a few milliseconds."""
        return self.learner.n_arms <= FEW

    def takes_long(self, call: Decide) -> bool:
        """Whether a decision would hold the event loop for long: with many rows of many terms, or of many draws."""
        encoding, draws = self.features.encoding, self.draws
        if encoding is not None:
            many, terms = len(call.allowed or call.features or self.learner.arms), len(encoding.names)
            work = many * (10 + terms**2 // 1_000 + draws * terms // 1_000)  # a row is made, and multiplied by a matrix
        elif isinstance(call.features, list):
            many, terms = len(call.features), len(call.features[0])
            work = many * (terms**2 + draws * terms) // 1_000
        else:
            work = COST_OF_A_DRAW * draws * self.learner.n_arms
            work = work if work <= LONG else COST_OF_A_DRAW * draws * len(self.learner.arms)  # some are out of play
        return work > LONG

    def reward(self, number: int, outcome: float, key: str | None, now: float) -> list[Row] | None:
        """The rows of a reward; None if the decision is not open."""
        found = self.open.get(number)
        if found is None:
            return None
        self.require_open()
        before = self.learner.arms if self.guarded else ()
        with refusing(self.name):
            if found.apprentice:
                context = None if found.context is None else [found.context]
                event = self._observed(found.arm, found.row, [outcome], context)
            else:
                self.learner.tell(number, outcome)
                event = {"tell": number, "reward": outcome}
        rows = [self.event(event, now), self.close(number, TOLD, outcome, key, now)]
        return [*rows, *self._dropped(before, now)] if before else rows

    def _dropped(self, before: tuple[Any, ...], now: float) -> list[Row]:
        """The rows of arms that have just been shown to break a guardrail, and went out of play."""
        rows: list[Row] = []
        for arm in sorted(map(str, set(before).difference(self.learner.arms))):
            rows.append((Kind.ARM_CHANGE, (False, now, self.id, arm)))
            rows.append((Kind.AUDIT, (now, "policy", "guardrail", self.name, as_json({"out of play": arm}))))
        return [*rows, *self._left_alone(now)] if rows else []

    def _left_alone(self, now: float) -> list[Row]:
        """The rows of a test that is over since one of its arms is left."""
        if self.settings.test is None or self.settings.test.ended is not None or len(self.learner.arms) > 1:
            return []
        return self.end_test(str(self.learner.arms[0]), "The other arms went out of play.", now)

    def end_test(self, arm: str, why: str, now: float) -> list[Row]:
        """The rows of a test that ends: callers get this arm from now on."""
        assert self.settings.test is not None
        ended = EndOfTest(arm=arm, why=why, at=now, last=self.learner.asked)
        test = self.settings.test.model_copy(update={"ended": ended})
        self.settings = self.settings.model_copy(update={"test": test})
        said = as_json({"arm": arm, "why": why})
        return [self._settings_row(), (Kind.AUDIT, (now, "test", "end of test", self.name, said))]

    def cancel(self, number: int, now: float, state: str = CANCELLED) -> list[Row] | None:
        """The rows of a decision that is given up; None if it is not open."""
        found = self.open.get(number)
        if found is None:
            return None
        self.require_open()
        rows = []
        if not found.apprentice:
            self.learner.cancel(number)
            rows.append(self.event({"cancel": number}, now))
        return [*rows, self.close(number, state, None, None, now)]

    def late(self) -> list[int]:
        """The decisions whose time is over, or some of them: they were asked in the order of their numbers."""
        if self.state == ARCHIVED:
            return []
        too_old = self.clock.now() - self.settings.expires_after
        first = takewhile(lambda one: one[1].clock <= too_old, islice(self.open.items(), MOST_AT_ONCE))
        return [number for number, _ in first]

    def add(self, arm: str, rewards: Any, spec: Any, now: float) -> list[Row]:
        """The rows of an arm that comes into play."""
        self._require_room([arm])
        old = arm in self.learner.pulls
        with refusing():
            self.learner.add(arm, rewards)
        event = self.event({"add": arm, "rewards": spec}, now)
        if old:
            return [event, (Kind.ARM_CHANGE, (True, now, self.id, arm))]
        return [event, (Kind.ARM, (self.id, arm, len(self.learner.pulls) - 1, True, now))]

    def add_all(self, arms: list[str], now: float) -> list[Row]:
        """The rows of new arms that come into play together."""
        self._require_room(arms)
        first = len(self.learner.pulls)
        with refusing():
            self.learner.add_all(arms)
        event = self.event({"add all": arms, "rewards": None}, now)
        return [event, *((Kind.ARM, (self.id, arm, first + k, True, now)) for k, arm in enumerate(arms))]

    def retire(self, arm: str, now: float) -> list[Row]:
        """The rows of an arm that goes out of play."""
        self.require_open()
        with refusing():
            self.learner.retire(arm)
        gone = [self.event({"retire": arm}, now), (Kind.ARM_CHANGE, (False, now, self.id, arm))]
        return [*gone, *self._left_alone(now)]

    def observe(
        self, arms: list[str], features: list[dict[str, Any]] | None, outcomes: list[float], key: str | None, now: float
    ) -> list[Row]:
        """The rows of outcomes that were seen elsewhere and checked; they carry a mark, so that an export finds them.

        An event has the outcomes of as many arms as there are, or of one row of features. Rows of features are made
        one by one: all at once, they would be an array of outcomes by terms.
        """
        some: Iterable[tuple[Any, ...]]
        if self.features.encoding is None:
            parts = (slice(first, first + OUTCOMES_PER_EVENT) for first in range(0, len(arms), OUTCOMES_PER_EVENT))
            some = ((arms[part], (), outcomes[part], features and features[part]) for part in parts)
        else:
            told = zip(arms, features or repeat({}), outcomes, strict=False)
            some = (
                (arm, tuple(self.features.row(arm, own, {})), [outcome for _, _, outcome in group])
                for (arm, own), group in groupby(told, key=lambda one: one[:2])
            )
        before = self.learner.arms if self.guarded else ()
        with refusing(self.name):
            written = [self.event({**self._observed(*part), "imported": key}, now) for part in some]
        for arm, many in Counter(arms).items():
            self._count(arm, many)
        return written + self._dropped(before, now)

    def _observed(
        self, arm: str | list[str], row: tuple[float, ...], outcomes: list[float], contexts: list[Flat] | None = None
    ) -> dict[str, Any]:
        if contexts is not None and isinstance(self.learner, ContextualLearner):
            self.learner.observe(arm, outcomes, contexts)
            return {"observe": arm, "rewards": outcomes, "contexts": contexts}
        if not row:
            self.learner.observe(arm, outcomes)
            return {"observe": arm, "rewards": outcomes}
        assert isinstance(self.learner, LinearLearner)
        self.learner.observe_features(row, outcomes)
        return {"features": row, "rewards": outcomes, "arm": arm}

    def check(self, arms: list[str], features: list[dict[str, Any]] | None, outcomes: list[float]) -> None:
        """Refuse outcomes and features that an arm cannot have."""
        with refusing(self.name):
            named = self.features.encoding is not None
            for arm, outcome in zip(arms, outcomes, strict=True):
                self.learner.check_reward(None if named else arm, outcome)
            if isinstance(self.learner, ContextualLearner):
                deque(map(checked_context, features or ()), 0)
            elif named or features is not None:
                for arm, own in zip(arms, features or repeat({}), strict=False):
                    self.features.row(arm, own, {})

    def change(self, state: str) -> list[Row]:
        """The rows of another state."""
        if state != ARCHIVED:
            self.require_open()
        self.state = state
        return [(Kind.STATE, (state, self.id))]

    def adopt(
        self, learner: Learner, settings: ExperimentSettings, events: list[dict[str, Any]], now: float
    ) -> list[Row]:
        """The rows of other settings; the learner has been through the events already."""
        self.learner, self.settings, self.features = learner, settings, FeatureReader(settings)
        if (encoding := self.features.encoding) is not None:
            self.open = {
                number: found._replace(row=tuple(encoding.padded(found.row))) if found.row else found
                for number, found in self.open.items()
            }
        return [*(self.event(body, now) for body in events), self._settings_row()]

    def lay_out(self, now: float) -> list[Row]:
        """Prepare for a snapshot; the rows record where."""
        self.learner.lay_out()
        return [self.event({"laid out": True}, now)]

    def answer(self, number: int, closed: Closed) -> dict[str, Any]:
        """What the caller who closed a decision is told."""
        return {"choice": number, "arm": closed.arm, "state": closed.state, "outcome": closed.outcome}

    # -- rows -------------------------------------------------------------------------------------

    def event(self, body: dict[str, Any], now: float) -> Row:
        """The row of a change of the learner."""
        self.seq += 1
        text = as_json(body)
        return Kind.EVENT, (self.id, self.seq, now, text, checksum(text, self.id, self.seq))

    def _settings_row(self) -> Row:
        text = self.settings.model_dump_json()
        return Kind.SETTINGS, (text, checksum(text, self.id, self.name), self.id)

    def close(self, number: int, state: str, outcome: float | None, key: str | None, now: float) -> Row:
        """The row of a decision that ends."""
        arm = (found := self.open.pop(number)).arm
        if found.key is not None:
            self.numbers.pop(found.key, None)
        self.closing[number] = Closed(arm, state, outcome, key)
        if state == TOLD:
            self._count(arm, 1)
        self.counts[state] += 1
        return Kind.CLOSING, (state, outcome, now, key, self.id, number)

    def _count(self, arm: str, outcomes: int) -> None:
        if self.features.encoding is not None and arm in self.settings.arms:  # others come and go, without end
            self.told[arm] += outcomes

    def pulls(self) -> dict[str, int]:
        """How many outcomes each listed arm had."""
        own = {str(arm): many for arm, many in self.learner.pulls.items()}
        return own if self.features.encoding is None else {arm: self.told[arm] for arm in own}

    def require_open(self, *, running: bool = False) -> None:
        """Refuse a change of what is archived, or is being changed by another thread; or of what is not `running`."""
        if self.busy is not None and self.worker != threading.get_ident():
            raise Refused(503, f"a call must wait for a long change of {self.name!r}. Repeat it in a moment.", 1)
        if self.state == ARCHIVED or (running and self.state != RUNNING):
            raise Refused(409, _ABOUT_STATE[self.state].format(name=self.name))

    def _require_room(self, arms: Iterable[str]) -> None:
        """Refuse arms that come into a test whose shares are fixed, and too many of them."""
        self.require_open()
        test, many = self.settings.test, len({*self.learner.pulls, *arms})
        if test is not None and test.shares is not None:
            raise Refused(409, f"a test with fixed shares keeps its arms; {self.name!r} is one. Create another.")
        if test is not None and many > MOST_GROUPS:
            raise Refused(422, f"a test compares {MOST_GROUPS} arms at most; there would be {many:,}. Create another.")
        if many > MOST_ARMS:
            raise Refused(422, f"an experiment has {MOST_ARMS:,} arms at most; there would be {many:,}. Use terms.")


_ABOUT_STATE = {
    "paused": "an experiment must run to decide; {name!r} is paused. Resume it.",
    "archived": "an archived experiment is read-only; {name!r} is archived. Create another.",
}
_ABOUT_DID = {
    True: "an apprentice watches what the application does; got no 'did'. Say which arm it took.",
    False: "only an apprentice is told what the application does; got 'did'. Leave it out.",
}
