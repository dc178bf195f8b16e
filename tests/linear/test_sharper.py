"""LinTS, LinGapE, noise that is estimated, and arms that are not listed."""

import math

import networkx
import numpy as np
import pytest

from allais import (
    Discrete,
    Learner,
    Normal,
    Preference,
    TverskyKahneman,
    best_arm,
    expected_value,
    simulate,
    testing,
)
from allais.linear import (
    OFUL,
    WG,
    WOFUL,
    AdditiveNoise,
    ArmNoise,
    Ball,
    Box,
    EstimatedNoise,
    FeatureNoise,
    LinearBandit,
    LinGapE,
    LinTS,
    ParameterNoise,
    PathProblem,
    Routes,
    linear_characteristic_time,
    simple_routes,
)
from allais.linear.arm_sets import Judge

PEOPLE = Preference(TverskyKahneman(0.61))
DELAYS = Preference(TverskyKahneman(0.61), reference=20.0, costs=True)
RARE_LOSS = Discrete({1.0: 0.99, -99.0: 0.01})


def five_axes_and_a_near_one():
    features = np.vstack([np.eye(5), [math.cos(0.3), math.sin(0.3), 0, 0, 0]])
    return LinearBandit(features, [2.0, 0, 0, 0, 0], ParameterNoise())


def tailed():
    return LinearBandit(np.eye(2), [9.0, 11.0], ArmNoise([Normal(0, 1), RARE_LOSS]))


@pytest.mark.parametrize(
    "policy",
    [
        LinTS(PEOPLE, ParameterNoise()),
        LinTS(Preference.tversky_kahneman(), ParameterNoise(), delta=0.05, beta=2.0, inflation=2.0),
        LinGapE(PEOPLE, ParameterNoise(), delta=0.05, beta=2.0),
    ],
    ids=["LinTS", "LinTS with a utility", "LinGapE"],
)
def test_the_policies_keep_the_contract(policy):
    testing.check_policy(policy, five_axes_and_a_near_one(), rounds=600)


def test_estimating_policies_keep_the_contract():
    for policy in (LinTS(PEOPLE, EstimatedNoise(33.0)), WOFUL(PEOPLE, EstimatedNoise(33.0), delta=0.05, beta=15.0)):
        testing.check_policy(policy, tailed(), rounds=600)
    testing.check_policy(LinTS(PEOPLE, EstimatedNoise(1.0)), five_axes_and_a_near_one(), rounds=1_500)


def test_a_drawn_theta_has_the_right_distribution():
    problem = five_axes_and_a_near_one()
    policy = LinTS(PEOPLE, ParameterNoise(), inflation=2.0).on(problem)
    learner = policy.start(6, seed=1)
    rng = np.random.default_rng(1)
    for _ in range(30):
        choice = learner.ask()
        learner.tell(choice, float(problem.draw(choice.arm, rng, 1)[0]))
    draws = np.array([policy.drawn_thetas(learner.rule, learner.state, u)[0][0] for u in rng.random(40_000)])
    covariance = 4.0 * np.linalg.inv(learner.state.gram)
    errors = np.sqrt(np.diag(covariance) / draws.shape[0])
    assert (np.abs(draws.mean(axis=0) - learner.state.theta) < 6 * errors).all()  # a chance of 1e-8
    # an entry of a sample covariance has a standard error of at most sqrt(2 c_ii c_jj / n): six of them
    bound = 6.0 * np.sqrt(2.0 * np.outer(np.diag(covariance), np.diag(covariance)) / draws.shape[0])
    assert (np.abs(np.cov(draws.T) - covariance) < bound).all()


def test_the_factor_of_the_gram_matrix_does_not_drift():
    from allais.simulation.rollout import Rollout

    rollout = Rollout(
        LinTS(PEOPLE, ParameterNoise(), regularisation=1e-3), five_axes_and_a_near_one(), np.random.SeedSequence(1)
    )
    rollout.run(100_000)
    factor = np.triu(rollout.state.factor)
    assert factor.T @ factor == pytest.approx(rollout.state.gram, rel=1e-11, abs=1e-8)


def test_lingape_needs_a_hundredth_of_the_papers_samples():
    problem = five_axes_and_a_near_one()
    ours = [best_arm(LinGapE(PEOPLE, ParameterNoise(), delta=0.05, beta=2.0), problem, seed=seed) for seed in range(3)]
    theirs = best_arm(WG(PEOPLE, ParameterNoise(), delta=0.05, beta=2.0, stopping="paper"), problem, seed=1)
    assert all(answer.arm == 0 and answer.settled for answer in ours)
    assert max(answer.samples for answer in ours) < theirs.samples / 100
    limit = linear_characteristic_time(PEOPLE, problem.features, problem.theta, ParameterNoise(), rounds=200)
    assert np.mean([answer.samples for answer in ours]) > limit * math.log(1 / (2.4 * 0.05))


