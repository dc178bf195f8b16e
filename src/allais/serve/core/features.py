"""Features in JSON, and the rows of numbers that a linear policy sees of them.

An experiment declares terms. `price` is a number, or 1 for true and 0 for false. `weather=rain` is 1 where the feature
`weather` is, or holds, `rain`. `spicy * weather=rain` is the product of both. `arm=soup` is 1 for the arm `soup`. A
feature within an object has a name with a dot: `weather.rain`. What is missing is 0, and a first term that is always 1
stands for what all arms share, so that no row is empty.

A feature of the context is one of every arm, unless the arm has its own of that name. Features that no term names are
left out: applications send what they have, long before an experiment uses it. The answer names them, so that a slip
of the pen is seen at once. A term whose feature is not a number is refused: 0 would be wrong.

A test with fixed shares goes by the person instead: a hash says which arm is hers.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, brief
from allais.forests.encoding import Flat, checked_context, flat
from allais.learner import Choice, ContextualLearner, Learner
from allais.preferences import Preference
from allais.serve.api.schemas import Decide, ExperimentSettings, PlannedTest

CONSTANT = "1"
ARM = "arm"
LARGEST = 1e6  # of a term: products of rows stay numbers that can be told apart
MOST_HASHES = 64  # of a unit whose groups went out of play
MOST_SHOWN, LONGEST_NAME = 20, 200  # names of features that are not used

NumberedPreference = tuple[int, Preference]  # a preference with its number


class Factor(NamedTuple):
    """A feature in a term; with `equals` it is 1 or 0."""

    name: str
    equals: str | None


class Encoding:
    """The terms of an experiment."""

    def __init__(self, terms: Sequence[str]) -> None:
        self.names = (CONSTANT, *terms)
        if len(set(self.names)) != len(self.names):
            raise ValueError(f"terms must be distinct, and none is {CONSTANT!r}, which is there; got one twice.")
        self._terms = [[_factor(part, term) for part in term.split("*")] for term in terms]
        self._known = {factor.name for term in self._terms for factor in term}
        # the places of the terms that may differ from 0 where a feature is there, or for an arm
        self._of_feature, self._of_arm = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for place, term in enumerate(self._terms, start=1):
            for name, equals in term:
                (self._of_arm[equals or ""] if name == ARM else self._of_feature[name]).append(place)

    def entries(self, arm: str, context: Flat, own: Flat) -> dict[int, float]:
        """What the policy sees of an arm: the entries of its row that may differ from 0, by their places."""
        seen = {**context, **own, ARM: arm}
        places = {place for name in seen if name in self._of_feature for place in self._of_feature[name]}
        found = {0: 1.0}
        for place in sorted(places.union(self._of_arm.get(arm, ()))):
            entry = math.prod(_number(factor, seen.get(factor.name)) for factor in self._terms[place - 1])
            if not -LARGEST <= entry <= LARGEST:
                raise ValueError(
                    f"a term must lie within {LARGEST:g} of 0; {self.names[place]!r} is {entry:g}. Rescale the feature."
                )
            found[place] = entry
        return found

    def row(self, arm: str, context: Flat, own: Flat) -> list[float]:
        """What the policy sees of an arm, as a row of numbers."""
        found = self.entries(arm, context, own)
        return [found.get(place, 0.0) for place in range(len(self.names))]

    def unused(self, given: Iterable[Flat]) -> list[str]:
        """The features that no term names."""
        return shortened(name for one in given for name in one if name not in self._known)

    def padded(self, row: Sequence[float]) -> list[float]:
        """A row from before the last terms were added, which were 0 then."""
        return [*row, *(0.0 for _ in self.names[len(row) :])]

    def shown(self, row: Sequence[float]) -> dict[str, float]:
        """A row by the names of its terms, those that are 0 left out."""
        return {name: entry for name, entry in zip(self.names, self.padded(row), strict=True) if entry}


def shortened(names: Iterable[str]) -> list[str]:
    """Names in order, few enough for an answer."""
    return sorted({name[:LONGEST_NAME] for name in names})[:MOST_SHOWN]


def _factor(part: str, term: str) -> Factor:
    name, sign, equals = (piece.strip() for piece in part.partition("="))
    if not name or (sign and not equals) or (name == ARM and not sign):
        raise ValueError(
            f"a term is features such as 'price' or 'weather=rain', with * between; got {term!r}. Write {ARM}=NAME for "
            "an arm."
        )
    return Factor(name, equals if sign else None)


def _number(factor: Factor, given: Any) -> float:
    if factor.equals is not None:
        if type(given) is str:  # almost always
            return 1.0 if given == factor.equals else 0.0
        entries = given if isinstance(given, list) else [given]
        return float(any(_is(entry, factor.equals) for entry in entries))
    if given is None:
        return 0.0
    if isinstance(given, bool | int | float):
        try:
            found = float(given)
        except OverflowError:  # of a whole number
            found = math.inf
        if math.isfinite(found):
            return found
    raise ValueError(
        f"the term {factor.name!r} needs a finite number; got {brief(given)}. Send one, or declare "
        f"'{factor.name}=VALUE'."
    )


def _is(entry: Any, text: str) -> bool:
    """Whether an entry of JSON is what a term says."""
    if isinstance(entry, str):
        return entry == text
    if isinstance(entry, bool):
        return text == str(entry).lower()
    if entry is None:
        return False
    try:
        return bool(entry == float(text))
    except ValueError:
        return False


class Candidates(NamedTuple):
    """Rows to choose from."""

    rows: list[list[float]] | FloatArray
    arms: list[str] | None  # their names; None for rows that have numbers only

    def name_of(self, place: Any) -> Any:
        """What a row is called: by its arm, or by its number."""
        return place if self.arms is None else self.arms[place]

    def row_of(self, name: Any) -> tuple[float, ...]:
        """The row that is called so."""
        row = self.rows[name if self.arms is None else self.arms.index(name)]
        return tuple(map(float, row))


def ask_with(
    learner: Learner,
    whose: Preference | None,
    allowed: Sequence[str] | None,
    among: Candidates | None,
    context: Flat | None,
) -> tuple[Choice, dict[str, Any]]:
    """A choice by the rows of a call or by its context, and the event that repeats it."""
    if among is not None:
        choice = learner.ask(features=among.rows, preference=whose)  # type: ignore[call-overload]
        row = list(map(float, among.rows[choice.arm]))
        return choice, {"chose": choice.id, "arm": choice.arm, "features": row}
    choice = learner.ask(preference=whose, allowed=allowed, context=context)  # type: ignore[call-overload]
    asked = [[choice.id, choice.arm]]
    return choice, {"ask": asked, "context": context, "tickets": [choice.propensity or 0.0]}


class FeatureReader:
    """How an experiment reads the features of calls."""

    def __init__(self, settings: ExperimentSettings) -> None:
        self.encoding = None if settings.terms is None else Encoding(settings.terms)
        named = settings.features if isinstance(settings.features, dict) else {}
        self._own: dict[str, Flat] = {arm: flat(given) for arm, given in named.items()}

    def of(self, call: Decide, learner: Learner) -> tuple[Candidates | None, list[str] | None]:
        """The rows of a call, or None where the listed arms are asked; and the features that nothing uses."""
        if isinstance(call.features, list):
            return self._plain(call.features, call), None
        given = {} if call.features is None else {arm: flat(own) for arm, own in call.features.items()}
        context = flat(call.context or {})
        sent = call.features is not None or call.context is not None
        if self.encoding is None:
            return None, shortened(name for one in (context, *given.values()) for name in one) if sent else None
        in_play = list(map(str, learner.arms))
        arms = call.allowed or list(given) or in_play
        listed = set(in_play)
        if strange := [arm for arm in arms if arm not in given and arm not in listed]:
            raise ValueError(f"an arm must be in play or come with features; {strange[0]!r} is neither.")
        if len(set(arms)) != len(arms):
            raise ValueError("allowed arms must be distinct; got one twice. Name each once.")
        rows = np.zeros((len(arms), len(self.encoding.names)))
        for k, arm in enumerate(arms):  # one by one: an array of all at once would keep other threads waiting
            for place, entry in self.encoding.entries(arm, context, self._all_of(arm, given.get(arm, {}))).items():
                rows[k, place] = entry
        return Candidates(rows, arms), self.encoding.unused([context, *given.values()]) if sent else None

    def context_of(self, call: Decide, learner: ContextualLearner) -> tuple[Flat | None, list[str] | None]:
        """What is known in a round, for a policy that learns from contexts; and the features that it leaves out.

        A feature of an arm has the arm's name before its own.
        """
        if isinstance(call.features, list):
            raise ValueError("a contextual policy takes features by name; got rows. Send an object per arm.")
        if call.features is None and call.context is None:
            return None, None
        if call.features and (strange := call.features.keys() - learner.pulls.keys()):
            raise ValueError(
                f"features are those of arms of the experiment; got some of {min(strange)!r}. Add it first, or send "
                "what is known about the moment as context."
            )
        own = {
            f"{arm}.{name}": one for arm, given in (call.features or {}).items() for name, one in flat(given).items()
        }
        context = checked_context({**flat(call.context or {}), **own})
        return context, shortened(learner.unused(context))

    def row(self, arm: str, context: Flat, own: Flat) -> list[float]:
        """What the policy sees of an arm; what is known about it from the start counts, too."""
        if self.encoding is None:
            raise ValueError("features by name need terms, which this experiment does not have. Leave features out.")
        return self.encoding.row(arm, context, self._all_of(arm, own))

    def _all_of(self, arm: str, own: Flat) -> Flat:
        return {**self._own[arm], **own} if arm in self._own else own

    def _plain(self, rows: list[list[float]], call: Decide) -> Candidates:
        if self.encoding is not None:
            raise ValueError("features are sent by name where there are terms; got rows. Send an object per arm.")
        if call.allowed is not None or call.context is not None or call.did is not None:
            raise ValueError("rows of features cannot be combined with other entries; got some. Declare terms.")
        return Candidates(rows, None)


def reason_for(
    learner: Learner, arm: Any, whose: Preference | None, unit: str, among: Candidates | None, context: Flat | None
) -> str:
    """Why one of this round's rows, or an arm in a context, was chosen."""
    if among is None:
        return learner.why(arm, whose, unit, context=context)  # type: ignore[call-arg]
    if among.arms is None:
        return "the best of these rows by what is known"
    return f"{arm} is the best for these features, or worth trying, by what all have shown"


