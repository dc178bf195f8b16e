"""Copies of a learner, and what its files hold."""

from __future__ import annotations

import copy
from typing import Any, Self

from allais._system.locks import one_at_a_time
from allais.learner.changes import Changes


class Copies(Changes):
    """A learner that can be copied, pickled and saved."""

    @one_at_a_time
    def copy(self) -> Self:
        """An independent learner that knows the same and will choose the same."""
        twin = object.__new__(type(self))
        twin.__setstate__(self._contents())
        return twin

    def _contents(self) -> dict[str, Any]:
        """All that it is, as copies: what is pickled does not change while it is written."""
        shared = ("policy", "_names", "_index", "_known", "_rule", "_next", "_draw")  # of which nothing changes
        contents = {name: getattr(self, name) for name in shared}
        copies = {name: copy.deepcopy(getattr(self, name)) for name in ("_state", "_rng", "_watch")}
        return {**contents, **copies, "_out": dict(self._out)}

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        return self._contents()

    def __setstate__(self, contents: dict[str, Any]) -> None:
        self.__dict__.update(contents)
        self._hold()
        self._guard()

    def _lines_worth_a_snapshot(self) -> int:
        memory = self._state.memory
        return int(memory.sizes.sum() + memory.trees.heads[:, 1].sum())
