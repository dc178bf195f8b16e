"""Short runs computed by hand, and longer ones by a plain reading of the algorithms."""

import math

import numpy as np
import pytest

from allais import (
    LUCB,
    UCB1,
    WLUCB,
    WSR,
    WUCB,
    Bernoulli,
    Bounded,
    Discrete,
    Power,
    Preference,
    TverskyKahneman,
    best_arm,
    expected_value,
)
from allais.bands import Holder
from allais.learner import NotNow
from allais.policies import EXP3, UCBV
from allais.policies.core.verbs import bracket
from allais.policies.wsr import phases
from allais.problems import Bandit

ROOT = Preference(Power(0.5))  # L = 1 and alpha = 1/2


def play(learner, tapes, rounds):
    tapes = {arm: iter(tape) for arm, tape in tapes.items()}
    chosen = []
    for _ in range(rounds):
        choice = learner.ask()
        chosen.append(choice.arm)
        learner.tell(choice, next(tapes[choice.arm]))
    return "".join(chosen)


def test_wucb_by_hand():
    # gamma_{m,l} = (1.5 log m / l)^(1/4); arm A brings 1, 0, 0, 0, ... and arm B brings 0, 1, 1, ...
    # m = 3: A 1 + g, B 0 + g, both with l = 1                                        -> A, now p = 1/2
    # m = 4: A .7071 + (1.5 * 1.3863 / 2)^.25 = .7071 + 1.0098; B (2.0794)^.25 = 1.2008   -> A, p = 1/3
    # m = 5: A .5774 + .9471 = 1.5245; B 1.2465                                       -> A, p = 1/4
    # m = 6: A .5 + .9053 = 1.4053; B 1.2804                                          -> A, p = 1/5
    # m = 7: A .4472 + .8741 = 1.3213; B 1.3071                                       -> A, p = 1/6
    # m = 8: A .4082 + .8491 = 1.2574; B 1.3290                                       -> B, now 1/2
    # m = 9: A 1.2802; B .7071 + 1.1330 = 1.8401                                      -> B
    learner = WUCB.as_printed(ROOT, Bounded(0, 1)).start(list("AB"), seed=1)
    assert play(learner, {"A": [1, 0, 0, 0, 0, 0, 0], "B": [0, 1, 1, 1]}, 9) == "ABAAAAABB"
    assert learner.value()["A"] == pytest.approx(math.sqrt(1 / 6))


def test_wucb_is_algorithm_2_read_plainly():
    weight, rng = TverskyKahneman(0.61), np.random.default_rng(8)
    people = Preference(weight)
    tapes = [rng.uniform(0, 30 + 10 * arm, size=400).round(1) for arm in range(3)]
    seen = [[], [], []]
    plain = []
    for m in range(1, 401):
        if m <= 3:
            arm = m - 1
        else:
            index = [
                people.estimate(rewards) + 50 / 0.61 * (3 * math.log(m) / (2 * len(rewards))) ** 0.305
                for rewards in seen
            ]
            arm = int(np.argmax(index))
        seen[arm].append(tapes[arm][len(seen[arm])])
        plain.append(arm)
    learner = WUCB.as_printed(people, Bounded(0, 50)).start(3, seed=1)
    for expected in plain:
        choice = learner.ask()
        assert choice.arm == expected
        learner.tell(choice, tapes[expected][learner.pulls[expected]])


def upper_width(learner):
    """How far the first arm's index lies above its value; what is shown of it ends at the declared bounds."""
    low, high = np.zeros(2), np.zeros(2)
    bracket(learner.rule, learner.state, low, high)
    return high[0] - learner.state.memory.value[0]


def test_ucb1_has_auers_width():
    # sqrt(2 log m / l): the upper bound of an arm told 3 times of mean 2/3, in round m = 6
    learner = UCB1(Bounded(0, 1)).start(list("AB"), seed=1)
    learner.observe("A", [1, 1, 0])
    learner.observe("B", [0, 0])
    assert upper_width(learner) == pytest.approx(math.sqrt(2 * math.log(6) / 3))


def test_ucbv_has_the_width_of_empirical_bernstein():
    learner = UCBV(Bounded(0, 10)).start(list("AB"), seed=1)
    learner.observe("A", [10, 10, 0, 0])
    learner.observe("B", [0])
    x = 1.2 * math.log(6) / 4
    assert upper_width(learner) == pytest.approx(math.sqrt(2 * 25 * x) + 3 * 10 * x)


