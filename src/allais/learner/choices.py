"""What a learner says: a choice, a recommendation, or that nothing can be asked now."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray
from allais.bands.base import Interval
from allais.policies.core.base import Promise

WIDEN = "learner.widen(Bounded(low, high)) does so for a learner."  # what to do about a reward out of bounds


class _Numbered(NamedTuple):
    id: int
    arm: Hashable


class Choice(_Numbered):
    """An arm to play, and the number under which its outcome is told.

    Attributes:
        id: The number, from 1.
        arm: The name of the arm.
        propensity: The probability of this choice given all that came before, as `learner.propensity` has it.

    >>> learner = NPTS(expected_value(), Bounded(0, 1)).start(["A21", "A28"], seed=1)
    >>> learner.ask(2)
    [Choice(id=1, arm='A21'), Choice(id=2, arm='A28')]
    """

    id: int
    arm: Hashable
    propensity: float | None = None  # beside the pair: it is no part of which choice this is


class Recommendation(NamedTuple):
    """The arm that the policy thinks best.

    Attributes:
        arm: The name of the arm; None where every arm was shown to break a guardrail.
        value: Its estimated value, as a utility.
        interval: The interval of its value; None where the policy has none.
        settled: Whether the policy is done.
        delta: The probability that a settled recommendation is wrong, for fixed confidence.
        promise: What that probability rests on: "proven", "asymptotic" or "none".
        doubt: Why the promise of the policy is withdrawn, in a sentence; empty where it holds.
        guardrails: What was shown about the guardrails, in a sentence; empty where there are none.
        unfinished: How many outcomes of the arm are not finished and what that leaves open; empty where all are.

    >>> learner = TopTwo(expected_value(), Finite([0, 1]), delta=0.05).start(["A21", "A28"], seed=1)
    >>> learner.observe("A21", [1.0] * 30)
    >>> learner.observe("A28", [0.0] * 30)
    >>> best = learner.recommend()
    >>> best.arm, best.settled, best.delta, best.promise
    ('A21', True, 0.05, 'proven')
    """

    arm: Hashable
    value: float
    interval: Interval | None
    settled: bool
    delta: float | None
    promise: Promise
    doubt: str = ""
    guardrails: str = ""
    unfinished: str = ""


class Ellipsoid(NamedTuple):
    """All theta whose distance from the centre, in the norm of the matrix, is at most the radius.

    Attributes:
        centre: The estimate of theta, (d,).
        matrix: A = lambda I + sum of x x' / sigma_x^2, (d, d).
        radius: How far theta may be; infinite where nothing bounds its length.

    >>> ball = Ellipsoid(np.zeros(2), np.eye(2), 1.0)
    >>> ball.holds([0.6, 0.6]), ball.holds([0.9, 0.9])
    (True, False)
    """

    centre: FloatArray
    matrix: FloatArray
    radius: float

    def holds(self, theta: ArrayLike) -> bool:
        """Whether a theta lies in it.

        Args:
            theta: The vector, (d,).
        """
        step = np.asarray(theta, dtype=np.float64) - self.centre
        return bool(step @ self.matrix @ step <= self.radius**2)


class Drift(NamedTuple):
    """Whether the outcomes of an arm still look as they did (`samples/drift.py`).

    Attributes:
        alarms: How often its outcomes were found to have changed.
        ago: How many outcomes of the arm ago the last alarm was.
        evidence: Since then, against outcomes of one distribution; the next alarm is at 1,000.

    >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
    >>> learner.observe("A21", [20.0, 21.0] * 500 + [30.0] * 500)
    >>> learner.drift()["A21"].alarms, learner.drift()["A28"]
    (1, Drift(alarms=0, ago=None, evidence=0.0))
    """

    alarms: int
    ago: int | None
    evidence: float


class NotNow(RuntimeError):  # noqa: N818
    """Nothing can be asked: the policy has settled, or waits for what was asked.

    >>> learner = SR(budget=4).start(["A21", "A28"], seed=1)
    >>> batch = learner.ask(4)
    >>> learner.ask()
    Traceback (most recent call last):
        ...
    allais.learner.choices.NotNow: ...
    """


def require_plain_names(names: Iterable[Hashable]) -> None:
    """Refuse arm names that JSON would change."""
    for name in names:
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise ValueError(
                f"only arms with names that are strings or whole numbers can be saved; got {name!r}. Rename it."
            )


def number_of(choice: Choice | int) -> int:
    """The number of a choice, which may be given by its number."""
    if isinstance(choice, Choice):
        return choice.id
    if isinstance(choice, int) and not isinstance(choice, bool):
        return choice
    raise TypeError(f"tell and cancel take what ask returned, or its id; got {choice!r}. Keep what ask() returned.")


def no_arm(names: Sequence[Hashable], name: Hashable) -> str:
    """The message about a name that is not an arm's."""
    listed = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    return f"an arm must be one of {listed}; got {name!r}. Add it first, or check the name."


def why_too_large(largest: float, outcome: float) -> str:
    """The message about a reward that is out of every range."""
    if not math.isfinite(outcome):
        return f"a reward must be finite; got {outcome}. Cancel the choice if it was lost."
    rule = f"a reward must lie within {largest:g} of 0 where sums of rewards are kept"
    return f"{rule}; got {outcome:g}. Rescale the rewards."


def require_own(choice: Choice | int, own: Hashable) -> None:
    """Refuse a choice that another learner made."""
    if isinstance(choice, Choice) and choice.arm != own:
        raise ValueError(
            f"a choice is told to the learner that made it; here choice {choice.id} was arm {own!r}, "
            f"not {choice.arm!r}. Check which learner asked."
        )