def group_of(test: PlannedTest, unit: str, in_play: Collection[Any]) -> str:
    """The group of a person, or of a decision without one: by a salted hash, so that it is the same every time.

    Where that group is out of play the unit is hashed again, so that the others keep their shares among each other.

    >>> test = PlannedTest(shares={"control": 9.0, "canary": 1.0}, salt="checkout")
    >>> [group_of(test, person, ["control", "canary"]) for person in ("ada", "ben", "cleo", "ada")]
    ['control', 'canary', 'control', 'control']
    """
    shares, hashes = dict(test.shares or {}), 0
    while True:
        if hashes == MOST_HASHES:
            shares = {name: share for name, share in shares.items() if name in in_play}
        digest = hashlib.sha256(f"{test.salt}\n{hashes}\n{unit}".encode()).digest()
        ends = list(accumulate(shares.values()))
        place = bisect_right(ends, int.from_bytes(digest[:8]) / 2.0**64 * ends[-1])
        found = list(shares)[min(place, len(ends) - 1)]
        if found in in_play:
            return found
        hashes += 1


def fixed_arm(test: PlannedTest, call: Decide, learner: Learner) -> tuple[str, float, str] | None:
    """The arm that a test has for a caller, how likely that was, and why; None where the policy chooses."""
    in_play = learner.arms
    if test.ended is not None:
        arm = test.ended.arm
        free = arm not in in_play or (call.allowed is not None and arm not in call.allowed)
        return None if free else (arm, 1.0, f"{arm}, since the test has ended")
    if test.shares is None:
        return None
    if call.allowed is not None:
        raise ValueError("a test with fixed shares chooses among all its arms; got 'allowed'. Leave it out.")
    arm = group_of(test, call.person or f"\n{learner.asked + 1}", in_play)  # no name has a line break
    share = test.shares[arm] / sum(share for name, share in test.shares.items() if name in in_play)
    whose = "drawn for this decision" if call.person is None else "the arm of this person"
    return arm, share, f"{arm} is {whose}, with a share of {share:.3g}"
