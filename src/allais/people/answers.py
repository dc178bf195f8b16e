"""The likelihood of answers, compiled: values of options from tables of weights and utilities, then choice rules.

A parameter vector has nine places, whatever the family (`arrays.py`). Slopes are exact: each formula is differentiated
beside itself.
"""

from __future__ import annotations

import math

from allais._kernels import kernel, routine
from allais.people.arrays import ALPHA, AVERSION, CERTAINTY_EQUIVALENT, FELT, LAPSE, NOISE, PLACES, TEMPERATURE
from allais.people.curves import LOG_ROOT_TWO_PI, log_logistic, log_normal_tail, sure_amount, weigh_at


@kernel
def made_sure(value, option, alpha, aversion, slopes):
    """Put the certainty equivalent of an option in the place of its value."""
    amount, by_value, by_alpha, by_aversion = sure_amount(value[option, 0], alpha, aversion)
    value[option, 0] = amount
    if slopes:
        for j in range(1, FELT + 1):
            value[option, j] *= by_value
        value[option, 1 + ALPHA] += by_alpha
        value[option, 1 + AVERSION] += by_aversion


@routine
def measure(model, theta, design, block, scratch, slopes):
    """Write the value of each option of a block, or its certainty equivalent, with slopes if they are wanted."""
    weights_of_gains, weights_of_losses, felt, value = (
        scratch.gain_weight, scratch.loss_weight, scratch.felt, scratch.value,
    )  # fmt: skip
    for k in range(design.gain_start[block], design.gain_start[block + 1]):
        i = design.gain_probability[k]
        weigh_at(model.gains, model.known_gains, 0, theta[0], theta[1], design, i, weights_of_gains)
    for k in range(design.loss_start[block], design.loss_start[block + 1]):
        i = design.loss_probability[k]
        weigh_at(model.losses, model.known_losses, model.dual, theta[2], theta[3], design, i, weights_of_losses)
    alpha, aversion = theta[ALPHA], theta[AVERSION]
    for k in range(design.outcome_start[block], design.outcome_start[block + 1]):
        i = design.block_outcome[k]
        size = math.exp(alpha * design.log_size[i])
        if design.outcomes[i] > 0.0:
            felt[i, 0], felt[i, 1], felt[i, 2] = size, size * design.log_size[i], 0.0
        else:
            felt[i, 0], felt[i, 1], felt[i, 2] = -aversion * size, -aversion * size * design.log_size[i], -size
    for k in range(design.block_option_start[block], design.block_option_start[block + 1]):
        option = design.block_option[k]
        value[option, 0] = 0.0
        if slopes:
            for j in range(1, FELT + 1):
                value[option, j] = 0.0
        for term in range(design.option_start[option], design.option_start[option + 1]):
            x, at, beyond = design.term_outcome[term], design.term_at[term], design.term_beyond[term]
            gain = design.outcomes[x] > 0.0
            weights, first = (weights_of_gains, 1) if gain else (weights_of_losses, 3)
            share = weights[at, 0] - weights[beyond, 0]
            value[option, 0] += share * felt[x, 0]
            if slopes:
                value[option, first] += (weights[at, 1] - weights[beyond, 1]) * felt[x, 0]
                value[option, first + 1] += (weights[at, 2] - weights[beyond, 2]) * felt[x, 0]
                value[option, 1 + ALPHA] += share * felt[x, 1]
                value[option, 1 + AVERSION] += share * felt[x, 2]
        if model.sure == 1:
            made_sure(value, option, alpha, aversion, slopes)


