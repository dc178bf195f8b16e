"""The forest of conditional distributions: what it finds, what it leaves alone, and what it remembers."""

import copy
import json
import pickle

import numpy as np
import pytest

from allais.files import Damaged
from allais.forests import OutcomeForest
from allais.forests.encoding import MOST_COLUMNS, checked_context


def table(n: int, seed: int, useless: int = 0) -> tuple[list[dict[str, object]], np.ndarray, np.ndarray]:
    """Rain makes the tail of arm 1 heavy, and no mean differs; further features say nothing."""
    rng = np.random.default_rng(seed)
    rain, arms = rng.random(n) < 0.5, rng.integers(0, 2, n)
    wide = np.where(rain & (arms == 1), 3.0, 0.5)
    contexts = [
        {"weather": "rain" if wet else "dry", **{f"x{k}": float(rng.random()) for k in range(useless)}} for wet in rain
    ]
    return contexts, arms, 10.0 + wide * rng.standard_normal(n)


def quantile(forest: OutcomeForest, context: dict[str, object], arm: int, level: float) -> float:
    outcomes, shares = forest.weights(context, arm)
    return float(outcomes[np.searchsorted(np.cumsum(shares), level)])


def test_a_forest_finds_a_tail_that_depends_on_the_context_while_the_mean_does_not():
    # sides that differ this much give a Bayes factor above e^100 in 2,000 rows: a chance of failing below 1e-6
    forest = OutcomeForest.fit(*table(2_000, seed=1, useless=5))
    p95 = {(w, arm): quantile(forest, {"weather": w}, arm, 0.95) for w in ("rain", "dry") for arm in (0, 1)}
    assert p95["rain", 1] == pytest.approx(14.9, abs=1.0)
    for other in (("rain", 0), ("dry", 0), ("dry", 1)):
        assert p95[other] == pytest.approx(10.8, abs=0.3)
    assert next(iter(forest.splits())) == "weather"


def test_useless_features_split_next_to_nothing_and_an_arm_keeps_all_its_outcomes():
    rng = np.random.default_rng(2)
    contexts = [{f"x{k}": float(x) for k, x in enumerate(row)} for row in rng.random((1_500, 10))]
    arms, outcomes = rng.integers(0, 3, 1_500), rng.random(1_500)
    forest = OutcomeForest.fit(contexts, arms, outcomes)
    _, counts, sizes = forest.mixtures(forest.row(checked_context(contexts[0])), np.array([0]))
    # each look at a leaf errs with a chance of e^-5 or less; here none of the few that may err matters to arm 0
    assert counts[0, : sizes[0]].sum() > 0.5 * (arms == 0).sum()


def test_interactions_whose_parts_show_nothing_are_found():
    rng = np.random.default_rng(3)
    x = rng.random((3_000, 3))
    outcomes = ((x[:, 0] < 0.5) ^ (x[:, 1] < 0.5)) + 0.1 * rng.standard_normal(3_000)
    contexts = [{"a": float(a), "b": float(b), "c": float(c)} for a, b, c in x]
    forest = OutcomeForest.fit(contexts, np.zeros(3_000, dtype=int), outcomes)
    for a, b, mean in ((0.2, 0.2, 0.0), (0.2, 0.8, 1.0), (0.8, 0.2, 1.0), (0.8, 0.8, 0.0)):
        found, shares = forest.weights({"a": a, "b": b, "c": 0.5}, 0)
        assert found @ shares == pytest.approx(mean, abs=0.2)


def test_a_forest_goes_on_from_a_file_a_copy_and_a_pickle_to_the_last_bit():
    contexts, arms, outcomes = table(900, seed=4, useless=3)
    forest = OutcomeForest.fit(contexts[:600], arms[:600], outcomes[:600])
    twins = [
        OutcomeForest.of(json.loads(json.dumps(forest.document())), 2),
        copy.deepcopy(forest),
        pickle.loads(pickle.dumps(forest)),
    ]
    for one in (forest, *twins):
        for context, arm, outcome in zip(contexts[600:], arms[600:].tolist(), outcomes[600:].tolist(), strict=True):
            one.learn(checked_context(context), arm, outcome)
    assert all(twin.document() == forest.document() for twin in twins)


