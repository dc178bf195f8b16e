"""Policies in plain Python beside compiled ones."""

import warnings

import numpy as np
import pytest

from allais import NPTS, UCB1, Bandit, Bernoulli, Bounded, Simulator, best_arm, compare, expected_value, simulate
from allais.errors import SpeedWarning
from allais.simulation import PythonPolicy

PROBLEM = Bandit([Bernoulli(0.3), Bernoulli(0.5), Bernoulli(0.8)])
UNIT = Bounded(0, 1)


class PlainUCB1:
    """UCB1 as one would write it by hand: ties go to the fewest asks, as in the compiled one."""

    def __init__(self, n_arms, rng):
        self.told, self.total = np.zeros(n_arms), np.zeros(n_arms)

    def ask(self):
        if not self.told.all():
            return int(self.told.argmin())
        width = np.sqrt(2.0 * np.log(self.told.sum() + 1.0) / self.told)
        return int((self.total / self.told + width).argmax())

    def tell(self, arm, reward):
        self.told[arm] += 1
        self.total[arm] += reward

    def recommend(self):
        return int((self.total / self.told).argmax()) if self.told.all() else 0


class Patient(PlainUCB1):
    @property
    def settled(self):
        return self.told.sum() >= 30


class Astray(PlainUCB1):
    def ask(self):
        return 3


class Mute:
    def __init__(self, n_arms, rng):
        pass

    def ask(self):
        return 0


@pytest.fixture
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpeedWarning)
        yield


@pytest.mark.usefixtures("_quiet")
def test_a_policy_in_python_chooses_as_the_compiled_one_does():
    """Continuous rewards have no ties, so that only the algorithm decides."""
    problem = Simulator(lambda arm, rng: float(np.clip(rng.normal(0.3 + 0.2 * arm, 0.1), 0, 1)), arms=3)
    settings = {"n_rounds": 2_000, "n_runs": 2, "seed": 5, "trace": True}
    ours = simulate(UCB1(UNIT), problem, **settings)
    theirs = simulate(PlainUCB1, problem, **settings)
    np.testing.assert_array_equal(ours.choices, theirs.choices)
    np.testing.assert_array_equal(ours.recommended[:, 10:], theirs.recommended[:, 10:])


@pytest.mark.usefixtures("_quiet")
def test_a_policy_in_python_stands_in_the_table_of_compiled_ones():
    table = compare([NPTS(expected_value(), UNIT), PlainUCB1, PlainUCB1], PROBLEM, n_rounds=500, n_runs=3, seed=1)
    assert [row["policy"] for row in table.rows()] == ["NPTS", "PlainUCB1", "PlainUCB1 2"]
    first, second = (table.results[name].pulls for name in ("PlainUCB1", "PlainUCB1 2"))
    np.testing.assert_array_equal(first, second)  # the same seed
    apart = simulate(PlainUCB1, PROBLEM, n_rounds=500, n_runs=3, seed=1, n_jobs=2)
    np.testing.assert_array_equal(first, apart.pulls)


@pytest.mark.usefixtures("_quiet")
def test_a_policy_in_python_may_stop():
    results = simulate(Patient, PROBLEM, n_rounds=100, seed=1)
    assert (results.samples[0], bool(results.stopped[0])) == (30, True)
    assert results.pulls[0, -1].sum() == 30


def test_it_is_said_that_python_is_slow():
    with pytest.warns(SpeedWarning, match="PlainUCB1 runs in plain Python, about a hundred times slower"):
        simulate(PlainUCB1, PROBLEM, n_rounds=10)


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: simulate(Astray, PROBLEM, n_rounds=10), "ask must return an arm from 0 to 2; Astray returned 3"),
        (lambda: simulate(PythonPolicy(make=Mute), PROBLEM, n_rounds=10), "Mute lacks tell"),
        (lambda: compare([NPTS, UCB1], PROBLEM, n_rounds=10), "comes with its settings; got the class NPTS"),
        (lambda: compare(UCB1(UNIT), PROBLEM, n_rounds=10), "compare takes several policies; got UCB1 alone"),
        (lambda: simulate(UCB1(UNIT), [Bernoulli(0.5)], n_rounds=10), r"Write Bandit\(\[...\]\)"),
        (lambda: best_arm(PythonPolicy(make=PlainUCB1), PROBLEM, seed=1), "needs a policy that stops"),
        (
            lambda: PythonPolicy(make=PlainUCB1).start(3, seed=1),
            "runs in simulate and compare; got PlainUCB1 elsewhere",
        ),
    ],
)
def test_what_cannot_run_is_refused_in_a_sentence(call, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        call()


@pytest.mark.usefixtures("_quiet")
def test_a_policy_in_python_recommends_once_each_arm_has_an_outcome():
    class Averages(PlainUCB1):
        def __init__(self, n_arms, rng):
            super().__init__(n_arms, rng)
            self.outcomes = [[] for _ in range(n_arms)]

        def tell(self, arm, reward):
            super().tell(arm, reward)
            self.outcomes[arm].append(reward)

        def recommend(self):
            return int(np.argmax([sum(one) / len(one) for one in self.outcomes]))  # fails for an arm without outcomes

    results = simulate(Averages, PROBLEM, n_rounds=100, n_runs=2, seed=1)
    assert results.recommended.shape[0] == 2
