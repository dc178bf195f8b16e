"""What a learner says: a choice, a recommendation, or that nothing can be asked now."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray
from allais.bands.base import Interval
from allais.policies.core.base import Promise

WIDEN = "learner.widen(Bounded(low, high)) does so for a learner."  # what to do about a reward out of bounds


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
    >>> best.arm, best.settled, best.delta, best.promise
    ('A21', True, 0.05, 'proven')
    """

    arm: Hashable
    value: float  # its estimated value, as a utility
    interval: Interval | None  # None where the policy has none
    settled: bool  # whether the policy is done
    delta: float | None  # the chance that a settled recommendation is wrong, for fixed confidence
    promise: Promise  # what that chance rests on: "proven", "asymptotic" or "none"


class Ellipsoid(NamedTuple):
    """All theta whose distance from the centre, in the norm of the matrix, is at most the radius.

    >>> ball = Ellipsoid(np.zeros(2), np.eye(2), 1.0)
    >>> ball.holds([0.6, 0.6]), ball.holds([0.9, 0.9])
    (True, False)
    """

    centre: FloatArray  # the estimate of theta, (d,)
    matrix: FloatArray  # A = lambda I + sum of x x' / sigma_x^2, (d, d)
    radius: float  # infinite where nothing bounds the length of theta

    def holds(self, theta: ArrayLike) -> bool:
        """Whether a theta lies in it."""
        step = np.asarray(theta, dtype=np.float64) - self.centre
        return bool(step @ self.matrix @ step <= self.radius**2)


class Context(NamedTuple):
    """A choice that is none of the listed arms: what it is called, its ticket and its features."""

    arm: Any
    ticket: float
    features: tuple[float, ...]


class Drift(NamedTuple):
    """Whether the outcomes of an arm still look as they did (`samples/drift.py`).

    >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
    >>> learner.observe("A21", [20.0, 21.0] * 500 + [30.0] * 500)
    >>> learner.drift()["A21"].alarms, learner.drift()["A28"]
    (1, Drift(alarms=0, ago=None, evidence=0.0))
    """

    alarms: int  # how often its outcomes were found to have changed
    ago: int | None  # how many outcomes of the arm ago the last alarm was
    evidence: float  # since then, against outcomes of one distribution; the next alarm is at 1,000


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


def listed(name: Any) -> Any:
    """A tuple, such as a route, as JSON has it."""
    return [listed(part) for part in name] if isinstance(name, tuple) else name


def unlisted(name: Any) -> Any:
    """The name that `listed` wrote."""
    return tuple(unlisted(part) for part in name) if isinstance(name, list) else name
