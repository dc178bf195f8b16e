"""What compiled code reads and writes, as arrays: choices, a family, and memory for one evaluation."""

from __future__ import annotations

from typing import NamedTuple

from allais._checks import FloatArray, IntArray
from allais._kernels import by_reference

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
