"""What an arm brings in a context: what the trees say, and what it may bring if they have not found out yet.

An arm that is bad on average may be the best one here, and a tree that has seen ten outcomes of it has no split that
says so. So a draw of what it may bring is a draw over splits, too: some random ones are compared with no split, by
their Bayes factors, and if one of them is drawn, only outcomes on the context's side of it count. With more outcomes
the factors of useless splits fall, and useful ones are found by the tree. The prior of a split falls, too, with what
the tree has seen without finding one.
"""

from __future__ import annotations

import math

import numpy as np

from allais._kernels import kernel, routine
from allais.forests._arrays import LATELY, SEEN, TOLD, total_of, write_cuts
from allais.forests._trees import AT_MOST, EQUAL, PRESENT, bin_of, draw_condition, log_bayes_factor, node_for, side_of
from allais.samples.draws import second_stream, uniform

NARROW = 8.0  # samples beyond an outcome of a mixture, over those joined in it
WIDEST = 256  # outcomes of a mixture, at most
FEW = 64.0  # samples of an arm in a context, beyond which its trees are believed
TRIED = 8  # splits that one draw compares
FEWEST_HERE = 2  # of them on the context's side
# By CVaR .1, with 2,000 rounds and 14 runs: regret where tails depend on the context, and the ratio to that of NPTS
# where nothing does, are 578 and 1.11 with these two, 766 and 1.06 at 0.03 and 200, 531 and 1.33 at 0.1 and 200.
# Without doubt some runs never find the tails.
DOUBT = 0.2  # probability that there is a split, before anything was seen
YOUNG = 30.0  # outcomes of a node, after which it is half of that


NONE, ONE = np.uint64(0), np.uint64(1)


@kernel
def _merge(trees, turn, first, middle, size):
    """Merge two runs of ascending outcomes, an infinity behind each, into the other half of the scratch.

    Which run has the next outcome cannot be foreseen, so there is no branch: with one, a merger takes twice as long.
    """
    places, masses = trees.merged[turn], trees.merged[2 + turn]
    to_places, to_masses = trees.merged[1 - turn], trees.merged[3 - turn]
    i, j = np.uint64(first), np.uint64(middle)
    for to in range(np.uint64(first), np.uint64(first + size)):
        left = np.uint64(places[i] <= places[j])
        taken = j ^ ((i ^ j) & (NONE - left))  # i where the left one is next, j otherwise
        to_places[to], to_masses[to] = places[taken], masses[taken]
        i, j = i + left, j + (ONE - left)
    to_places[first + size] = np.inf


@kernel
def _in_order(trees, many, inverse):
    """The outcomes of so many sketches in ascending order, what each counts as, and how many there are."""
    starts, sizes, merged, end = trees.starts[0], trees.starts[1], trees.merged, 0
    for k in range(many):
        sketch, share = trees.parts[0, k], trees.shares[k] / inverse
        size = trees.sizes[sketch]
        starts[k], sizes[k] = end, size
        for i in range(size):
            merged[0, end + i] = trees.places[sketch, i]
        for i in range(size):
            merged[2, end + i] = trees.counts[sketch, i] * share
        merged[0, end + size] = np.inf
        end += size + 1
    turn = 0
    while many > 1:  # pairs of neighbours, until there is one run
        runs = 0
        for k in range(0, many, 2):
            if k + 1 == many:  # it has no neighbour: a run of nothing
                starts[many], sizes[many] = starts[k] + sizes[k], 0
            _merge(trees, turn, starts[k], starts[k + 1], sizes[k] + sizes[k + 1])
            starts[runs], sizes[runs] = starts[k], sizes[k] + sizes[k + 1]
            runs += 1
        many, turn = runs, 1 - turn
    return merged[turn], merged[2 + turn], sizes[0]


@routine
def mix(trees, row, arm, places, counts):
    """Write the outcomes of an arm in a context, ascending, and the samples that each counts as. Returns their number.

    Every tree has the same say. They count as many samples as the trees' sketches have, by the harmonic mean, so that
    a tree which has not split yet lends no confidence to the others.
    """
    n_trees, parts, shares = trees.home.shape[0], trees.parts, trees.shares
    many, inverse = 0, 0.0
    for tree in range(n_trees):
        sketch = trees.sketch[node_for(trees, tree, row, arm), arm]
        if sketch < 0:
            return 0
        known = -1
        for k in range(many):
            if parts[0, k] == sketch:
                known = k
        if known >= 0:
            shares[known] += shares[known] / parts[1, known]
            parts[1, known] += 1
        else:
            total = total_of(trees.counts[sketch], trees.sizes[sketch])
            if total == 0.0:
                return 0
            known = many
            parts[0, many], parts[1, many], shares[many] = sketch, 1, 1.0 / total
            many += 1
        inverse += shares[known] / parts[1, known] * trees.weight[0]
    total = n_trees / inverse
    places_of, masses_of, many = _in_order(trees, many, inverse)
    size, below, last, room = 0, 0.0, 0.0, -1.0  # outcomes written, samples below the last and in it, and its room
    base, apart, latest = 0.0, 0.0, np.inf  # the first outcome of those joined, by how much others differ, and the last
    for i in range(many):
        outcome, mass = places_of[i], masses_of[i]
        if last + mass <= room or outcome == latest:
            last += mass
            apart += (outcome - base) * mass
        else:
            if size > 0:
                places[size - 1], counts[size - 1] = base + apart / last, last
            below += last
            base, apart, last = outcome, 0.0, mass
            size += 1  # as many samples beyond it as it holds, NARROW times, on both sides
            room = min(below / NARROW, (total - below) / (NARROW + 1.0)) if size < WIDEST else np.inf
        latest = outcome
    places[size - 1], counts[size - 1] = base + apart / last, last
    return size


