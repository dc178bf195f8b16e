"""NPTS on continuous rewards with rare events: its bins lose none of them, and the error of a bin is known."""

import math

import numpy as np
import pytest

from allais import (
    NPTS,
    Bandit,
    Bounded,
    Discrete,
    Learner,
    Mixture,
    Preference,
    Prelec,
    TverskyKahneman,
    Uniform,
    cvar,
    expected_value,
    simulate,
    testing,
)
from allais._kernels import loop
from allais.policies.npts import SHARE, arrange, bins_for, draw_value
from allais.samples.draws import stream_of, stride
from allais.samples.layout import outcomes_of_arm, remembered
from allais.samples.memory import measure
from allais.weights import SteepMiddle

PEOPLE = Preference(TverskyKahneman(0.61))
BOTH = Preference.tversky_kahneman()
PREFERENCES = {
    "people": PEOPLE,
    "gains and losses": BOTH,
    "mean": expected_value(),
    "tail": cvar(0.05),
    "Prelec": Preference(Prelec(0.3)),
    "steep middle": Preference(SteepMiddle(0.5)),
    "costs": Preference.tversky_kahneman(reference=3.0, costs=True),
}
RANGE = 1_000.0


def rare(rng, n, share, event, usual):
    return np.where(rng.random(n) < share, event, usual)


DISTRIBUTIONS = {
    "jackpot": lambda rng, n: rare(rng, n, 0.003, RANGE, rng.uniform(0, 1, n)),
    "jackpots": lambda rng, n: rare(rng, n, 0.003, rng.uniform(500, RANGE, n), rng.uniform(0, 1, n)),
    "disaster": lambda rng, n: rare(rng, n, 0.002, -RANGE, rng.uniform(6, 7, n)),
    "both ends": lambda rng, n: rare(
        rng, n, 0.002, -RANGE, rare(rng, n, 0.001, RANGE, np.clip(rng.normal(size=n), -5, 5))
    ),
    "heavy tail": lambda rng, n: np.minimum(rng.lognormal(0.0, 2.0, n), RANGE),
    "two halves": lambda rng, n: rare(rng, n, 0.47, rng.uniform(1.0, 1.01, n), rng.uniform(0, 0.01, n)),
    "one value seen often": lambda rng, n: rare(rng, n, 0.6, 2.0, rng.uniform(0, 5, n)),
    "few values": lambda rng, n: np.minimum(rng.geometric(0.02, n) - 1, 160.0),  # hardly more than a flat memory holds
}


def remember(preference, samples, counts=1):
    raw, seen = np.unique(samples, return_counts=True)
    utility = preference.utilities(raw)
    order = np.lexsort((raw, utility))
    memory = remembered([(utility[order], raw[order], counts * seen[order])], np.zeros(1), np.zeros(1))
    every = preference.utilities(samples)
    memory.mean[0], memory.spread[0] = every.mean(), counts * ((every - every.mean()) ** 2).sum()
    return memory


def arranged(preference, samples, counts=1):
    """Rule, bins and memory of an arm that saw the samples."""
    rule = NPTS(preference, Bounded(-RANGE, RANGE)).rule(1)
    memory, bins = remember(preference, samples, counts), rule.band.kept(1)
    measure(rule.worth, memory, 0)
    arrange(rule.band, bins, rule.worth, memory, 0)
    return rule, bins, memory


def best_first(bins):
    """Outcomes and counts of the one arm's bins, without the best outcome that could occur."""
    first = bins.places.shape[1] - 1 - bins.sizes[0]
    return bins.places[0, first:-1][::-1], bins.counts[0, first:-1][::-1].astype(int)


def values(preference, utility, masses):
    """The values of distributions with these outcomes, descending, and masses, a row a distribution."""
    total = masses.sum(axis=1, keepdims=True)
    above = np.minimum(np.cumsum(masses, axis=1) / total, 1.0)
    below = np.minimum(np.cumsum(masses[:, ::-1], axis=1)[:, ::-1] / total, 1.0)
    gains = -np.diff(np.maximum(utility, 0.0), append=0.0)
    losses = np.diff(np.maximum(-utility, 0.0), prepend=0.0)
    return preference.gains(above) @ gains - preference.losses(below) @ losses


@loop
def many_draws(rule, bins, worth, memory, result):
    stream = stream_of(0.37)
    for k in range(result.size):
        result[k], stream = draw_value(rule, bins, worth, memory, 0, 0, stream)


