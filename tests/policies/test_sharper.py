"""The policies beyond the paper: draws, divergences, stopping and phases, each against a plain reading."""

import math

import numpy as np
import pytest
from scipy import special, stats

from allais import (
    IMED,
    NPTS,
    WLUCB,
    Bernoulli,
    Bounded,
    Discrete,
    Finite,
    PatientRejects,
    PatientTopTwo,
    Power,
    Preference,
    SequentialHalving,
    SubGaussian,
    TopTwo,
    TverskyKahneman,
    Uniform,
    best_arm,
    expected_value,
    theory,
)
from allais._kernels import loop
from allais.bands import KL, Betting, Envelope
from allais.bands._distribution_bounds import ends_of
from allais.bands._joint_test import parted
from allais.bands._wagers import no_wagers
from allais.bands._wealth import is_parted, note_parted, place_of_leader
from allais.errors import DominanceWarning
from allais.numerics.k_inf import QUICK, DistributionOfThree, k_inf_of_three
from allais.problems import Bandit
from allais.samples.draws import gamma, normal, stream_of, uniform
from allais.samples.layout import remembered
from allais.samples.memory import measure
from allais.simulation.rollout import Rollout

PEOPLE = Preference(TverskyKahneman(0.61))
BOTH = Preference.tversky_kahneman()
with pytest.warns(DominanceWarning):
    FALLING = Preference(TverskyKahneman(0.2))


@loop
def fill(kind, shape, seed, result):
    stream = stream_of(seed)
    for k in range(result.size):
        if kind == 0:
            result[k], stream = uniform(stream)
        elif kind == 1:
            result[k], stream = normal(stream)
        elif kind == 2:
            result[k], stream = gamma(shape, stream)
        else:  # the first number of many streams, which is what a choice sees
            result[k], stream = uniform(stream_of((k + 1) * 2.0**-53))


@pytest.mark.parametrize(
    ("kind", "shape", "distribution"),
    [
        (0, 0.0, stats.uniform()),
        (1, 0.0, stats.norm()),
        (2, 1.0, stats.gamma(1)),
        (2, 2.0, stats.gamma(2)),
        (2, 50.0, stats.gamma(50)),
        (2, 1e6, stats.gamma(1e6)),
        (3, 0.0, stats.uniform()),
    ],
    ids=["uniform", "normal", "exponential", "gamma 2", "gamma 50", "gamma 10^6", "streams"],
)
def test_draws_in_compiled_code_have_their_distribution(kind, shape, distribution):
    # Kolmogorov-Smirnov, fixed seed: a right generator has p below 1e-6 once in a million
    numbers = np.zeros(50_000)
    fill(kind, shape, 0.37, numbers)
    assert stats.kstest(numbers, distribution.cdf).pvalue > 1e-6


def test_npts_draws_the_value_of_a_random_reweighting():
    # an arm seen 9 times at 0 and once at 50, and a sure 7: it is chosen as often as a Dirichlet draw says
    policy = NPTS(PEOPLE, Bounded(0, 50))
    learner = policy.start(2, seed=3)
    learner.observe(0, [0.0] * 9 + [50.0])
    learner.observe(1, [7.0] * 10_000)
    chosen = np.array([choice.arm for choice in learner.ask(4_000)])
    share = np.random.default_rng(1).dirichlet([9, 2], size=200_000)[:, 1]  # 50 was seen once, and is the best outcome
    sure = PEOPLE.estimate([7.0] * 10_000 + [50.0])
    expected = (50 * TverskyKahneman(0.61)(share) > sure).mean()
    # the sure arm's own draw adds a spread of 0.1: five standard errors of 4,000 choices and 0.01 for that
    assert (chosen == 0).mean() == pytest.approx(expected, abs=5 * math.sqrt(0.25 / 4_000) + 0.01)


