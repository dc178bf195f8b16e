"""Trees that grow while outcomes come, one at a time, in bounded memory.

A node keeps what each arm brought there in a sketch: outcomes and how many samples each stands for, in ascending order.
A leaf is split where the outcomes of some arm differ between both sides, by a Bayes factor over some random splits: the
mean, over a few thresholds of the outcome and the ranges between them, of the Bayes factors of two binomial
distributions against one (Jeffreys priors). Under one distribution it ever exceeds x with a chance of 1 / x at most
(Ville), so useless features seldom split anything. Half of the candidates are two conditions joined by an exclusive
or, which finds interactions whose parts show nothing by themselves.

Evidence counts outcomes as if they were independent, and those of a day or of an incident are not. How much sums of
ranks of outcomes in a row vary, beyond what independent ones would, says by how much to divide it.

Arms share the splits. Each split has, for each arm, the log odds that this arm differs between its sides: an arm's
outcomes in a context are those of the child of the last split that concerns it, or of the root.
"""

from __future__ import annotations

import math

import numpy as np

from allais._kernels import kernel, routine
from allais.forests._arrays import (
    CHILD,
    CUTS,
    DUE,
    FEATURE,
    FIRST_LOOK,
    KIND,
    NODES,
    SEEN,
    SKETCHES,
    STREAM,
    TESTS,
    TOLD,
    note,
    scale_down,
    take_in,
    write_cuts,
)
from allais.numerics.k_inf import gamma_logs
from allais.samples.draws import uniform

CANDIDATES = 96  # splits that are looked at in one go; with 64 regret was a tenth higher
EVIDENCE = 5.0  # of a split, in logarithms: at 4 and at 6.5 regret was no lower, at 9 it was higher
PAIR_COST = 1.0  # by which a pair of conditions must be better
FEWEST = 4  # outcomes on each side of a split
# Delays of a day, or of an incident, resemble each other, so they are fewer outcomes than they seem. As if each were
# independent, trees told bad days from good ones by their dates, and chose flights worse than without contexts.
BATCH = 32  # outcomes in a row whose sum is looked at
SURE = 8.0  # batches of independent outcomes, as which it counts that they are taken to be
FEWEST_RANKED = 8  # earlier outcomes of an arm that give a rank
HEAVIEST = 2.0**40  # weight of an outcome, in a memory that fades, before all are scaled down

AT_MOST, EQUAL, PRESENT = range(3)  # kinds of conditions


# -- splits ---------------------------------------------------------------------------------------


@kernel
def side_of(x, kind, threshold):
    """The side of a condition: 0 where it holds; a missing value fails every one."""
    if kind == AT_MOST:
        return 0 if x <= threshold else 1
    if kind == EQUAL:
        return 0 if x == threshold else 1
    return 0 if x == x else 1


@kernel
def _log_of_sum(a, b):
    """log(e^a + e^b)."""
    high = max(a, b)
    return high + math.log(math.exp(a - high) + math.exp(b - high))


@kernel
def _log_beta_binomial(trees, successes, failures):
    """The log probability of a sequence under Jeffreys' prior, less its constant."""
    total = successes + failures
    if total < trees.gammas.shape[1]:
        half, one = trees.gammas[0], trees.gammas[1]
        return half[int(successes)] + half[int(failures)] - one[int(total)]
    return gamma_logs(successes + 0.5)[0] + gamma_logs(failures + 0.5)[0] - gamma_logs(total + 1.0)[0]


@kernel
def independent_share(trees):
    """How many independent outcomes one outcome is worth, by how much sums of consecutive ones vary."""
    sums, each = trees.batch[2] + SURE * BATCH / 12.0, trees.batch[3] + SURE * BATCH / 12.0  # 1 / 12: of uniform ranks
    surely = 1.0 - 2.0 * math.sqrt(2.0 * BATCH / 12.0 / each)  # squares of so many sums, less two standard errors
    return each / (surely * sums) if surely * sums > each else 1.0


@kernel
def _note_rank(trees, arm, outcome):
    """Note the rank of an outcome among the earlier ones of its arm."""
    sketch, batch, below, total = trees.sketch[0, arm], trees.batch, 0.0, 0.0
    for i in range(trees.sizes[sketch]):
        count = trees.counts[sketch, i]
        total += count
        if trees.places[sketch, i] <= outcome:
            below += count if trees.places[sketch, i] < outcome else 0.5 * count
    if total < FEWEST_RANKED * trees.weight[0]:
        return
    rank = below / total - 0.5
    batch[0] += rank
    batch[1] += 1.0
    batch[3] += rank * rank
    if batch[1] == BATCH:
        batch[2] += batch[0] * batch[0]
        batch[0], batch[1] = 0.0, 0.0


