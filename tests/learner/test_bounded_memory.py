"""An arm's memory is bounded: what its cells hide is certified, and every proven interval allows for it."""

import json

import numpy as np
import pytest

import allais.samples.layout
import allais.samples.memory
from allais import (
    NPTS,
    WLUCB,
    WSR,
    WUCB,
    Bandit,
    Bounded,
    Learner,
    Preference,
    Prelec,
    SubGaussian,
    TopTwo,
    TverskyKahneman,
    Uniform,
    Weight,
    best_arm,
    cvar,
    expected_value,
    simulate,
)
from allais.bands import DKW, KL, Envelope, Holder
from allais.bands._distribution_bounds import ends_of, memory_of
from allais.files import checksum
from allais.samples.cells import HIGH, LIMIT, LOW
from allais.samples.layout import cells_of_arm, outcomes_of_arm
from allais.testing import check_policy
from allais.weights import SteepMiddle
from tests.strategies import covering

KNOWN = Bounded(-1001, 1001)
TK = Preference.tversky_kahneman()


def distributions(n):
    """Continuous outcomes with rare events at either end, both signs, heavy tails and ties."""
    rng = np.random.default_rng(n)
    normal, noise, u = rng.normal(size=n), rng.random(n), rng.random(n)
    return {
        "uniform": 50.0 * noise,
        "rare jackpot": np.where(u < 0.001, 1000.0, noise),
        "rare jackpots that differ": np.where(u < 0.002, 900.0 + noise, noise),
        "rare disaster": np.where(u < 0.002, -1000.0 + noise, normal.clip(-10, 10)),
        "both": np.where(u < 0.001, 1000.0, np.where(u > 0.999, -1000.0, normal.clip(-10, 10))),
        "lognormal": np.minimum(np.exp(1.5 * normal), 1000.0),
        "lognormal losses": -np.minimum(np.exp(1.5 * normal), 1000.0),
        "ties": np.where(u < 0.5, (3.0 * normal).round(), 3.0 * normal).clip(-30, 30),
        "one point and a smear": np.where(u < 0.9, 7.0, 7.0 + 1e-6 * normal).clip(0, 50),
    }


DISTRIBUTIONS = sorted(distributions(1))


@pytest.fixture
def small(monkeypatch):
    """Memories that make cells beyond 600 outcomes, so that tests need few samples."""
    monkeypatch.setattr(allais.samples.memory, "LIMIT", 600)


def smoothstep(p):
    return p * p * (3 - 2 * p)


def capped(x):
    return np.clip(x, -2.0, 5.0)


PREFERENCES = {
    "TK": Preference(TverskyKahneman(0.61)),
    "costs": Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), reference=3.0, costs=True),
    "Prelec": Preference(Prelec(0.65)),
    "steep middle": Preference(SteepMiddle(0.5)),
    "own": Preference(Weight.from_function(smoothstep)),
    "cvar": cvar(0.05),
    "mean": expected_value(),
    "utility": TK,
    "capped": Preference(TverskyKahneman(0.61), utility=capped),
}