@pytest.mark.slow
def test_npts_bins_an_arm_with_many_outcomes():
    samples = np.random.default_rng(1).uniform(-1, 1, size=1_000)
    utility = np.sort(
        np.append(BOTH.utilities(samples), BOTH.utilities(np.array([1.0])))
    )  # the best outcome counts once
    shares = np.random.default_rng(2).dirichlet(np.ones(utility.size), size=8_000)
    above = np.clip(np.cumsum(shares[:, ::-1], axis=1)[:, ::-1], 0.0, 1.0)
    below = np.clip(np.cumsum(shares, axis=1), 0.0, 1.0)
    gain = BOTH.gains(above) @ np.diff(np.maximum(utility, 0.0), prepend=0.0)
    loss = BOTH.losses(below) @ -np.diff(np.maximum(-utility, 0.0), append=0.0)
    drawn = gain - loss
    best = float(BOTH.utilities(np.array([1.0]))[0])
    mass = np.random.default_rng(4).beta(1.0, 20_000.0, size=8_000)  # what the best outcome gets in a draw of arm 1
    for target in (-1.0, 0.0, 1.0):  # standard deviations of a draw: its place and its spread
        learner = NPTS(BOTH, Bounded(-1, 1)).start(2, seed=3)
        learner.observe(0, samples)
        sure = drawn.mean() + target * drawn.std()
        learner.observe(1, [float(BOTH.outcomes_of(np.array([sure]))[0])] * 20_000)
        first = np.mean([choice.arm == 0 for choice in learner.ask(4_000)])
        other = max(sure, 0.0) + BOTH.gains(mass) * (best - max(sure, 0.0)) - BOTH.losses(1.0 - mass) * max(-sure, 0.0)
        expected = (drawn > other).mean()
        # five standard errors of 4,000 choices and 8,000 draws, and 0.02 for the bins
        assert first == pytest.approx(expected, abs=5 * math.sqrt(0.25 / 4_000 + 0.25 / 8_000) + 0.02)


def quick_k_inf(rule, arm, target, *shares):
    distribution = DistributionOfThree(
        rule.worth.gains.table, rule.worth.losses.table, *rule.outcomes[arm].tolist(), *map(float, shares)
    )
    return k_inf_of_three(distribution, target, QUICK)


def test_imed_knows_the_same_divergence_as_theory():
    lotteries = [
        Discrete({-1: 0.5, 0.5: 0.2, 2: 0.3}),
        Discrete({1: 0.9, 3: 0.1}),
        Discrete({-2: 0.3, -1: 0.3, 0: 0.4}),
    ]
    rewards = [Finite(list(lottery.as_finite().outcomes)) for lottery in lotteries]
    rule = IMED(BOTH, rewards).rule(3)
    for arm, lottery in enumerate(lotteries):
        finite = lottery.as_finite()
        shares = np.diff(np.append(finite.below, 1.0))
        p1, p2, p3 = np.pad(shares, (0, 3 - shares.size))
        for more in (0.1, 0.4):
            target = BOTH.value(lottery) + more
            found = quick_k_inf(rule, arm, target, p1, p2, p3)
            assert found == pytest.approx(theory.k_inf(BOTH, lottery, target), rel=1e-3)


@pytest.mark.parametrize(
    ("shares", "more"),
    [
        ((0.7, 0.2999, 1e-4), 0.01),
        ((0.7, 0.2995, 5e-4), 0.3),
        ((0.4, 0.6 - 1e-6, 1e-6), 0.02),
        ((0.4, 0.6, 0.0), 0.05),
        ((0.9, 0.1, 0.0), 2.0),
        ((1.0 - 2e-5, 1e-5, 1e-5), 0.001),
        ((0.1, 0.2, 0.7), 30.0),
    ],
)
@pytest.mark.parametrize("weight", [TverskyKahneman(0.61), TverskyKahneman(0.4), Power(0.5)], ids=repr)
def test_three_values_with_rare_ones_are_as_near_as_a_search_of_40000_places_finds(weight, shares, more):
    v, people = np.array([0.0, 20.0, 50.0]), Preference(weight)
    lottery = Discrete({a: b for a, b in zip(v.tolist(), shares, strict=True) if b > 0.0})
    target = people.value(lottery) + more
    top = np.append(shares[2] + (1.0 - shares[2]) * special.expit(np.linspace(-45, 45, 40_001)), shares[2])
    amount = (target - 30.0 * weight(top)) / 20.0
    needed = np.where(amount > 0.0, weight.inverse(np.clip(amount, 0.0, 1.0)), 0.0)
    tail = np.maximum(np.maximum(needed, 1.0 - shares[0] / (shares[0] + shares[1]) * (1.0 - top)), top)
    distributions = np.stack([1.0 - tail, tail - top, top])
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [p * np.log(p / q) if p > 0.0 else 0.0 * q for p, q in zip(shares, distributions, strict=True)]
    nearest = np.nanmin(np.where(amount <= 1.0, sum(terms), np.inf))
    rule = IMED(people, Finite(v)).rule(1)
    # the search's own places are 0.2 % apart
    assert quick_k_inf(rule, 0, target, *shares) == pytest.approx(nearest, rel=2e-3)
    assert theory.k_inf(people, lottery, target, support=v) == pytest.approx(nearest, rel=2e-3)