@routine
def log_bayes_factor(trees, table):
    """The log Bayes factor that an arm's outcomes differ between both sides, by its table."""
    left, right = 0.0, 0.0
    for b in range(CUTS + 1):
        left += table[0, b]
        right += table[1, b]
    if left == 0.0 or right == 0.0:
        return 0.0
    low_left, low_right, best = 0.0, 0.0, -np.inf
    for q in range(TESTS):
        if q < CUTS:
            low_left += table[0, q]
            low_right += table[1, q]
        else:  # between two thresholds, where spreads differ: the outer ones first, then the next
            low_left, low_right = 0.0, 0.0
            for b in range(q - CUTS + 1, 2 * CUTS - q):
                low_left += table[0, b]
                low_right += table[1, b]
        trees.logs[q] = (
            _log_beta_binomial(trees, low_left, left - low_left)
            + _log_beta_binomial(trees, low_right, right - low_right)
            - _log_beta_binomial(trees, low_left + low_right, left + right - low_left - low_right)
            - math.log(math.pi)  # B(1/2, 1/2): two priors over one
        )
        best = max(best, trees.logs[q])
    total = 0.0
    for q in range(TESTS):
        total += math.exp(trees.logs[q] - best)
    return (best + math.log(total / TESTS)) * independent_share(trees)


@kernel
def _evidence(trees):
    """The log Bayes factor of a split: an arm differs with probability 1/2 or 1 / n_arms, half and half."""
    n_arms = trees.table.shape[0]
    half, few = 0.0, 0.0
    rest = math.log(1.0 - 1.0 / n_arms) if n_arms > 1 else -np.inf
    for arm in range(n_arms):
        factor = log_bayes_factor(trees, trees.table[arm])
        if factor == 0.0:  # it was seen on one side at most
            continue
        half += _log_of_sum(0.0, factor) - math.log(2.0)
        few += _log_of_sum(rest, factor - math.log(n_arms))
    return _log_of_sum(half, few) - math.log(2.0)


@kernel
def _weigh_split(trees, node, arm):
    """Update the log odds that an arm differs between the sides; other arms that do make it likelier."""
    n_arms = trees.odds.shape[1]
    others = 0
    for k in range(n_arms):
        others += k != arm and trees.odds[node, k] > 0.0
    prior = math.log((1.0 + others) / (n_arms - others + 1.0))
    table = trees.table[0]
    for side in range(2):
        for b in range(CUTS + 1):  # what has faded counts as fewer outcomes
            table[side, b] = math.floor(trees.tables[node, arm, side, b] / trees.weight[0] + 0.5)
    trees.odds[node, arm] = log_bayes_factor(trees, table) + prior


@kernel
def bin_of(cuts, outcome):
    place = 0
    while place < CUTS and outcome > cuts[place]:
        place += 1
    return place


@kernel
def _set_cuts(trees, node, arm):
    """The thresholds at which an arm's outcomes are compared: quantiles of what the leaf has seen."""
    sketch = trees.sketch[node, arm]
    if sketch >= 0:
        write_cuts(trees.cuts[node, arm], trees.places[sketch], trees.counts[sketch], trees.sizes[sketch])


@kernel
def draw_condition(trees, feature, many, stream):
    """A random condition on a feature: its kind, its threshold, and where the stream goes on."""
    u, stream = uniform(stream)
    x = trees.rows[trees.members[int(u * many)], feature]
    kind = EQUAL if trees.categorical[feature] else AT_MOST
    if x != x:
        kind = PRESENT
        x = 0.0
    return kind, x, stream


@routine
def _look(trees, tree, leaf):
    """Split a leaf if one of some random splits shows that outcomes differ."""
    columns, clock, home = trees.rows.shape[1], trees.clock, trees.home[tree]
    n_arms = trees.odds.shape[1]
    crowded = clock[NODES] + 2 > trees.thresholds.size or clock[SKETCHES] + 2 * n_arms > trees.sizes.size
    many = 0
    for i in range(home.size):
        if home[i] == leaf:
            trees.members[many] = i
            many += 1
    if columns == 0 or crowded or many < 2 * FEWEST:
        return
    for arm in range(n_arms):
        _set_cuts(trees, leaf, arm)
    for j in range(many):
        i = trees.members[j]
        trees.bins[j] = bin_of(trees.cuts[leaf, trees.whose[i]], trees.raw[i])
    best, feature, kind, threshold = -np.inf, -1, 0, 0.0
    stream = np.uint64(clock[STREAM])
    for candidate in range(CANDIDATES):
        u, stream = uniform(stream)
        first = int(u * columns)
        first_kind, x, stream = draw_condition(trees, first, many, stream)
        pair = columns > 1 and candidate % 2 == 1
        second, second_kind, y = first, 0, 0.0
        if pair:
            u, stream = uniform(stream)
            second = int(u * (columns - 1))
            second += second >= first
            second_kind, y, stream = draw_condition(trees, second, many, stream)
        trees.table[:] = 0.0
        right = 0
        for j in range(many):
            i = trees.members[j]
            side = side_of(trees.rows[i, first], first_kind, x)
            if pair:
                side ^= side_of(trees.rows[i, second], second_kind, y)
            trees.table[trees.whose[i], side, trees.bins[j]] += 1.0
            right += side
        if right < FEWEST or many - right < FEWEST:
            continue
        found = _evidence(trees) - (PAIR_COST if pair else 0.0)
        if found > best:
            best, feature, kind, threshold = found, first, first_kind, x
    clock[STREAM] = np.int64(stream)
    if best > EVIDENCE:
        _split(trees, tree, leaf, many, feature, kind, threshold)


