"""The likelihood of choices under a family, for many parameter vectors at once.

Compiled: values of options from tables of weights and utilities, then choice rules. A parameter vector has nine places,
whatever the family (`people/data/design.py`). Gradients are exact: each formula is differentiated beside itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from allais._checks import FloatArray, IntArray
from allais._kernels import compiled_for, kernel, routine
from allais.lotteries import Discrete
from allais.people.data.choices import Choices
from allais.people.data.design import (
    ALPHA,
    AVERSION,
    CERTAINTY_EQUIVALENT,
    LAPSE,
    NOISE,
    PLACES,
    TEMPERATURE,
    VALUE_PARAMETERS,
    scratch_for,
)
from allais.people.model.parameters import Probit

if TYPE_CHECKING:
    from allais.people.model.family import Family


FAR = -20.0  # below it the normal tail is a series, whose fifth term is 1e-10
ROOT_HALF = math.sqrt(0.5)
LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@kernel
def weigh(kind, a, b, log_p, log_q, normal):
    """A weight and its gradients in its two parameters; the docstrings of `allais.weights` have the formulas."""
    w, by_a, by_b = 0.0, 0.0, 0.0
    if kind == 0:
        w = math.exp(log_p)
    elif kind == 1:
        up, down = a * log_p, a * log_q
        rest = math.exp(-abs(up - down))
        total = max(up, down) + math.log1p(rest)  # log(p^eta + q^eta)
        share = (1.0 if up > down else rest) / (1.0 + rest)
        w = math.exp(up - total / a)
        by_a = w * (log_p + total / (a * a) - (share * log_p + (1.0 - share) * log_q) / a)
    elif kind == 2:
        log_distance = math.log(-log_p)
        distance = math.exp(a * log_distance)
        w = math.exp(-b * distance)
        by_a, by_b = -w * b * distance * log_distance, -w * distance
    elif kind == 3:
        against = log_q - log_p
        w = 1.0 / (1.0 + math.exp(a * against - math.log(b)))
        by_a, by_b = -w * (1.0 - w) * against, w * (1.0 - w) / b
    elif kind == 4:
        w = math.exp(a * log_p)
        by_a = w * log_p
    elif kind == 5:
        smaller = math.exp(min(log_p, log_q))
        sign = 1.0 if log_p <= log_q else -1.0
        w = 0.5
        if smaller < 0.5:
            log_rest = math.log1p(-2.0 * smaller)
            rest = math.exp(a * log_rest)
            w, by_a = 0.5 - sign * 0.5 * rest, -sign * 0.5 * rest * log_rest
    elif kind == 6:
        q = math.exp(log_q)
        if q < a:
            w, by_a = 1.0 - q / a, q / (a * a)
    else:
        x = normal + a
        w = 0.5 * math.erfc(-x * ROOT_HALF)
        by_a = math.exp(-0.5 * x * x - LOG_ROOT_TWO_PI)
    return w, by_a, by_b


@kernel
def weigh_at(kind, curve, dual, a, b, design, i, into):
    """Write the weight of a probability and its gradients; the ends are exact."""
    log_p, log_q = design.log_p[i], design.log_q[i]
    if curve.size > 0:
        into[i, 0], into[i, 1], into[i, 2] = curve[i], 0.0, 0.0
    elif log_p == -math.inf or log_q == -math.inf:
        into[i, 0], into[i, 1], into[i, 2] = (0.0 if log_p == -math.inf else 1.0), 0.0, 0.0
    elif dual == 1:
        w, by_a, by_b = weigh(kind, a, b, log_q, log_p, -design.normal[i])
        into[i, 0], into[i, 1], into[i, 2] = 1.0 - w, -by_a, -by_b
    else:
        into[i, 0], into[i, 1], into[i, 2] = weigh(kind, a, b, log_p, log_q, design.normal[i])


@kernel
def certainty_equivalent(value, alpha, aversion):
    """The sure amount of this value, and its derivatives in the value, in alpha and in loss aversion."""
    if value == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    size = value if value > 0.0 else -value / aversion
    amount = math.exp(math.log(size) / alpha)
    by_value = amount / (alpha * abs(value))
    by_alpha = -amount * math.log(size) / (alpha * alpha)
    if value > 0.0:
        return amount, by_value, by_alpha, 0.0
    return -amount, by_value, -by_alpha, amount / (alpha * aversion)


@kernel
def log_logistic(x):
    """The logarithm of the logistic distribution function, and its gradient."""
    rest = math.exp(-abs(x))
    return min(x, 0.0) - math.log1p(rest), (rest if x > 0.0 else 1.0) / (1.0 + rest)


@kernel
def log_normal_tail(x):
    """The logarithm of the normal distribution function, and its gradient."""
    if x > FAR:
        share = 0.5 * math.erfc(-x * ROOT_HALF)
        return math.log(share), math.exp(-0.5 * x * x - LOG_ROOT_TWO_PI) / share
    r = 1.0 / (x * x)
    series = 1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r)))
    return -0.5 * x * x - math.log(-x) - LOG_ROOT_TWO_PI + math.log(series), -x / series


@kernel
def to_certainty_equivalent(value, option, alpha, aversion, gradients):
    """Replace the value of an option by its certainty equivalent."""
    amount, by_value, by_alpha, by_aversion = certainty_equivalent(value[option, 0], alpha, aversion)
    value[option, 0] = amount
    if gradients:
        for j in range(1, VALUE_PARAMETERS + 1):
            value[option, j] *= by_value
        value[option, 1 + ALPHA] += by_alpha
        value[option, 1 + AVERSION] += by_aversion


@routine
def write_values(model, theta, design, block, scratch, gradients):
    """Write the value or the certainty equivalent of each option of a block, with gradients on request."""
    weights_of_gains, weights_of_losses, utility, value = (
        scratch.gain_weight, scratch.loss_weight, scratch.utility, scratch.value,
    )  # fmt: skip
    for k in range(design.gain_start[block], design.gain_start[block + 1]):
        i = design.gain_probability[k]
        weigh_at(model.gains, model.gains_curve, 0, theta[0], theta[1], design, i, weights_of_gains)
    for k in range(design.loss_start[block], design.loss_start[block + 1]):
        i = design.loss_probability[k]
        weigh_at(model.losses, model.losses_curve, model.dual, theta[2], theta[3], design, i, weights_of_losses)
    alpha, aversion = theta[ALPHA], theta[AVERSION]
    for k in range(design.outcome_start[block], design.outcome_start[block + 1]):
        i = design.block_outcome[k]
        size = math.exp(alpha * design.log_size[i])
        if design.outcomes[i] > 0.0:
            utility[i, 0], utility[i, 1], utility[i, 2] = size, size * design.log_size[i], 0.0
        else:
            utility[i, 0], utility[i, 1], utility[i, 2] = -aversion * size, -aversion * size * design.log_size[i], -size
    for k in range(design.block_option_start[block], design.block_option_start[block + 1]):
        option = design.block_option[k]
        value[option, 0] = 0.0
        if gradients:
            for j in range(1, VALUE_PARAMETERS + 1):
                value[option, j] = 0.0
        for term in range(design.option_start[option], design.option_start[option + 1]):
            x, at, beyond = design.term_outcome[term], design.term_at[term], design.term_beyond[term]
            gain = design.outcomes[x] > 0.0
            weights, first = (weights_of_gains, 1) if gain else (weights_of_losses, 3)
            share = weights[at, 0] - weights[beyond, 0]
            value[option, 0] += share * utility[x, 0]
            if gradients:
                value[option, first] += (weights[at, 1] - weights[beyond, 1]) * utility[x, 0]
                value[option, first + 1] += (weights[at, 2] - weights[beyond, 2]) * utility[x, 0]
                value[option, 1 + ALPHA] += share * utility[x, 1]
                value[option, 1 + AVERSION] += share * utility[x, 2]
        if model.on_equivalents == 1:
            to_certainty_equivalent(value, option, alpha, aversion, gradients)


@routine
def log_probability(model, theta, design, row, scratch, gradients):
    """The log probability of one answer; its gradient is left in `scratch.gradient`."""
    value, gradient = scratch.value, scratch.gradient
    if gradients:
        for j in range(PLACES):
            gradient[j] = 0.0
    first, last, chosen = design.row_start[row], design.row_start[row + 1], design.row_chosen[row]
    if chosen == CERTAINTY_EQUIVALENT:
        return log_density_of_amount(model, theta, design, row, scratch, gradients)
    temperature, lapse = theta[TEMPERATURE], theta[LAPSE]
    own = design.row_option[first + chosen]
    if last - first == 2:  # the usual case: one difference, and one exponential
        other = design.row_option[first + 1 - chosen]
        distance = (value[own, 0] - value[other, 0]) / temperature
        log_share, steepness = log_normal_tail(distance) if model.probit == 1 else log_logistic(distance)
        log_chance, lapse_gradient = with_lapses(log_share, lapse, 2.0)
        if gradients:
            if lapse > 0.0:
                steepness *= math.exp(log_share + math.log1p(-lapse) - log_chance)
            steepness /= temperature
            for j in range(VALUE_PARAMETERS):
                gradient[j] = steepness * (value[own, 1 + j] - value[other, 1 + j])
            gradient[TEMPERATURE] = -steepness * distance
            gradient[LAPSE] = lapse_gradient
        return log_chance
    most = value[own, 0]
    for k in range(first, last):
        most = max(most, value[design.row_option[k], 0])
    total = 0.0
    for k in range(first, last):
        total += math.exp((value[design.row_option[k], 0] - most) / temperature)
    log_share = (value[own, 0] - most) / temperature - math.log(total)
    log_chance, lapse_gradient = with_lapses(log_share, lapse, float(last - first))
    if gradients:
        kept = math.exp(log_share + math.log1p(-lapse) - log_chance)
        for k in range(first, last):
            option = design.row_option[k]
            share = math.exp((value[option, 0] - most) / temperature) / total
            step = kept * ((1.0 if k == first + chosen else 0.0) - share) / temperature
            for j in range(VALUE_PARAMETERS):
                gradient[j] += step * value[option, 1 + j]
            gradient[TEMPERATURE] -= step * (value[option, 0] - value[own, 0]) / temperature
        gradient[LAPSE] = lapse_gradient
    return log_chance


@kernel
def with_lapses(log_share, lapse, options):
    """The log probability of a choice that is random at the lapse rate, and its derivative in that rate."""
    if lapse == 0.0:  # then the rate is fixed, and nobody asks for its derivative
        return log_share, 0.0
    chance = (1.0 - lapse) * math.exp(log_share) + lapse / options
    return math.log(chance), (1.0 / options - math.exp(log_share)) / chance


@kernel
def log_density_of_amount(model, theta, design, row, scratch, gradients):
    """The log density of a stated certainty equivalent: normal, with a spread proportional to the lottery's range."""
    option = design.row_option[design.row_start[row]]
    value, gradient = scratch.value, scratch.gradient
    amount, by_value, by_alpha, by_aversion = value[option, 0], 1.0, 0.0, 0.0
    if model.on_equivalents == 0:
        amount, by_value, by_alpha, by_aversion = certainty_equivalent(value[option, 0], theta[ALPHA], theta[AVERSION])
    spread = theta[NOISE] * design.option_range[option]
    off = (design.row_amount[row] - amount) / spread
    if gradients:
        for j in range(VALUE_PARAMETERS):
            gradient[j] = off / spread * by_value * value[option, 1 + j]
        gradient[ALPHA] += off / spread * by_alpha
        gradient[AVERSION] += off / spread * by_aversion
        gradient[NOISE] = (off * off - 1.0) / theta[NOISE]
    return -0.5 * off * off - math.log(spread) - LOG_ROOT_TWO_PI


