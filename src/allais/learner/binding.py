"""A rule and a state as compiled code takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allais._kernels import bound
from allais.bands.base import refresh
from allais.policies.verbs import choose, lacks_room, learn
from allais.samples.worth import measure


def verbs_for(kind: type, rule: Any, state: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The machine code of `choose` and `learn` for a kind of rule, a rule and a state."""
    first, draw = 0, 0.0
    choosing = bound(choose.kernels[kind], rule, state, draw)
    return choosing, bound(learn.kernels[kind], rule, state, first, draw, draw, draw)


def room_check(policy: Any, kind: type, rule: Any, state: Any) -> Callable[..., Any] | None:
    """The machine code of `lacks_room`, for a policy that remembers more and more."""
    if not getattr(policy, "own_grows", False):
        return None
    return bound(lacks_room.kernels[kind], rule, state, 0, 0.0)


def remeasure(rule: Any, state: Any, arm: int) -> None:
    """Bring an arm's value, and what the band keeps about it, in line with its memory."""
    measure(rule.worth, state.memory, arm)
    refresh(rule.band, state.kept, state.memory, arm)
