"""The page of an answer: sure amounts in the user's units, what the mean costs, how intervals closed, and the limit."""

import dataclasses
import math
import re
import time
from html import unescape
from itertools import pairwise

import numpy as np
import pytest

from allais import (
    LUCB,
    WLUCB,
    WSR,
    Bandit,
    Bernoulli,
    Bounded,
    Discrete,
    PatientRejects,
    PowerUtility,
    Preference,
    Simulator,
    TopTwo,
    TverskyKahneman,
    Uniform,
    __version__,
    best_arm,
    search,
)
from allais.bands import Interval
from allais.learner.reading import sure_interval
from allais.linear import LinearBandit, LinGapE, ParameterNoise
from allais.preferences.valuation import sure_amount
from allais.report import write_page
from allais.report.page import closing
from allais.report.words import recommendation
from allais.searches import chances_of_best, least_proof
from allais.simulation.history import MOST_ARMS, History
from tests.browser import chromium as opened_browser
from tests.browser import opened_without_complaint
from tests.searches.simulators import ARMS, coin

CALLERS = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), PowerUtility(0.88, 2.25), reference=5, costs=True)
DELAYS = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), reference=80, costs=True)
GAINS = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), PowerUtility(0.88, 2.25))
MILD = Preference(TverskyKahneman(0.8), TverskyKahneman(0.85))
ROUTES = Bandit(
    [Discrete({68: 0.99, 168: 0.01}), Discrete({71: 1.0}), Uniform(60, 100)], arms=["motorway", "detour", "train"]
)
COINS = Bandit([Discrete({1: 0.95, -1: 0.05}), Discrete({1: 0.5, -1: 0.5}), Discrete({1: 0.7, -1: 0.3})])


@pytest.fixture(scope="module")
def routes():
    """An answer with intervals, costs, a tolerance, and another option that the mean prefers."""
    return best_arm(WLUCB(DELAYS, Bounded(50, 180), delta=0.05, tolerance=1.0), ROUTES, seed=1)


@pytest.fixture(scope="module")
def budget():
    return best_arm(WSR(DELAYS, budget=6_000, rewards=Bounded(50, 180)), ROUTES, seed=1)


def page_of(answer, folder, **settings):
    write_page(answer, folder / "page.html", **settings)
    return unescape((folder / "page.html").read_text()).replace("\N{NO-BREAK SPACE}", " ")


# -- sure amounts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("preference", [CALLERS, DELAYS, GAINS, MILD], ids=["callers", "delays", "gains", "mild"])
@pytest.mark.parametrize(
    "distribution", [Discrete({3: 0.9, 30: 0.1}), Discrete({-20: 0.2, 40: 0.8}), Discrete({7: 1.0})]
)
def test_a_sure_amount_is_the_certainty_equivalent_in_the_users_units(preference, distribution):
    sure = sure_amount(preference, preference.value(distribution))
    assert sure == pytest.approx(preference.certainty_equivalent(distribution))
    assert preference.value(Discrete({sure: 1.0})) == pytest.approx(preference.value(distribution))


def test_an_interval_of_costs_turns_round_and_what_no_outcome_feels_like_has_no_amount():
    assert sure_interval(DELAYS, Interval(-20.0, 9.0, 12.0)) == (68.0, 71.0, 100.0)
    assert sure_interval(MILD, Interval(-0.5, 0.1, 0.2)) == (-0.5, 0.1, 0.2)
    bounded = Preference(TverskyKahneman(0.61), utility=lambda x: np.tanh(x))
    assert math.isnan(sure_amount(bounded, 2.0))
    assert math.isnan(sure_amount(MILD, math.inf))


# -- the first paragraph --------------------------------------------------------------------------


