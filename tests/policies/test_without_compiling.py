"""NUMBA_DISABLE_JIT=1: every kernel runs in Python, for those who debug one, and does the same."""

import os
import subprocess
import sys

SCRIPT = """
import warnings

warnings.simplefilter("error")
import numpy as np
from allais import *

people = Preference(TverskyKahneman(0.61))
values = Finite([0, 7, 50])
problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})], arms=["A21", "A28"])
bounded = Bounded(0, 50)
for policy in (NPTS(people, bounded), WUCB.as_printed(people, bounded), TopTwo(people, values, delta=0.1)):
    learner, rng = policy.start(["A21", "A28"], seed=1), np.random.default_rng(1)
    for _ in range(40):
        learner.tell(learner.ask(), float(rng.choice([0.0, 7.0, 50.0])))
    learner.save("learner.json")
    print(learner.pulls, learner.recommend().arm, Learner.load("learner.json").ask())
stream = ValueStream(people)
stream.add_many(np.arange(-100.0, 200.0))
print(round(stream.value(), 9), stream.quantile(0.3))
print(simulate(WUCB.as_printed(people, Bounded(0, 50)), problem, n_rounds=60, n_runs=2, seed=1).pulls[:, -1].tolist())
"""


def test_kernels_that_are_not_compiled_do_the_same(tmp_path):
    def printed(**settings):
        run = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(
            run, cwd=tmp_path, env={**os.environ, **settings}, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    plain = printed(NUMBA_DISABLE_JIT="1")
    assert plain.count("\n") == 5
    assert plain == printed()
