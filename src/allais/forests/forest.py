"""A forest of conditional distributions: what each arm brings, in each context, learned one outcome at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, starmap
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, IntArray, finite_array
from allais._kernels import bound, held
from allais.files import array_like, finite_list, require, whole, whole_list
from allais.forests._arrays import (
    CHILD,
    DUE,
    FEATURE,
    KIND,
    NODES,
    ROOM,
    SEEN,
    SKETCHES,
    TOLD,
    TREES,
    Trees,
    empty,
    resized,
)
from allais.forests._reading import DOUBT, WIDEST, doubt, mix_all
from allais.forests._trees import PRESENT, find_homes, learn_row, nodes_for
from allais.forests.encoding import Encoding, Flat, checked_context

WINDOW = 8_192  # contexts that are kept, to split by
MOST_NODES, MOST_SKETCHES = 4_096, 16_384  # 30 MB of sketches
MOST_TABLES = 2**18  # nodes by arms


class OutcomeForest:
    """A forest that gives the distribution of an arm's outcomes in a context, as weights on outcomes that were seen.

    One outcome takes O(log n); the memory is bounded: the last 8,192 contexts, 16,384 sketches of outcomes. The same
    outcomes in the same order, with the same seed, make the same forest.

    Args:
        n_arms: The number of arms.
        seed: The seed of candidate splits.
        window: How many contexts are kept.
        fade: By which the weight of every outcome falls with each further one; 1 where nothing fades.

    >>> rng = np.random.default_rng(1)
    >>> contexts = [{"rain": bool(wet)} for wet in rng.random(400) < 0.5]
    >>> delays = [rng.exponential(20.0 if context["rain"] else 5.0) for context in contexts]
    >>> forest = OutcomeForest.fit(contexts, np.zeros(400, dtype=int), delays)
    >>> for rain in (True, False):
    ...     outcomes, shares = forest.weights({"rain": rain}, 0)
    ...     print(round(float(outcomes @ shares), 1))
    19.9
    5.6
    """

    trees: Trees
    _learning: Callable[..., Any] | None  # machine code, once it was needed
    _mixing: Callable[..., Any] | None
    _doubting: Callable[..., Any] | None

    def __init__(self, n_arms: int, seed: int = 0, *, window: int = WINDOW, fade: float = 1.0) -> None:
        self.encoding = Encoding()
        self._hold(empty(n_arms, seed, window, 1.0 / fade))

    @classmethod
    def fit(
        cls, contexts: Sequence[Mapping[str, Any]], arms: ArrayLike, outcomes: ArrayLike, seed: int = 0
    ) -> OutcomeForest:
        """The forest of a table of contexts (features by name), numbers of arms and outcomes, read in their order."""
        whose, told = np.asarray(arms, dtype=np.int64), finite_array("outcomes", outcomes)
        if not len(contexts) == whose.size == told.size:
            raise ValueError(f"each outcome has a context and an arm; got {len(contexts)}, {whose.size}, {told.size}.")
        forest = cls(int(whose.max(initial=0)) + 1, seed, window=min(max(WINDOW, told.size), 2**16))
        for context, arm, outcome in zip(contexts, whose.tolist(), told.tolist(), strict=True):
            forest.learn(checked_context(context), arm, outcome)
        return forest

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self.trees.odds.shape[1]

    @property
    def n_cells(self) -> int:
        """How many pairs of a node and an arm there are."""
        return int(self.trees.clock[NODES]) * self.n_arms

    @property
    def size(self) -> int:
        """How many numbers a file of it has, roughly."""
        used = min(int(self.trees.clock[TOLD]), self.trees.raw.size)
        return used * (2 + len(self.encoding)) + 2 * int(self.trees.sizes.sum()) + self.n_cells

    # -- learning ---------------------------------------------------------------------------------

    def learn(self, context: Flat, arm: int, outcome: float) -> None:
        """Learn one outcome of an arm, in a context as `checked_context` returns it."""
        for _ in self.learning(context, arm, outcome):
            pass

    def learning(self, context: Flat, arm: int, outcome: float) -> Iterator[Any]:
        """The steps by which an outcome is learned: all that takes time or may fail is done before the first."""
        encoding = self.encoding
        if not encoding.knows(context):
            encoding = copy.deepcopy(encoding)  # so that nothing has changed before the first step
            encoding.learn(context)
        self._make_room(len(encoding))
        if len(encoding) > len(self.encoding):
            self.trees.categorical[: len(encoding)] = encoding.categorical
        row = np.empty(len(encoding))
        encoding.row(context, row)
        step = (self._place, row, arm, outcome)
        if self._learning is None:
            self._learning = bound(learn_row, *step)
        return chain(starmap(setattr, ((self, "encoding", encoding),)), starmap(self._learning, (step,)))

    def compile(self) -> None:
        """Have all machine code, before it is needed."""
        row, arms, shape, sizes = np.empty(0), np.zeros(0, dtype=np.int64), (0, WIDEST + 1), np.zeros(0, dtype=np.int64)
        bound(learn_row, self._place, row, 0, 0.0)
        self.mixtures(row, arms)
        self.doubted(0.5, row, arms, np.zeros(shape), np.zeros(shape), sizes)

    def _make_room(self, columns: int) -> None:
        """Make arrays that the next outcome fits in; compiled code never allocates."""
        trees, clock = self.trees, self.trees.clock
        n_arms, n_trees = trees.odds.shape[1], trees.home.shape[0]
        nodes, sketches = trees.thresholds.size, trees.sizes.size
        most = max(min(MOST_NODES, MOST_TABLES // n_arms), 4 * n_trees)
        more_nodes = clock[NODES] + 2 * n_trees > nodes and nodes < most
        more_sketches = clock[SKETCHES] + 2 * n_trees * (n_arms + 16) > sketches and sketches < MOST_SKETCHES
        if not (more_nodes or more_sketches or columns > trees.rows.shape[1]):
            return
        self._hold(
            resized(
                trees, n_arms, columns, min(2 * nodes, most) if more_nodes else nodes,
                min(2 * sketches, MOST_SKETCHES) if more_sketches else sketches,
            )
        )  # fmt: skip

    def with_arms(self, n_arms: int) -> OutcomeForest:
        """The forest for more arms, `n_arms` in all, of which the new ones have no outcomes yet."""
        trees, old = self.trees, self.n_arms
        trees = resized(trees, n_arms, trees.rows.shape[1], trees.thresholds.size, trees.sizes.size + n_arms - old)
        first = int(trees.clock[SKETCHES])
        trees.sketch[: trees.home.shape[0], old:] = np.arange(first, first + n_arms - old)
        trees.clock[SKETCHES] += n_arms - old
        return OutcomeForest._of(self.encoding, trees)

    @classmethod
    def _of(cls, encoding: Encoding, trees: Trees) -> OutcomeForest:
        made = cls.__new__(cls)
        made.__setstate__({"encoding": encoding, "trees": trees})
        return made

    def _hold(self, trees: Trees) -> None:
        self.trees, self._place = trees, held(trees)
        self._learning = self._mixing = self._doubting = None

    def __getstate__(self) -> dict[str, Any]:
        return {"encoding": self.encoding, "trees": self.trees}

    def __setstate__(self, contents: dict[str, Any]) -> None:
        self.encoding = contents["encoding"]
        self._hold(contents["trees"])

    # -- reading ----------------------------------------------------------------------------------

    def row(self, context: Flat) -> FloatArray:
        """A checked context as numbers."""
        return self.rows((context,), 1)[0]

    def rows(self, contexts: Iterable[Flat], many: int) -> FloatArray:
        """So many checked contexts as numbers."""
        found = np.empty((many, len(self.encoding)))
        for k, context in enumerate(contexts):
            self.encoding.row(context, found[k])
        return found

    def mixtures(self, row: FloatArray, arms: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
        """The distributions of arms in a context as `row` returns it: what the kernel `mix_all` writes for each arm.

        That is a row of outcomes, ascending, with room for one more; the samples that each of them counts as; and how
        many outcomes there are.
        """
        places, counts = np.zeros((arms.size, WIDEST + 1)), np.zeros((arms.size, WIDEST + 1))
        sizes = np.zeros(arms.size, dtype=np.int64)
        step = (self._place, row, arms, places, counts, sizes)
        if self._mixing is None:
            self._mixing = bound(mix_all, *step)
        self._mixing(*step)
        return places, counts, sizes

    def doubted(
        self, u: float, row: FloatArray, arms: IntArray, places: FloatArray, counts: FloatArray, sizes: IntArray
    ) -> None:
        """Draw which outcomes count for arms that have few in a context, by a uniform draw (`forests/_reading.py`).

        What `mixtures` returned for the context and the arms is overwritten.
        """
        step = (self._place, u, row, arms, places, counts, sizes, DOUBT)
        if self._doubting is None:
            self._doubting = bound(doubt, *step)
        self._doubting(*step)

    def weights(self, context: Mapping[str, Any], arm: int) -> tuple[FloatArray, FloatArray]:
        """The distribution of an arm's outcomes in a context: outcomes in ascending order, and their shares.

        Shares sum to 1; both arrays are empty for an arm that was never seen.
        """
        places, counts, sizes = self.mixtures(self.row(checked_context(context)), np.array([arm]))
        size = int(sizes[0])
        return places[0, :size], counts[0, :size] / max(float(counts[0, :size].sum()), 1e-300)

    def basis(self, context: Flat, arm: int) -> tuple[float, list[str]]:
        """On how many samples an arm's distribution in a context rests, and by which features they were chosen."""
        row, trees = self.row(context), self.trees
        _, counts, sizes = self.mixtures(row, np.array([arm]))
        found, names = np.empty((1, trees.home.shape[0]), dtype=np.int64), [name for _, name in self.encoding.columns]
        nodes_for(trees, row[None, :], np.array([arm]), found)
        parent, inner = np.full(trees.thresholds.size, -1), np.flatnonzero(trees.nodes[:, FEATURE] >= 0)
        for side in range(2):
            parent[trees.nodes[inner, CHILD] + side] = inner
        asked: dict[str, float] = {}
        for node in found[0].tolist():
            while (node := int(parent[node])) >= 0:
                name = names[trees.nodes[node, FEATURE]]
                asked[name] = asked.get(name, 0.0) + float(max(trees.odds[node, arm], 0.0))
        used = sorted((name for name in asked if asked[name] > 0.0), key=lambda name: -asked[name])
        return float(counts[0, : sizes[0]].sum()), used

    def cells_of(self, rows: FloatArray, whose: IntArray) -> IntArray:
        """The cell of each pair of a context (`rows`) and an arm in each tree, a number below `n_cells`."""
        found = np.empty((whose.size, self.trees.home.shape[0]), dtype=np.int64)
        nodes_for(self.trees, rows, whose, found)
        return found * self.n_arms + whose[:, None]

    def recent(self, many: int) -> list[Flat]:
        """The last contexts that were learned from, newest first, at most so many."""
        told, window = int(self.trees.clock[TOLD]), self.trees.raw.size
        last = [k % window for k in range(told - 1, max(told - 1 - min(many, window), -1), -1)]
        return [self.encoding.context(row) for row in self.trees.rows[last].tolist()]

    def splits(self) -> dict[str, int]:
        """How many splits of all trees ask about each feature, those with the most outcomes behind them first."""
        nodes, names = self.trees.nodes[: self.trees.clock[NODES]], [name for _, name in self.encoding.columns]
        inner = nodes[nodes[:, FEATURE] >= 0]
        weight = np.bincount(inner[:, FEATURE], inner[:, SEEN], minlength=len(names))
        many = np.bincount(inner[:, FEATURE], minlength=len(names))
        return {names[k]: int(many[k]) for k in np.argsort(-weight, kind="stable").tolist() if many[k]}

    # -- files ------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """The forest as JSON."""
        trees, clock = self.trees, self.trees.clock.tolist()
        used, nodes = min(clock[TOLD], trees.raw.size), clock[NODES]
        inner = np.flatnonzero(trees.nodes[:nodes, FEATURE] >= 0)
        rows = trees.rows[:used, : len(self.encoding)]
        return {
            "encoding": self.encoding.document(),
            "window": trees.raw.size,
            "clock": clock,
            "weight": trees.weight.tolist(),
            "batch": trees.batch.tolist(),
            "rows": [[None if x != x else x for x in row] for row in rows.tolist()],
            "arms": trees.whose[:used].tolist(),
            "outcomes": trees.raw[:used].tolist(),
            "nodes": trees.nodes[:nodes].ravel().tolist(),
            "thresholds": trees.thresholds[:nodes].tolist(),
            "cuts": trees.cuts[inner].ravel().tolist(),
            "tables": trees.tables[inner].ravel().tolist(),
            "odds": trees.odds[inner].ravel().tolist(),
            "sketch": trees.sketch[:nodes].ravel().tolist(),
            "sketches": [
                [trees.places[k, :size].tolist(), trees.counts[k, :size].tolist()]
                for k, size in enumerate(trees.sizes[: clock[SKETCHES]].tolist())
            ],
        }

    @classmethod
    def of(cls, document: Any, n_arms: int) -> OutcomeForest:
        """The forest that a document describes, which kernels can read without leaving their arrays."""
        encoding = Encoding.of(document["encoding"])
        columns, window = len(encoding), whole(document["window"], "the window", 1, 2**24)
        clock = array_like(document["clock"], np.zeros(4, dtype=np.int64), "the clock")
        nodes, sketches, used = int(clock[NODES]), int(clock[SKETCHES]), min(int(clock[TOLD]), window)
        require(TREES <= nodes <= MOST_NODES and n_arms <= sketches <= 2 * MOST_SKETCHES, "the clock is wrong")
        trees = resized(empty(n_arms, 0, window, 1.0), n_arms, columns, nodes, sketches)
        trees.clock[:] = clock
        trees.weight[:] = finite_list(document["weight"], "a weight")
        trees.categorical[:] = encoding.categorical
        trees.batch[:] = finite_list(document["batch"], "ranks")
        sound = (trees.weight >= 1.0).all() and trees.weight[1] < 1e6 and (trees.batch[1:] >= 0.0).all()
        require(sound, "a weight is wrong, or ranks are")
        rows = document["rows"]
        require(isinstance(rows, list) and len(rows) == used, "a context is missing")
        for k, row in enumerate(rows):
            numbers = [np.nan if x is None else x for x in row]
            trees.rows[k] = array_like(numbers, trees.rows[k], "a context")
        trees.whose[:used] = whole_list(document["arms"], "an arm", 0)
        trees.raw[:used] = finite_list(document["outcomes"], "an outcome")
        require((trees.whose < n_arms).all(), "an arm is out of range")
        trees.nodes[:nodes] = array_like(document["nodes"], trees.nodes[:nodes], "nodes")
        trees.thresholds[:nodes] = finite_list(document["thresholds"], "a threshold")
        features, children = trees.nodes[:nodes, FEATURE], trees.nodes[:nodes, CHILD]
        inner = np.flatnonzero(features >= 0)
        below = children[inner]
        require((features < columns).all() and (trees.nodes[:nodes, KIND] <= PRESENT).all(), "a condition is wrong")
        require((below > inner).all() and (below + 1 < nodes).all(), "a node has no children")
        require((trees.nodes[:nodes, [SEEN, DUE]] >= 0).all(), "a count of a node is negative")
        for name in ("cuts", "tables", "odds"):
            array = getattr(trees, name)
            array[inner] = array_like(document[name], array[inner], name)
            require(np.isfinite(array).all(), f"{name} must be finite")
        trees.sketch[:nodes] = array_like(document["sketch"], trees.sketch[:nodes], "sketches of nodes")
        require((trees.sketch < sketches).all() and (trees.sketch[:TREES] >= 0).all(), "a sketch is missing")
        for k, (places, counts) in enumerate(document["sketches"]):
            size = len(places)
            require(size == len(counts) and size <= ROOM and k < sketches, "a sketch is too long")
            trees.places[k, :size] = finite_list(places, "an outcome")
            trees.counts[k, :size] = finite_list(counts, "a count")
            trees.sizes[k] = size
            ascend = (np.diff(trees.places[k, :size]) >= 0.0).all()
            require(ascend and (trees.counts[k, :size] > 0.0).all(), "a sketch is wrong")
        find_homes(trees)
        return cls._of(encoding, trees)
