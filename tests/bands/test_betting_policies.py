"""Policies, learners and streams that bet: what they choose, and that files keep what was won."""

import pickle

import numpy as np
import pytest

from allais import (
    WLUCB,
    Bandit,
    Bernoulli,
    Bounded,
    Discrete,
    Finite,
    Learner,
    Preference,
    SubGaussian,
    TopTwo,
    Uniform,
    ValueStream,
    best_arm,
    cvar,
    expected_value,
    quantile,
)
from allais.bands import KL, Betting
from allais.learner.document import checksum, learner_from
from allais.policies.wagers import BETS, BOTH, RATIOS
from allais.weights import SteepMiddle
from tests.bands.test_betting import PEOPLE, RARE, VALUED


def asked_and_told(policy, outcomes, seed=1, most=400):
    """A learner of two arms that was told so many outcomes, if it did not settle before."""
    learner, rng = policy.start(2, seed=seed), np.random.default_rng(seed)
    while learner.samples < most and not learner.is_settled():
        choice = learner.ask()
        learner.tell(choice, outcomes(rng, choice.arm))
    return learner


WAYS = {  # what two arms pay, and how their difference is shown in the end
    "two values": (lambda rng, arm: float(rng.random() < 0.2 + 0.6 * arm), RATIOS),
    "any value": (lambda rng, arm: rng.uniform(0, 0.5 + 0.5 * arm), BETS),
    "six values": (lambda rng, arm: rng.integers(1, 7) / 10 + 0.3 * arm, BETS),
    "a fifth value now and then": (
        lambda rng, arm: rng.choice([0.2, 0.3, 0.4, 0.5, 0.6], p=[0.84, 0.04, 0.04, 0.04, 0.04]) + 0.3 * arm, BOTH
    ),
}  # fmt: skip


@pytest.mark.parametrize("pays", WAYS)
def test_top_two_takes_ratios_for_few_values_and_bets_for_many(pays):
    outcomes, way = WAYS[pays]
    policy = TopTwo(expected_value(), Bounded(0, 1), delta=1e-4)
    learner = asked_and_told(policy, outcomes)
    assert learner.is_settled()
    assert learner.recommend().arm == 1
    state = learner._engine.state
    assert state.own.way[0] == way
    if way == RATIOS:  # eight outcomes told when an arm has four, at most
        aside = np.isfinite(state.own.aside).sum(axis=1)
        assert aside.max() == 4
        assert aside.min() >= 3
        assert state.own.epochs.max() == 0
    else:
        assert (state.own.begun[:, 0] >= 4).all()
        assert learner.intervals()[1].low > learner.intervals()[0].low


def test_where_values_are_declared_to_be_few_or_bets_do_not_hold_ratios_are_taken_for_good():
    for preference, rewards, taken in (
        (PEOPLE, Finite([0, 1]), "mixed"),
        (PEOPLE, [Finite([0, 1, 2, 3]), Finite([5])], "mixed"),
        (quantile(0.9), Bounded(0, 1), "ratios"),
        (Preference(SteepMiddle(0.5)), Bounded(0, 1), "ratios"),
        (PEOPLE, [SubGaussian(1.0, 2.0), Bounded(0, 1)], "ratios"),
    ):
        policy = TopTwo(preference, rewards, delta=0.1)
        assert policy.evidence == taken
        assert policy.open_to_data
    narrow = TopTwo(PEOPLE, Finite([0, 1]), delta=0.1).start(2, seed=1)
    narrow.observe(0, [0.0, 1.0])
    narrow.widen(Bounded(-1, 2))  # the state stays what it is
    assert narrow.policy.evidence == "mixed"
    for _ in range(5):
        narrow.tell(narrow.ask(), 0.5)
    assert not TopTwo(PEOPLE, Finite([0, 1, 2, 3, 4]), delta=0.1).open_to_data