def test_the_first_paragraph_says_what_to_do_and_what_the_mean_would_cost(routes):
    found = re.fullmatch(
        r'Choose "detour"\. To people it feels like 71 minutes for sure\. "motorway" has the best mean, ([\d.]+) '
        r"minutes against 71 minutes, but feels like ([\d.]+) minutes for sure: going by the mean would cost "
        r"people ([\d.]+) minutes each time\. The search settled: the chance that another option is "
        r"better by more than 1 minute is below 5%\.",
        recommendation(routes, "minutes"),
    )
    outcomes, counts = routes.learner.outcomes("motorway")
    seen = Discrete(dict(zip(outcomes.tolist(), (counts / counts.sum()).tolist(), strict=True)))
    mean, utilities, lost = map(float, found.groups())
    assert mean == pytest.approx(seen.mean, abs=0.01)
    assert utilities == pytest.approx(DELAYS.certainty_equivalent(seen), abs=0.01)
    assert lost == pytest.approx(DELAYS.certainty_equivalent(seen) - 71.0, abs=0.01)


def test_gains_and_losses_are_named_with_their_sign_and_the_next_best_is_named():
    problem = Bandit([Discrete({50: 0.3, 0: 0.7}), Discrete({-1: 1.0}), Discrete({-40: 1.0})], arms=["a", "b", "c"])
    answer = best_arm(WSR(GAINS, budget=90), problem, seed=1)
    text = recommendation(answer, "euros")
    assert 'the next best, "b", feels like -1 euro. It also has the best mean' in text
    assert "going by the mean would cost people nothing" in text


def test_options_that_are_equal_are_said_to_be_and_share_the_chance():
    answer = best_arm(WSR(MILD, budget=30), Bandit([Discrete({1: 1.0}), Discrete({1: 1.0})]), seed=1)
    text = recommendation(answer, "points")
    assert "feels like 1 point for sure, and so does option" in text
    assert "best in 50% of the draws" in text
    assert chances_of_best(answer.learner, np.random.default_rng(0)) == {0: 0.5, 1: 0.5}


def test_a_mean_that_is_the_same_or_feels_no_worse_costs_nothing():
    learner = WLUCB(MILD, Bounded(0, 10), delta=0.1, tolerance=9.0).start(["wide", "sure"], seed=1)
    learner.observe("wide", [0.0, 4.0])
    learner.observe("sure", [2.0, 2.0])
    answer = best_arm(WSR(MILD, budget=10), Bandit([Bernoulli(0.5)] * 2, arms=["wide", "sure"]), seed=1)
    same = dataclasses.replace(
        answer, arm="sure", learner=learner, intervals=learner.intervals(), pulls=learner.pulls, samples=4
    )
    assert '"wide" has the same mean, 2, so the mean could not choose' in recommendation(same)
    learner.observe("wide", [8.0, 8.0])
    close = dataclasses.replace(same, intervals=learner.intervals(), pulls=learner.pulls, samples=6)
    assert "and by these runs it feels no worse" in recommendation(close)


# -- what a page says about itself ----------------------------------------------------------------


def test_the_page_says_what_was_searched_when_from_which_seed_by_which_version_and_for_how_long(tmp_path, routes):
    origin = routes.origin._replace(finished=time.mktime((2031, 5, 6, 7, 8, 0, 0, 0, -1)), seconds=200.0)
    text = page_of(dataclasses.replace(routes, origin=origin), tmp_path, name="commute.toml")
    assert f"commute.toml · 2031-05-06 07:08 · seed 1 · allais {__version__} · took 3.3 minutes<" in text
    resumed = origin._replace(run_seconds=7300.0, continued=True)
    text = page_of(dataclasses.replace(routes, origin=resumed), tmp_path)
    assert "the last part took 3.3 minutes, its runs 2.0 hours in all<" in text