def beaten_but_uncertain():
    """The third arm is soon beaten, yet its location stays the least known; the second needs all the samples."""
    features = [[1.0, 0.0, 0.0], [1.0, 0.3, 0.0], [0.0, 0.0, 3.0]]
    return LinearBandit(features, [10.0, -5.0 / 3.0, 0.0], ParameterNoise())


def test_lingape_does_not_sample_for_ever_against_an_arm_that_is_beaten():
    # it did in most runs; 200 of 200 runs stop after 3,758 samples on average, with a standard deviation of 480
    policy = LinGapE(PEOPLE, ParameterNoise(), delta=0.05, beta=10.5)
    answers = [best_arm(policy, beaten_but_uncertain(), seed=seed, max_samples=20_000) for seed in range(10)]
    assert all(answer.settled and answer.arm == 0 for answer in answers)
    reference = best_arm(WG(PEOPLE, ParameterNoise(), delta=0.05, beta=10.5), beaten_but_uncertain(), seed=1)
    assert (reference.arm, reference.settled) == (0, True)
    assert np.mean([answer.samples for answer in answers]) < reference.samples


def test_the_limit_of_two_axes_is_eight_over_the_squared_gap():
    limit = linear_characteristic_time(expected_value(), np.eye(2), [1.0, 0.5], ParameterNoise(), rounds=50)
    assert limit == pytest.approx(32.0, rel=1e-4)
    # with noise twice as wide, four times as many
    wide = linear_characteristic_time(expected_value(), np.eye(2), [1.0, 0.5], AdditiveNoise(Normal(0, 2)), rounds=50)
    assert wide == pytest.approx(128.0, rel=1e-4)
    assert linear_characteristic_time(PEOPLE, np.eye(2), [1.0, 1.0], ParameterNoise()) == math.inf
    with pytest.raises(ValueError, match="normal noise"):
        linear_characteristic_time(PEOPLE, np.eye(2), [1.0, 0.5], AdditiveNoise(RARE_LOSS))


def test_lints_beats_woful_and_finds_the_preferred_arm():
    problem = tailed()
    noise = problem.noise
    runs = {
        policy.name: simulate(policy, problem, 20_000, 10, seed=1, judge=PEOPLE)
        for policy in (
            LinTS(PEOPLE, noise, regularisation=0.01),
            WOFUL(PEOPLE, noise, delta=0.05, beta=15.0, regularisation=0.01),
            OFUL(noise, delta=0.05, beta=15.0, regularisation=0.01),
        )
    }
    final = {name: results.regret[:, -1].mean() for name, results in runs.items()}
    assert final["LinTS"] < final["W-OFUL"] < final["OFUL"]
    assert (runs["LinTS"].recommended[:, -1] == 0).all()
    assert (runs["LinTS"].pulls[:, -1, 1] > 0).all()  # it has tried the other arm, and left it


def test_with_estimated_noise_the_preferred_arm_is_found_where_a_gaussian_never_does():
    problem = tailed()
    learned = simulate(LinTS(PEOPLE, EstimatedNoise(33.0)), problem, 20_000, 10, seed=1, checkpoints=[10_000])
    assert (learned.recommended[:, -1] == 0).all()
    late = learned.pulls[:, -1, 0] - learned.pulls[:, 0, 0]
    assert late.mean() > 9_900
    gaussian = simulate(
        WOFUL(PEOPLE, ParameterNoise(33.0), delta=0.05, beta=15.0, regularisation=0.01), problem, 20_000, 10, seed=1
    )
    assert (gaussian.recommended[:, -1] == 1).all()


def test_estimated_noise_keeps_few_outcomes_and_their_mean():
    learner = LinTS(PEOPLE, EstimatedNoise(2.0)).start(1, seed=1, features=[[1.0]])
    outcomes = np.random.default_rng(1).normal(3.0, 1.0, size=3_000)
    learner.observe(0, outcomes)
    state = learner.state
    kept, counts = state.seen[0, 0, : state.sizes[0]], state.seen[0, 1, : state.sizes[0]]
    assert state.sizes[0] == 128
    assert counts.sum() == 3_000
    assert kept @ counts / 3_000 == pytest.approx(outcomes.mean(), abs=1e-9)
    moved = outcomes - outcomes.mean() + learner.state.theta[0]
    assert learner.value()[0] == pytest.approx(PEOPLE.estimate(moved), abs=0.01)
    with pytest.raises(ValueError, match="stay the same"):
        learner.ask(features=[[2.0]])
    with pytest.raises(ValueError, match="known form"):
        LinGapE(PEOPLE, EstimatedNoise(1.0), delta=0.05, beta=1.0)
    with pytest.raises(ValueError, match="linear utility"):
        LinTS(Preference.tversky_kahneman(), EstimatedNoise(1.0))


