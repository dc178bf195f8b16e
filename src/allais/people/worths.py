"""What options are worth under many parameter vectors at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from allais._checks import FloatArray
from allais._kernels import compiled_for
from allais.lotteries import FiniteLottery
from allais.people.answers import each_value
from allais.people.building import Rows
from allais.people.design import scratch_for

if TYPE_CHECKING:
    from allais.people.family import Family


class Worths:
    """Lotteries made ready for a family; it has room for one evaluation at a time.

    >>> from allais.people import Family
    >>> worths = Worths(Family(), [Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> worths(np.array([[0.61, 1.0, 2.25, 1.0]])).round(4)
    array([[9.3151, 7.    ]])
    """

    def __init__(self, family: Family, lotteries: Sequence[FiniteLottery]) -> None:
        self._layout = family.layout
        rows = Rows()
        for number, lottery in enumerate(lotteries, start=1):  # each beside the first, so that all are in the table
            rows.choice(number, "any", [lotteries[0], lottery], 0)
        choices = rows.done()
        self._order = choices.offered[:, 1]
        self._n = len(choices.lotteries)
        self._design = choices.compact(family.reference, family.costs, False).design
        self._model, self._scratch = family.model(self._design), scratch_for(self._design)

    def __call__(self, parameters: FloatArray) -> FloatArray:
        """Values, or certainty equivalents if the family compares these, (n, parameters) -> (n, lotteries)."""
        found = np.empty((parameters.shape[0], self._n))
        with compiled_for("choices"):
            each_value(self._model, self._layout.places(parameters), self._design, self._scratch, found)
        return found[:, self._order]