@kernel
def _split(trees, tree, leaf, many, feature, kind, threshold):
    """Give a leaf two children, with those of its outcomes whose contexts are still there."""
    left = 0
    for j in range(many):
        left += side_of(trees.rows[trees.members[j], feature], kind, threshold) == 0
    if left < FEWEST or many - left < FEWEST:
        return
    child, node = trees.clock[NODES], trees.nodes[leaf]
    trees.clock[NODES] += 2
    node[FEATURE], node[KIND], node[CHILD] = feature, kind, child
    trees.thresholds[leaf] = threshold
    last = trees.clock[TOLD] - 1
    oldest = 0
    while oldest < many and trees.members[oldest] <= last % trees.raw.size:
        oldest += 1
    for turn in range(many):
        j = (oldest + turn) % many
        i = trees.members[j]
        arm, side = trees.whose[i], side_of(trees.rows[i, feature], kind, threshold)
        age = (last - i) % trees.raw.size
        weight = trees.weight[0] / trees.weight[1] ** age
        trees.tables[leaf, arm, side, trees.bins[j]] += weight
        take_in(trees, child + side, arm, last - age, weight)
        trees.nodes[child + side, SEEN] += 1
        trees.home[tree, i] = child + side
    for _ in range(2):  # what is found about one arm makes it likelier for the others
        for arm in range(trees.odds.shape[1]):
            _weigh_split(trees, leaf, arm)
    for side in range(2):  # a pair of conditions has shown the way to the next split
        trees.nodes[child + side, DUE] = max(FIRST_LOOK, trees.nodes[child + side, SEEN] + 1)


# -- learning and reading -------------------------------------------------------------------------


@routine
def learn_row(trees, row, arm, outcome):
    """Learn one outcome of an arm in a context."""
    n_trees, window = trees.home.shape
    weight, number = trees.weight[0], trees.clock[TOLD]
    place = number % window
    trees.clock[TOLD] += 1
    for column in range(row.size):
        trees.rows[place, column] = row[column]
    trees.whose[place], trees.raw[place] = arm, outcome
    _note_rank(trees, arm, outcome)
    for tree in range(n_trees):
        node = tree
        while True:
            if node >= n_trees or tree == 0:  # all roots have one sketch for each arm
                take_in(trees, node, arm, number, weight)
            trees.nodes[node, SEEN] += 1
            feature = trees.nodes[node, FEATURE]
            if feature < 0:
                break
            table = trees.tables[node, arm]
            side = side_of(row[feature], trees.nodes[node, KIND], trees.thresholds[node])
            total = 0.0
            for b in range(CUTS + 1):
                total += table[0, b] + table[1, b]
            if total == 0.0:
                _set_cuts(trees, node, arm)  # the arm is new here
            seen = 1 + int(total / weight)
            table[side, bin_of(trees.cuts[node, arm], outcome)] += weight
            if seen % max(seen // 16, 1) == 0:
                _weigh_split(trees, node, arm)
            node = trees.nodes[node, CHILD] + side
        trees.home[tree, place] = node
        if trees.nodes[node, SEEN] >= trees.nodes[node, DUE]:
            trees.nodes[node, DUE] = trees.nodes[node, SEEN] * 3 // 2
            _look(trees, tree, node)
    trees.weight[0] *= trees.weight[1]
    if trees.weight[0] > HEAVIEST:
        scale_down(trees, HEAVIEST)


@kernel
def node_for(trees, tree, row, arm):
    """The node whose outcomes are those of an arm in a context."""
    node, found = tree, tree
    while trees.nodes[node, FEATURE] >= 0:
        side = side_of(row[trees.nodes[node, FEATURE]], trees.nodes[node, KIND], trees.thresholds[node])
        child = trees.nodes[node, CHILD] + side
        if trees.odds[node, arm] > 0.0 and trees.sketch[child, arm] >= 0:
            found = child
        node = child
    return found


@routine
def find_homes(trees):
    """Note where the rows are that a file holds: their leaves, and the sketches that they came into."""
    told = trees.clock[TOLD]
    n_trees, window = trees.home.shape
    for number in range(max(told - window, 0), told):
        i = number % window
        arm, row = trees.whose[i], trees.rows[i]
        for tree in range(n_trees):
            node = tree
            while True:
                if (node >= n_trees or tree == 0) and trees.sketch[node, arm] >= 0:
                    note(trees, node, arm, number)
                feature = trees.nodes[node, FEATURE]
                if feature < 0:
                    break
                side = side_of(row[feature], trees.nodes[node, KIND], trees.thresholds[node])
                node = trees.nodes[node, CHILD] + side
            trees.home[tree, i] = node


@routine
def nodes_for(trees, rows, arms, found):
    """The nodes of pairs of a context and an arm, in each tree: (pairs, trees)."""
    for i in range(arms.size):
        for tree in range(trees.home.shape[0]):
            found[i, tree] = node_for(trees, tree, rows[i], arms[i])
