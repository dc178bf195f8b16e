"""Values of many lotteries at once: those of `value`, lottery by lottery."""

import numpy as np
import pytest

from allais import Discrete, PowerUtility, Preference, Prelec, TverskyKahneman, Wang, cvar, expected_value
from allais.preferences import valuation
from allais.weights import SteepMiddle, Weight

WEIGHTS = {
    "prospect theory": Preference.tversky_kahneman(reference=3.0),
    "costs": Preference(TverskyKahneman(0.61), Prelec(0.65), PowerUtility(0.88, 2.25), 3.0, costs=True),
    "the mean": expected_value(reference=-100.0),
    "the worst": cvar(0.1, reference=100.0, costs=True),
    "rank dependent": Preference.rank_dependent(Wang(0.5)),
    "a jump in the middle": Preference(SteepMiddle(0.3), reference=3.0),
    "a curve": Preference(Weight.from_function(lambda p: p * p * (3 - 2 * p)), utility=np.arctan),
}


@pytest.mark.parametrize("preference", WEIGHTS.values(), ids=WEIGHTS)
def test_values_are_those_of_the_lotteries(preference):
    rng = np.random.default_rng(1)
    outcomes = rng.normal(3.0, 10.0, 9)  # in no order, gains and losses
    outcomes[4] = preference.reference  # neither
    shares = rng.dirichlet(np.full(9, 0.3), size=20)
    shares[0] = np.eye(9)[2]
    expected = [preference.value(Discrete(dict(zip(outcomes, row / row.sum(), strict=True)))) for row in shares]
    assert preference.values(outcomes, shares) == pytest.approx(expected, rel=1e-11, abs=1e-12)


def test_equal_outcomes_are_added_up_and_counts_are_shares():
    people = Preference.tversky_kahneman()
    expected = people.value(Discrete({-5: 0.5, 2: 0.25, 7: 0.25}))
    assert people.values([2.0, -5.0, 7.0, -5.0], [[1, 1, 1, 1], [10, 0, 10, 20]]) == pytest.approx([expected] * 2)


def test_a_rare_outcome_keeps_its_digits():
    people, rare = Preference(TverskyKahneman(0.3), TverskyKahneman(0.3)), 1e-20
    exact = people.gains(rare) * 1e9
    assert people.values([1e9, 0.0], [[rare, 1.0]]) == pytest.approx([exact], rel=1e-12)
    assert people.values([0.0, -1e9], [[1.0, rare]]) == pytest.approx([-exact], rel=1e-12)


def test_blocks_join_to_the_whole(monkeypatch):
    rng = np.random.default_rng(2)
    outcomes, shares = rng.normal(size=50), rng.random((30, 50))
    whole = Preference.tversky_kahneman().values(outcomes, shares)
    monkeypatch.setattr(valuation, "BLOCK", 7 * 50 + 3)
    assert Preference.tversky_kahneman().values(outcomes, shares) == pytest.approx(whole, rel=1e-14)


@pytest.mark.parametrize(
    ("outcomes", "shares", "message"),
    [
        ([0.0, 1.0], [0.5, 0.5], r"For one lottery, write \[shares\]"),
        ([0.0, 1.0], [[0.5, 0.4, 0.1]], "one entry per outcome"),
        ([0.0, 1.0], [[0.5, -0.5]], "must not be negative"),
        ([0.0, 1.0], [[1.0, 1.0], [0.0, 0.0]], "some of each row must be positive"),
        ([0.0, 1.0], [[np.nan, 1.0]], "shares must be finite"),
        ([0.0, np.inf], [[1.0, 1.0]], "outcomes must be finite"),
    ],
)
def test_shares_that_are_none_are_refused(outcomes, shares, message):
    with pytest.raises(ValueError, match=message):
        expected_value().values(outcomes, shares)
