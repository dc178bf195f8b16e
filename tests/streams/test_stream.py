"""The streaming value equals Algorithm 1, whatever comes in whatever order; merging, files, intervals."""

import math
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allais import (
    Bounded,
    Normal,
    Power,
    PowerUtility,
    Preference,
    Prelec,
    SubGaussian,
    TverskyKahneman,
    ValueStream,
    Weight,
    expected_value,
)
from allais.bands import Holder
from allais.weights import Identity, SteepMiddle
from tests.strategies import outcomes, weights_and_duals


def smoothstep(p):
    return p * p * (3 - 2 * p)


def bent(p):
    return np.interp(p, [0, 0.1, 0.7, 1], [0, 0.3, 0.6, 1])


WEIGHTS = {
    "TK .61": TverskyKahneman(0.61),
    "Prelec .65": Prelec(0.65),
    "sqrt": Power(0.5),
    "identity": Identity(),
    "steep middle": SteepMiddle(0.5),
    "kinks": Weight.from_function(bent, singularities=(0.1, 0.7)),
    "own": Weight.from_function(smoothstep),
}


def orders(n):
    rng = np.random.default_rng(n)
    ramp = np.sort(rng.normal(size=n))
    return {
        "normal": rng.normal(size=n),
        "exponential": rng.exponential(size=n),
        "Cauchy": rng.standard_cauchy(size=n).clip(-1e3, 1e3),
        "lattice": rng.integers(-50, 50, size=n).astype(float),
        "sorted": ramp,
        "reversed": ramp[::-1],
        "alternating ends": np.where(np.arange(n) % 2 == 0, ramp, ramp[::-1]),
    }


def assert_agrees(stream, preference, samples, rel=1e-12):
    exact = preference.estimate_parts(samples)
    assert stream.value() == pytest.approx(exact.value, abs=rel * (exact.gain + exact.loss))
    assert len(stream) == len(samples)


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("order", orders(2))
def test_a_stream_equals_algorithm_1_at_every_size(name, order):
    preference = Preference(WEIGHTS[name], reference=0.3)
    samples = orders(20_000)[order]
    stream = ValueStream(preference)
    for size, sample in enumerate(samples[:700], 1):
        stream.add(sample)
        if size < 40 or size % 97 == 0:
            assert_agrees(stream, preference, samples[:size])
    for upto in (1_000, 4_000, 20_000):
        stream.add_many(samples[len(stream) : upto])
        assert_agrees(stream, preference, samples[:upto])


@pytest.mark.slow
@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("order", orders(2))
def test_a_stream_equals_algorithm_1_at_a_million(name, order):
    preference = Preference(WEIGHTS[name])
    samples = orders(1_000_000)[order]
    stream = ValueStream(preference)
    for start in range(0, samples.size, 50_000):
        stream.add_many(samples[start : start + 50_000])
    for sample in samples[:50]:
        stream.add(sample)
    assert_agrees(stream, preference, np.append(samples, samples[:50]))


@settings(max_examples=40, deadline=None)
@given(weights_and_duals, st.lists(st.lists(outcomes, min_size=1, max_size=80), min_size=1, max_size=6), st.booleans())
def test_any_mix_of_adds_and_merges_gives_the_value_of_all(weight, parts, costs):
    preference = Preference(weight, weight.dual(), reference=1.0, costs=costs)
    whole = ValueStream(preference)
    for index, part in enumerate(parts):
        if index % 3 == 0:
            for sample in part:
                whole.add(sample)
        elif index % 3 == 1:
            whole.add_many(part)
        else:
            other = ValueStream(preference)
            other.add_many(part)
            whole.merge(other)
            assert len(other) == len(part)
    assert_agrees(whole, preference, [sample for part in parts for sample in part])


def part_of(seed):
    stream = ValueStream(Preference.tversky_kahneman())
    stream.add_many(np.random.default_rng(seed).normal(size=5_000))
    return stream


def test_streams_from_other_processes_merge_in_any_grouping():
    with ProcessPoolExecutor(2) as pool:
        a, b, c = pool.map(part_of, range(3))
    left, right = pickle.loads(pickle.dumps(a)), pickle.loads(pickle.dumps(b))
    left.merge(b)
    left.merge(c)
    right.merge(c)
    a.merge(right)
    samples = np.concatenate([np.random.default_rng(seed).normal(size=5_000) for seed in range(3)])
    for stream in (left, a):
        assert_agrees(stream, stream.preference, samples)


@pytest.mark.parametrize("costs", [False, True])
def test_order_statistics_are_those_of_the_samples(costs):
    samples = np.random.default_rng(3).normal(size=3_000).round(2)
    stream = ValueStream(Preference(TverskyKahneman(0.61), reference=0.2, costs=costs))
    stream.add_many(samples)
    for p in (0.001, 0.01, 0.3, 0.5, 0.9, 1.0):
        assert stream.quantile(p) == np.quantile(samples, p, method="inverted_cdf")
    for x in (-2.0, -0.5, 0.0, 0.2, 0.21, 1.5, 9.0):
        assert stream.survival(x) == pytest.approx((samples > x).mean(), abs=1e-15)


