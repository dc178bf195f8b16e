"""What the service does to a learner, and how it is done again from an event.

An event is what `Learner.apply` takes, with more for the calls that a learner has no event of:

- `{"ask": [[id, arm]], "allowed": [...]}`: the other arms were out of play for this choice
- `{"ask": [[id, arm]], "preference": 3}`: the choice was for the preference with this number; her view of the arms is
  looked at again, so that it is the same to the last bit
- `{"observe": arm, "rewards": [...], "imported": key}`: outcomes that came by an import
- `{"laid out": true}`: the memory was laid out as a snapshot has it, so that learner and snapshot go on alike
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from allais._checks import FloatArray
from allais.learner import Choice, Learner
from allais.preferences import Preference

# policies in which chance decides between ties only
FIXED = {"IMED", "LUCB", "OFUL", "UCB1", "UCBV", "WELUCB", "WEUCB", "WLUCB", "WOFUL", "WUCB"}


def propensity_of(learner: Learner, choice: Choice, chances: dict[Hashable, float], draws: int) -> float | None:
    """The probability that the policy gave to a choice that is out; None where it takes draws that nobody paid for.

    The choice itself is one more draw, so that no estimate is 0.
    """
    kind = type(learner.policy).__name__
    if kind == "EXP3":
        return float(learner._out[choice.id][1])  # its ticket: the algorithm needs it, too
    if chances:
        return (1.0 + draws * chances[choice.arm]) / (1.0 + draws)
    return 1.0 if kind in FIXED else None


def ask(
    learner: Learner,
    preference: tuple[int, Preference] | None = None,
    allowed: Sequence[str] | None = None,
    features: Sequence[Sequence[float]] | FloatArray | None = None,
    draws: int = 0,
) -> tuple[Choice, dict[str, Any], float | None]:
    """A choice, the event that repeats it, and how likely it was; `draws` pay for an estimate of that."""
    whose = None if preference is None else preference[1]
    if features is not None:
        choice = learner.ask(features=features, preference=whose)  # type: ignore[call-overload]
        row = list(map(float, features[choice.arm]))
        return choice, {"chose": choice.id, "arm": choice.arm, "features": row}, propensity_of(learner, choice, {}, 0)
    event: dict[str, Any] = {}
    if allowed is not None:
        event["allowed"] = list(allowed)
    if preference is not None:
        event["preference"] = preference[0]
    with _only(learner, allowed):
        chances = learner.chances(whose, draws) if draws else {}
        choice = learner.ask(preference=whose)
    return choice, {"ask": [[choice.id, choice.arm]], **event}, propensity_of(learner, choice, chances, draws)


def apply(learner: Learner, event: Mapping[str, Any]) -> None:
    """Do again what an event says; for whom a choice was made changes nothing."""
    match event:
        case {"laid out": True}:
            lay_out(learner)
        case {"ask": choices, **more}:
            with _only(learner, more.get("allowed")):
                learner.apply({"ask": choices})
        case _:
            learner.apply(dict(event))


def lay_out(learner: Learner) -> None:
    """Lay the memory out as a file will have it; no file has the views of others."""
    with learner._lock:
        learner._lay_out_memory()
        learner._forget_views()


@contextmanager
def _only(learner: Learner, allowed: Sequence[str] | None) -> Iterator[None]:
    """Within: the other arms are out of play."""
    if allowed is None:
        yield
        return
    in_play, these = learner.arms, set(allowed)
    strange = these.difference(in_play)
    if strange:
        listed = ", ".join(map(repr, in_play[:8]))
        raise ValueError(f"allowed arms must be in play; {min(strange)!r} is not. Choose from {listed}.")
    if not allowed:
        raise ValueError("allowed arms must be one or more; got none. Leave it out to allow all.")
    if len(these) == len(in_play):
        yield
        return
    learner._require_open_to_arms("retire")
    with learner._lock:
        active = learner._state.active
        before = active.copy()
        active[:] = False
        active[[learner._index[name] for name in these]] = True
    try:
        yield
    finally:
        with learner._lock:
            learner._state.active[:] = before