def test_a_doubt_counts_the_outcomes_of_one_side_now_and_then_and_a_file_draws_alike():
    forest = OutcomeForest(1)
    for k in range(6):
        forest.learn({"weather": "rain" if k % 2 else "dry"}, 0, float(k % 2) + 0.001 * k)
    rain, arms = {"weather": "rain"}, np.array([0])
    drawn = []
    for one in (forest, OutcomeForest.of(forest.document(), 1)):
        drawn.append([])
        for k in range(100):
            places, counts, sizes = one.mixtures(one.row(rain), arms)
            one.doubted((k + 0.5) / 100, one.row(rain), arms, places, counts, sizes)
            drawn[-1].append((places[0, : sizes[0]].tolist(), counts[0, : sizes[0] + 1].tolist()))
    assert drawn[0] == drawn[1]
    assert {len(places) for places, _ in drawn[0]} == {3, 6}  # about as often: the chance of one kind only is 2^-99
    rainy = next(one for one in drawn[0] if len(one[0]) == 3)
    assert min(rainy[0]) >= 1.0
    assert rainy[1] == [1.0] * 3 + [0.5]  # and half of the mass of the best that could happen


def test_the_mass_of_the_best_that_could_happen_is_shared_among_contexts_as_outcomes_are():
    rng = np.random.default_rng(9)
    contexts = [{"x": float(x)} for x in rng.random(2_000)]
    outcomes = [float(context["x"] > 0.8) + 0.01 * rng.random() for context in contexts]
    forest = OutcomeForest.fit(contexts, np.zeros(2_000, dtype=int), outcomes)
    for x, share in ((0.4, 0.8), (0.9, 0.2)):
        _, counts, sizes = forest.mixtures(forest.row({"x": x}), np.array([0]))
        assert counts[0, sizes[0]] == pytest.approx(share, abs=0.1)
        assert counts[0, sizes[0]] == pytest.approx(counts[0, : sizes[0]].sum() / 2_000)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"arms": [7] * 300}, "an arm is out of range"),
        ({"window": 10}, "a context is missing"),
        ({"clock": [300, 2**40, 2, 0]}, "the clock"),
        ({"sketch": [99] * 16}, "sketch"),
        ({"batch": [0.0, -1.0, 0.0, 0.0]}, "ranks"),
    ],
)
def test_a_damaged_forest_is_refused_before_a_kernel_reads_it(damage, said):
    contexts, arms, outcomes = table(300, seed=5)
    document = OutcomeForest.fit(contexts, arms, outcomes).document()
    with pytest.raises(Damaged, match=said):
        OutcomeForest.of({**document, **damage}, 2)


def test_the_mean_of_a_sketch_is_that_of_all_outcomes_however_many_there_are():
    rng = np.random.default_rng(6)
    outcomes = rng.standard_t(2, 5_000)
    forest = OutcomeForest.fit([{}] * 5_000, np.zeros(5_000, dtype=int), outcomes)
    found, shares = forest.weights({}, 0)
    assert found @ shares == pytest.approx(outcomes.mean(), rel=1e-9)
    assert found[0] == outcomes.min()
    assert found[-1] == outcomes.max()
    for level in (0.01, 0.1, 0.5, 0.9):
        assert quantile(forest, {}, 0, level) == pytest.approx(np.quantile(outcomes, level), rel=0.1, abs=0.05)


def test_a_memory_that_fades_follows_a_world_that_changes():
    rng = np.random.default_rng(7)
    forest = OutcomeForest(1, fade=2.0 ** (-1 / 100))
    for k in range(1_500):
        forest.learn({"x": float(rng.random())}, 0, (0.0 if k < 1_000 else 1.0) + 0.01 * rng.standard_normal())
    found, shares = forest.weights({"x": 0.5}, 0)
    assert found @ shares == pytest.approx(1.0, abs=0.1)  # 2^-5 of the weight is older


def test_arms_may_come_later():
    contexts, arms, outcomes = table(400, seed=8)
    forest = OutcomeForest.fit(contexts, arms, outcomes).with_arms(3)
    assert forest.weights({"weather": "rain"}, 2)[0].size == 0
    forest.learn({"weather": "rain"}, 2, 3.0)
    assert forest.weights({"weather": "rain"}, 2)[0].tolist() == [3.0]


def test_contexts_are_read_as_json_brings_them():
    forest = OutcomeForest(1)
    for context in ({"price": 3}, {"price": "high"}, {"tags": ["new", "vip"], "weather": {"rain": True}}, {}):
        forest.learn(checked_context(context), 0, 1.0)  # a category where a number was has a column of its own
    assert list(forest.encoding.columns) == [
        ("number", "price"), ("text", "price"), ("number", "tags=new"), ("number", "tags=vip"),
        ("number", "weather.rain"),
    ]  # fmt: skip