def test_noise_of_features_adds_up():
    noise = FeatureNoise([Normal(0, 1), Discrete({0: 0.99, 100: 0.01}), Discrete({-1: 0.5, 1: 0.5})])
    arms = noise.of(np.array([[1.0, 0, 0], [0, 1.0, 1.0], [2.0, 1.0, 0]]))
    assert arms.mean.tolist() == [0.0, 1.0, 1.0]
    assert arms.lottery(1).survival([-1.5, 0.5, 99.5]).tolist() == pytest.approx([1.0, 0.505, 0.005])
    both = arms.lottery(2)
    assert both.survival(50.0) == pytest.approx(0.01, abs=1e-9)
    assert both.mean == pytest.approx(1.0)
    assert arms.scale[1] == pytest.approx(math.hypot(32.655, 1.0), abs=1e-3)
    problem = LinearBandit([[1.0, 0, 0], [0, 1.0, 1.0]], [5.0, 3.0, 1.0], noise)
    testing.check_policy(LinTS(PEOPLE, noise), problem, rounds=300)
    with pytest.raises(ValueError, match="one distribution per feature"):
        noise.of(np.eye(2))


# -- arms that are not listed -------------------------------------------------------------------------


def random_dag(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 9))
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(size))
    for a in range(size):
        for b in range(a + 1, size):
            if rng.random() < 0.55:
                graph.add_edge(a, b)
    return graph, size - 1, rng


def test_the_oracle_equals_brute_force_on_500_random_graphs():
    compared = 0
    for seed in range(700):
        graph, last, rng = random_dag(seed)
        if not networkx.has_path(graph, 0, last):
            continue
        routes = Routes(graph, 0, last)
        theta = rng.normal(2.0, 3.0, size=routes.dimension)
        noise = ParameterNoise(0.5 + rng.random()) if seed % 2 else AdditiveNoise(Normal(0, 1))
        preference = DELAYS if seed % 3 else PEOPLE
        judge = Judge(preference, noise)
        listed = [tuple(path) for path in networkx.all_simple_paths(graph, 0, last)]
        assert routes.count() == len(listed)
        rows = np.array([routes.features(path) for path in listed])
        values = [judge.value(float(row @ theta), float(np.linalg.norm(row))) for row in rows]
        order = np.sort(values)[::-1]
        found = routes.k_best(theta, judge, 4)
        assert [value for _, value in found] == pytest.approx(order[:4].tolist(), abs=1e-9)
        for arm, value in found:
            assert arm.name in listed
            assert judge.value(float(arm.features @ theta), float(np.linalg.norm(arm.features))) == pytest.approx(value)
        exact = LinearBandit(rows, theta, noise).true_values(preference)
        assert max(values) == pytest.approx(exact.max(), abs=1e-9)
        compared += 1
    assert compared >= 500


def lattice(size, shortcuts):
    rng = np.random.default_rng(5)
    graph = networkx.DiGraph()
    for i in range(size):
        for j in range(size):
            for step in ((i + 1, j), (i, j + 1)):
                if max(step) < size:
                    graph.add_edge((i, j), step)
    while shortcuts:
        i, j = (int(k) for k in rng.integers(0, size - 2, 2))
        graph.add_edge((i, j), (i + int(rng.integers(1, 3)), j + int(rng.integers(0, 3))))
        shortcuts -= 1
    return graph


def test_lints_learns_among_routes_that_nobody_lists():
    routes = Routes(lattice(6, 12), (0, 0), (5, 5))
    rng = np.random.default_rng(1)
    problem = PathProblem(routes, rng.uniform(1.0, 5.0, routes.dimension), ParameterNoise(0.5))
    regret = problem.play(LinTS(DELAYS, ParameterNoise(0.5)), 1_500, seed=1)
    assert (regret >= -1e-9).all()
    assert regret[-200:].mean() < 0.1 * regret[:50].mean()
    assert np.array_equal(problem.play(LinTS(DELAYS, ParameterNoise(0.5)), 20, seed=1), regret[:20])


