"""What an interview is worth: the study's arithmetic, and its order."""

import numpy as np
import pytest

from allais.people import Family, Study, study
from allais.people.interview.candidates import dominates
from allais.people.interview.study import SOURCES, _arms


@pytest.fixture(scope="module")
def small():
    return study(n_people=6, n_questions=4, n_rounds=200, n_runs=1, seed=3)


def test_the_true_preference_loses_nothing_where_arms_are_known(small):
    assert small.known[:, 0].tolist() == [0.0] * 6
    assert (small.known >= 0.0).all()
    assert (small.learned >= -1e-12).all()


def test_the_same_seed_gives_the_same_study(small):
    again = study(n_people=6, n_questions=4, n_rounds=200, n_runs=1, seed=3)
    assert np.array_equal(again.learned, small.learned)


def test_the_table_has_means_and_standard_errors():
    learned = np.array([[0.1, 0.2, 0.3, 0.4], [0.3, 0.4, 0.5, 0.6]])
    rows = Study(learned, learned, 1000).rows()
    assert rows[1] == [SOURCES[1], "0.300 ± 0.100", "0.100 ± 0.000", "0.300 ± 0.100"]


def test_no_arm_of_the_study_dominates_another():
    for seed in range(5):
        arms = _arms(Family(stake=100), np.random.default_rng(seed))
        assert len(arms) == 5
        assert not any(dominates(one, other) for one in arms for other in arms if one is not other)
