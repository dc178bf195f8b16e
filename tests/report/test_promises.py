"""Which promise holds is said by the answer, by the page and by the live view, with the same words."""

import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from rich.console import Console

from allais import (
    WLUCB,
    WSR,
    Bandit,
    Bounded,
    Normal,
    PairwiseScreening,
    PowerUtility,
    Preference,
    Simulator,
    TverskyKahneman,
    best_arm,
    expected_value,
    search,
)
from allais.policies.core.base import promise_in_words
from allais.report import LiveView, write_page
from allais.report.words import confidence
from allais.searches import Search, drive
from tests.searches.simulators import ARMS, coin

NORMAL = Bandit([Normal(0.0, 1.0), Normal(1.0, 1.0)])
SCREENING = PairwiseScreening(expected_value(), delta=0.05, rarest=0.02)


def test_an_answer_says_which_promise_it_has(tmp_path):
    proven = search(WLUCB(expected_value(), Bounded(-1, 1), delta=0.05), Simulator(coin, ARMS), seed=1)
    asymptotic = best_arm(SCREENING, NORMAL, seed=1)
    none = best_arm(WSR(expected_value(), budget=100), NORMAL, seed=1)
    assert confidence(proven).endswith("is below 5%.")
    assert confidence(asymptotic).endswith(
        "is about 5%. That is asymptotic, by the central limit theorem, and not proven, and events rarer than 2% may "
        "never have been seen."
    )
    assert "a budget gives no confidence by itself" in confidence(none)
    for answer in (proven, asymptotic, none):
        path = tmp_path / f"{answer.promise}.html"
        write_page(answer, path)
        assert f"<h2>What is promised</h2>\n<p>{promise_in_words(answer.learner.policy)}</p>" in path.read_text()


def test_a_tolerance_in_utility_is_said_in_units_where_the_answer_is():
    people = Preference(TverskyKahneman(0.61), utility=PowerUtility(0.88, 2.25), reference=0)
    policy = WLUCB(people, Bounded(0, 2), delta=0.05, tolerance=0.4)
    answer = best_arm(policy, Simulator(lambda arm, rng: 1.0 + 0.1 * arm, 2), seed=1)
    worth = people.outcomes_of(np.array([answer.value, answer.value + 0.4]))
    assert f"by more than about {worth[1] - worth[0]:.2g} minutes (0.4 in utility)" in confidence(answer, "minutes")


def test_the_live_view_names_the_promise_and_shows_the_best_of_many():
    text = io.StringIO()
    view = LiveView(Console(file=text, width=160))
    options = 200
    progress = Search(SCREENING, range(options), np.random.SeedSequence(1))
    problem = Simulator(lambda arm, rng: rng.normal(arm / options), options)
    with ThreadPoolExecutor(2) as executor:
        drive(progress, problem, executor, max_runs=3 * options)
    table = view.table(progress, 1.0)
    assert table.title == "promise: asymptotic"
    assert table.row_count == 30