def test_routes_are_saved_and_journalled(tmp_path):
    routes = Routes(lattice(4, 3), (0, 0), (3, 3))
    start = routes.best(np.ones(routes.dimension), Judge(DELAYS, ParameterNoise()))
    policy = LinTS(DELAYS, ParameterNoise(), features=[start.features])
    with Learner.open(tmp_path / "folder", policy, ["usual"], seed=1) as learner:
        first, second = learner.ask(among=routes), learner.ask(among=routes)
        assert first.arm[0] == (0, 0)
        learner.tell(first, 17.0)
    with Learner.open(tmp_path / "folder") as learner:
        assert learner.outstanding == (second,)
        assert routes.features(second.arm).tolist() == learner.features_of(second).tolist()
        theta = learner.state.theta.copy()
        following = learner.ask(among=routes)
        learner.save(tmp_path / "copy.json")
    twin = Learner.load(tmp_path / "copy.json")
    assert np.array_equal(twin.state.theta, theta)
    assert twin.outstanding == (second, following)


def test_graphs_with_cycles_are_refused_and_simple_routes_are_listed_instead():
    ring = networkx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("a", "d")])
    with pytest.raises(ValueError, match="simple_routes"):
        Routes(ring, "a", "d")
    problem = simple_routes(ring, "a", "d", k=3, theta=np.ones(5))
    assert problem.arms == (("a", "d"), ("a", "b", "c", "d"))
    with pytest.raises(ValueError, match="there is none"):
        simple_routes(ring, "d", "a", k=3, theta=np.ones(5))
    with pytest.raises(ValueError, match="k must be 1 or more; got 0"):
        simple_routes(ring, "a", "d", k=0, theta=np.ones(5))
    with pytest.raises(ValueError, match="there is none"):
        Routes(networkx.DiGraph([("a", "b"), ("c", "d")]), "a", "d")
    with pytest.raises(ValueError, match="is not one"):
        Routes(networkx.DiGraph([("a", "b")]), "a", "z")


@pytest.mark.parametrize("noise", [ParameterNoise(), AdditiveNoise(Normal(0, 1))], ids=["grows", "additive"])
def test_the_best_arm_of_a_ball_beats_all_others(noise):
    rng = np.random.default_rng(2)
    judge = Judge(Preference(TverskyKahneman(0.61), reference=0.4), noise)
    for _ in range(20):
        theta = rng.normal(size=3)
        best = Ball(3, radius=2.0).best(theta, judge).features
        value = judge.value(float(best @ theta), float(np.linalg.norm(best)))
        others = rng.normal(size=(400, 3))
        others *= (2.0 * rng.random(400) ** 0.3 / np.linalg.norm(others, axis=1))[:, None]
        assert all(judge.value(float(x @ theta), float(np.linalg.norm(x))) <= value + 1e-7 for x in others)


def test_lints_on_a_box_and_what_is_refused():
    noise = AdditiveNoise(Normal(0, 0.3))
    theta = np.array([1.0, -2.0, 0.5])
    learner = LinTS(PEOPLE, noise).start(["corner"], seed=1, features=[[1.0, 1.0, 1.0]])
    box = Box([-1, -1, -1], [1, 1, 1])
    rng = np.random.default_rng(1)
    for _ in range(200):
        choice = learner.ask(among=box)
        x = learner.features_of(choice)
        learner.tell(choice, float(x @ theta + 0.3 * rng.normal()))
    assert choice.arm == (1.0, -1.0, 1.0)
    with pytest.raises(ValueError, match="ParameterNoise"):
        box.best(theta, Judge(PEOPLE, ParameterNoise()))
    with pytest.raises(ValueError, match="as before"):
        learner.ask(among=Ball(2))
    with pytest.raises(ValueError, match="LinTS"):
        WOFUL(PEOPLE, noise, delta=0.05, beta=3.0).start(1, seed=1, features=[[1.0, 1.0, 1.0]]).ask(among=box)
    with pytest.raises(ValueError, match="linear utility"):
        Judge(Preference.tversky_kahneman(), noise)
    with pytest.raises(ValueError, match="AdditiveNoise"):
        Judge(PEOPLE, ArmNoise([Normal(0, 1)]))


@pytest.mark.slow
def test_lingape_errs_in_no_more_than_delta_of_its_runs():
    problem = five_axes_and_a_near_one()
    policy = LinGapE(PEOPLE, ParameterNoise(), delta=0.05, beta=2.0)
    wrong = sum(best_arm(policy, problem, seed=seed).arm != 0 for seed in range(200))
    # at an error rate of delta, more than 10 + 5 standard errors of 200 has a chance below 1e-6
    assert wrong <= 10
