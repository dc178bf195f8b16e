"""Compiled code: tables as good as formulas, kept between processes, no policy touched by a change of memory."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allais import (
    UCB1,
    Bandit,
    Bernoulli,
    Bounded,
    Preference,
    TverskyKahneman,
    Weight,
    simulate,
    testing,
)
from allais.numerics.table import table_of, weigh
from allais.policies.core.knowledge import worth_of
from allais.policies.core.steps import pick
from allais.samples.layout import grown
from allais.samples.memory import empty_memory, insert, measure, remove
from allais.weights import TailAverage
from tests.policies.own_policy import Greedy
from tests.strategies import outcomes, weights_and_duals


@settings(max_examples=60, deadline=None)
@given(weights_and_duals, st.integers(1, 10_000_000), st.floats(0, 1))
def test_a_weights_table_equals_its_formula(weight, samples, share):
    p = round(share * samples) / samples  # what a memory asks for
    assert weigh(table_of(weight), p) == pytest.approx(weight(p), rel=1e-12, abs=2e-12)


def test_a_users_curve_with_kinks_is_tabulated_to_the_last_digits():
    kinked = Weight.from_function(lambda p: np.interp(p, [0, 0.1, 0.7, 1], [0, 0.3, 0.6, 1]), singularities=(0.1, 0.7))
    for p in np.random.default_rng(1).random(500):
        assert weigh(table_of(kinked), p) == pytest.approx(kinked(p), rel=1e-14)
    assert weigh(table_of(TailAverage(0.05)), 0.95) == pytest.approx(0.0, abs=1e-15)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), outcomes), min_size=1, max_size=50), weights_and_duals, st.data())
def test_a_memory_values_what_it_holds(told, weight, data):
    preference = Preference(weight, weight.dual())
    worth = worth_of(preference, [], 2)
    memory = empty_memory(2, capacity=1)
    held = ([], [])
    for arm, outcome in told:
        while memory.sizes[arm] == memory.utility.shape[1]:
            memory = grown(memory, arm)
        insert(memory, arm, outcome, outcome)
        held[arm].append(outcome)
        if data.draw(st.integers(0, 3)) == 0:
            victim = data.draw(st.sampled_from(held[arm]))
            assert remove(memory, arm, victim, victim)
            held[arm].remove(victim)
        measure(worth, memory, arm)
        assert not remove(memory, arm, 12345.6, 12345.6)
    for arm in (0, 1):
        assert memory.pulls[arm] == len(held[arm])
        if held[arm]:
            parts = preference.estimate_parts(held[arm])
            assert memory.value[arm] == pytest.approx(parts.value, abs=1e-11 * (parts.gain + parts.loss) + 1e-12)


def test_a_tie_is_equality_to_twelve_digits():
    scores, eligible = np.array([1.0, 1.0 + 1e-13, 0.5]), np.ones(3, dtype=bool)
    asked = np.array([5, 7, 0])
    assert pick(scores, eligible, asked, 0.99) == 0  # a tie, and fewer asks
    assert pick(np.array([1.0, 1.0 + 1e-9, 0.5]), eligible, asked, 0.0) == 1
    assert pick(scores, np.zeros(3, dtype=bool), asked, 0.5) == -1
    assert pick(np.array([-np.inf, -np.inf]), np.ones(2, dtype=bool), np.array([3, 3]), 0.7) == 1
    assert pick(np.array([np.inf, 1.0, np.inf]), eligible, asked, 0.0) == 2


STATS = """
import allais
from allais.simulation.rollout import compiled_loop
policy = allais.UCB1(allais.Bounded(0, 1))
problem = allais.Bandit([allais.Bernoulli(0.4), allais.Bernoulli(0.6)])
allais.simulate(policy, problem, 100, 1, seed=1)
hits, misses = compiled_loop.entry.stats.cache_hits, compiled_loop.entry.stats.cache_misses
print(sum(hits.values()), sum(misses.values()))
"""


def run_with_cache(folder):
    environment = {**os.environ, "ALLAIS_CACHE_DIR": str(folder)}
    result = subprocess.run([sys.executable, "-c", STATS], capture_output=True, text=True, check=True, env=environment)
    return tuple(map(int, result.stdout.split()))


def test_another_process_compiles_nothing():
    policy, problem = UCB1(Bounded(0, 1)), Bandit([Bernoulli(0.4), Bernoulli(0.6)])
    simulate(policy, problem, 100, 1, seed=1)  # here, if nobody did before
    done = subprocess.run([sys.executable, "-c", STATS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "0"]


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path):
    assert run_with_cache(tmp_path) == (0, 1)
    assert run_with_cache(tmp_path) == (1, 0)
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("kernels-")


@pytest.mark.slow
def test_a_machine_without_a_writable_folder_still_works(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    hits, _ = run_with_cache(blocked)
    assert hits == 0


def test_importing_numba_leaves_its_settings_alone():
    code = (
        "import numba; before = numba.config.CACHE_DIR; import allais.policies; print(before == numba.config.CACHE_DIR)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "True"


def test_a_policy_written_elsewhere_runs_in_the_same_loop():
    policy = Greedy(Preference(TverskyKahneman(0.61)))
    testing.check_policy(policy, Bandit([Bernoulli(0.3), Bernoulli(0.7)]), rounds=500)
    results = simulate(policy, Bandit([Bernoulli(0.3), Bernoulli(0.7)]), 1000, 5, seed=1)
    assert results.pulls[:, -1].sum() == 5000


FOREIGN = """
from tests.policies.own_band import Wide
from allais import Bandit, Bernoulli, Bounded, WLUCB, best_arm, expected_value
policy = WLUCB(expected_value(), Bounded(0, 1), delta=0.1, band=Wide())
print(best_arm(policy, Bandit([Bernoulli(1.0), Bernoulli(0.0)]), seed=1).samples)
"""
OWN = """
from allais import Bandit, Bernoulli, Bounded, WLUCB, best_arm, expected_value
from allais.bands import Holder
policy = WLUCB(expected_value(), Bounded(0, 1), delta=0.1, band=Holder())
print(best_arm(policy, Bandit([Bernoulli(1.0), Bernoulli(0.0)]), seed=1).samples)
"""


@pytest.mark.slow
def test_a_band_written_elsewhere_leaves_no_trace_in_the_shared_cache(tmp_path):
    environment = {**os.environ, "ALLAIS_CACHE_DIR": str(tmp_path)}
    environment.pop("PYTHONPATH", None)

    def samples(code, **settings):
        command = [sys.executable, "-c", code]
        result = subprocess.run(command, capture_output=True, text=True, check=True, **settings)
        return int(result.stdout)

    here = {**environment, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert samples(FOREIGN, env=here) > 78  # wider than the Hölder band, so it takes longer
    assert samples(OWN, env=environment, cwd=tmp_path) == 78  # a process that cannot import the band