@routine
def answer(model, theta, design, row, scratch, slopes):
    """The log probability of one answer; its slopes are left in `scratch.inside`."""
    value, inside = scratch.value, scratch.inside
    if slopes:
        for j in range(PLACES):
            inside[j] = 0.0
    first, last, chosen = design.row_start[row], design.row_start[row + 1], design.row_chosen[row]
    if chosen == CERTAINTY_EQUIVALENT:
        return named_amount(model, theta, design, row, scratch, slopes)
    temperature, lapse = theta[TEMPERATURE], theta[LAPSE]
    own = design.row_option[first + chosen]
    if last - first == 2:  # the usual case: one difference, and one exponential
        other = design.row_option[first + 1 - chosen]
        distance = (value[own, 0] - value[other, 0]) / temperature
        log_share, steepness = log_normal_tail(distance) if model.probit == 1 else log_logistic(distance)
        log_chance, felt_lapse = lapsing(log_share, lapse, 2.0)
        if slopes:
            if lapse > 0.0:
                steepness *= math.exp(log_share + math.log1p(-lapse) - log_chance)
            steepness /= temperature
            for j in range(FELT):
                inside[j] = steepness * (value[own, 1 + j] - value[other, 1 + j])
            inside[TEMPERATURE] = -steepness * distance
            inside[LAPSE] = felt_lapse
        return log_chance
    most = value[own, 0]
    for k in range(first, last):
        most = max(most, value[design.row_option[k], 0])
    total = 0.0
    for k in range(first, last):
        total += math.exp((value[design.row_option[k], 0] - most) / temperature)
    log_share = (value[own, 0] - most) / temperature - math.log(total)
    log_chance, felt_lapse = lapsing(log_share, lapse, float(last - first))
    if slopes:
        kept = math.exp(log_share + math.log1p(-lapse) - log_chance)
        for k in range(first, last):
            option = design.row_option[k]
            share = math.exp((value[option, 0] - most) / temperature) / total
            step = kept * ((1.0 if k == first + chosen else 0.0) - share) / temperature
            for j in range(FELT):
                inside[j] += step * value[option, 1 + j]
            inside[TEMPERATURE] -= step * (value[option, 0] - value[own, 0]) / temperature
        inside[LAPSE] = felt_lapse
    return log_chance


@kernel
def lapsing(log_share, lapse, options):
    """The log probability of a choice that is made blindly now and then, and its slope in how often."""
    if lapse == 0.0:  # its slope is that of a family in which it is fixed, so nobody asks for it
        return log_share, 0.0
    chance = (1.0 - lapse) * math.exp(log_share) + lapse / options
    return math.log(chance), (1.0 / options - math.exp(log_share)) / chance


@kernel
def named_amount(model, theta, design, row, scratch, slopes):
    """The log density of the amount that a person named: normal, with a spread that goes with the lottery's range."""
    option = design.row_option[design.row_start[row]]
    value, inside = scratch.value, scratch.inside
    amount, by_value, by_alpha, by_aversion = value[option, 0], 1.0, 0.0, 0.0
    if model.sure == 0:
        amount, by_value, by_alpha, by_aversion = sure_amount(value[option, 0], theta[ALPHA], theta[AVERSION])
    spread = theta[NOISE] * design.option_range[option]
    off = (design.row_amount[row] - amount) / spread
    if slopes:
        for j in range(FELT):
            inside[j] = off / spread * by_value * value[option, 1 + j]
        inside[ALPHA] += off / spread * by_alpha
        inside[AVERSION] += off / spread * by_aversion
        inside[NOISE] = (off * off - 1.0) / theta[NOISE]
    return -0.5 * off * off - math.log(spread) - LOG_ROOT_TWO_PI


@routine
def sweep(model, thetas, blocks, design, scratch, results):
    """The log likelihood of a block of answers under each parameter vector."""
    for m in range(thetas.shape[0]):
        measure(model, thetas[m], design, blocks[m], scratch, False)
        total = 0.0
        for row in range(design.block_row[blocks[m]], design.block_row[blocks[m] + 1]):
            total += design.row_count[row] * answer(model, thetas[m], design, row, scratch, False)
        results[m] = total


@routine
def sweep_with_slopes(model, thetas, blocks, design, scratch, results, gradients):
    """The log likelihood and its gradient, under each parameter vector."""
    for m in range(thetas.shape[0]):
        measure(model, thetas[m], design, blocks[m], scratch, True)
        total = 0.0
        for j in range(PLACES):
            gradients[m, j] = 0.0
        for row in range(design.block_row[blocks[m]], design.block_row[blocks[m] + 1]):
            count = design.row_count[row]
            total += count * answer(model, thetas[m], design, row, scratch, True)
            for j in range(PLACES):
                gradients[m, j] += count * scratch.inside[j]
        results[m] = total


@routine
def each_answer(model, thetas, design, scratch, results):
    """The log probability of every answer under every parameter vector, (vectors, rows), for designs of one block."""
    for m in range(thetas.shape[0]):
        measure(model, thetas[m], design, 0, scratch, False)
        for row in range(design.row_chosen.size):
            results[m, row] = answer(model, thetas[m], design, row, scratch, False)


@routine
def each_value(model, thetas, design, scratch, results):
    """The value of every option under every parameter vector, (vectors, options), for designs of one block."""
    for m in range(thetas.shape[0]):
        measure(model, thetas[m], design, 0, scratch, False)
        for option in range(results.shape[1]):
            results[m, option] = scratch.value[option, 0]