def test_imed_plays_the_least_index():
    policy = IMED(PEOPLE, Finite([0, 50]))
    learner = policy.start(2, seed=1)
    learner.observe(0, [50.0] * 2 + [0.0] * 8)
    learner.observe(1, [50.0] + [0.0] * 19)
    best = PEOPLE.value(Discrete({50: 0.2, 0: 0.8}))
    index = 20 * theory.k_inf(PEOPLE, Discrete({50: 0.05, 0: 0.95}), best) + math.log(20)
    assert (index < math.log(10)) == (learner.ask().arm == 1)


def rests(evidence, beta, y):
    """What the rival's log ratio must be at the leader's `y`, as docs/theory/best-arm.md has it."""
    if evidence == "ratios":
        return beta - y
    return math.log((1.0 - 0.25 * 0.05 * math.exp(y)) / (0.05 * (0.6 * math.exp(y) + 0.15)))


@pytest.mark.parametrize("evidence", ["ratios", "mixed"])
def test_top_two_stops_only_where_every_split_of_the_exponent_parts_the_arms(evidence):
    rule = TopTwo(PEOPLE, Finite([0, 50]), delta=0.05, evidence=evidence).rule(2)

    def apart(hits, pulls):
        outcomes = [
            (np.array([0.0, 50.0]), np.array([0.0, 50.0]), np.array([n - h, h]))
            for h, n in zip(hits, pulls, strict=True)
        ]
        memory, kept = remembered(outcomes, np.zeros(2), np.zeros(2)), rule.band.kept(2)
        for arm in range(2):
            measure(rule.worth, memory, arm)
        certified = parted(rule.band, kept, memory, 0, 1, rule.beta, 0.0, True)
        last = rule.beta - math.log(0.1)
        if evidence == "mixed":  # where the rival's ratio is at its floor
            last = math.log((20.0 - 0.15 * 0.1) / (0.25 + 0.6 * 0.1))
        splits = np.linspace(math.log(0.1), last, 400)
        cuts = rule.band.cuts
        return certified, min(
            ends_of(cuts, memory, 0, y)[0] - ends_of(cuts, memory, 1, rests(evidence, rule.beta, y))[1] for y in splits
        )

    seen = set()
    for pulls in (100, 200, 300, 400, 500, 600, 800):
        certified, gap = apart((pulls // 5, pulls // 10), (pulls, pulls))
        assert not certified or gap >= 0.0  # never stops where a split is open
        assert certified or gap < 0.02 * 50  # and not much later than it could
        seen.add(bool(certified))
    assert seen == {True, False}


def test_top_two_and_wlucb_find_the_preferred_arm_and_agree_with_a_tolerance():
    problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    for policy in (TopTwo, WLUCB):
        answer = best_arm(policy(PEOPLE, [Finite([0, 50]), Finite([7])], delta=0.05), problem, seed=2)
        assert (answer.arm, answer.settled) == (0, True)
        loose = best_arm(policy(PEOPLE, [Finite([0, 50]), Finite([7])], delta=0.05, tolerance=5.0), problem, seed=2)
        assert loose.samples < answer.samples
    equal = Bandit([Discrete({1: 1.0}), Discrete({1: 1.0})])
    assert not best_arm(TopTwo(PEOPLE, Bounded(0, 2), delta=0.1), equal, seed=1, max_samples=2_000).settled


def test_top_two_does_not_dwell_on_an_arm_that_is_near_enough():
    # a steady arm within the tolerance of the leader needs few samples; without the tolerance in the rule it took 790
    problem = Bandit([Discrete({10: 0.5, 0: 0.5}), Discrete({4.8: 0.5, 5.0: 0.5}), Discrete({10: 0.4, 0: 0.6})])
    known = [Finite([0, 10]), Finite([4.8, 5.0]), Finite([0, 10])]
    policy = TopTwo(expected_value(), known, delta=0.05, tolerance=1.0)
    assert np.mean([best_arm(policy, problem, seed=seed).samples for seed in range(20)]) < 600


def test_a_learner_with_a_single_arm_settles_and_a_search_among_one_is_refused():
    finite = Finite([0, 1])
    for policy in (
        TopTwo(PEOPLE, finite, delta=0.1),
        WLUCB(PEOPLE, finite, delta=0.1),
        SequentialHalving(PEOPLE, budget=10),
    ):
        learner = policy.start(["A"], seed=1)
        while not learner.is_settled():
            learner.tell(learner.ask(), 1.0)
        assert learner.samples <= 10
        with pytest.raises(ValueError, match=r"needs two arms or more; got 0 alone, which is the best without a run"):
            best_arm(policy, Bandit([Bernoulli(0.5)]), seed=1)


def test_the_default_band_fits_the_rewards():
    assert WLUCB(PEOPLE, Bounded(0, 1), delta=0.1).band == KL()
    assert WLUCB(PEOPLE, Finite([0, 1]), delta=0.1).band == KL()
    assert WLUCB(PEOPLE, [Bounded(0, 1), SubGaussian(1.0, 0.0)], delta=0.1).band == Envelope()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NPTS(PEOPLE, SubGaussian(1.0, 0.0)), "NPTS needs bounded rewards; got SubGaussian"),
        (lambda: IMED(PEOPLE, Bounded(0, 1)), "IMED needs Finite rewards of at most 3 values; got Bounded"),
        (lambda: IMED(PEOPLE, Finite([0, 1, 2, 3])), "at most 3 values; got Finite"),
        (lambda: IMED(FALLING, Finite([0, 1])), "IMED needs monotone weights"),
        (lambda: WLUCB(PEOPLE, SubGaussian(1.0, 0.0), delta=0.1, band=KL()), "the KL band needs bounded rewards"),
        (lambda: TopTwo(PEOPLE, Bounded(0, 1), delta=1.5), r"delta must lie in \(0, 1\); got 1.5"),
        (lambda: TopTwo(PEOPLE, Bounded(0, 1), delta=0.1, tolerance=-1), "tolerance must not be negative; got -1"),
        (lambda: PatientRejects(PEOPLE, budget=100, floor=0.0), r"floor must lie in \(0, 1\]; got 0. Give the share"),
        (lambda: PatientTopTwo(PEOPLE, Bounded(0, 1), budget=100, floor=1.5), r"floor must lie in \(0, 1\]; got 1.5"),
        (lambda: PatientTopTwo(PEOPLE, Bounded(0, 1), budget=4).start(4, seed=1), "got 4 samples for 4 arms"),
        (
            lambda: PatientRejects(PEOPLE, budget=4).start(4, seed=1),
            "exceed the number of arms; got 4 samples for 4 arms",
        ),
        (lambda: SequentialHalving(PEOPLE, budget=0), "budget must be a whole number of samples; got 0"),
        (
            lambda: SequentialHalving(PEOPLE, budget=5).start(4, seed=1),
            "every arm a sample in each of 2 phases; got 5 samples",
        ),
        (
            lambda: WLUCB(PEOPLE, Finite([0, 1]), delta=0.1).start(2, seed=1).observe(0, [0.5]),
            "one of the 2 declared values; got 0.5",
        ),
    ],
)
def test_what_a_policy_cannot_use_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_continuous_rewards_settle_with_the_kl_band():
    problem = Bandit([Uniform(0, 0.6), Uniform(0.4, 1)])
    answer = best_arm(WLUCB(PEOPLE, Bounded(0, 1), delta=0.1), problem, seed=1)
    assert (answer.arm, answer.settled) == (1, True)
    assert answer.samples < 1_000