@routine
def mix_all(trees, row, arms, places, counts, sizes):
    """What `mix` writes, for each arm, and behind it the share of the arm's samples that it has."""
    for k in range(arms.size):
        sizes[k] = mix(trees, row, arms[k], places[k], counts[k])
        root = trees.sketch[0, arms[k]]
        here, total = total_of(counts[k], sizes[k]), total_of(trees.counts[root], trees.sizes[root])
        counts[k, sizes[k]] = min(here * trees.weight[0] / total, 1.0) if here > 0.0 else 1.0


# -- doubt ----------------------------------------------------------------------------------------


@kernel
def _members(trees, tree, row, arm):
    """Write where the last outcomes of an arm are that share its node with a context to `members`.

    Returns how many there are, and how many rows of any arm came to the node.
    """
    node, window = node_for(trees, tree, row, arm), trees.raw.size
    sketch = trees.sketch[node, arm]
    entered, many = trees.entered[sketch], 0
    for back in range(1, min(entered, LATELY) + 1):
        number = trees.lately[sketch, (entered - back) % LATELY]
        if number < trees.clock[TOLD] - window:  # its context is no longer there, nor are older ones
            break
        trees.members[many] = number % window
        many += 1
    return many, trees.nodes[node, SEEN]


@kernel
def _bin_members(trees, many, places, counts, size):
    """Write to `bins` between which quantiles of the arm's outcomes each member's outcome lies."""
    write_cuts(trees.logs, places, counts, size)
    for j in range(many):
        trees.bins[j] = bin_of(trees.logs, trees.raw[trees.members[j]])


@kernel
def _doubt_arm(trees, row, arm, places, counts, size, prior, stream):
    """Draw a split that may part an arm's outcomes, and keep those on the context's side. Returns size and stream."""
    total = total_of(counts, size)
    columns = trees.rows.shape[1]
    if total > FEW or size == 0 or columns == 0:
        return size, stream
    u, stream = uniform(stream)
    many, rows = _members(trees, int(u * trees.home.shape[0]), row, arm)
    if many < 2:
        return size, stream
    _bin_members(trees, many, places, counts, size)
    table = trees.table[0]
    prior *= YOUNG / (YOUNG + rows)  # so that all the draws together cost a logarithm, as those of NPTS do
    weight, chosen, kind, threshold = (1.0 - prior) / prior * TRIED, -1, 0, 0.0
    for _ in range(TRIED):
        u, stream = uniform(stream)
        feature = int(u * columns)
        of_kind, x, stream = draw_condition(trees, feature, many, stream)
        if of_kind != AT_MOST:  # a category, or a missing value: half of the time, whether it is as here
            u, stream = uniform(stream)
            if u < 0.5:
                of_kind, x = (EQUAL, row[feature]) if row[feature] == row[feature] else (PRESENT, 0.0)
        here, with_it = side_of(row[feature], of_kind, x), 0
        table[:] = 0.0
        for j in range(many):
            side = side_of(trees.rows[trees.members[j], feature], of_kind, x)
            table[side, trees.bins[j]] += 1.0
            with_it += side == here
        if with_it < FEWEST_HERE or with_it == many:
            weight += 1.0
            continue
        factor = math.exp(min(log_bayes_factor(trees, table), 50.0))
        weight += max(factor, 1.0)
        if factor < 1.0:  # what outcomes speak against counts as no split: small parts of nothing look good by chance
            continue
        u, stream = uniform(stream)
        if u * weight < factor:  # so each is drawn in proportion to its factor
            chosen, kind, threshold = feature, of_kind, x
    if chosen < 0:
        return size, stream
    here, kept = side_of(row[chosen], kind, threshold), 0
    for j in range(many):
        i = trees.members[j]
        if side_of(trees.rows[i, chosen], kind, threshold) != here:
            continue
        outcome, at = trees.raw[i], kept
        while at > 0 and places[at - 1] > outcome:
            places[at], at = places[at - 1], at - 1
        places[at] = outcome
        kept += 1
    counts[kept] = counts[size] * kept / total
    for i in range(kept):
        counts[i] = 1.0
    return kept, stream


@routine
def doubt(trees, u, row, arms, places, counts, sizes, prior):
    """Draw, for each arm that has few outcomes in a context, which of them count."""
    stream = second_stream(u)
    for k in range(arms.size):
        sizes[k], stream = _doubt_arm(trees, row, arms[k], places[k], counts[k], sizes[k], prior, stream)
