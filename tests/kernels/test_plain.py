"""ALLAIS_KERNELS=plain: the same numbers by numba's public interface alone."""

import os
import subprocess
import sys

import pytest

CODE = """
import sys
import allais

people, rewards = allais.Preference(allais.TverskyKahneman(0.61)), allais.Bounded(0, 50)
policy = eval(sys.argv[1])
learner = policy.start(["A21", "A28"], seed=1)
for outcome in range(300):  # more than are kept in a plain list
    learner.tell(learner.ask(), outcome / 10)
print(learner.pulls, {arm: round(value, 6) for arm, value in learner.value().items()})
modules = ("references", "late_calls", "functions")
print(sum(f"allais._kernels.{name}" in sys.modules for name in modules), file=sys.stderr)
if sys.argv[2] == "live":
    sys.exit()
problem = allais.Bandit([allais.Discrete({50: 0.1, 0: 0.9}), allais.Discrete({7: 1.0})])
print(allais.simulate(policy, problem, n_rounds=2000, n_runs=2, seed=1).regret[:, -1].round(6).tolist())
"""


def run(policy, what, **settings):
    command = [sys.executable, "-c", CODE, policy, what]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **settings}, check=True)
    return done.stdout, int(done.stderr)


def compare(policy, what):
    fast, private = run(policy, what)
    assert private == 3
    # code that is not optimised compiles sooner
    assert run(policy, what, ALLAIS_KERNELS="plain", NUMBA_OPT="0") == (fast, 0)


def test_kernels_work_by_numbas_public_interface_alone():
    code = """
import sys
from allais import TverskyKahneman
from allais.numerics.table import table_of, weigh
print(weigh(table_of(TverskyKahneman(0.61)), 0.1), TverskyKahneman(0.61)(0.1))
print(hasattr(weigh, "signatures"), "allais._kernels.references" in sys.modules)
"""
    settings = {**os.environ, "ALLAIS_KERNELS": "plain", "NUMBA_OPT": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=settings, check=True)
    compiled, exact, *kinds = done.stdout.split()
    assert float(compiled) == pytest.approx(float(exact), rel=1e-12)
    assert kinds == ["True", "False"]


@pytest.mark.slow
def test_a_learner_on_plain_kernels_knows_the_same():
    compare("allais.UCB1(rewards)", "live")


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    [
        "allais.UCB1(rewards)",
        "allais.WUCB(people, rewards)",
        "allais.NPTS(people, rewards)",
        "allais.TopTwo(people, rewards, delta=0.1)",
    ],
)
def test_plain_kernels_give_the_same_numbers(policy):
    compare(policy, "live and simulated")
