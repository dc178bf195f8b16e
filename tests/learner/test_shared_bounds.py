"""Upper bounds for many people from shared tables: those that a learner of each person's own would have."""

import numpy as np
import pytest

import allais
from allais import WUCB, Bounded, Finite, Preference, Prelec, SubGaussian, TverskyKahneman, expected_value
from allais.bands import DKW, KL, Envelope, Holder
from allais.policies import UCB1, UCBV, WEUCB, Fading, Recent
from allais.preferences.utilities import PowerUtility

ALICE = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))
BOB = Preference(TverskyKahneman(0.5), TverskyKahneman(0.69), PowerUtility(0.8, 2.0))
CAROL = Preference(Prelec(0.6), utility=PowerUtility(0.7, 1.5))
CVAR = allais.cvar(0.1)
POWER = Preference(allais.weights.Identity(), utility=PowerUtility(0.8, 2.0))
BANDS = [Holder(), DKW(), KL(), Envelope()]
OWN = expected_value(reference=10.0)


def ends(learner, preference):
    """The value and the interval of each arm for somebody, by the tables that all people share."""
    view = learner._engine.view_for(preference)
    view.complete()
    bounds = np.array(view.policy.value_bounds(view.state.kept.low.size))
    low, high = (np.clip(end, *bounds.T) for end in view.state.kept)
    told = learner.state.memory.pulls > 0
    return np.stack([low, view.state.memory.value, high])[:, told]


def own_ends(learner):
    return np.array([one for one in learner.intervals().values() if np.isfinite(one.value)]).T


def twins(policy, other, outcomes, **settings):
    """A learner of many people and a learner of her own, that are told the same; and the ends of both."""
    hers = other.in_frame_of(policy.preference)
    both = [one.start(len(outcomes), seed=1, **settings) for one in (policy, policy.but(preference=hers))]
    for learner in both:
        for arm, seen in enumerate(outcomes):
            learner.observe(arm, seen)
    return both


def assert_alike(shared, own, other):
    # w of 1e-16, to which 1 - p is rounded, is 1e-8 under the steepest of the weights
    np.testing.assert_allclose(ends(shared, other), own_ends(own), rtol=1e-9, atol=1e-9)
    assert shared.recommend(other).arm == own.recommend().arm
    assert shared.ask(preference=other) == own.ask()