def test_truths_are_told_from_numbers_until_a_number_comes_and_a_file_keeps_that():
    forest = OutcomeForest(1)
    for context in ({"rain": True, "seats": False}, {"rain": np.False_, "seats": 3}, {"rain": False, "seats": True}):
        forest.learn(checked_context(context), 0, 1.0)
    for one in (forest, OutcomeForest.of(json.loads(json.dumps(forest.document())), 1)):
        assert [list(context.values()) for context in one.recent(3)] == [[False, 1.0], [False, 3.0], [True, 0.0]]
        assert [[type(x) for x in context.values()] for context in one.recent(3)] == [[bool, float]] * 3
    document = forest.document()
    del document["encoding"]["truths"]  # as files of an earlier version
    assert OutcomeForest.of(document, 1).recent(1) == [{"rain": 0.0, "seats": 1.0}]


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ("rain", "a context is features by name; got 'rain'"),
        ({"price": float("inf")}, "'price' is inf. Leave it out"),
        ({"price": object()}, "a feature is text, a number, true or false; 'price'"),
        ({f"x{k}": 1.0 for k in range(10_000)}, "1,000 features at most; got 10,000"),
        ({1: 2.0}, "a feature's name is text; got 1"),
        ({"a": [[1]]}, "'a' is not. Flatten it"),
    ],
)
def test_a_context_that_is_none_is_refused_in_a_sentence(context, said):
    with pytest.raises((ValueError, TypeError), match=said):
        checked_context(context)


def test_features_beyond_the_most_are_left_out_and_named():
    forest = OutcomeForest(1)
    for k in range(MOST_COLUMNS + 10):
        forest.learn({f"x{k}": 1.0}, 0, 1.0)
    assert len(forest.encoding) == MOST_COLUMNS
    assert forest.encoding.unused({"x1": 1.0, "x260": 1.0}) == ["x260"]


def days(n: int, rain_matters: float, seed: int) -> tuple[list[dict[str, object]], np.ndarray, np.ndarray]:
    """Each day has 16 outcomes and a shock of its own, which all arms share; dates tell the days apart."""
    rng = np.random.default_rng(seed)
    day = np.arange(n) // 16
    shocks, wet = rng.standard_normal(day[-1] + 1), rng.random(n) < 0.5
    contexts = [
        {"weekday": "abcdefg"[d % 7], "month": int(d // 30), "rain": bool(w)}
        for d, w in zip(day.tolist(), wet, strict=True)
    ]
    return contexts, rng.integers(0, 2, n), 50.0 + shocks[day] + rain_matters * wet + rng.standard_normal(n)


def test_days_that_differ_are_not_taken_for_what_their_dates_say():
    contexts, arms, outcomes = days(1_600, 0.0, seed=10)
    forest = OutcomeForest.fit(contexts, arms, outcomes)
    assert forest.splits() == {}
    order = np.random.default_rng(11).permutation(1_600)  # as if each were independent: bad days have dates
    shuffled = OutcomeForest.fit([contexts[k] for k in order], arms[order], outcomes[order])
    assert set(shuffled.splits()) == {"weekday", "month"}


def test_what_matters_is_found_though_the_outcomes_of_a_day_resemble_each_other():
    # rain shifts outcomes by more than a standard deviation: a Bayes factor beyond e^200, of which a fifth is left
    forest = OutcomeForest.fit(*days(1_600, 2.0, seed=12))
    assert next(iter(forest.splits())) == "rain"
    means = {wet: float(np.dot(*forest.weights({"rain": wet}, 0))) for wet in (True, False)}
    assert means[True] - means[False] == pytest.approx(2.0, abs=0.5)


def test_a_mixture_gives_every_tree_the_same_say():
    forest = OutcomeForest.fit(*table(1_200, seed=13, useless=2))
    contexts = [{"weather": "rain", "x0": x, "x1": 1.0 - x} for x in (0.05, 0.5, 0.95)]
    trees, rows = forest.trees, forest.rows([checked_context(one) for one in contexts], 3)
    for context, cells in zip(contexts, forest.cells_of(rows, np.ones(3, dtype=np.int64)), strict=True):
        leaves = [int(trees.sketch[cell // 2, 1]) for cell in cells.tolist()]
        assert len(set(leaves)) > 1
        means = [
            np.average(trees.places[k, : trees.sizes[k]], weights=trees.counts[k, : trees.sizes[k]]) for k in leaves
        ]
        outcomes, shares = forest.weights(context, 1)
        assert (np.diff(outcomes) > 0.0).all()
        assert outcomes @ shares == pytest.approx(np.mean(means), rel=1e-12)
        assert outcomes[0] == min(trees.places[k, 0] for k in leaves)