@pytest.mark.parametrize("pays", WAYS)
def test_a_learner_that_chose_how_to_part_arms_survives_a_file(pays, tmp_path):
    policy = TopTwo(PEOPLE, Bounded(0, 1), delta=1e-30)
    for many in (5, 150):
        learner, again = asked_and_told(policy, WAYS[pays][0], most=many), None
        learner.save(tmp_path / "learner.json")
        again = Learner.load(tmp_path / "learner.json")
        for step in range(60):
            choices = [one.ask() for one in (learner, again)]
            assert choices[0] == choices[1]
            outcome = WAYS[pays][0](np.random.default_rng(step), choices[0].arm)
            for one, choice in zip((learner, again), choices, strict=True):
                one.tell(choice, outcome)
        assert learner.intervals() == again.intervals()


def test_a_file_without_evidence_goes_on_by_ratios(tmp_path):
    policy = TopTwo(PEOPLE, Bounded(0, 1), delta=0.1, evidence="ratios")
    learner = asked_and_told(policy, WAYS["two values"][0], most=20)
    document = learner.snapshot()
    del document["policy"]["evidence"]  # as 0.2.0 wrote it
    document["checksum"] = checksum(document)
    again = learner_from(document)
    assert again.policy == policy
    assert again.ask() == learner.ask()


HARD = {
    "a near tie at the tolerance": ([Uniform(0, 1), Uniform(0.0999, 1)], 0.05, expected_value()),
    "a rare loss": ([Discrete({0.5: 0.98, 0.0: 0.02}), Discrete({0.46: 1.0})], 0.0, cvar(0.1)),
    "bounds that are met": ([Bernoulli(0.5), Bernoulli(0.7)], 0.0, PEOPLE),
    "a tie": ([Bernoulli(0.5), Bernoulli(0.5)], 0.2, expected_value()),
}


@pytest.mark.parametrize("evidence", ["auto", Betting()], ids=["chosen", "bets"])
@pytest.mark.parametrize("problem", HARD)
def test_answers_are_good_enough(problem, evidence):
    # delta .01 and 8 runs: 4 wrong ones of a problem have a chance below 7e-7; none is expected
    lotteries, tolerance, preference = HARD[problem]
    bandit = Bandit(lotteries)
    values = bandit.true_values(preference)
    policy = TopTwo(preference, Bounded(0, 1), delta=0.01, tolerance=tolerance, evidence=evidence)
    answers = [best_arm(policy, bandit, seed=seed, max_samples=20_000) for seed in range(8)]
    wrong = sum(one.settled and values[int(str(one.arm))] < values.max() - tolerance for one in answers)
    assert wrong <= 3
    assert sum(one.settled for one in answers) >= 6


def test_one_arm_and_sure_arms_are_settled_at_once():
    policy = TopTwo(expected_value(), Bounded(0, 1), delta=0.05, evidence=Betting())
    alone = policy.start(1, seed=1)
    for _ in range(4):
        alone.tell(alone.ask(), 0.5)
    assert alone.is_settled()
    sure = policy.but(rewards=[Finite([0.2]), Finite([0.7]), Finite([0.0, 1.0])])
    answer = best_arm(sure, Bandit([Discrete({0.2: 1.0}), Discrete({0.7: 1.0}), Bernoulli(0.1)]), seed=1)
    assert answer.arm == 1
    assert answer.settled
    risky = Bandit([Discrete({1.0: 0.9, 0.0: 0.1}), Discrete({0.5: 1.0})])  # nothing is to be learned of the sure one
    answer = best_arm(policy.but(rewards=[Finite([0.0, 1.0]), Finite([0.5])]), risky, seed=1, max_samples=5_000)
    assert answer.arm == 0
    assert answer.settled


@pytest.mark.parametrize(
    "policy",
    [
        TopTwo(PEOPLE, Bounded(-1, 1), delta=0.05, tolerance=0.01, evidence=Betting()),
        WLUCB(cvar(0.1), Bounded(-1, 1), delta=0.05, tolerance=0.01, band=Betting()),
    ],
    ids=["top-two", "W-LUCB"],
)
def test_bets_survive_a_file(policy, tmp_path):
    learner, rng = policy.start(2, seed=1), np.random.default_rng(1)
    for _ in range(200):
        choice = learner.ask()
        learner.tell(choice, float(rng.uniform(-1, 0.4 + 0.2 * choice.arm)))
    learner.save(tmp_path / "learner.json")
    again = Learner.load(tmp_path / "learner.json")
    assert again.intervals() == learner.intervals()
    for _ in range(100):
        choice = learner.ask()
        assert choice == again.ask()
        reward = float(rng.uniform(-1, 1))
        learner.tell(choice, reward)
        again.tell(choice, reward)
    assert again.intervals() == learner.intervals()


