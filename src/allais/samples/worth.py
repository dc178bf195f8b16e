"""What an arm's memory is worth: its estimated value under a preference."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais._kernels import by_reference, kernel, late
from allais.numerics.distorted_sum import distorted_sum
from allais.numerics.distortion import Distortion
from allais.numerics.table import weigh
from allais.samples.memory import GAIN_SLACK, LOSS_SLACK, VALUE_SLACK, moments
from allais.samples.tree_value import tree_value


@by_reference
class Worth(NamedTuple):
    """How an arm's value is computed from its memory."""

    gains: Distortion
    losses: Distortion
    edge: FloatArray  # m of the truncation at m + sigma sqrt(log n); inf where rewards are bounded
    edge_scale: FloatArray  # sigma, (n_arms,)
    of_mean: bool  # the WE heuristic: w(mean), right for Bernoulli rewards only
    undistorted: bool  # both weights are the identity, so that the value is the mean


@late(None)
def _measure_in_trees(worth, memory, arm, edge):
    gain = tree_value(memory.trees, 2 * arm, worth.gains, memory.pulls[arm], 0.0, edge)
    loss = tree_value(memory.trees, 2 * arm + 1, worth.losses, memory.pulls[arm], 0.0, edge)
    memory.value[arm] = gain - loss
    memory.slack[arm, VALUE_SLACK] = memory.slack[arm, GAIN_SLACK] + memory.slack[arm, LOSS_SLACK]


@kernel
def measure(worth, memory, arm):
    """Set an arm's value from its memory: Algorithm 1, truncated where rewards are unbounded."""
    pulls = memory.pulls[arm]
    if pulls == 0:
        memory.value[arm] = -np.inf
        return
    if worth.of_mean:
        memory.value[arm] = weigh(worth.gains.table, moments(memory, arm)[0])
        return
    if worth.undistorted and worth.edge_scale[arm] == 0.0:
        memory.value[arm] = moments(memory, arm)[0]
        return
    edge = np.inf
    if worth.edge_scale[arm] > 0.0:
        edge = worth.edge[arm] + worth.edge_scale[arm] * np.sqrt(np.log(pulls))  # M_n, Proposition 1
    if memory.in_trees[arm]:
        _measure_in_trees(worth, memory, arm, edge)
        return
    gains, losses = worth.gains.table, worth.losses.table
    felt, counts = memory.felt[arm], memory.counts[arm]
    memory.value[arm] = distorted_sum(gains, losses, felt, counts, 0, memory.sizes[arm], pulls, 0.0, edge)
