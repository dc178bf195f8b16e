"""Where weights jump or have an infinite derivative inside (0, 1), declared or not."""

import numpy as np
import pytest

from allais import Weight
from allais.weights import GonzalezWu, Identity, Power, Prelec, SteepMiddle, TailAverage, TverskyKahneman, Wang


def jump_at(point, size=1.0):
    return lambda p: (1.0 - size) * p + size * (p >= point)


def steep_at(point, alpha):
    ends = np.array([point, 1.0 - point]) ** alpha
    return lambda p: (np.sign(p - point) * np.abs(p - point) ** alpha + ends[0]) / ends.sum()


def around_one(p):
    return 0.0 if p < 0.2 else min((p - 0.2) / 0.6, 1.0)  # a function of one number


SMOOTH = {
    "square root": np.sqrt,
    "tenth power": lambda p: p**10,
    "tenth root": lambda p: p**0.1,
    "worst 5 %": lambda p: np.maximum(0.0, 1.0 - (1.0 - p) / 0.05),
    "interpolated": lambda p: np.interp(p, [0, 0.1, 0.11, 0.5, 0.9, 1], [0, 0.1, 0.4, 0.45, 0.5, 1]),
    "smoothstep": lambda p: p * p * (3 - 2 * p),
    "flat at 0": lambda p: np.exp(1.0 - 1.0 / np.maximum(p, 1e-300)),
    "Tversky and Kahneman": lambda p: p**0.61 / (p**0.61 + (1 - p) ** 0.61) ** (1 / 0.61),
    "steep but smooth": lambda p: 0.5 + 0.5 * np.tanh((p - 0.5) / 1e-2) / np.tanh(50.0),
    "one number": around_one,
}


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("point", [1e-4, 0.05, 1 / 3, 0.5, 0.95, 1 - 1e-4])
def test_a_jump_is_found_whether_it_was_declared_or_not(point, declared):
    curve = Weight.from_function(jump_at(point, 0.3), singularities=(point,) if declared else ())
    assert curve.breaks == pytest.approx((point,), abs=1e-9)
    assert curve.dual().breaks == pytest.approx((1.0 - point,), abs=1e-9)


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(("point", "alpha"), [(0.5, 0.5), (0.3, 0.8), (0.123, 0.25)])
def test_an_infinite_derivative_inside_is_found(point, alpha, declared):
    curve = Weight.from_function(steep_at(point, alpha), singularities=(point,) if declared else ())
    assert curve.breaks == pytest.approx((point,), abs=1e-9)


def test_jumps_at_the_ends_are_found():
    assert Weight.from_function(lambda p: np.where((p > 0) & (p < 1), 0.1 + 0.7 * p, p)).breaks == (0.0, 1.0)


@pytest.mark.parametrize("name", SMOOTH)
def test_kinks_and_steep_ends_are_no_breaks(name):
    assert Weight.from_function(SMOOTH[name]).breaks == ()


def test_random_tables_and_tail_averages_have_no_breaks():
    rng = np.random.default_rng(1)
    for _ in range(50):
        x, y = (np.sort(np.concatenate([[0.0], rng.random(8), [1.0]])) for _ in range(2))
        level, share = rng.random(2)
        assert Weight.from_function(lambda p, x=x, y=y: np.interp(p, x, y)).breaks == ()
        tail = lambda p, a=level, s=share: s * p + (1 - s) * np.maximum(0.0, 1.0 - (1.0 - p) / a)  # noqa: E731
        assert Weight.from_function(tail).breaks == ()


def test_of_the_families_only_the_steep_middle_has_a_break():
    families = [
        Identity(), Power(0.5), Power(3.0), TverskyKahneman(0.61), TverskyKahneman(0.1), Prelec(0.65), Prelec(2.0),
        GonzalezWu(0.44, 0.77), Wang(0.5), TailAverage(0.05), TailAverage(0.05).dual(), SteepMiddle(1.0),
    ]  # fmt: skip
    assert [weight for weight in families if weight.breaks] == []
    assert SteepMiddle(0.5).breaks == (0.5,)