def test_top_two_samples_the_wider_half_interval_more_often():
    # one arm was seen a hundred times as often as the other: the lesser known one is asked for
    known = [Finite([0, 50]), Finite([0, 50])]
    for seen in ((10_000, 100), (100, 10_000)):
        learner = TopTwo(PEOPLE, known, delta=1e-6).start(2, seed=1)
        learner.observe(0, [50.0] * (seen[0] // 10) + [0.0] * (seen[0] - seen[0] // 10))
        learner.observe(1, [50.0] * (seen[1] // 20) + [0.0] * (seen[1] - seen[1] // 20))
        choices = np.array([choice.arm for choice in learner.ask(400)])
        lesser = int(np.argmin(seen))
        # half of them before; 320 of 400 at a share of one half have a chance below 1e-30
        assert (choices == lesser).sum() > 320


def test_top_two_keeps_sampling_where_nothing_is_uncertain():
    # two sure arms alike: no half-interval is left, and no number of samples settles them
    equal = Bandit([Discrete({1: 1.0}), Discrete({1: 1.0})])
    answer = best_arm(TopTwo(PEOPLE, Finite([1]), delta=0.1), equal, seed=1, max_samples=50)
    assert answer.samples <= 50


def pairs_apart(own):
    """Whether a leader was ever parted from a rival, for each pair."""
    n_arms = own.parted.size
    places = [place_of_leader(own, leader) for leader in range(n_arms)]
    return np.array([[is_parted(own, place, rival) for rival in range(n_arms)] for place in places])


def test_of_many_leaders_the_latest_ones_are_remembered_and_an_older_file_opens():
    own, pairs = no_wagers(100), np.zeros((100, 100), dtype=bool)
    for leader in range(70):
        for rival in range(leader + 1, 100, 3):
            note_parted(own, leader, rival)
            pairs[leader, rival] = True
    np.testing.assert_array_equal(pairs_apart(own)[10:], pairs[10:])
    assert not pairs_apart(own)[:10].any()
    read = own.as_now({"parted": pairs.ravel().tolist()})
    again = own._replace(leaders=np.array(read["leaders"]), parted=np.array(read["parted"]))
    np.testing.assert_array_equal(pairs_apart(again), pairs_apart(own))


@pytest.mark.parametrize("evidence", [Betting(), "auto"], ids=["bets", "ratios"])
def test_a_pair_that_was_parted_stays_so_and_samples_go_to_rivals_that_are_left(evidence):
    arms = [Bernoulli(0.9), Bernoulli(0.6), Bernoulli(0.5), Bernoulli(0.3), Bernoulli(0.1)]
    policy = TopTwo(expected_value(), Bounded(0, 1), delta=0.05, evidence=evidence)
    run, at_different_times = Rollout(policy, Bandit(arms), np.random.SeedSequence(1)), False
    while not run.stopped:
        state = run.state
        pulls, parted_before, value = state.memory.pulls.copy(), pairs_apart(state.own), state.memory.value
        leader = int(state.own.leading[0]) if evidence != "auto" else int(value.argmax())
        run.run(run.samples + 1)
        assert not (parted_before & ~pairs_apart(run.state.own)).any()
        if run.samples > pulls.sum():
            assert not parted_before[leader, int((run.state.memory.pulls - pulls).argmax())]
            at_different_times |= parted_before[0].any()
    assert evidence == "auto" or pairs_apart(run.state.own)[0, 1:].all()  # ratios note a look that a choice follows
    assert at_different_times
    assert run.samples < 1_000  # it is settled