@pytest.mark.parametrize("sizes", [(700, 5_000), pytest.param((3_000, 20_000), marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "distribution"), covering(PREFERENCES, DISTRIBUTIONS, times=2))
def test_values_are_as_near_as_certified(distribution, name, sizes, small):
    preference = PREFERENCES[name]
    learner = NPTS(preference, KNOWN).start(1, seed=1)
    samples = distributions(sizes[-1])[distribution]
    for size in sizes:
        learner.observe(0, samples[learner.samples : size])
        exact = preference.estimate_parts(samples[:size])
        rounding = 1e-12 * (exact.gain + exact.loss)
        own = learner.memory_error()[0]
        assert abs(learner.value()[0] - exact.value) <= own + rounding
        assert abs(learner.state.memory.value[0] - exact.value) <= own + rounding
        assert own <= learner.state.memory.slack[0, :2].sum() + rounding  # what the bands add, at any time
        for other in (TK, PREFERENCES["costs"], PREFERENCES["own"]):
            there = other.in_frame_of(preference).estimate_parts(samples[:size])
            off = abs(learner.value(other)[0] - there.value)
            assert off <= learner.memory_error(other)[0] + 1e-12 * (there.gain + there.loss)
        assert outcomes_of_arm(learner.state.memory, 0)[0].size <= 600


def test_the_certificate_is_tight_at_the_default_size():
    """Of the second order: a few millionths of the value for people's weights, and more than the true error."""
    for distribution in ("uniform", "rare jackpot", "rare disaster", "lognormal"):
        samples = distributions(30_000)[distribution]
        learner = NPTS(PREFERENCES["TK"], KNOWN).start(1, seed=1)
        learner.observe(0, samples)
        assert cells_of_arm(learner.state.memory, 0).shape[1] > 1_000
        exact = PREFERENCES["TK"].estimate_parts(samples)
        error = learner.memory_error()[0]
        assert abs(learner.value()[0] - exact.value) <= error < 1e-4 * (exact.gain + exact.loss), distribution


def fresh_ends(rule, preference, samples, exponent, monkeypatch):
    """The interval from a plain list of all outcomes, which takes no stride and knows no cell."""
    with monkeypatch.context() as patch:
        patch.setattr(allais.samples.layout, "FLAT", 1 << 40)
        return ends_of(rule, memory_of(preference, samples), 0, exponent)


@pytest.mark.filterwarnings("ignore::allais.errors.DominanceWarning")
@pytest.mark.parametrize(("name", "distribution"), covering(["TK", "costs", "utility", "falls"], DISTRIBUTIONS))
def test_bands_on_probabilities_hold_what_the_outcomes_themselves_would_give(distribution, name, small, monkeypatch):
    falls = Weight.from_function(lambda p: p + 0.4 * np.sin(2.0 * np.pi * p), holder=(3.6, 1.0))
    preference = Preference(falls) if name == "falls" else PREFERENCES[name]
    learner = NPTS(preference, KNOWN).start(1, seed=1)
    samples = distributions(6_000)[distribution]
    learner.observe(0, samples)
    for band in (DKW(), KL()):
        for rule in (band.rule(preference, [KNOWN]), band.anytime_rule(preference, [KNOWN])):
            for exponent in (3.0, 12.0):
                low, high = ends_of(rule, learner.state.memory, 0, exponent)
                least, most = fresh_ends(rule, preference, samples, exponent, monkeypatch)
                assert low <= least + 1e-9 * abs(least)
                assert high >= most - 1e-9 * abs(most)
                assert high - low <= 1.5 * (most - least) + 1e-9


def test_the_envelope_holds_what_the_outcomes_themselves_would_give(small, monkeypatch):
    preference, known = PREFERENCES["TK"], SubGaussian(2.0, mean_bound=3.0)
    learner = WLUCB(preference, known, delta=0.1).start(1, seed=1)
    samples = np.random.default_rng(1).normal(1.0, 2.0, size=6_000)
    learner.observe(0, samples)
    rule = Envelope().anytime_rule(preference, [known])
    low, high = ends_of(rule, learner.state.memory, 0, 5.0)
    least, most = fresh_ends(rule, preference, samples, 5.0, monkeypatch)
    assert low <= least
    assert high >= most
    assert high - low <= 1.5 * (most - least)


@pytest.mark.filterwarnings("ignore::allais.errors.DominanceWarning")
@pytest.mark.parametrize(("name", "distribution"), covering(["TK", "costs", "falls"], DISTRIBUTIONS))
def test_the_holder_band_holds_what_the_outcomes_themselves_would_give(distribution, name, small):
    falls = Weight.from_function(lambda p: p + 0.4 * np.sin(2.0 * np.pi * p), holder=(3.6, 1.0))
    preference = Preference(falls) if name == "falls" else PREFERENCES[name]
    learner = WUCB.as_printed(preference, KNOWN).start(1, seed=1)
    samples = distributions(6_000)[distribution]
    learner.observe(0, samples)
    interval = learner.intervals()[0]
    radius = Holder().radius(preference, KNOWN, 6_000, 3.0 * np.log(6_001))
    exact = preference.estimate(samples)
    assert interval.low <= exact - radius + 1e-12 * radius
    assert interval.high >= exact + radius - 1e-12 * radius
    # a mean needs no outcomes, so that nothing is added to it
    means = WUCB.as_printed(expected_value(), KNOWN).start(1, seed=1)
    means.observe(0, samples)
    assert means.intervals()[0].high - means.intervals()[0].low == pytest.approx(
        2.0 * Holder().radius(expected_value(), KNOWN, 6_000, 3.0 * np.log(6_001)), rel=1e-12
    )


def test_a_memory_stays_within_its_limit():
    learner = NPTS(PREFERENCES["TK"], Bounded(0, 50)).start(["A21", "A28"], seed=1)
    rng = np.random.default_rng(1)
    sizes = []
    for _ in range(3):
        for arm in learner.arms:
            learner.observe(arm, rng.uniform(0, 50, size=20_000))
        memory = learner.state.memory
        sizes.append(sum(part.nbytes for part in (*memory.trees, memory.cells)))
        for arm in learner.arms:
            outcomes, counts = learner.outcomes(arm)
            assert outcomes.size <= LIMIT
            assert counts.sum() == learner.pulls[arm]
    assert max(sizes) < 6e6  # bytes, for two arms
    assert sizes[2] <= 1.5 * sizes[0]


def test_a_short_history_and_an_exact_learner_keep_every_outcome():
    samples = np.random.default_rng(1).random(LIMIT + 5_000)
    policy = NPTS(expected_value(), Bounded(0, 1))
    short, exact = policy.start(1, seed=1), policy.start(1, seed=1, exact=True)
    short.observe(0, samples[:LIMIT])
    exact.observe(0, samples)
    assert short.outcomes(0)[0].size == LIMIT
    np.testing.assert_array_equal(exact.outcomes(0)[0], np.sort(samples))
    assert short.memory_error() == exact.memory_error() == {0: 0.0}
    assert (short.exact, exact.exact) == (False, True)


def test_the_outermost_outcomes_and_those_of_many_samples_stay_single(small):
    learner = NPTS(PREFERENCES["TK"], KNOWN).start(1, seed=1)
    samples = distributions(20_000)["both"]
    learner.observe(0, samples)
    outcomes, counts = learner.outcomes(0)
    for extreme in (1000.0, -1000.0):
        assert counts[outcomes == extreme].sum() == (samples == extreme).sum()
    cells = cells_of_arm(learner.state.memory, 0)
    assert ((cells[LOW] > 0.0) | (cells[HIGH] < 0.0)).all()  # never gains and losses together
    assert (cells[LOW][1:] > cells[HIGH][:-1]).all()


@pytest.mark.parametrize(
    "policy",
    [
        WUCB.as_printed(TK, Bounded(0, 2)),
        WUCB(PREFERENCES["TK"], Bounded(0, 2), band=DKW()),
        NPTS(Preference(TverskyKahneman(0.61), reference=0.7, costs=True), Bounded(0, 2)),
        pytest.param(TopTwo(PREFERENCES["TK"], Bounded(0, 2), delta=0.05, evidence="ratios"), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_live_simulated_and_reloaded_learners_agree_beyond_the_limit(policy, small):
    problem = Bandit([Uniform(0, 1), Uniform(0, 1.01), Uniform(0.1, 0.9)])
    check_policy(policy, problem, rounds=4_000)
    learner = policy.start(problem.arms, seed=1)
    rng = np.random.default_rng(2)
    for arm in problem.arms:
        learner.observe(arm, rng.random(2_000))
    assert cells_of_arm(learner.state.memory, 0).shape[1]


def test_a_saved_learner_goes_on_bit_for_bit_with_its_cells(small, tmp_path):
    learner = NPTS(TK, KNOWN).start(["A21", "A28"], seed=1)
    samples = distributions(12_000)["rare disaster"]
    learner.observe("A21", samples[:2_000])
    learner.save(tmp_path / "learner.json")
    again = Learner.load(tmp_path / "learner.json")
    assert not again.exact
    for sample in samples[2_000:4_000].tolist():
        for one in (learner, again):
            one.tell(one.ask(), sample)
    learner.observe("A21", samples[4_000:])
    again.observe("A21", samples[4_000:])
    assert learner.snapshot() == again.snapshot()
    assert learner.memory_error() == again.memory_error()


def test_a_folder_goes_on_bit_for_bit_with_its_cells(small, tmp_path):
    policy = WUCB.as_printed(PREFERENCES["TK"], Bounded(0, 50))
    rng = np.random.default_rng(1)
    with Learner.open(tmp_path / "folder", policy, arms=["A21", "A28"], seed=1) as live:
        for _ in range(3):
            live.observe("A21", rng.uniform(0, 50, size=700))
            live.tell(live.ask(), 7.0)
        kept = live.copy()
    with Learner.open(tmp_path / "folder", exact=False) as live:
        more = rng.uniform(0, 50, size=900)
        for one in (live, kept):
            one.observe("A28", more)
        assert live.ask() == kept.ask()
        np.testing.assert_allclose(live.state.memory.value, kept.state.memory.value, rtol=1e-12)
        np.testing.assert_array_equal(live.outcomes("A28"), kept.outcomes("A28"))
        np.testing.assert_array_equal(live.state.memory.cells, kept.state.memory.cells)
    with pytest.raises(ValueError, match="a folder keeps the memory it began with"):
        Learner.open(tmp_path / "folder", exact=True)


def test_what_an_older_version_saved_stays_exact():
    learner = NPTS(TK, KNOWN).start(["A21", "A28"], seed=1)
    learner.observe("A21", distributions(300)["uniform"])
    document = json.loads(json.dumps(learner.snapshot()))
    document["version"] = 1
    del document["exact"]
    for arm in document["arms"]:
        del arm["cells"]
    document["checksum"] = checksum(document)
    older = Learner.from_snapshot(document)
    assert older.exact
    np.testing.assert_array_equal(older.outcomes("A21"), learner.outcomes("A21"))


def test_an_outcome_in_a_cell_is_forgotten_by_its_count(small):
    learner = NPTS(PREFERENCES["TK"], Bounded(0, 50)).start(1, seed=1)
    samples = distributions(5_000)["uniform"]
    learner.observe(0, samples)
    for sample in samples[:4_000].tolist():
        learner.forget(0, sample)
    assert learner.pulls == {0: 1_000}
    exact = PREFERENCES["TK"].estimate(samples[4_000:])
    assert abs(learner.value()[0] - exact) <= learner.memory_error()[0] + 1e-9
    for sample in samples[4_000:].tolist():
        learner.forget(0, sample)
    with pytest.raises(ValueError, match="only an outcome that was seen can be forgotten"):
        learner.forget(0, float(samples[0]))
    learner.observe(0, samples)
    assert learner.pulls == {0: 5_000}
    assert abs(learner.value()[0] - PREFERENCES["TK"].estimate(samples)) <= learner.memory_error()[0] + 1e-9


def test_new_arms_come_and_others_stay_as_they_were_when_one_makes_cells(small):
    learner = WUCB.as_printed(PREFERENCES["TK"], KNOWN).start(["A21", "A28"], seed=1)
    samples = distributions(3_000)["both"]
    learner.observe("A21", samples[:500])
    before = learner.outcomes("A21"), learner.value()["A21"]
    learner.observe("A28", samples)
    learner.add("B7")
    learner.observe("B7", samples)
    np.testing.assert_array_equal(learner.outcomes("A21"), before[0])
    assert learner.value()["A21"] == before[1]
    assert learner.outcomes("B7")[0].tolist() == learner.outcomes("A28")[0].tolist()
    errors = learner.memory_error()
    assert errors["A21"] == 0.0 < errors["A28"] == errors["B7"]


def test_simulations_are_exact_on_request(small):
    problem = Bandit([Uniform(0, 1), Uniform(0, 0.9)])
    policy = WUCB.as_printed(PREFERENCES["TK"], Bounded(0, 1))
    runs = [simulate(policy, problem, 3_000, seed=1, trace=True, exact=exact).choices for exact in (False, True)]
    assert runs[0].shape == runs[1].shape
    policy = WSR(PREFERENCES["TK"], budget=400)
    answers = [best_arm(policy, problem, seed=1, exact=exact).learner.exact for exact in (False, True)]
    assert answers == [False, True]


DAMAGES = {
    "a row is missing": lambda arm: arm["cells"].pop(),
    "a row is short": lambda arm: arm["cells"][0].pop(),
    "an end is text": lambda arm: arm["cells"][1].__setitem__(3, "7"),
    "cells overlap": lambda arm: arm["cells"][1].__setitem__(3, arm["cells"][1][4]),
    "an outcome lies outside": lambda arm: arm["cells"][2].__setitem__(3, arm["cells"][0][3] - 1e-3),
    "an end was not utilities so": lambda arm: arm["cells"][5].__setitem__(3, arm["cells"][5][5]),
    "no cell for its outcome": lambda arm: arm["outcomes"].__setitem__(arm["felt"].index(arm["cells"][2][3]), 0.5),
    "another sum": lambda arm: arm["cells"][6].__setitem__(3, 1e9),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_cells_that_cannot_be_are_refused_under_a_right_checksum(damage, small):
    learner = NPTS(PREFERENCES["TK"], KNOWN).start(1, seed=1)
    learner.observe(0, distributions(3_000)["uniform"])
    document = json.loads(json.dumps(learner.snapshot()))
    Learner.from_snapshot(document)
    DAMAGES[damage](document["arms"][0])
    document["checksum"] = checksum(document)
    with pytest.raises(ValueError, match="a saved learner must be whole"):
        Learner.from_snapshot(document)
