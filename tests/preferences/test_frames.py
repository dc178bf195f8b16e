"""One taste in several frames: direction, reference and unit belong to what is decided about."""

import numpy as np

from allais import PowerUtility, Preference, TverskyKahneman, expected_value


def test_a_taste_moves_to_another_frame_and_its_utility_to_another_unit_only_if_it_may():
    minutes = expected_value(reference=60.0, costs=True)
    moved = Preference.tversky_kahneman(reference=5.0).in_frame_of(minutes, same_unit=False)
    assert moved == Preference.tversky_kahneman(reference=60.0, costs=True)
    assert moved.in_frame_of(minutes) is moved
    bounded = Preference(TverskyKahneman(0.61), utility=saturating)
    assert bounded.in_frame_of(minutes).utility is saturating
    elsewhere = bounded.in_frame_of(minutes, same_unit=False)
    assert (elsewhere.gains, elsewhere.utility) == (bounded.gains, PowerUtility(1.0, 2.0))
    assert [bounded.is_scale_free, elsewhere.is_scale_free, minutes.is_scale_free] == [False, True, True]


def saturating(x):
    """A utility of somebody who cares little beyond 10, and twice as much about losses."""
    utilities = np.abs(x) / (10.0 + np.abs(x))
    return np.where(x < 0.0, -2.0 * utilities, utilities)
