"""The state that K-armed policies share: what was seen, what was asked, and what the band keeps about the arms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference
from allais.samples.drift import Forever
from allais.samples.memory import Memory, empty_memory

FOREVER = Forever()


@by_reference
class State(NamedTuple):
    """What a policy has learned, in arrays that kernels write in place."""

    memory: Memory
    asked: IntArray  # T_k plus the choices that are still out, (n_arms,)
    active: Any  # whether an arm is in play, (n_arms,)
    ticket: FloatArray  # what a choice remembers until its outcome is told, (1,)
    low: FloatArray  # scratch: the ends of intervals, (n_arms,)
    high: FloatArray
    score: FloatArray  # scratch of a choice, (n_arms,)
    eligible: Any  # scratch of a choice, (n_arms,)
    kept: Any  # what the band keeps about each arm: a function of the memory, but for its `followed`
    own: Any  # what the algorithm remembers besides: a NamedTuple of arrays, or ()
    lifetimes: Any  # when outcomes are forgotten, in a world that changes (`samples/drift.py`)

    @property
    def scratch(self) -> tuple[str, ...]:
        """Parts that are written before they are read, or follow from others: no file holds them."""
        return "low", "high", "score", "eligible", "kept"


def fresh_state(n_arms: int, kept: Any = (), own: Any = (), lifetimes: Any = FOREVER) -> State:
    """The state before the first round.

    Args:
        n_arms: The number of arms.
        kept: What the band keeps about each arm.
        own: What the algorithm remembers besides outcomes: a NamedTuple of arrays.
        lifetimes: How long outcomes are remembered.
    """
    return State(
        empty_memory(n_arms),
        np.zeros(n_arms, dtype=np.int64),
        np.ones(n_arms, dtype=np.bool_),
        np.zeros(1),
        np.zeros(n_arms),
        np.zeros(n_arms),
        np.zeros(n_arms),
        np.ones(n_arms, dtype=np.bool_),
        kept,
        own,
        lifetimes,
    )


IN_FILES = {"utility": "felt"}  # what files of every version call an array, where code calls it otherwise


def _arrays_of(part: Any) -> dict[str, Any]:
    """What a file holds of a NamedTuple of arrays, by name."""
    scratch = getattr(part, "scratch", ())
    return {IN_FILES.get(name, name): array for name, array in part._asdict().items() if name not in scratch}


def _followed(state: Any) -> Any:
    """What a band keeps that depends on the order of outcomes, or None."""
    return getattr(getattr(state, "kept", None), "followed", None)


def since_then(state: Any, written: Any) -> dict[str, Any]:
    """What a file holds of a state, with arrays that older files had in another shape."""
    if not isinstance(written, dict):
        raise ValueError("a saved learner must have a state; this one has none. Use a backup.")
    for part in (_followed(state), getattr(state, "own", None)):
        if part is not None and hasattr(part, "as_now"):
            written = part.as_now(written)
    return written


def saved_parts(state: Any) -> dict[str, Any]:
    """The arrays of a state that a file holds besides the memory, by name."""
    followed = _followed(state)
    parts: dict[str, Any] = {} if followed is None else _arrays_of(followed)
    for name in state._fields:
        part = getattr(state, name)
        if name in ("own", "lifetimes") and hasattr(part, "_asdict"):
            parts |= _arrays_of(part)
        elif name not in ("memory", "own", "lifetimes", *getattr(state, "scratch", ())):
            parts[name] = part
    return parts


def extended(old: Any, new: Any) -> Any:
    """The new part of a state, made for more arms, with what the old part held."""
    if isinstance(old, np.ndarray):
        new[tuple(slice(length) for length in old.shape)] = old
        return new
    return type(new)(*(extended(a, b) for a, b in zip(old, new, strict=True))) if hasattr(new, "_fields") else new


def reopen(policy: Any, state: Any) -> None:
    """Have a policy take back, in place, what it concluded for good."""
    own = getattr(state, "own", None)
    if (fresh := policy.reopened(own, state.asked.size)) is not own:
        extended(fresh, own)


def started(policy: Any, n_arms: int, rule: Any = None) -> tuple[Any, Any]:
    """A policy's rule and state for a number of arms, or an error where an array has no entry for one of them.

    A rule holds settings only, so many runs may share one. Compiled code does not check indices, so an array that is
    too short would be read beyond its end.
    """
    rule = policy.rule(n_arms) if rule is None else rule
    state = policy.state(n_arms, rule)
    each: dict[str, Any] = {f"state.{name}": getattr(state, name, None) for name in ("asked", "active")}
    memory = getattr(state, "memory", None)
    if not isinstance(memory, Memory):
        raise TypeError(f"a policy's state keeps its arms' outcomes in `memory`; got {memory!r}. Use empty_memory.")
    shared = ("trees", "cells", "limit")
    each |= {f"memory.{name}": part for name, part in memory._asdict().items() if name not in shared}
    if hasattr(rule, "worth"):
        each |= {"worth.edge": rule.worth.edge, "worth.edge_scale": rule.worth.edge_scale}
    for where, parts in (("band", getattr(rule, "band", ())), ("kept", getattr(state, "kept", ()))):
        named = parts._asdict() if hasattr(parts, "_asdict") else {where: parts}
        each |= {f"{where}.{name}": part for name, part in named.items() if isinstance(part, np.ndarray)}
    for name, part in each.items():
        if not isinstance(part, np.ndarray) or part.ndim == 0 or part.shape[0] != n_arms:
            length = part.shape[:1] if isinstance(part, np.ndarray) else part
            raise ValueError(
                f"{type(policy).__name__} must have an entry for each of its {n_arms} arms in {name}; got {length}. "
                "Make it from the number of arms."
            )
    shapes = {memory.utility.shape, memory.raw.shape, memory.counts.shape}
    if memory.trees.heads.shape[0] != 2 * n_arms or len(shapes) > 1:
        raise ValueError(f"the memory of {n_arms} arms must be made by empty_memory({n_arms}); this one was not.")
    ticket = getattr(state, "ticket", None)
    if not isinstance(ticket, np.ndarray) or ticket.shape != (1,):
        raise ValueError("a policy's state must have a ticket, an array of one number; write np.zeros(1).")
    return rule, state


def require_place(what: str, number: int, least: int, most: int) -> None:
    """Raise a ValueError for a number in a saved state that points at nothing.

    Args:
        what: What the number is, for the message.
        number: The number.
        least: The least that is possible.
        most: The greatest that is possible.
    """
    if not least <= number <= most:
        raise ValueError(f"a saved {what} must lie between {least} and {most}; got {number}. Use a backup.")


def no_such_arm(policy: Any, arm: int, n_arms: int) -> str:
    """The message about a choice that is not an arm."""
    return (
        f"choose must return an arm from 0 to {n_arms - 1}, SETTLED or WAITING; {type(policy).__name__} returned "
        f"{arm}. Repair its kernel."
    )