def test_the_interval_lies_inside_the_holder_interval_and_holds_the_value():
    # 200 intervals at 0.99: 12 misses or more happen by luck less than once in a million
    preference, rewards = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69)), Bounded(-3, 3)
    from allais import Uniform

    exact = preference.value(Uniform(-3, 3))
    rng = np.random.default_rng(5)
    misses = 0
    for _ in range(200):
        samples = rng.uniform(-3, 3, size=60)
        stream = ValueStream(preference, rewards)
        stream.add_many(samples)
        low, value, high = stream.interval(0.99)
        outer = Holder().interval(preference, rewards, samples, 0.99)
        assert outer.low <= low + 1e-12 <= value <= high <= outer.high + 1e-12
        misses += not low <= exact <= high
    assert misses < 12


def test_the_interval_of_a_stream_is_the_dkw_band_by_hand():
    # sqrt, four samples 0, 0, 0, 8 in [0, 10]: eps moves P(Y > z) from 1/4 to 1/4 +- eps on (0, 8)
    stream = ValueStream(Preference(Power(0.5)), Bounded(0, 10))
    stream.add_many([0.0, 0.0, 0.0, 8.0])
    eps = np.sqrt(np.log(2 / 0.9) / 8)
    low, value, high = stream.interval(0.1)
    assert value == pytest.approx(4.0, rel=1e-14)
    assert high == pytest.approx(8 * np.sqrt(0.25 + eps) + 2 * np.sqrt(eps))
    assert low == pytest.approx(8 * np.sqrt(max(0.25 - eps, 0.0)))


def test_unbounded_samples_get_the_truncated_interval():
    preference, rewards = Preference(TverskyKahneman(0.61)), SubGaussian(1.0, 1.0)
    samples = np.random.default_rng(1).normal(1, 1, size=500)
    stream = ValueStream(preference, rewards)
    stream.add_many(samples)
    expected = Holder().interval(preference, rewards, samples, 0.95)
    np.testing.assert_allclose(stream.interval(0.95), expected, rtol=1e-10)
    assert expected.low <= preference.value(Normal(1, 1)) <= expected.high


@pytest.mark.parametrize("name", ["TK .61", "steep middle", "own"])
def test_bounded_memory_stays_within_its_certified_error(name):
    preference = Preference(WEIGHTS[name], reference=0.5)
    rng = np.random.default_rng(2)
    small, whole = ValueStream(preference, max_blocks=200), ValueStream(preference)
    for _ in range(20):
        samples = rng.standard_cauchy(size=2_000).clip(-50, 50)
        small.add_many(samples)
        whole.add_many(samples)
        value, error = small.certified()
        assert abs(value - whole.value()) <= error
    assert small._sketch.counts.size <= 200
    assert len(small) == len(whole)
    assert error < 0.1 * (whole.parts().gain + whole.parts().loss)
    for sample in samples[:100]:
        small.add(sample)
    assert len(small) == 40_100


def test_bounded_streams_merge_within_their_certified_error():
    preference = Preference(TverskyKahneman(0.61))
    rng = np.random.default_rng(4)
    parts = [rng.normal(size=3_000) for _ in range(3)]
    streams = []
    for part in parts:
        stream = ValueStream(preference, max_blocks=100)
        stream.add_many(part)
        streams.append(stream)
    streams[0].merge(streams[1])
    streams[0].merge(streams[2])
    value, error = streams[0].certified()
    assert abs(value - preference.estimate(np.concatenate(parts))) <= error
    assert streams[0]._sketch.samples == 9_000