def test_a_search_that_is_continued_knows_the_time_of_all_of_its_runs_and_all_of_its_history(tmp_path):
    policy, journal = WSR(MILD, budget=60, rewards=Bounded(-1, 1)), tmp_path / "runs.jsonl"
    whole = search(policy, Simulator(coin, ARMS), seed=3)
    first = search(policy, Simulator(coin, ARMS), seed=3, journal=journal, max_runs=25)
    last = search(policy, Simulator(coin, ARMS), seed=3, journal=journal)
    assert (whole.origin.continued, first.origin.continued, last.origin.continued) == (False, False, True)
    assert last.origin.run_seconds > first.origin.run_seconds > 0.0
    assert last.origin.seed == "3"
    assert last.history == whole.history


# -- how intervals closed -------------------------------------------------------------------------


def test_the_history_is_what_a_learner_knew_after_so_many_samples():
    policy = LUCB(Bounded(0, 1), delta=0.1)
    problem = Bandit([Bernoulli(0.9), Bernoulli(0.5)])
    answer = best_arm(policy, problem, seed=1)
    times = [moment.samples for moment in answer.history]
    assert times[0] == 2
    assert times[-1] == answer.samples
    assert all(later <= 1.25 * sooner + 1 for sooner, later in pairwise(times))
    for moment in answer.history:
        until = best_arm(policy, problem, seed=1, max_samples=moment.samples)
        assert (until.pulls, until.intervals) == (moment.pulls, moment.intervals)


def test_a_run_is_repeated_from_its_own_seed_and_a_simulator_is_not_called_again():
    policy, distributions = LUCB(Bounded(0, 1), delta=0.1), [Bernoulli(0.9), Bernoulli(0.5)]
    calls = []

    def drawn(arm, rng):
        calls.append(arm)
        return distributions[arm].sample(rng)

    for seed in (1, np.random.SeedSequence(5, spawn_key=(2,))):
        answer = best_arm(policy, Bandit(distributions), seed=seed)
        assert answer.history[-1][:2] == (answer.samples, answer.pulls)
        assert answer.history[-1].intervals == answer.intervals
    answer = best_arm(policy, Simulator(drawn, 2), seed=1)
    before = len(calls)
    assert answer.history[-1].intervals == answer.intervals
    assert len(calls) == before


def test_of_very_many_arms_no_history_is_kept():
    history = History(MOST_ARMS + 1)
    history.note(10**6, lambda: ({}, {}))
    assert history.up_to(10**6, ({}, {})) == ()


def test_the_picture_of_how_intervals_closed_has_a_band_and_a_line_for_each_option(routes):
    text = closing(routes, "minutes", fewest=routes.samples / 2)
    assert text.count("<polygon") == text.count("<polyline") == 3
    assert "in minutes; less is better" in text
    assert "overlaps with others by no more than the tolerance" in text
    assert "The dashed line is the number of runs that no policy as sure" in text
    line = re.search(r'<polyline class="s0" points="([^"]*)"', text)[1].split()
    assert len(line) == len(routes.history)
    heights = {point.split(",")[1] for point in line}
    assert len(heights) == 1  # the detour is always the same
    assert float(line[0].split(",")[0]) == 0.0
    assert float(line[-1].split(",")[0]) == 1000.0


def test_a_policy_without_intervals_shows_its_estimates_and_says_so(budget):
    text = closing(budget)
    assert "How the estimates settled" in text
    assert "This policy keeps no intervals, so there are none to draw." in text
    assert "<polyline" in text
    assert "<polygon" not in text  # no band


def test_a_policy_that_stops_before_all_intervals_part_is_not_said_to_have_parted_them():
    answer = best_arm(TopTwo(MILD, Bounded(-1, 1), delta=0.1), COINS, seed=1)
    apart = answer.intervals[answer.arm].low >= max(
        one.high for name, one in answer.intervals.items() if name != answer.arm
    )
    text = closing(answer)
    assert ("lies apart from all others" in text) == apart
    assert ("sure before all intervals part" in text) != apart


def test_the_best_five_of_many_options_are_drawn():
    answer = best_arm(WSR(MILD, budget=200), Bandit([Bernoulli(k / 10) for k in range(1, 9)]), seed=1)
    text = closing(answer)
    assert text.count("<polyline") == 5
    assert "The best 5 of 8 options are drawn." in text