def test_what_a_learner_shows_is_the_interval_of_its_samples_or_a_little_wider():
    policy = WLUCB(PEOPLE, Bounded(-1, 1), delta=0.05, band=Betting())
    learner, seen, rng = policy.start(2, seed=1), {0: [], 1: []}, np.random.default_rng(2)
    for _ in range(600):
        choice = learner.ask()
        seen[choice.arm].append(float(rng.uniform(-1, 0.2 + 0.1 * choice.arm)))
        learner.tell(choice, seen[choice.arm][-1])
    for arm in (0, 1):
        shown, exact = learner.interval(arm), Betting().interval(PEOPLE, Bounded(-1, 1), seen[arm], 1.0 - 0.05 / 2)
        assert shown.value == pytest.approx(exact.value)
        assert exact.low - 0.02 <= shown.low <= exact.low + 0.01  # the last look was a thirtieth of the samples ago
        assert exact.high - 0.01 <= shown.high <= exact.high + 0.02
    reached = learner.reached_delta()
    assert learner.reached_delta() == reached  # to look changes nothing


def test_wlucb_proves_more_with_bets_than_with_a_band_of_the_distribution():
    problem = Bandit([Uniform(0, 1), Uniform(0.2, 1)])
    plain, bets = (WLUCB(expected_value(), Bounded(0, 1), delta=0.05, band=band) for band in (KL(), Betting()))
    assert all(best_arm(bets, problem, seed=seed).arm == 1 for seed in range(3))
    ours, theirs = (np.mean([best_arm(one, problem, seed=seed).samples for seed in range(3)]) for one in (bets, plain))
    assert ours < 0.5 * theirs


@pytest.mark.parametrize("valued", ["mean", "cvar", "people"])
def test_a_stream_bets_on_every_sample_however_they_come_and_goes_on_from_a_file(valued, tmp_path):
    samples = RARE.sample(np.random.default_rng(5), 400)
    preference, rewards = VALUED[valued], Bounded(-1, 1)
    stream, block = (ValueStream(preference, rewards, max_blocks=most, band=Betting()) for most in (None, 10))
    for sample in samples[:150].tolist():
        stream.add(sample)
    block.add_many(samples)
    stream.save(tmp_path / "stream.npz")
    loaded, copied = ValueStream.load(tmp_path / "stream.npz"), pickle.loads(pickle.dumps(stream))
    for one in (stream, loaded, copied):
        one.add_many(samples[150:])
    low, value, high = stream.interval()
    for one in (loaded, copied, block):
        assert (one.interval().low, one.interval().high) == (low, high)
    whole = Betting().interval(preference, rewards, samples)
    assert (low, value, high) == pytest.approx(whole, abs=1e-4)
    with pytest.raises(ValueError, match="bets follow the order of one stream"):
        stream.merge(loaded)


def test_a_stream_of_bets_with_a_damaged_file_is_refused(tmp_path):
    stream = ValueStream(expected_value(), Bounded(0, 1), band=Betting())
    stream.add_many(np.random.default_rng(1).random(50))
    stream.save(tmp_path / "stream.npz")
    with np.load(tmp_path / "stream.npz") as stored:
        arrays = dict(stored)
    for name, wrong in (
        ("bets_epochs", np.array([99])),
        ("bets_mass", np.zeros(3)),
        ("bets_first", np.array([7.0] * 4)),
    ):
        np.savez_compressed(tmp_path / "wrong.npz", **{**arrays, name: wrong})
        with pytest.raises(ValueError, match="Use a backup"):
            ValueStream.load(tmp_path / "wrong.npz")
    with pytest.raises(TypeError, match="the band of a stream must be Betting"):
        ValueStream(expected_value(), Bounded(0, 1), band=KL())
    with pytest.raises(ValueError, match="bets need to know the samples' bounds"):
        ValueStream(expected_value(), band=Betting())