@pytest.mark.parametrize("max_blocks", [None, 50])
def test_a_stream_survives_a_file(max_blocks, tmp_path):
    stream = ValueStream(Preference.tversky_kahneman(reference=1.0), Bounded(-9, 9), max_blocks)
    stream.add_many(np.random.default_rng(1).normal(size=1_000).round(2))
    stream.save(tmp_path / "stream.npz")
    again = ValueStream.load(tmp_path / "stream.npz")
    assert again.value() == pytest.approx(stream.value(), rel=1e-13)
    assert (len(again), again.preference, again.rewards) == (1_000, stream.preference, stream.rewards)
    whole = (tmp_path / "stream.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[:-200])
    with pytest.raises(ValueError, match="damaged"):
        ValueStream.load(tmp_path / "cut.npz")
    with pytest.raises(ValueError, match="does not exist"):
        ValueStream.load(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.add(np.nan), "a sample must be finite; got nan"),
        (lambda s: s.add(np.inf), "a sample must be finite; got inf"),
        (lambda s: s.add("x"), "a sample must be a finite number; got 'x'"),
        (lambda s: s.add(51.0), "between 0 and 50; got 51"),
        (lambda s: s.add_many([1.0, np.nan]), "finite; got nan at position 1"),
        (lambda s: s.add_many([1.0, 60.0]), "between 0 and 50; got 60"),
        (lambda s: s.merge(ValueStream(Preference(Power(0.5)))), "only under one preference"),
        (lambda s: s.merge(ValueStream(s.preference)), "same rewards, max_blocks and band"),
        (lambda s: s.quantile(1.5), r"p must lie in \(0, 1\]; got 1.5"),
        (lambda s: s.interval(1.0), r"confidence must lie in \(0, 1\); got 1"),
    ],
)
def test_what_a_stream_cannot_take_is_refused_and_changes_nothing(call, message):
    stream = ValueStream(Preference(TverskyKahneman(0.61)), Bounded(0, 50))
    stream.add_many([50.0, 0.0])
    before = stream.value()
    with pytest.raises(ValueError, match=message):
        call(stream)
    assert (len(stream), stream.value()) == (2, before)


def test_an_empty_stream_has_no_value_and_a_stream_without_rewards_no_interval():
    stream = ValueStream(Preference(TverskyKahneman(0.61)))
    with pytest.raises(ValueError, match="needs at least one sample"):
        stream.value()
    stream.add(1.0)
    with pytest.raises(ValueError, match="made without rewards"):
        stream.interval()
    with pytest.raises(ValueError, match="max_blocks must be a whole number, 3 or more; got 2"):
        ValueStream(stream.preference, max_blocks=2)
    with pytest.raises(TypeError, match="valued by a preference"):
        ValueStream(TverskyKahneman())


def test_policies_on_continuous_rewards_value_their_arms_by_trees():
    from allais import WUCB, Bandit, Uniform
    from allais.samples.layout import outcomes_of_arm
    from allais.samples.memory import FLAT
    from allais.simulation.rollout import Rollout

    preference = Preference(TverskyKahneman(0.61), reference=0.4)
    problem = Bandit([Uniform(0, 1), Uniform(0, 0.9), few_outcomes()])
    run = Rollout(WUCB.as_printed(preference, Bounded(0, 1)), problem, np.random.SeedSequence(1))
    run.run(5_000)
    memory = run.state.memory
    np.testing.assert_array_equal(memory.in_trees, memory.pulls > FLAT * np.array([1, 1, 10**9]))
    for arm in range(3):
        _, raw, counts = outcomes_of_arm(memory, arm)
        samples = np.repeat(raw, counts)
        assert samples.size == memory.pulls[arm]
        parts = preference.estimate_parts(samples)
        assert memory.value[arm] == pytest.approx(parts.value, abs=1e-12 * (parts.gain + parts.loss))


def few_outcomes():
    from allais import Discrete

    return Discrete({0.0: 0.3, 0.4: 0.4, 1.0: 0.3})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda stream: stream.add(10**400), r"a sample must be .*finite"),
        (lambda stream: stream.add_many([1.0, 10**400]), r"samples must be"),
        (lambda stream: stream.add(1e300), r"the utility of samples must be finite; that of 1e\+300 is not"),
        (
            lambda stream: stream.add_many([1.0, 1e300]),
            r"the utility of samples must be finite; that of 1e\+300 is not",
        ),
        (lambda stream: stream.add_many([1.0, 1j]), r"samples must be numbers"),
        (lambda stream: stream.survival(math.nan), r"an outcome must be a number; got nan"),
        (lambda stream: stream.survival(10**400), r"an outcome must be"),
        (lambda stream: stream.survival("x"), r"an outcome must be a number; got 'x'"),
    ],
)
@pytest.mark.parametrize("max_blocks", [None, 5])
def test_numbers_that_are_too_large_or_none_are_refused_in_one_sentence(call, message, max_blocks):
    stream = ValueStream(Preference(TverskyKahneman(0.61), utility=PowerUtility(2.0, 1.0)), max_blocks=max_blocks)
    stream.add_many([1.0, 2.0])
    before = stream.certified()
    with pytest.raises(ValueError, match=message):
        call(stream)
    assert (len(stream), stream.certified()) == (2, before)


def test_outcomes_that_a_reference_makes_infinite_are_refused():
    stream = ValueStream(Preference(TverskyKahneman(0.61), reference=-1.5e308))
    with pytest.raises(ValueError, match="must be finite"):
        stream.add(1.5e308)


def test_a_bounded_stream_takes_the_largest_numbers_without_a_warning():
    stream = ValueStream(expected_value(), max_blocks=4)
    stream.add_many([1e308, 1.1e308, 1.2e308, 1.3e308, 1.4e308, 1.2e308, 1.2e308])
    assert len(stream) == 7