# -- how far from the limit -----------------------------------------------------------------------


def test_a_budget_is_compared_with_the_proof_that_its_rewards_allow(tmp_path, budget):
    text = page_of(budget, tmp_path)
    found = re.search(r"does with fewer than about ([\d,]+) runs on average: this search used ([\d.]+) times", text)
    least = float(found[1].replace(",", ""))
    assert float(found[2]) == pytest.approx(budget.samples / least, rel=0.05)
    twin = WLUCB(DELAYS, Bounded(50, 180), delta=0.05)
    seen = [budget.learner.outcomes(name) for name in budget.pulls]
    values = np.array([budget.intervals[name].value for name in budget.pulls])
    assert least == pytest.approx(least_proof(twin, values, seen).runs, abs=1)
    assert least_proof(twin, values, seen).own


def test_where_no_rewards_were_declared_the_limit_says_what_it_takes_for_granted(tmp_path):
    problem = Bandit([Discrete({20: 0.1, 0: 0.9}), Discrete({-3: 0.5, 1: 0.5})], arms=["x", "y"])
    text = page_of(best_arm(PatientRejects(GAINS, budget=200), problem, seed=1), tmp_path, unit="euros")
    assert "That takes for granted that no outcome lies beyond those seen, -3 to 20 euros." in text


@pytest.mark.parametrize("max_samples", [2, 3, 50])
def test_a_search_that_ends_early_says_something_true_about_the_limit(tmp_path, max_samples):
    answer = best_arm(WLUCB(MILD, Bounded(-1, 1), delta=0.1), COINS, seed=1, max_samples=max_samples)
    text = page_of(answer, tmp_path)
    said = ("one option has not been tried yet", "Two options seem equal", "this search used ")
    assert sum(one in text for one in said) == 1


def test_continuous_distributions_have_a_limit_too(tmp_path):
    problem = Bandit([Uniform(0.0, 0.6), Uniform(0.3, 1.0)], arms=["low", "high"])
    text = page_of(best_arm(WLUCB(MILD, Bounded(0, 1), delta=0.1), problem, seed=1), tmp_path)
    assert re.search(r"fewer than about [\d,]+ runs on average: this search used [\d.]+ times that", text)


def test_options_that_share_features_are_compared_with_the_limit_of_linear_bandits(tmp_path):
    problem = LinearBandit([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]], theta=[1.0, 0.2], noise=ParameterNoise())
    answer = best_arm(LinGapE(MILD, ParameterNoise(), delta=0.05, beta=2.0), problem, seed=1)
    text = page_of(answer, tmp_path, unit="points")
    assert re.search(r"no policy that is as sure does with fewer than about [\d,]+ runs on average: this search", text)
    assert "People and means" not in text  # outcomes are not kept


# -- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chromium():
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory, routes):
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(routes, path, name="commute.toml", unit="minutes")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_the_page_reads_well_in_a_browser(chromium, page, width, height, scheme):
    view = opened_without_complaint(chromium, page, width, height, scheme)
    first = view.evaluate(
        "(() => { const r = document.querySelector('svg').getBoundingClientRect(); return r.top; })()"
    )
    assert first < height - 150  # the first picture begins on the first screen, with three rows of it
    texts = view.evaluate(
        """[...document.querySelectorAll("svg text")].map(text => {
            const box = text.getBoundingClientRect(), frame = text.closest("svg[role]").getBoundingClientRect();
            return [box.height, getComputedStyle(text).fill, getComputedStyle(document.body).backgroundColor,
                    box.left >= frame.left - 1 && box.right <= frame.right + 1, box.top >= frame.top - 1,
                    text.textContent];
        })"""
    )
    assert len(texts) > 15
    for high, ink, ground, inside, below_top, words in texts:
        assert high >= 9.0, words  # pixels: readable
        assert ink != ground, words
        assert inside, words
        assert below_top, words
    view.close()
