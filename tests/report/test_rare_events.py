"""What is said of arms keeps rare events: chances, rows of an explanation, intervals, estimated noise."""

import math
import tracemalloc

import numpy as np
import pytest

from allais import (
    WLUCB,
    Bounded,
    Discrete,
    Mixture,
    Preference,
    Prelec,
    TverskyKahneman,
    Uniform,
    cvar,
    expected_value,
)
from allais.bands import KL
from allais.bands.kl import kl_ceiling
from allais.linear.noise import MOST_SEEN, keep_seen
from allais.report.effort import explained
from allais.report.page import _explanation
from allais.report.words import _most_distorted
from allais.searches.forecast import _drawn

PEOPLE = Preference(TverskyKahneman(0.61))
RANGE = 1_000.0


def jackpots(n, seed=1):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.003, rng.uniform(900, RANGE, n), rng.uniform(0, 1, n))


def disasters(n, seed=1):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.002, rng.uniform(-RANGE, -900, n), rng.uniform(6, 7, n))


@pytest.mark.parametrize("distribution", [jackpots, disasters])
def test_chances_draw_rare_events_with_all_others(distribution):
    samples = distribution(20_000)
    learner = WLUCB(PEOPLE, Bounded(-RANGE, RANGE), delta=0.1).start(["A", "B"], seed=1)
    learner.observe("A", samples)
    tracemalloc.start()
    drawn = _drawn(learner, "A", 0, np.random.default_rng(1), 400)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6  # all 400 draws at once take 64 MB for each of half a dozen arrays
    exact = PEOPLE.estimate(samples)
    # five standard errors of 400 draws; concavity shifts their mean by another tenth of their sd
    assert abs(drawn.mean() - exact) < (5 / math.sqrt(400) + 0.1) * drawn.std()
    assert drawn.std() > 0.03 * abs(exact)


@pytest.mark.parametrize("share", [3e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("costs", [False, True])
def test_a_rare_event_has_a_row_of_its_own(share, costs):
    preference = Preference(TverskyKahneman(0.61), costs=costs, reference=2.0)
    for event in (Discrete({RANGE: 1.0}), Uniform(500, RANGE), Discrete({-RANGE: 1.0}), Discrete({2.5: 1.0})):
        distribution = Mixture([Uniform(3, 4), event], [1.0 - share, share])
        explanation = preference.explain(distribution)
        assert explanation.contributions.sum() == pytest.approx(explanation.value, rel=1e-9)
        assert explanation.probabilities.sum() == pytest.approx(1.0)
        rows = np.isclose(explanation.probabilities, share, rtol=1e-6, atol=0.0)
        assert rows.sum() == 1
        assert (explanation.probabilities > 0.0).all()
        text = next(line for line, row in zip(str(explanation).splitlines()[1:], rows, strict=False) if row)
        assert float(text.split()[-3]) == pytest.approx(share, rel=0.05)


@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("distribution", [jackpots, disasters])
def test_a_rare_event_that_was_seen_has_a_row_of_its_own(distribution, costs):
    samples = distribution(20_000)
    rare = samples[np.abs(samples) > 500.0]
    preference = Preference(TverskyKahneman(0.61), costs=costs, reference=2.0)
    learner = WLUCB(preference, Bounded(-RANGE, RANGE), delta=0.1).start(["A", "B"], seed=1)
    learner.observe("A", samples)
    rows = explained(learner, "A")
    ends = (rare.max(), rare.min()) if costs else (rare.min(), rare.max())
    row = rows.labels.index(f"{ends[0]:.4g} to {ends[1]:.4g}")
    assert rows.probabilities[row] == pytest.approx(rare.size / samples.size)
    assert len(rows.labels) == 9
    assert rows.contributions.sum() == pytest.approx(preference.estimate(samples))


def test_what_was_seen_once_in_a_million_times_is_not_shown_as_never():
    learner = WLUCB(PEOPLE, Bounded(0, RANGE), delta=0.1).start(["A", "B"], seed=1)
    learner.observe("A", [RANGE] + [0.0] * 999_999)
    learner.observe("B", [1.0])
    assert ">1.0e-06</td>" in _explanation(explained(learner, "A"))
    assert "the outcome 1000 came in 0.0001% of the runs and counts like 0.02%" in _most_distorted(learner, "A")


@pytest.mark.parametrize("distribution", [jackpots, disasters])
def test_the_kl_interval_of_many_outcomes_is_that_of_each_outcome_and_hardly_wider(distribution):
    n, confidence = 20_000, 0.95
    samples = distribution(n)
    low, value, high = KL().interval(PEOPLE, Bounded(-RANGE, RANGE), samples, confidence)
    level = (math.log(2 / (1 - confidence)) + math.log(n)) / n

    def side(outcomes):
        """The least and the most that a side is worth, outcome by outcome."""
        edges = np.concatenate([[0.0], np.sort(outcomes), [RANGE]])
        beyond = np.arange(outcomes.size, -1, -1)  # samples at or beyond each stretch
        most = np.array([kl_ceiling(count / n, level) for count in beyond])
        least = 1.0 - np.array([kl_ceiling((n - count) / n, level) for count in beyond])
        return np.diff(edges) @ PEOPLE.gains(least), np.diff(edges) @ PEOPLE.gains(most)

    least_gain, most_gain = side(samples[samples > 0])
    least_loss, most_loss = side(-samples[samples < 0])
    exact_low, exact_high = least_gain - most_loss, most_gain - least_loss
    assert low <= exact_low + 1e-9
    assert exact_high - 1e-9 <= high
    assert low < value < high
    assert high - low < 1.1 * (exact_high - exact_low)


class Seen:
    """What `keep_seen` writes to, of one arm."""

    def __init__(self):
        self.seen, self.sizes = np.zeros((1, 2, MOST_SEEN + 1)), np.zeros(1, dtype=np.int64)
        self.memory = self
        self.pulls = np.zeros(1, dtype=np.int64)


@pytest.mark.parametrize("kind", ["people", "Prelec", "tail", "mean"])
@pytest.mark.parametrize("distribution", ["jackpots", "disasters", "heavy tails"])
def test_estimated_noise_keeps_its_rare_ends_apart(distribution, kind):
    preference = {
        "people": PEOPLE, "Prelec": Preference(Prelec(0.3)), "tail": cvar(0.05), "mean": expected_value(),
    }[kind]  # fmt: skip
    rng = np.random.default_rng(2)
    n = 2_000
    heavy = rng.standard_t(3, n)
    samples = {"jackpots": jackpots(n), "disasters": disasters(n), "heavy tails": heavy}[distribution]
    state = Seen()
    for outcome in samples.tolist():
        state.pulls[0] += 1
        keep_seen.py_func(state, 0, outcome)
    size = state.sizes[0]
    outcomes, counts = state.seen[0, 0, :size], state.seen[0, 1, :size]
    assert size <= MOST_SEEN
    assert counts.sum() == n
    kept = np.repeat(outcomes, counts.astype(int))
    scale = preference.estimate(np.abs(samples)) if kind != "tail" else abs(preference.estimate(samples))
    # joining the nearest, weighed by samples alone, was off by 0.03 of the scale for Prelec's weight
    assert abs(preference.estimate(kept) - preference.estimate(samples)) < 2e-3 * scale
