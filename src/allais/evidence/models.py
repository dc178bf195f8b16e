"""What a model of outcomes adds to a log: the estimates of a target, each a mean of one part per decision.

A model is a partition of contexts and arms into cells, or several partitions, such as the trees of a forest. It says
that the outcomes of an arm a in a context x are distributed as those that were seen in the cell of (x, a), averaged
over the partitions: G(y | x, a). Decisions are valued by models of other parts of the log (cross-fitting).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import scipy  # its parts are loaded when they are used

from allais._checks import FloatArray, IntArray
from allais.evidence.decisions import Decisions
from allais.evidence.targets import Rows
from allais.forests import OutcomeForest
from allais.forests.encoding import checked_context

Estimator = Literal["doubly robust", "self-normalised", "importance-weighted"]
ESTIMATORS = ("doubly robust", "self-normalised", "importance-weighted")
FOLDS = 5


class Partition(Protocol):
    """A model that was fitted to some decisions: where outcomes are alike."""

    @property
    def n_cells(self) -> int:
        """The number of cells, in all partitions together."""
        ...

    def cells(self, log: Decisions, rows: IntArray, arms: IntArray) -> IntArray:
        """The cell of each pair of a decision's context and an arm, in each partition: (pairs, partitions).

        Args:
            log: A log with the same columns of context.
            rows: The decisions whose contexts are asked about.
            arms: The place of an arm for each.
        """
        ...


Model = Callable[[Decisions], Partition]  # fits a model to decisions


class EachArm:
    """The model without contexts: each arm is a cell."""

    def __init__(self, log: Decisions) -> None:
        self.n_cells = len(log.arms)

    def cells(self, log: Decisions, rows: IntArray, arms: IntArray) -> IntArray:
        """The arms themselves."""
        return arms[:, None]


class ByForest:
    """The model with contexts: the leaves of a forest of conditional distributions, for each arm."""

    def __init__(self, log: Decisions) -> None:
        self._forest = OutcomeForest(len(log.arms))
        for context, arm, outcome in zip(log.contexts(), log.chosen.tolist(), log.outcome.tolist(), strict=True):
            self._forest.learn(checked_context(context), arm, outcome)
        self.n_cells = self._forest.n_cells
        self._encoded: tuple[Decisions, FloatArray] | None = None

    def cells(self, log: Decisions, rows: IntArray, arms: IntArray) -> IntArray:
        """The leaf of each pair, in each tree."""
        if self._encoded is None or self._encoded[0] is not log:  # a log is asked about once for each target
            self._encoded = log, self._forest.rows(map(checked_context, log.contexts()), log.n)
        return self._forest.cells_of(self._encoded[1][rows], arms)


def best_model(log: Decisions) -> Partition:
    """A forest where the log has contexts, else each arm by itself."""
    return ByForest(log) if log.context else EachArm(log)


class Fitted:
    """A model fitted to all parts of a log but one, for each part; all outcomes are known."""

    def __init__(self, log: Decisions, model: Model) -> None:
        self.log = log
        self.folds = np.random.default_rng(0).permutation(log.n) % FOLDS
        self.parts: list[Partition] = []
        places, rows = [], []
        offset, self.offsets = 0, np.zeros(FOLDS, dtype=np.int64)
        for fold in range(FOLDS):
            others = np.flatnonzero(self.folds != fold)
            part = model(log.where(others))
            cells = part.cells(log, others, log.chosen[others]) + offset
            places.append(cells.ravel())
            rows.append(np.repeat(others, cells.shape[1]))
            self.parts.append(part)
            self.offsets[fold], offset = offset, offset + part.n_cells
        where, who = np.concatenate(places), np.concatenate(rows)
        self.counts = np.bincount(where, minlength=offset)
        self.means = scipy.sparse.csr_array((1.0 / self.counts[where], (where, who)), shape=(offset, log.n))

    def at(self, rows: IntArray, arms: IntArray, weights: FloatArray) -> Any:
        """The map from means of cells to weighted sums of the model's means: one row per decision of the log."""
        places, each, who = [], [], []
        for fold, part in enumerate(self.parts):
            mine = self.folds[rows] == fold
            cells = part.cells(self.log, rows[mine], arms[mine]) + self.offsets[fold]
            known = self.counts[cells] > 0
            share = known / np.maximum(known.sum(axis=1, keepdims=True), 1)  # a cell without outcomes says nothing
            places.append(cells.ravel())
            each.append((share * weights[mine, None]).ravel())
            who.append(np.repeat(rows[mine], cells.shape[1]))
        parts = np.concatenate(each), (np.concatenate(who), np.concatenate(places))
        return scipy.sparse.csr_array(parts, shape=(self.log.n, self.counts.size))

    @cached_property
    def own(self) -> Any:
        """Where each decision's own arm is."""
        return self.at(np.arange(self.log.n), self.log.chosen, np.ones(self.log.n))


class Estimate:
    """What a log says about one target: a mean of parts, one for each decision, of any function of the outcome."""

    def __init__(self, rows: Rows, estimator: Estimator, model: Fitted | None) -> None:
        self.rows, self.estimator = rows, estimator
        self.model = model if estimator == "doubly robust" and not rows.replayed else None
        if self.model is not None:
            pairs = rows.shares.tocoo()
            rows_of, arms_of = (part.astype(np.int64) for part in pairs.coords)
            self._direct = self.model.at(rows_of, arms_of, pairs.data)

    @cached_property
    def masses(self) -> FloatArray:
        """A signed measure on the outcomes, in the order of the log: its mass is 1 less what nobody tried."""
        w, n = self.rows.weights, self.rows.weights.size
        if self.estimator == "self-normalised":
            total = float(w.sum())
            return w * ((1.0 - self.rows.untried) / total) if total > 0.0 else np.zeros(n)
        if self.model is None:
            return w / n
        excess = self._direct.sum(axis=0) - self.model.own.T @ w
        return np.asarray(w + self.model.means.T @ excess) / n

    @cached_property
    def known_by(self) -> float:
        """How many outcomes, in effect, tell what the target may meet: those of its arms, however likely they were."""
        if self.model is None:
            return self.rows.effective
        direct = np.asarray(self.model.means.T @ self._direct.sum(axis=0))
        return float(direct.sum()) ** 2 / max(float(direct @ direct), 1e-300)

    def parts(self, psi: FloatArray) -> FloatArray:
        """Each decision's part of the mean of psi, a function of outcomes; the mean of the parts is the estimate."""
        w = self.rows.weights
        if self.estimator == "self-normalised":
            centre = float(w @ psi) / max(float(w.sum()), 1e-300)
            return centre + w * (psi - centre) / max(float(w.mean()), 1e-300)
        if self.model is None:
            return w * psi
        means = self.model.means @ psi
        return np.asarray(self._direct @ means + w * (psi - self.model.own @ means))
