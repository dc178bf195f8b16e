"""Samples with censored outcomes: against the condition of a maximum and lifelines, bounds, bands, wrong inputs."""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np
import pytest

from allais import Bounded, Finite, Preference, SubGaussian, TverskyKahneman, cvar, expected_value, quantile
from allais.bands import DKW, KL, Asymptotic, Envelope
from allais.samples.censored import Sweep
from allais.streams import CensoredSample, ValueStream
from allais.weights import SteepMiddle

MEAN = expected_value()


# lifelines 0.30.3 with pandas 2.3.3, KaplanMeierFitter on `lifetimes(3, 400)` and `lifetimes(4, 300)`; 0.30.0 with
# pandas 3.1.1 says the same.
THEIR_MEDIAN, THEIR_MEAN_UNTIL_12 = 7.395904060804943, 7.247535683898419
THEIR_ERROR_OF_MEAN = 0.9386102251361551


def lifetimes(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Lifetimes, and the times at which others were cut off."""
    rng = np.random.default_rng(seed)
    life, cut = rng.exponential(10.0, n), rng.exponential(15.0, n)
    return life[life <= cut], cut[life > cut]


def test_one_sided_cuts_give_the_product_limit_computed_by_hand():
    # at risk: 4 at 20, 3 at 25, 1 at 40 (the cut at 30 has left): 1/4, 1/3 of 3/4, all of the rest
    found = CensoredSample([20, 25, 40], at_least=[30]).distribution()
    assert found.outcomes.tolist() == [20, 25, 40]
    assert found.probabilities == pytest.approx([0.25, 0.25, 0.5])
    # mirrored
    found = CensoredSample([-20, -25, -40], at_most=[-30]).distribution()
    assert found.probabilities == pytest.approx([0.5, 0.25, 0.25])


def test_an_outcome_of_at_least_c_may_be_c_itself():
    assert CensoredSample([10, 30], at_least=[30]).distribution().probabilities == pytest.approx([1 / 3, 2 / 3])


def test_what_lies_beyond_the_last_outcome_is_at_the_last_cut_or_at_the_bound():
    sample = CensoredSample([20, 25], at_least=[22, 30])
    assert sample.distribution().outcomes.tolist() == [20, 25, 30]
    assert sample.distribution(Bounded(0, 60)).outcomes.tolist() == [20, 25, 60]
    assert CensoredSample([], at_least=[30, 20]).distribution().outcomes.tolist() == [30]


@pytest.mark.parametrize("seed", range(12))
def test_no_distribution_makes_what_was_seen_more_likely(seed):
    rng = np.random.default_rng(seed)
    exact = rng.integers(0, 12, size=rng.integers(0, 5)).tolist()
    pairs = np.sort(rng.integers(0, 12, size=(rng.integers(1, 4), 2)), axis=1)
    sample = CensoredSample(exact, rng.integers(0, 12, size=2), rng.integers(0, 12, size=2), pairs.tolist())
    places = sample.places()
    p = places.masses() / len(sample)
    assert p.sum() == pytest.approx(1.0)
    # The log likelihood is concave: p is its maximum if and only if no place anywhere has a gradient above n.
    gradient = np.zeros(28)
    every = np.arange(-1.0, 13.0, 0.5)  # also between the places
    ends = [*zip(sample.exact, sample.exact, strict=True), *zip(sample.low, sample.high, strict=True)]
    for low, high in ends:
        chance = p[(places.at >= low) & (places.at <= high)].sum()
        gradient[(every >= low) & (every <= high)] += 1.0 / chance
    assert gradient.max() <= len(sample) * (1.0 + 1e-6)


@pytest.mark.parametrize("side", ["at_least", "at_most"])
def test_medians_and_restricted_means_agree_with_lifelines(side):
    known, cut = lifetimes(3, 400)
    sign = 1.0 if side == "at_least" else -1.0
    ours = CensoredSample(sign * known, **{side: sign * cut}).distribution()
    at, p = np.sort(sign * ours.outcomes), ours.probabilities[np.argsort(sign * ours.outcomes)]
    assert at[np.searchsorted(np.cumsum(p), 0.5)] == pytest.approx(THEIR_MEDIAN)
    # up to a time before the last cut, where no convention about what lies beyond it matters
    assert float(np.minimum(at, 12.0) @ p) == pytest.approx(THEIR_MEAN_UNTIL_12, rel=1e-12)


def test_greenwoods_variance_agrees_with_that_of_lifelines():
    sweep = Sweep.of(MEAN, CensoredSample(*lifetimes(4, 300)).places())
    assert math.sqrt(sweep.cumulants()[0]) == pytest.approx(THEIR_ERROR_OF_MEAN, rel=1e-6)


def test_lifelines_itself_says_the_same():
    lifelines = pytest.importorskip("lifelines")
    known, cut = lifetimes(3, 400)
    seen = np.repeat([1, 0], [known.size, cut.size])
    theirs = lifelines.KaplanMeierFitter().fit(np.concatenate([known, cut]), seen)
    assert theirs.median_survival_time_ == pytest.approx(THEIR_MEDIAN)
    places = CensoredSample(known, at_least=cut).places()
    sweep = Sweep.of(MEAN, places)
    at = places.at[places.base > 0.0]
    assert sweep.left()[places.base > 0.0] == pytest.approx(theirs.survival_function_at_times(at).to_numpy())
    greenwood = theirs._cumulative_sq_.reindex(at, method="ffill").to_numpy().ravel()[:-1]
    assert np.cumsum(sweep.rates())[places.base > 0.0][:-1] == pytest.approx(greenwood)


@pytest.mark.parametrize("preference", [MEAN, cvar(0.2), cvar(0.2, costs=True)])
def test_without_cuts_the_interval_is_that_of_finished_samples(preference):
    samples = np.random.default_rng(5).exponential(10.0, 400)
    band = Asymptotic(rarest=0.05)
    found, wanted = band.interval(preference, None, CensoredSample(samples)), band.interval(preference, None, samples)
    assert tuple(found) == pytest.approx(tuple(wanted), abs=0.02 * (wanted.high - wanted.low))


def cut_by_half(n=400):
    """Outcomes of an exponential distribution of which the greater half was cut off, each at a time of its own."""
    rng = np.random.default_rng(7)
    life, cut = rng.exponential(size=n), rng.exponential(size=n)
    return life[life <= cut], cut[life > cut]


@pytest.mark.parametrize("side", ["at_least", "at_most"])
@pytest.mark.parametrize("costs", [False, True])
def test_an_interval_is_open_towards_what_nobody_could_see(side, costs):
    known, cut = cut_by_half()
    sign, band = (1.0 if side == "at_least" else -1.0), Asymptotic(rarest=0.05)
    sample = CensoredSample(sign * known, **{side: sign * cut})
    mean = expected_value(costs=costs)
    free = band.interval(mean, None, sample)
    bounded = band.interval(mean, Bounded(-40, 40), sample)
    towards_better = (side == "at_least") != costs
    assert math.isinf(free.high if towards_better else free.low)
    assert math.isfinite(free.low if towards_better else free.high)
    assert free.low <= bounded.low < bounded.value < bounded.high <= free.high
    assert free.low <= (-sign if costs else sign) <= free.high  # the true mean is 1
    assert math.isfinite(bounded.high - bounded.low)
    # as far as the share that nobody could see may move a mean, and a standard error or three more
    wide = bounded.high - bounded.value if towards_better else bounded.value - bounded.low
    assert 0.05 * (40 - 3) < wide < 0.5 * 40
    median = band.interval(quantile(0.5, costs=costs), None, sample)
    assert math.isfinite(median.high - median.low)
    far = band.interval(quantile(0.99 if side == "at_least" else 0.01, costs=costs), None, sample)
    assert math.isinf(far.high if towards_better else far.low)


def test_what_lies_beyond_a_common_time_limit_is_open_however_little_it_is():
    rng, band = np.random.default_rng(8), Asymptotic(rarest=0.05)
    times = rng.exponential(size=500)
    sample = CensoredSample(times[times < 5], at_least=np.full((times >= 5).sum(), 5.0))
    assert sample.beyond == pytest.approx(np.mean(times >= 5))
    assert 0.0 < sample.beyond < 0.05
    assert math.isinf(band.interval(MEAN, None, sample).high)
    bounded = band.interval(MEAN, Bounded(0, 10), sample)
    assert bounded.high - bounded.value < 0.5
    assert math.isfinite(band.interval(cvar(0.2), None, sample).high)  # the worst fifth lies far from it
    assert math.isinf(band.interval(cvar(0.2, costs=True), None, sample).low)
    assert CensoredSample(times).beyond == CensoredSample([1, 9], at_least=[3]).beyond == 0.0
    assert CensoredSample([1, 5], between=[(6, 9)]).beyond == 0.0  # somewhere in there, and not beyond


@pytest.mark.parametrize("preference", [MEAN, cvar(0.1, costs=True), Preference(TverskyKahneman(0.61), reference=5.0)])
def test_bounds_hold_whatever_the_unfinished_outcomes_will_be(preference):
    sample = CensoredSample([2, 9], at_least=[7], at_most=[4], between=[(3, 6)])
    least, most = sample.bounds(preference, Bounded(0, 10))
    ends = itertools.product([7, 8.5, 10], [0, 1, 4], [3, 5, 6])
    values = [preference.estimate([2, 9, *some]) for some in ends]
    assert least == pytest.approx(min(values))
    assert most == pytest.approx(max(values))
    assert least - 1e-12 <= sample.value(preference) <= most + 1e-12


@pytest.mark.parametrize("band", [DKW(), KL()])
@pytest.mark.parametrize("preference", [MEAN, cvar(0.2, costs=True), quantile(0.9, costs=True)])
def test_bands_hold_all_intervals_that_the_finished_sample_may_have(band, preference):
    rng = np.random.default_rng(6)
    exact = rng.uniform(0, 10, 40)
    found = band.interval(preference, Bounded(0, 12), CensoredSample(exact, at_least=[8.0] * 4), 0.9)
    for last in (8.0, 10.0, 12.0):
        whole = band.interval(preference, Bounded(0, 12), [*exact, *[last] * 4], 0.9)
        assert found.low <= whole.low + 1e-12
        assert found.high >= whole.high - 1e-12


def test_a_finite_support_bounds_unfinished_outcomes_by_its_own_values():
    sample = CensoredSample([0, 50], at_least=[7])
    assert sample.bounds(MEAN, Finite([0, 10, 50])) == (20.0, pytest.approx(100 / 3))
    assert KL().interval(MEAN, Finite([0, 10, 50]), sample).low < 20.0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: CensoredSample([1], at_least=[math.nan]), "at_least must be finite; got nan"),
        (lambda: CensoredSample([1], between=[(5, 2)]), "got 5 and 2. Swap them"),
        (lambda: CensoredSample([1], between=[3]), "between takes two numbers; got 3"),
        (lambda: CensoredSample([]), "exact"),
        (lambda: CensoredSample([1], at_least=[30]).bounds(MEAN, Bounded(0, 20)), "got at least 30. Widen"),
        (lambda: CensoredSample([1], at_least=[30]).bounds(MEAN, Finite([1, 2])), "got at least 30"),
        (lambda: CensoredSample([1], at_least=[3]).bounds(Preference(SteepMiddle(0.5)), Bounded(0, 20)), None),
        (lambda: Envelope().interval(MEAN, SubGaussian(1, 1), CensoredSample([1], at_least=[3])), "bounded rewards"),
        (lambda: Asymptotic(rarest=0.5).interval(MEAN, None, CensoredSample(range(30), [3], [5])), "on one side"),
    ],
)
def test_wrong_samples_are_refused_in_one_sentence(make, said):
    if said is None:
        assert len(make()) == 2  # a steep weight is monotone
        return
    with pytest.raises(ValueError, match=said):
        make()


# -- streams ------------------------------------------------------------------------------------------


def stream_of(**cuts):
    stream = ValueStream(MEAN, rewards=Bounded(0, 60))
    stream.add_many([20, 25, 40, 25], **cuts)
    return stream


def test_a_stream_with_cuts_has_the_value_and_the_bounds_of_the_censored_sample(tmp_path):
    stream = stream_of(at_least=[30, 22], at_most=[38])
    stream.add(between=(26, 28))
    sample = CensoredSample([20, 25, 40, 25], at_least=[30, 22], at_most=[38], between=[(26, 28)])
    assert stream.value() == pytest.approx(sample.value(MEAN))
    assert stream.certified().error == 0.0
    assert (stream.left_open().low, stream.left_open().high) == pytest.approx(sample.bounds(MEAN, Bounded(0, 60)))
    found, wanted = stream.interval(0.9), DKW().interval(MEAN, Bounded(0, 60), sample, 0.9)
    assert found == pytest.approx(wanted)
    assert (len(stream), stream.unfinished, stream.beyond) == (4, 4, 0.0)
    p = dict(zip(sample.distribution().outcomes, sample.distribution().probabilities, strict=True))
    assert stream.survival(30.0) == pytest.approx(sum(share for at, share in p.items() if at > 30.0))
    assert stream.quantile(1.0) == 40.0
    stream.save(tmp_path / "stream")
    again = ValueStream.load(tmp_path / "stream")
    assert (again.value(), again.unfinished, again.interval()) == (stream.value(), 4, stream.interval())
    stream.add(at_least=50)
    sample = CensoredSample([20, 25, 40, 25], at_least=[30, 22, 50], at_most=[38], between=[(26, 28)])
    assert stream.beyond == pytest.approx(sample.beyond) == pytest.approx(stream.survival(49.0))
    assert stream.beyond > 0.0


def test_streams_with_cuts_merge_copy_and_stay_bounded():
    here, there = stream_of(at_least=[30]), stream_of(at_least=[22, 30])
    here.merge(there)
    assert (len(here), here.unfinished) == (8, 3)
    assert here.value() == pytest.approx(CensoredSample([20, 25, 40, 25] * 2, at_least=[30, 30, 22]).value(MEAN))
    twin = copy.copy(here)
    twin.add(at_least=50.0)
    assert (here.unfinished, twin.unfinished) == (3, 4)
    many = ValueStream(MEAN)
    many.add_many(at_least=np.linspace(0, 50, 1_500))
    assert len(many._cuts.closed) <= 1_024
    assert many.unfinished == 1_500


@pytest.mark.parametrize(
    ("do", "said"),
    [
        (lambda: ValueStream(MEAN, max_blocks=3).add(at_least=3.0), "keeps no single samples"),
        (lambda: stream_of().add(at_least=70.0), "got at least 70"),
        (lambda: stream_of().add(3.0, at_least=2.0), "a sample is known, or bounded"),
        (lambda: stream_of().add(), "unfinished: at_least, at_most or between"),
    ],
)
def test_wrong_cuts_of_a_stream_are_refused_in_one_sentence(do, said):
    with pytest.raises(ValueError, match=said):
        do()


@pytest.mark.parametrize("rewards", [None, Bounded(0.0, 60.0)])
@pytest.mark.parametrize("preference", [expected_value(costs=True), quantile(0.7), cvar(0.2, costs=True)])
def test_a_stream_has_the_asymptotic_interval_of_the_same_samples(preference, rewards, tmp_path):
    exact, cuts = lifetimes(3, 400)
    exact, cuts = np.minimum(exact, 60.0), np.minimum(cuts, 30.0)
    band, stream = Asymptotic(0.05), ValueStream(preference, rewards, band=Asymptotic(0.05))
    stream.add_many(exact[:200])
    wanted = band.interval(preference, rewards, exact[:200], 0.9)
    assert stream.interval(0.9) == pytest.approx(wanted, rel=1e-9)
    stream.add_many(exact[200:], at_least=cuts[1:])
    stream.add(at_least=cuts[0])
    wanted = band.interval(preference, rewards, CensoredSample(exact, at_least=cuts), 0.9)
    assert stream.interval(0.9) == pytest.approx(wanted, rel=1e-9)
    stream.save(tmp_path / "stream")
    again = ValueStream.load(tmp_path / "stream")
    assert again.band == band
    assert again.interval(0.9) == stream.interval(0.9)
    assert copy.deepcopy(stream).interval(0.9) == stream.interval(0.9)
    again.merge(stream)
    assert again.unfinished == 2 * cuts.size
    feels = "The mean is" if preference == expected_value(costs=True) else "It feels like"
    assert f"{cuts.size} of 400 samples are unfinished. {feels} " in str(stream)


def test_a_stream_says_in_a_sentence_what_unfinished_samples_leave_open():
    stream = ValueStream(MEAN)
    stream.add_many([1.0, 2.0], at_least=[1.5])
    assert str(stream).endswith("once they are known, it may be 1.5 or anything beyond.")
    stream.add(at_most=1.0)
    assert str(stream).endswith("once they are known, it may be anything.")
    costs = ValueStream(expected_value(costs=True), Bounded(0.0, 60.0))
    costs.add_many([20.0, 25.0], at_least=[30.0])
    assert str(costs) == (
        "2 samples, value -25. 1 of 3 samples is unfinished. The mean is 25 if they were cut off for other reasons "
        "than what would have come; once they are known, it may be between 25 and 35. 33.3% of the distribution lies "
        "beyond all that was seen, and counts as the last cut."
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ValueStream(MEAN, band=Asymptotic(0.05), max_blocks=9), "needs every distinct sample; got max_blocks"),
        (lambda: ValueStream(MEAN, SubGaussian(1.0, 0.0), band=Asymptotic(0.05)), "got SubGaussian"),
        (lambda: ValueStream(MEAN, band=DKW()), r"must be Betting\(\), Asymptotic\(rarest\) or None; got DKW"),
        (lambda: _both_sides().interval(), "needs cuts on one side, all at_least or all at_most; got both"),
        (lambda: ValueStream(MEAN, band=Asymptotic(0.05)).merge(ValueStream(MEAN)), "rewards, max_blocks and band"),
    ],
)
def test_asymptotic_intervals_of_a_stream_are_refused_in_one_sentence(make, said):
    with pytest.raises((ValueError, TypeError), match=said):
        make()


def _both_sides():
    stream = ValueStream(MEAN, band=Asymptotic(0.05))
    stream.add_many(np.linspace(0.0, 9.0, 200), at_least=[3.0], at_most=[2.0])
    return stream