@routine
def log_likelihoods(model, thetas, blocks, design, scratch, results):
    """The log likelihood of a block of answers under each parameter vector."""
    for m in range(thetas.shape[0]):
        write_values(model, thetas[m], design, blocks[m], scratch, False)
        total = 0.0
        for row in range(design.block_row[blocks[m]], design.block_row[blocks[m] + 1]):
            total += design.row_count[row] * log_probability(model, thetas[m], design, row, scratch, False)
        results[m] = total


@routine
def log_likelihoods_with_gradients(model, thetas, blocks, design, scratch, results, gradients):
    """The log likelihood and its gradient, under each parameter vector."""
    for m in range(thetas.shape[0]):
        write_values(model, thetas[m], design, blocks[m], scratch, True)
        total = 0.0
        for j in range(PLACES):
            gradients[m, j] = 0.0
        for row in range(design.block_row[blocks[m]], design.block_row[blocks[m] + 1]):
            count = design.row_count[row]
            total += count * log_probability(model, thetas[m], design, row, scratch, True)
            for j in range(PLACES):
                gradients[m, j] += count * scratch.gradient[j]
        results[m] = total


@routine
def log_probabilities(model, thetas, design, scratch, results):
    """The log probability of every answer under every parameter vector, (vectors, rows), for designs of one block."""
    for m in range(thetas.shape[0]):
        write_values(model, thetas[m], design, 0, scratch, False)
        for row in range(design.row_chosen.size):
            results[m, row] = log_probability(model, thetas[m], design, row, scratch, False)


@routine
def option_values(model, thetas, design, scratch, results):
    """The value of every option under every parameter vector, (vectors, options), for designs of one block."""
    for m in range(thetas.shape[0]):
        write_values(model, thetas[m], design, 0, scratch, False)
        for option in range(results.shape[1]):
            results[m, option] = scratch.value[option, 0]


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
