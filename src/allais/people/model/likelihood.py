"""The likelihood of choices under a family, for many parameter vectors at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import compiled_for
from allais.lotteries import Discrete
from allais.people.data.choices import Choices
from allais.people.data.design import CERTAINTY_EQUIVALENT, PLACES, scratch_for
from allais.people.model._kernels import (
    log_likelihoods,
    log_likelihoods_with_gradients,
    log_probabilities,
    option_values,
)
from allais.people.model.parameters import Probit

if TYPE_CHECKING:
    from allais.people.model.family import Family


class Likelihood:
    """The likelihood of choices under a family; with `by_person`, in one block per person.

    One evaluation at a time: each thread needs its own. It can be pickled, whatever weights the family has.
    """

    def __init__(self, family: Family, choices: Choices, *, by_person: bool = False) -> None:
        self.transforms = family.transforms
        compact = choices.compact(family.reference, family.costs, by_person)
        self.design, self._row_of = compact.design, compact.row_of
        self.n_blocks = self.design.block_row.size - 1
        named = self.design.row_chosen == CERTAINTY_EQUIVALENT
        if named.any() and "noise" not in (*family.names, *family.fixed):
            raise ValueError("certainty equivalents need a noise parameter; this family has none. Add noise=free().")
        if isinstance(family.choice, Probit) and (np.diff(self.design.row_start)[~named] > 2).any():
            raise ValueError("probit compares two options; some choices have more. Use Logit.")
        self._model, self._scratch = family.model(self.design), scratch_for(self.design)

    def __call__(self, parameters: FloatArray, blocks: IntArray | None = None) -> FloatArray:
        """The log likelihood of each parameter vector, of its block's answers, (n, parameters) -> (n,)."""
        results = np.empty(parameters.shape[0])
        with compiled_for("choices"):
            log_likelihoods(
                self._model, self.transforms.vectors(parameters), self._blocks(parameters, blocks), self.design,
                self._scratch, results,
            )  # fmt: skip
        return results

    def at(self, z: FloatArray, blocks: IntArray | None = None) -> FloatArray:
        """The log likelihood at unconstrained parameters."""
        return self(self.transforms.natural(z), blocks)

    def gradients_at(self, z: FloatArray, blocks: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """The log likelihood at unconstrained parameters, and its gradient there."""
        parameters = self.transforms.natural(z)
        results, gradients = np.empty(z.shape[0]), np.empty((z.shape[0], PLACES))
        with compiled_for("choices"):
            log_likelihoods_with_gradients(
                self._model, self.transforms.vectors(parameters), self._blocks(parameters, blocks), self.design,
                self._scratch, results, gradients,
            )  # fmt: skip
        return results, self.transforms.gathered(gradients) * self.transforms.gradient(z)

    def each(self, parameters: FloatArray) -> FloatArray:
        """The log probability of each answer, in the order of the table, (n, answers)."""
        found = np.empty((parameters.shape[0], self.design.row_chosen.size))
        with compiled_for("choices"):
            log_probabilities(self._model, self.transforms.vectors(parameters), self.design, self._scratch, found)
        return found[:, self._row_of]

    def _blocks(self, parameters: FloatArray, blocks: IntArray | None) -> IntArray:
        return np.zeros(parameters.shape[0], np.int64) if blocks is None else blocks


class OptionValues:
    """The values of lotteries under a family; one evaluation at a time.

    >>> from allais.people import Family
    >>> values = OptionValues(Family(), [Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> values(np.array([[0.61, 1.0, 2.25, 1.0]])).round(4)
    array([[9.3151, 7.    ]])
    """

    def __init__(self, family: Family, lotteries: Sequence[Discrete]) -> None:
        self._transforms = family.transforms
        # each beside the first, so that all are in the table
        choices = Choices.from_rows([("any", [lotteries[0], lottery], 0) for lottery in lotteries])
        self._order = choices.offered[:, 1]
        self._n = len(choices.lotteries)
        self._design = choices.compact(family.reference, family.costs, False).design
        self._model, self._scratch = family.model(self._design), scratch_for(self._design)

    def __call__(self, parameters: FloatArray) -> FloatArray:
        """Values, or certainty equivalents if the family compares these, (n, parameters) -> (n, lotteries)."""
        found = np.empty((parameters.shape[0], self._n))
        with compiled_for("choices"):
            option_values(self._model, self._transforms.vectors(parameters), self._design, self._scratch, found)
        return found[:, self._order]