@pytest.mark.parametrize("n", [400, pytest.param(6_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("kind", ["people", "gains and losses", "mean", "tail", "Prelec", "steep middle", "costs"])
def test_values_are_drawn_as_if_every_sample_had_its_own_mass(distribution, kind, n):
    preference = PREFERENCES[kind]
    samples = DISTRIBUTIONS[distribution](np.random.default_rng(7), n)
    rule, bins, memory = arranged(preference, samples)
    drawn = np.zeros(4_000)
    many_draws(rule.band, bins, rule.worth, memory, drawn)
    utility, top = np.sort(preference.utilities(samples))[::-1], preference.utilities(np.array([-RANGE, RANGE])).max()
    masses = np.random.default_rng(8).standard_exponential((500, n + 1))
    full = values(preference, np.append(top, utility), masses)
    # five standard errors of 500 draws are 0.22 sd of the mean, and about as much of the sd itself (their kurtosis
    # is below 6): a chance of less than one in a million. Bins may add 0.1 to each.
    assert abs(drawn.mean() - full.mean()) < 0.35 * full.std()
    assert abs(math.log(drawn.std() / full.std())) < 0.4
    quarters = np.quantile(drawn, [0.25, 0.5, 0.75])
    shares = (full[:, None] <= quarters).mean(axis=0)
    assert np.abs(shares - [0.25, 0.5, 0.75]).max() < 5 * math.sqrt(0.25 / 500) + 0.05


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("kind", ["people", "gains and losses", "mean", "tail", "Prelec", "steep middle", "costs"])
def test_the_error_of_bins_is_known_and_bounded(distribution, kind):
    preference = PREFERENCES[kind]
    rng = np.random.default_rng(9)
    samples = DISTRIBUTIONS[distribution](rng, 3_000)
    _, bins, _ = arranged(preference, samples)
    places, counts = best_first(bins)
    utility = np.sort(preference.utilities(samples))[::-1]
    ends = np.cumsum(counts)
    assert ends[-1] == utility.size
    # at equal masses: bins and what they lack are worth what the samples are (c / l is rounded, and w steep)
    of_bins = values(preference, places, counts[None].astype(float))[0]
    assert of_bins + bins.lacking[0] == pytest.approx(preference.estimate(samples), rel=1e-7, abs=1e-7)
    # at any masses: moved by the width of each bin times its decision weight, at most
    masses = rng.standard_exponential((50, utility.size))
    starts = ends - counts
    of_bins = values(preference, places, np.add.reduceat(masses, starts, axis=1))
    full = values(preference, utility, masses)
    best = values(preference, np.repeat(utility[starts], counts), masses)
    worst = values(preference, np.repeat(utility[ends - 1], counts), masses)
    slack = 1e-9 * (1.0 + np.abs(full))
    assert (np.abs(of_bins - full) <= best - worst + slack).all()
    assert (worst - slack <= of_bins).all()
    assert (of_bins <= best + slack).all()


@loop
def cut(points, pulls, ends):
    done = k = 0
    while done < pulls:
        done = min(done + stride(points, done, pulls, SHARE), pulls)
        ends[k] = done
        k += 1
    return k


@pytest.mark.parametrize("pulls", [129, 1_000, 64_000, 10**9, 2**40])
@pytest.mark.parametrize("kind", ["people", "tail", "steep middle"])
def test_a_bin_is_narrow_against_what_lies_beyond_it(kind, pulls):
    narrowing = bins_for(PREFERENCES[kind], np.ones(1)).narrowing
    ends = np.zeros(10**6, dtype=np.int64)
    size = cut(narrowing.points, pulls, ends)
    assert size < narrowing.most  # there is room for one more, the best outcome that could occur
    ends = ends[:size]
    counts = np.diff(ends, prepend=0)
    above, below = ends - counts, pulls - ends
    alone = counts == 1
    assert (alone | (counts <= np.minimum(above, below) / SHARE + 1)).all()
    assert alone[:9].all()
    assert alone[-9:].all()
    for point in narrowing.points[1:-1]:  # and against what reweighting moves, at a point where a weight is singular
        distance = np.minimum(np.abs(above - point * pulls), np.abs(ends - point * pulls))
        moves = math.sqrt(point * (1 - point) * pulls)
        assert (alone | (counts <= np.maximum(distance / SHARE, moves / 4) + 1)).all()


def test_an_outcome_seen_a_million_times_is_as_good_as_a_million_outcomes():
    # neighbouring outcomes joined to cells: 200 values with 100 to 2 million samples in each
    samples = DISTRIBUTIONS["few values"](np.random.default_rng(3), 3_000)
    rule, bins, memory = arranged(PEOPLE, samples, counts=10_000)
    assert best_first(bins)[1].sum() == memory.pulls[0] == 3_000 * 10_000
    drawn = np.zeros(1_000)
    many_draws(rule.band, bins, rule.worth, memory, drawn)
    # the sd of a value is at most 160 / sqrt(pulls) times a few: five standard errors are far below 0.05
    assert drawn.mean() == pytest.approx(PEOPLE.estimate(samples), abs=0.05)


def test_bins_depend_on_what_was_seen_and_not_on_its_order():
    rng = np.random.default_rng(2)
    samples = DISTRIBUTIONS["both ends"](rng, 2_000)
    policy = NPTS(BOTH, Bounded(-RANGE, RANGE))
    learners = [policy.start(2, seed=5) for _ in range(3)]
    for learner, seen in zip(learners, (samples, samples[::-1], np.append(samples, 900.0)), strict=True):
        learner.observe(0, seen)
        learner.observe(1, [0.5] * 10)
        learner.ask()  # now the bins are kept
        learner.cancel(learner.outstanding[0])
    learners[2].forget(0, 900.0)
    learners.append(Learner.from_snapshot(learners[0].snapshot()))
    for learner in learners:
        learner.ask()
    first, *others = [learner.state.kept for learner in learners]
    for bins in others:
        for seen, expected in zip(best_first(bins), best_first(first), strict=True):
            np.testing.assert_array_equal(seen, expected)
        assert bins.lacking[0] == pytest.approx(first.lacking[0], abs=1e-9)


def test_live_and_simulated_choices_agree_where_events_are_rare():
    arms = [Mixture([Uniform(0, 1), Discrete({RANGE: 1.0})], [0.99, 0.01]), Uniform(5, 6)]
    testing.check_policy(NPTS(BOTH, Bounded(0, RANGE)), Bandit(arms), rounds=1_500)


JACKPOT = Mixture([Uniform(0, 1), Discrete({RANGE: 1.0})], [0.997, 0.003])
DISASTER = Mixture([Uniform(6, 7), Discrete({-RANGE: 1.0})], [0.998, 0.002])


@pytest.mark.parametrize(
    ("arms", "rewards", "limit"),
    [
        # measured over 20 runs: 2.5e4 and 1.6e4 with a standard error of 1e3 at most, where bins of equally many
        # samples gave 1.7e5 and 1.0e5; ten standard errors of four runs lie between
        ([JACKPOT, Uniform(5, 6)], Bounded(0, RANGE), 8e4),
        ([DISASTER, Uniform(0, 1)], Bounded(-RANGE, 10), 5e4),
    ],
    ids=["jackpot", "disaster"],
)
def test_regret_is_not_linear_where_the_best_or_the_worst_is_rare(arms, rewards, limit):
    results = simulate(NPTS(PEOPLE, rewards), Bandit(arms), 10_000, 4, seed=1, progress=False)
    assert results.mean_regret[-1] < limit


@pytest.mark.slow
def test_a_jackpot_is_chosen_as_often_as_a_reweighting_of_every_sample_says():
    rng = np.random.default_rng(4)
    samples = DISTRIBUTIONS["jackpot"](rng, 20_000)
    sure = PEOPLE.estimate(samples) - 2.0
    learner = NPTS(PEOPLE, Bounded(0, RANGE)).start(2, seed=3)
    learner.observe(0, samples)
    learner.observe(1, [sure] * 10**4)
    chosen = np.array([choice.arm for choice in learner.ask(400)])
    utility = np.append(RANGE, np.sort(samples)[::-1])
    of_jackpot = values(PEOPLE, utility, rng.standard_exponential((500, utility.size)))
    of_sure = values(PEOPLE, np.array([RANGE, sure]), rng.standard_gamma([1.0, 10**4], size=(500, 2)))
    expected = (of_jackpot[:, None] > of_sure).mean()
    # five standard errors of 400 choices, as many of 500 draws: one in a million; bins of equally many samples
    # choose the sure arm always
    assert (chosen == 0).mean() == pytest.approx(expected, abs=5 * math.sqrt(0.25 / 400 + 2 * 0.25 / 500))
    assert 0.2 < expected < 0.8


def test_what_an_arm_saw_is_what_its_bins_hold():
    samples = DISTRIBUTIONS["heavy tail"](np.random.default_rng(6), 1_000)
    _, bins, memory = arranged(PEOPLE, samples)
    utility, _, _ = outcomes_of_arm(memory, 0)
    places, _ = best_first(bins)
    assert np.isin(places, utility).all()
    assert places[0] == utility[-1]
    assert places[-1] == utility[0]