@pytest.mark.parametrize("band", BANDS, ids=lambda band: type(band).__name__)
@pytest.mark.parametrize("other", [POWER, ALICE, BOB, CAROL, CVAR], ids=["power", "alice", "bob", "carol", "cvar"])
@pytest.mark.parametrize(
    ("costs", "distinct"),
    [
        (False, 40),
        (True, 1_200),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((True, 40), (True, 3_000), (False, 3_000))),
    ],
)
def test_intervals_from_shared_tables_are_those_of_a_learner_of_her_own(band, other, costs, distinct):
    policy = WUCB(expected_value(reference=20.0, costs=costs), Bounded(0, 50), band=band)
    rng = np.random.default_rng(1)
    outcomes = rng.uniform(0, 50, (3, distinct))
    outcomes[1, : distinct // 2] = 17.0  # ties
    outcomes[2] = np.round(outcomes[2])
    shared, own = twins(policy, other, outcomes)
    assert_alike(shared, own, other)
    for learner in (shared, own):
        learner.tell(1, 33.3)
    assert_alike(shared, own, other)
    assert not shared._engine.others.views


@pytest.mark.parametrize("band", BANDS, ids=lambda band: type(band).__name__)
@pytest.mark.parametrize("end", [0.0, 50.0])
@pytest.mark.parametrize("other", [ALICE, CAROL, CVAR], ids=["alice", "carol", "cvar"])
def test_an_event_of_two_in_a_thousand_counts_at_either_end(band, end, other):
    usual = np.random.default_rng(2).uniform(20, 30, 998)
    shared, own = twins(WUCB(OWN, Bounded(0, 50), band=band), other, [np.append(usual, [end, end]), usual])
    assert_alike(shared, own, other)


@pytest.mark.parametrize("band", [Holder(), Envelope()], ids=lambda band: type(band).__name__)
@pytest.mark.parametrize("other", [ALICE, Preference(Prelec(0.6)), CVAR], ids=["alice", "prelec", "cvar"])
@pytest.mark.parametrize("costs", [False, True])
def test_sub_gaussian_arms_beside_a_bounded_one(band, other, costs):
    policy = WUCB(
        expected_value(reference=1.0, costs=costs),
        [SubGaussian(1.0, 5.0), SubGaussian(0.3, 5.0), Bounded(-3, 4), SubGaussian(1.0, 5.0)],
        band=band,
    )
    rng = np.random.default_rng(3)
    seen = [rng.normal(1.0, 1.0, 50), rng.normal(0.5, 0.3, 2_000), rng.uniform(-3, 4, 500), [1.5]]
    shared, own = twins(policy, other, seen)
    told = [k for k, ends in own.intervals().items() if np.isfinite(ends.low)]
    np.testing.assert_allclose(ends(shared, other)[:, told], own_ends(own)[:, told], rtol=1e-9, atol=1e-9)
    assert shared.ask(preference=other) == own.ask()
    with pytest.raises(ValueError, match="got a preference with a utility"):
        shared.ask(preference=BOB)


@pytest.mark.parametrize("band", BANDS[1:], ids=lambda band: type(band).__name__)
@pytest.mark.parametrize("distinct", [40, 3_000])
@pytest.mark.filterwarnings("ignore::allais.errors.DominanceWarning")
def test_a_weight_that_rises_and_falls(band, distinct):
    other = Preference(allais.Weight.from_function(lambda p: p + 0.5 * np.sin(2.0 * np.pi * p)))
    outcomes = np.random.default_rng(4).uniform(0, 50, (2, distinct))
    shared, own = twins(WUCB(OWN, Bounded(0, 50), band=band), other, outcomes)
    assert_alike(shared, own, other)


@pytest.mark.parametrize("band", BANDS, ids=lambda band: type(band).__name__)
def test_outcomes_that_share_cells(band):
    policy = WUCB(OWN, Bounded(0, 50), band=band)
    outcomes = np.random.default_rng(5).uniform(0, 50, (1, 20_000))
    shared, own = twins(policy, ALICE, outcomes)
    assert shared.memory_error(ALICE)[0] > 0.0
    assert_alike(shared, own, ALICE)
    exact = twins(policy, BOB, outcomes, exact=True)[1]  # cells of her own would be others
    low, _, high = ends(shared, BOB)[:, 0]
    assert low <= own_ends(exact)[0, 0] + 1e-6
    assert own_ends(exact)[2, 0] - 1e-6 <= high <= own_ends(exact)[2, 0] + 0.05


@pytest.mark.parametrize(
    "band",
    [Holder(), KL(), *(pytest.param(band, marks=pytest.mark.slow) for band in (DKW(), Envelope()))],  # each compiles
    ids=lambda band: type(band).__name__,
)
@pytest.mark.parametrize("memory", [Recent(200), Fading(100.0)])
def test_a_memory_that_forgets(band, memory):
    policy = WUCB(OWN, Bounded(0, 50), band=band, memory=memory)
    shared, own = twins(policy, BOB, np.random.default_rng(6).uniform(0, 50, (2, 150)))
    for outcome in np.random.default_rng(7).integers(0, 51, 150).tolist():
        choice = shared.ask(preference=BOB)
        assert own.ask() == choice
        for learner in (shared, own):
            learner.tell(choice, float(outcome))
    assert_alike(shared, own, BOB)


@pytest.mark.parametrize("band", BANDS, ids=lambda band: type(band).__name__)
@pytest.mark.parametrize("n_arms", [1, 200])
def test_one_arm_and_two_hundred(band, n_arms):
    rng = np.random.default_rng(8)
    outcomes = [rng.uniform(0, 50, 1 + 3 * (k % 60)) for k in range(n_arms)]
    shared, own = twins(WUCB(OWN, Bounded(0, 50), band=band), BOB, outcomes)
    assert_alike(shared, own, BOB)
    for learner in (shared, own):
        learner.add("new")
        learner.observe(0, [25.0, 50.0])
        if n_arms > 1:
            learner.retire(0)
    assert shared.ask(preference=BOB) == own.ask()
    assert shared.recommend(BOB).arm == own.recommend().arm


@pytest.mark.parametrize(
    ("policy", "other"),
    [
        (UCB1(Bounded(0, 50), reference=10.0), BOB),
        (UCBV(Bounded(0, 50), reference=10.0), POWER),
        (WEUCB(expected_value(), Bounded(0, 1)), ALICE),
        (WUCB(OWN, Finite(range(51)), band=KL()), CAROL),
        (WUCB(OWN, Bounded(15, 50), band=DKW()), CAROL),
        (WUCB(OWN, Bounded(0, 5), band=Holder()), CAROL),
    ],
)
def test_classic_policies_and_rewards_of_one_sign(policy, other):
    low, high = policy.rewards_of(1)[0].support
    outcomes = np.round(np.random.default_rng(9).uniform(low, high, (3, 300)), 0 if high > 1 else 2)
    shared, own = twins(policy, other, outcomes)
    for _ in range(20):
        choice = shared.ask(preference=other)
        assert own.ask() == choice
        for learner in (shared, own):
            learner.tell(choice, high)
    np.testing.assert_allclose(shared.recommend(other).interval, own.recommend().interval, rtol=1e-9)


def test_who_cannot_be_served_is_told_why():
    seen = np.random.default_rng(1).random((2, 20))
    for policy, reason in (
        (UCBV(Bounded(0, 1)), "holds for means"),
        (WEUCB(expected_value(), Bounded(0, 1)), r"must lie in \[0, 1\]"),
    ):
        shared = policy.start(2, seed=1)
        shared.observe(0, seen[0])
        with pytest.raises(ValueError, match=reason):
            shared.ask(preference=Preference(TverskyKahneman(0.61), utility=lambda x: 2.0 * x))


def test_chances_bound_once_what_no_draw_changes():
    shared, own = twins(WUCB.as_printed(OWN, Bounded(0, 50)), BOB, np.random.default_rng(1).uniform(0, 50, (3, 200)))
    assert shared.chances(BOB) == own.chances()
