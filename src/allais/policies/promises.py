"""The three kinds of promise that an answer comes with: one name and one sentence each, for every page and command."""

from __future__ import annotations

from typing import Any, Literal

Promise = Literal["proven", "asymptotic", "none"]

# What each promise means, in general. `promise_in_words` has the same with a policy's own numbers.
PROMISES: dict[Promise, str] = {
    "proven": "if every outcome keeps to what was declared, the answer is wrong with a chance below delta, "
    "whatever the law of the outcomes.",
    "asymptotic": "the answer is wrong with a chance of about delta, by the central limit theorem; this is not proven "
    "for a finite number of runs, and events rarer than `rarest` may never have been seen.",
    "none": "the answer is the best guess after the runs that were made, and its chance of being wrong is not known.",
}


def rarest_of(policy: Any) -> float | None:
    """The probability below which events may be missed, as a policy or its band was told; None where none was.

    >>> from allais import WLUCB, expected_value, Bounded
    >>> rarest_of(WLUCB(expected_value(), Bounded(0, 1), delta=0.05)) is None
    True
    """
    own: float | None = getattr(policy, "rarest", None)
    return getattr(getattr(policy, "band", None), "rarest", None) if own is None else own


def promise_in_words(policy: Any) -> str:
    """A policy's promise in one sentence, with its own numbers in it.

    >>> from allais import WLUCB, expected_value, Bounded
    >>> print(promise_in_words(WLUCB(expected_value(), Bounded(0, 1), delta=0.05)))
    Proven: if every outcome keeps to what was declared, the answer is wrong with a chance below 0.05, whatever the ...
    """
    text = PROMISES[policy.promise]
    if policy.error_rate is not None:
        text = text.replace("delta", f"{policy.error_rate:g}")
    rarest = rarest_of(policy)
    if rarest is not None:
        text = text.replace("`rarest`", f"{rarest:g}")
    return f"{policy.promise.capitalize()}: {text}"
