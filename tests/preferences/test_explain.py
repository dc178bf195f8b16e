"""Explanations: decision weights that add up, and a picture of them."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from allais import Continuous, Discrete, Mixture, Normal, Preference, TverskyKahneman, Uniform, expected_value
from tests.strategies import discrete_lotteries, weights_and_duals

PEOPLE = Preference(TverskyKahneman(0.61))
DELAYS = Preference(TverskyKahneman(0.61), reference=80.0, costs=True)


@given(weights_and_duals, discrete_lotteries())
def test_contributions_add_up_to_the_value(weight, lottery):
    for preference in (Preference(weight), Preference(weight, reference=5.0, costs=True)):
        story = preference.explain(lottery)
        parts = preference.parts(lottery)
        assert story.contributions.sum() == pytest.approx(story.value, abs=1e-10 * (parts.gain + parts.loss) + 1e-10)
        assert story.probabilities.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "lottery",
    [
        Normal(78, 3),
        Uniform(60, 100),
        Continuous(stats.gamma(2.0, scale=40.0)),
        Mixture([Normal(70, 1), Discrete({168: 1.0})], [0.99, 0.01]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("preference", [PEOPLE, DELAYS, Preference.tversky_kahneman(reference=80.0)])
def test_bins_of_a_continuous_lottery_add_up_too(lottery, preference):
    story = preference.explain(lottery)
    assert story.contributions.sum() == pytest.approx(story.value, rel=1e-8)
    assert story.probabilities.sum() == pytest.approx(1.0)


def test_the_rare_delay_gets_six_times_its_probability():
    story = DELAYS.explain(Discrete({68: 0.99, 168: 0.01}))
    assert story.labels == ("168", "68")  # worst first
    assert story.decision_weights[0] == pytest.approx(TverskyKahneman(0.61)(0.01))
    assert story.decision_weights[0] > 5.5 * story.probabilities[0]


def test_the_picture_has_two_stacked_bars_of_the_right_heights():
    story = PEOPLE.explain(Discrete({50: 0.1, 7: 0.3, 0: 0.6}))
    axes = story.plot()
    heights = np.array([patch.get_height() for patch in axes.patches])
    np.testing.assert_allclose(heights[:3], story.probabilities)
    np.testing.assert_allclose(heights[3:], story.decision_weights)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["probability", "decision weight"]
    plt.close(axes.figure)


def test_the_text_shows_every_outcome_and_the_total():
    lines = str(PEOPLE.explain(Discrete({50: 0.1, 0: 0.9}))).splitlines()
    assert [line.split()[0] for line in lines] == ["outcome", "0", "50", "total", "feels"]


def test_an_explanation_calls_a_mean_a_mean():
    seen = Discrete({12_000: 0.5, 12_691.356: 0.5})
    assert expected_value().explain(seen).headline == "Mean 12,345.7."
    assert PEOPLE.explain(Discrete({50: 0.1, 0: 0.9})).headline == "Feels like 9.31513 for sure."
    bounded = Preference(TverskyKahneman(1.0), utility=np.arctan)
    object.__setattr__(lost := bounded.explain(Discrete({1.0: 1.0})), "value", 2.0)  # beyond pi / 2
    assert lost.headline == "Has the value 2, which no sure outcome has."
