"""Choices as the arrays that compiled code reads: each probability, outcome, option and answer once."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference
from allais.lotteries import Discrete

if TYPE_CHECKING:
    from allais.people.data.choices import Choices


GAINS, LOSSES, ALPHA, AVERSION, TEMPERATURE, LAPSE, NOISE = 0, 2, 4, 5, 6, 7, 8  # places in a parameter vector
PLACES = 9
VALUE_PARAMETERS = 6  # the first six determine the value of an option
CERTAINTY_EQUIVALENT = -1  # in place of the chosen option: the person stated a certainty equivalent


@by_reference
class Design(NamedTuple):
    """What was offered and chosen; each probability, outcome, option and answer once. A block is one person, or all."""

    log_p: FloatArray  # of the probability of an outcome at least as extreme, (probabilities,)
    log_q: FloatArray
    normal: FloatArray  # its normal quantile
    outcomes: FloatArray  # gains above zero and losses below, (outcomes,)
    log_size: FloatArray
    term_outcome: IntArray  # the outcomes of options but for 0, (terms,)
    term_at: IntArray  # the probability of this outcome or a more extreme one
    term_beyond: IntArray  # the probability of a more extreme one
    option_start: IntArray  # the first term of each option, (options + 1,)
    option_range: FloatArray  # between its outcomes
    row_start: IntArray  # the first option of each answer, (rows + 1,)
    row_option: IntArray
    row_chosen: IntArray  # the position of the chosen option, or CERTAINTY_EQUIVALENT
    row_amount: FloatArray  # the stated certainty equivalent
    row_count: FloatArray  # how often this answer was given
    block_row: IntArray  # (blocks + 1,)
    gain_start: IntArray  # the probabilities that matter to a block's gains
    gain_probability: IntArray
    loss_start: IntArray
    loss_probability: IntArray
    outcome_start: IntArray
    block_outcome: IntArray
    block_option_start: IntArray
    block_option: IntArray


@by_reference
class Model(NamedTuple):
    """A family, as compiled code reads it."""

    gains: int  # the kind of weight
    losses: int
    dual: int  # 1: losses are weighted by the dual
    gains_curve: FloatArray  # a weight without parameters, at each probability; empty: by its kind
    losses_curve: FloatArray
    probit: int
    on_equivalents: int  # 1: certainty equivalents are compared, not values


@by_reference
class Scratch(NamedTuple):
    """Memory for one evaluation."""

    gain_weight: FloatArray  # weight and its two gradients, (probabilities, 3)
    loss_weight: FloatArray
    utility: FloatArray  # utility and its two gradients, (outcomes, 3)
    value: FloatArray  # of options, with six gradients, (options, 7)
    gradient: FloatArray  # of one answer, (places,)


class Compact(NamedTuple):
    """A design, and the row of it that each answer of the table is in."""

    design: Design
    row_of: IntArray  # the design's row of each answer, (answers,)


def compact(choices: Choices, reference: float, costs: bool, by_person: bool) -> Compact:
    """Choices as compiled code reads them, as one block or as one per person."""
    listed = _Options(reference, costs)
    for lottery in choices.lotteries:
        listed.add(lottery)
    n = len(choices)
    who = choices.person if by_person else np.zeros(n, np.int64)
    amount = np.where(choices.chosen == CERTAINTY_EQUIVALENT, choices.amount, 0.0)
    amount = reference - amount if costs else amount - reference
    answers = np.column_stack([who, choices.chosen, choices.offered, amount])
    rows, row_of = np.unique(answers, axis=0, return_inverse=True)
    offered = rows[:, 2:-1].astype(np.int64)
    present = offered >= 0
    n_blocks = len(choices.people) if by_person else 1
    block_row = np.searchsorted(rows[:, 0], np.arange(n_blocks + 1))
    uses = listed.uses([np.unique(offered[a:b][present[a:b]]) for a, b in pairwise(block_row)])
    chances = np.array(list(listed.chances)).reshape(-1, 2)
    outcomes = np.array(list(listed.outcomes))
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(chances[:, 0]), np.log(chances[:, 1])
    smaller = special.ndtri(chances.min(axis=1))
    design = Design(
        log_p=log_p,
        log_q=log_q,
        normal=np.where(chances[:, 0] <= chances[:, 1], smaller, -smaller),
        outcomes=outcomes,
        log_size=np.log(np.abs(outcomes)),
        term_outcome=np.array(listed.term_outcome, np.int64),
        term_at=np.array(listed.term_at, np.int64),
        term_beyond=np.array(listed.term_beyond, np.int64),
        option_start=np.array(listed.start, np.int64),
        option_range=np.array(listed.range),
        row_start=np.append(0, np.cumsum(present.sum(axis=1))),
        row_option=offered[present],
        row_chosen=rows[:, 1].astype(np.int64),
        row_amount=np.ascontiguousarray(rows[:, -1]),
        row_count=np.bincount(row_of.ravel(), choices.count, len(rows)).astype(np.float64),
        block_row=block_row.astype(np.int64),
        **uses,
    )
    return Compact(design, row_of.ravel())


USES = (  # the fields of a design that say where a block's entries begin, and which they are
    ("gain_start", "gain_probability"), ("loss_start", "loss_probability"), ("outcome_start", "block_outcome"),
    ("block_option_start", "block_option"),
)  # fmt: skip


class _Options:
    """Lotteries as terms over shared probabilities and outcomes."""

    def __init__(self, reference: float, costs: bool) -> None:
        self.reference, self.costs = reference, costs
        self.chances: dict[tuple[float, float], int] = {(0.0, 1.0): 0, (1.0, 0.0): 1}
        self.outcomes: dict[float, int] = {1.0: 0}  # one at least, so that arrays are never empty
        self.term_outcome: list[int] = []
        self.term_at: list[int] = []
        self.term_beyond: list[int] = []
        self.start: list[int] = [0]
        self.range: list[float] = []

    def add(self, lottery: Discrete) -> None:
        """Append the terms of a lottery: the decision weight of an outcome is a step of w."""
        utility = self.reference - lottery.outcomes if self.costs else lottery.outcomes - self.reference
        at_least, below = np.append(lottery.at_least, 0.0).tolist(), np.append(lottery.below, 1.0).tolist()
        for i, x in enumerate(utility.tolist()):
            if x == 0.0:
                continue
            # gains are weighted by the upper tail and losses by the lower; costs swap them
            if (x > 0.0) != self.costs:
                at, beyond = (at_least[i], below[i]), (at_least[i + 1], below[i + 1])
            else:
                at, beyond = (below[i + 1], at_least[i + 1]), (below[i], at_least[i])
            self.term_outcome.append(self.outcomes.setdefault(x, len(self.outcomes)))
            self.term_at.append(self.chances.setdefault(at, len(self.chances)))
            self.term_beyond.append(self.chances.setdefault(beyond, len(self.chances)))
        self.start.append(len(self.term_outcome))
        self.range.append(float(utility.max() - utility.min()))

    def uses(self, options_of: list[IntArray]) -> dict[str, IntArray]:
        """What each block needs, given its options."""
        start = np.array(self.start)
        gain = np.array(list(self.outcomes)) > 0.0
        x_of, at_of, beyond_of = map(np.array, (self.term_outcome, self.term_at, self.term_beyond))
        found: list[list[IntArray]] = [[] for _ in USES]
        for options in options_of:
            pieces = [np.arange(start[option], start[option + 1]) for option in options]
            terms = np.concatenate([*pieces, np.zeros(0, np.int64)]).astype(np.int64)
            x = x_of[terms].astype(np.int64)
            sides = (terms[gain[x]], terms[~gain[x]])
            chances = (np.unique(np.concatenate([at_of[mine], beyond_of[mine]])) for mine in sides)
            for kind, used in zip(found, (*chances, np.unique(x), options), strict=True):
                kind.append(used.astype(np.int64))
        uses: dict[str, IntArray] = {}
        for (first, listed), kind in zip(USES, found, strict=True):
            uses[first] = np.append(0, np.cumsum([one.size for one in kind])).astype(np.int64)
            uses[listed] = np.concatenate([*kind, np.zeros(0, np.int64)]).astype(np.int64)
        return uses


def scratch_for(design: Design) -> Scratch:
    """Memory for one evaluation of a design."""
    n_chances, n_options = design.log_p.size, design.option_range.size
    return Scratch(
        np.zeros((n_chances, 3)),
        np.zeros((n_chances, 3)),
        np.zeros((design.outcomes.size, 3)),
        np.zeros((n_options, VALUE_PARAMETERS + 1)),
        np.zeros(PLACES),
    )
