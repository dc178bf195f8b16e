"""The arms of one decision: those that are listed, or rows of features that belong to this round only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais.learner import Learner
from allais.serve.features import Encoding, Flat, flat, shortened
from allais.serve.schemas import Decide, ExperimentSettings


class Round(NamedTuple):
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


class Rounds:
    """How an experiment reads the features of calls."""

    def __init__(self, settings: ExperimentSettings) -> None:
        self.encoding = None if settings.terms is None else Encoding(settings.terms)
        named = settings.features if isinstance(settings.features, dict) else {}
        self._own: dict[str, Flat] = {arm: flat(given) for arm, given in named.items()}

    def of(self, call: Decide, learner: Learner) -> tuple[Round | None, list[str] | None]:
        """The rows of a call, or None where the listed arms are asked; and the features that nothing uses."""
        if self.encoding is None and call.features is None and call.context is None:
            return None, None  # almost every call
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
            raise ValueError(f"an arm is in play, or comes with its features; {strange[0]!r} does not. Describe it.")
        if len(set(arms)) != len(arms):
            raise ValueError("allowed arms must be distinct; got one twice. Name each once.")
        rows = np.empty((len(arms), len(self.encoding.names)))
        for k, arm in enumerate(arms):  # one by one: an array of all at once would keep other threads waiting
            rows[k] = self.row(arm, context, given.get(arm, {}))
        return Round(rows, arms), self.encoding.unused([context, *given.values()]) if sent else None

    def row(self, arm: str, context: Flat, own: Flat) -> list[float]:
        """What the policy sees of an arm; what is known about it from the start counts, too."""
        if self.encoding is None:
            raise ValueError("features by name need terms, which this experiment does not have. Leave features out.")
        return self.encoding.row(arm, context, {**self._own.get(arm, {}), **own})

    def _plain(self, rows: list[list[float]], call: Decide) -> Round:
        if self.encoding is not None:
            raise ValueError("features are sent by name where there are terms; got rows. Send an object per arm.")
        if call.allowed is not None or call.context is not None or call.did is not None:
            raise ValueError("rows of features are all that is asked; got more. Declare terms to name arms.")
        return Round(rows, None)