def test_ties_go_to_the_fewest_pulls_and_then_to_chance():
    chosen = set()
    for seed in range(40):  # all arms alike: by luck the same one 40 times with probability 3^-39
        learner = UCB1(Bounded(0, 1)).start(3, seed=seed)
        for arm in range(3):
            learner.observe(arm, [0.5])
        chosen.add(learner.ask().arm)
    assert chosen == {0, 1, 2}
    learner = WLUCB(expected_value(), Bounded(0, 1), delta=0.1).start(list("AB"), seed=1)
    learner.observe("A", [0.5, 0.5])
    learner.observe("B", [0.5])
    assert learner.ask().arm == "B"  # both lead with 0.5; B has fewer pulls


def test_wlucb_stops_where_the_arithmetic_says():
    # means 1 and 0 in [0, 1]: stop when 2 sqrt(x / 2m) <= 1 with x = log(m^4 2 (pi^2/3 + 1) / 0.1),
    # that is m >= 2 x: 38 < 2 * 19.002, 39 >= 2 * 19.106; two arms, 78 samples
    problem = Bandit([Bernoulli(1.0), Bernoulli(0.0)])
    answer = best_arm(WLUCB(expected_value(), Bounded(0, 1), delta=0.1, band=Holder()), problem, seed=1)
    assert (answer.arm, answer.samples, answer.settled, answer.delta) == (0, 78, True, 0.1)
    # LUCB has 5/4 for pi^2/3 + 1: x = log(25 m^4), 35 < 2 * 17.44 is wrong, 35 >= 34.88 right
    assert best_arm(LUCB(Bounded(0, 1), delta=0.1), problem, seed=1).samples == 70
    # a tolerance of 1/2 lets the intervals overlap by it: m >= 8/9 x
    loose = WLUCB(expected_value(), Bounded(0, 1), delta=0.1, tolerance=0.5, band=Holder())
    m = best_arm(loose, problem, seed=1).samples / 2
    assert m == math.ceil(m)
    assert 2 * math.sqrt(math.log(m**4 * 2 * (math.pi**2 / 3 + 1) / 0.1) / (2 * m)) <= 1.5


def test_two_equal_arms_settle_only_with_a_tolerance():
    problem = Bandit([Discrete({1: 1.0}), Discrete({1: 1.0})])
    never = best_arm(WLUCB(ROOT, Bounded(0, 2), delta=0.1), problem, seed=1, max_samples=20_000)
    assert not never.settled
    assert never.samples == 20_000
    assert best_arm(WLUCB(ROOT, Bounded(0, 2), delta=0.1, tolerance=3.0), problem, seed=1).settled


def test_wsr_by_hand():
    # n = 100, K = 3: logbar = 1/2 + 1/2 + 1/3 = 4/3, n_1 = ceil(97 / (4/3 * 3)) = 25, n_2 = ceil(97 / (4/3 * 2)) = 37
    np.testing.assert_array_equal(phases(100, 3), [25, 37])
    learner = WSR(ROOT, budget=100).start(list("ABC"), seed=1)
    first = play(learner, {"A": [1] * 25, "B": [0] * 25, "C": [0.25] * 25}, 75)
    assert first == "ABC" * 25
    second = play(learner, {"A": [1] * 12, "C": [0.25] * 12}, 24)
    assert second == "AC" * 12
    with pytest.raises(NotNow, match="has settled"):
        learner.ask()
    assert learner.recommend().arm == "A"
    assert learner.samples == 99  # never more than the budget


@pytest.mark.parametrize("n_arms", [2, 3, 7, 20])
@pytest.mark.parametrize("budget", [21, 100, 1001])
def test_wsr_never_spends_more_than_its_budget(n_arms, budget):
    problem = Bandit([Bernoulli(0.5)] * n_arms)
    answer = best_arm(WSR(expected_value(), budget=budget), problem, seed=3)
    assert answer.samples <= budget
    assert answer.settled


def test_exp3_by_hand():
    # gamma = 1/2, two arms: p = 1/2 each; a reward of 1 adds gamma / (p K) = 1/2 to the log weight,
    # so the next p is (1/2) e^.5 / (e^.5 + 1) + 1/4 = 0.56123
    learner = EXP3(Bounded(0, 2), gamma=0.5).start(list("AB"), seed=4)
    choice = learner.ask()
    learner.tell(choice, 2.0)
    again = learner.ask()
    ticket = learner._engine.out[again.id][1]
    expected = 0.5 * math.exp(0.5) / (math.exp(0.5) + 1) + 0.25
    assert ticket == pytest.approx(expected if again.arm == choice.arm else 1 - expected)


def test_a_late_outcome_of_exp3_is_weighted_by_the_chance_its_choice_had():
    early, late = (EXP3(Bounded(0, 1), gamma=0.5).start(list("AB"), seed=9) for _ in range(2))
    first, second = early.ask(2)
    late.ask(2)
    early.tell(first, 1.0)
    early.tell(second, 1.0)
    late.tell(second, 1.0)
    late.tell(first, 1.0)
    np.testing.assert_array_equal(early.state.own.log_weights, late.state.own.log_weights)
