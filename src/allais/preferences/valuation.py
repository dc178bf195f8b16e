"""What a lottery is worth under a preference: a sum for a finite one, integrals for any other."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike

from allais._checks import FloatArray, IntArray, finite_array
from allais.errors import UndefinedValueError
from allais.lotteries import Lottery
from allais.numerics import HalfDistribution, Parts, distorted_integral, finite_parts, normal_table
from allais.weights import Identity, Step, Weight
from allais.weights.bounds import certified_maximum

if TYPE_CHECKING:
    from allais.preferences.preference import Preference


def parts(preference: Preference, lottery: Lottery) -> Parts:
    """The gain part and the loss part, with a bound on the error of their difference."""
    finite = lottery.as_finite()
    if finite is not None:
        utility = preference.finite_utilities("outcomes", finite.outcomes)
        at_least, below = finite.at_least, finite.below
        if preference.costs:  # the order turns: P(Y >= y) is P(X <= x)
            utility, up_to, above = utility[::-1], np.append(below[1:], 1.0), np.append(at_least[1:], 0.0)
            at_least, below = up_to[::-1], above[::-1]
        return finite_parts(utility, at_least, below, preference.gains, preference.losses)
    gain = distorted_integral(preference.gains, half_of(preference, lottery, 1.0, preference.gains))
    loss = distorted_integral(preference.losses, half_of(preference, lottery, -1.0, preference.losses))
    if math.isinf(gain.value) and math.isinf(loss.value):
        raise UndefinedValueError(
            f"a value needs a finite gain or loss part; both of {lottery!r} are infinite. "
            "Bound the outcomes, or use a weight that is less steep at 0."
        )
    return Parts(gain.value, loss.value, gain.error + loss.error)


BLOCK = 1 << 15  # shares at a time: the dozen temporaries of a weight then fit into a cache of a few megabytes


def values(preference: Preference, outcomes: ArrayLike, shares: ArrayLike) -> FloatArray:
    """The values of lotteries over the same outcomes, one row of shares each."""
    points = finite_array("outcomes", outcomes)
    rows = np.asarray(shares)
    if rows.ndim != 2 or points.shape != rows.shape[1:]:
        raise ValueError(
            f"shares must have one row per lottery, with one entry per outcome; got an array of shape {rows.shape} "
            f"for {points.size} outcomes. For one lottery, write [shares]."
        )
    rows = finite_array("shares", rows.ravel()).reshape(rows.shape)
    if (rows < 0.0).any() or not (rows.sum(axis=1) > 0.0).all():
        raise ValueError(
            "shares must not be negative, and some of each row must be positive; one row breaks this. Repair it."
        )
    utility = preference.finite_utilities("outcomes", points)
    order = np.argsort(utility, kind="stable")
    utility = utility[order]
    first_gain, last_loss = np.searchsorted(utility, 0.0, side="right"), np.searchsorted(utility, 0.0, side="left")
    gain_steps = np.diff(utility[first_gain:], prepend=0.0)
    loss_steps = np.diff(utility[:last_loss], append=0.0)
    found = np.empty(len(rows))
    block = max(BLOCK // utility.size, 1)
    for first in range(0, len(rows), block):
        here = rows[first : first + block, order]
        total = here.sum(axis=1, keepdims=True)
        # each tail is summed from its own end, so that the probability of a rare outcome keeps its digits
        below = np.zeros((len(here), utility.size + 1))  # P(X < outcome); at the end 1
        np.minimum(np.cumsum(here, axis=1) / total, 1.0, out=below[:, 1:])
        at_least = np.zeros_like(below)  # P(X >= outcome); at the end 0
        at_least[:, :-1] = np.minimum(np.cumsum(here[:, ::-1], axis=1)[:, ::-1] / total, 1.0)
        gains, losses = slice(first_gain, utility.size), slice(1, last_loss + 1)
        found[first : first + block] = (
            preference.gains.of_tails(at_least[:, gains], below[:, gains]) @ gain_steps
            - preference.losses.of_tails(below[:, losses], at_least[:, losses]) @ loss_steps
        )
    return found


EXTREME = 10  # outcomes, of 500 or more, on which no more than half of a variance may rest
PART = 50  # of fewer outcomes, one in so many counts as extreme
REPEATED = 3  # an outcome that was seen so often is no end of a tail
USUAL = 2.0  # and no more than so many times what rests on them where outcomes are normal: all of it, for a small CVaR


class Tail(NamedTuple):
    """How much of the variance of an estimated value rests on its most extreme outcomes."""

    extreme: int  # of all outcomes, so many have the greatest influence
    outcomes: int
    share: float  # of the variance, that they make
    usual: float  # what they would make of it if the outcomes were normal

    @property
    def heavy(self) -> bool:
        """Whether so much rests on so few that the central limit theorem is not to be trusted yet."""
        return self.share > max(0.5, USUAL * self.usual)


def tail(preference: Preference, outcomes: FloatArray, counts: ArrayLike) -> Tail:
    """The share of the variance of a value's influence function (docs/theory/asymptotic.md) that its extremes make.

    Outcomes that were seen three times or more do not count as extremes: a rare event of one size is not a heavy tail.

    >>> from allais import Preference, TverskyKahneman
    >>> people, rng = Preference(TverskyKahneman(0.61)), np.random.default_rng(1)
    >>> [round(tail(people, x, np.ones(2_000)).share, 2) for x in (rng.normal(size=2_000), rng.lognormal(size=2_000))]
    [0.41, 0.95]
    """
    felt, times = preference.utilities(outcomes), np.asarray(counts, dtype=np.float64)
    order = np.argsort(felt, kind="stable")
    felt, times = felt[order], times[order]
    n = int(times.sum())
    extreme = min(max(math.ceil(n / PART), 1), EXTREME)
    if felt.size < 2 or not np.isfinite(felt).all():
        return Tail(extreme, n, 0.0, 0.0)
    low, middle, high = felt[np.searchsorted(np.cumsum(times), n * np.array([0.16, 0.5, 0.84]))]
    normal = middle + 0.5 * (high - low) * scipy.special.ndtri((np.arange(n) + 0.5) / n)  # of the same median and width
    share, usual = (_of_extremes(preference, u, m, extreme) for u, m in ((felt, times), (normal, np.ones(n))))
    return Tail(extreme, n, share, usual)


def influence(preference: Preference, felt: FloatArray, times: FloatArray | IntArray) -> FloatArray:
    """The influence function at ascending utilities that came so many times (`samples/influence.py`, as arrays)."""
    n, below = float(times.sum()), np.cumsum(times)[:-1]
    above = n - below  # the derivative of a weight is taken over one sample
    rises = np.diff(np.maximum(felt, 0.0)) * n * (preference.gains(above / n) - preference.gains((above - 1.0) / n))
    rises += np.diff(np.minimum(felt, 0.0)) * n * (preference.losses(below / n) - preference.losses((below - 1.0) / n))
    moved = np.append(0.0, np.cumsum(rises))
    return np.asarray(moved - moved @ times / n)


def _of_extremes(preference: Preference, felt: FloatArray, times: FloatArray, extreme: int) -> float:
    """The share of the variance of the influence function of ascending utilities that the most extreme samples make."""
    squares = influence(preference, felt, times) ** 2
    total, single = float(squares @ times), times < REPEATED
    worst = np.sort(np.repeat(squares[single], times[single].astype(np.int64)))[-extreme:]
    return float(worst.sum()) / total if total > 0.0 else 0.0


def half_of(preference: Preference, lottery: Lottery, sign: float, weight: Weight) -> HalfDistribution:
    """The gains (sign 1) or mirrored losses (sign -1) of a lottery, ready for quadrature."""
    upward = (sign > 0.0) != preference.costs  # whether larger outcomes lie further out on this side

    def tail(z: FloatArray) -> tuple[FloatArray, FloatArray]:
        x = preference.outcomes_of(sign * z)
        above, below = lottery.log_survival(x), lottery.log_cdf(x)
        return (above, below) if upward else (below, above)

    kinks = np.array([p for p in weight.singularities if 0.0 < p < 1.0])
    crossings = lottery.quantile(1.0 - kinks if upward else kinks) if kinks.size else kinks
    breaks = sign * preference.utilities(np.concatenate([lottery.landmarks(), crossings]))
    farthest = lottery.support[1 if upward else 0]
    reach = sign * float(preference.utilities(np.float64(1e300 if upward else -1e300)))
    end = sign * float(preference.utilities(np.float64(farthest))) if math.isfinite(farthest) else math.inf
    if math.isinf(end) and not reach > 1e30:
        end = reach  # a utility that (almost) stops growing
    return HalfDistribution(tail, np.unique(breaks[np.isfinite(breaks)]), end, min(reach, 1e300))


def of_normal(preference: Preference, mean: ArrayLike, sd: ArrayLike) -> FloatArray:
    """The values of normal distributions, from one table per weight."""
    if preference.utility is not None:
        raise ValueError(
            "the normal table holds for a linear utility; got a preference with a utility. "
            "Use value(Normal(mean, sd)), one lottery at a time."
        )
    centre, spread = np.broadcast_arrays(np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64))
    wrong = ~(np.isfinite(centre) & np.isfinite(spread) & (spread > 0.0))
    if wrong.any():
        raise ValueError(
            "means must be finite, and sds finite and positive; "
            f"got mean {centre[wrong].flat[0]} with sd {spread[wrong].flat[0]}. Repair them first."
        )
    t = (preference.reference - centre if preference.costs else centre - preference.reference) / spread
    return spread * (normal_table(preference.gains)(t) - normal_table(preference.losses)(-t))


def kappa(gains: Weight, losses: Weight) -> float:
    """sup over p of w+(p) + w-(1 - p), to 1e-9."""
    if losses == gains.dual():
        return 1.0  # w(p) + 1 - w(p)
    edges = np.sinh(np.linspace(-20.0, 20.0, 1001))  # log odds, so that both ends are resolved
    inside = certified_maximum(
        lambda low, high: gains.greatest_over_logits(low, high) + losses.greatest_over_logits(-high, -low),
        lambda t: gains.at_logit(t) + losses.at_logit(-t),
        edges,
        1e-9,
    )
    return max(1.0, inside.attained)  # 1 at p = 0 and p = 1


BEYOND = 1e300  # a utility that never reaches a value is inverted to one of the largest numbers


def sure_amount(preference: Preference, value: float) -> float:
    """The certainty equivalent of a value; NaN where no sure outcome has it.

    >>> sure_amount(Preference(TverskyKahneman(0.61), reference=80, costs=True), 9.0)
    71.0
    """
    if not math.isfinite(value):
        return math.nan
    if preference.utility is None:  # as of most decisions of a service, each of which says what an arm feels like
        sure = preference.reference - value if preference.costs else preference.reference + value
    else:
        with np.errstate(all="ignore"):
            sure = float(preference.outcomes_of(np.float64(value)))
    return sure if abs(sure) < BEYOND else math.nan


def plain(number: float, digits: int = 4) -> str:
    """A number to a few digits, as people write it: no exponent unless it is very small or very large.

    >>> plain(26.5731), plain(12345.678), plain(0.0), plain(-0.00051234), plain(2.5e17)
    ('26.57', '12,346', '0', '-0.0005123', '2.5e+17')
    """
    if not 1e-4 <= abs(number) < 1e15:
        return f"{number:.{digits}g}"
    places = max(digits - 1 - math.floor(math.log10(abs(number))), 0)
    text = f"{number:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def amount(number: float, unit: str = "", digits: int = 4) -> str:
    """A number with its unit, to a few digits.

    >>> amount(26.5731, "minutes"), amount(1041.2), amount(1.0, "minutes"), amount(1.0, "ms")
    ('26.57 minutes', '1,041', '1 minute', '1 ms')
    """
    text = plain(number, digits)
    one = text in ("1", "-1") and len(unit) > 3 and unit.isalpha()  # a short one is an abbreviation
    return f"{text} {unit.removesuffix('s') if one else unit}".rstrip()


def is_mean(preference: Preference) -> bool:
    """Whether somebody goes by the mean: no weight and no utility distorts it.

    >>> is_mean(expected_value(costs=True)), is_mean(cvar(0.1))
    (True, False)
    """
    undistorted = isinstance(preference.gains, Identity) and isinstance(preference.losses, Identity)
    return undistorted and preference.utility is None


def level_of(preference: Preference) -> float | None:
    """The level of a percentile, counted from the lowest outcome; None for any other preference.

    >>> level_of(quantile(0.95)), level_of(quantile(0.95, costs=True)), level_of(cvar(0.1))
    (0.95, 0.95, None)
    """
    gains = preference.gains
    if not (isinstance(gains, Step) and preference.losses == gains.dual()):
        return None
    return gains.at if preference.costs else round(1.0 - gains.at, 15)


TIMES = ("us", "ms", "s", "min", "h", "millisecond", "second", "minute", "hour", "day", "week", "month", "year")
IRREGULAR = {"person": "people"}


def percentile_in_words(preference: Preference, outcome: float, unit: str = "", digits: int = 4) -> str:
    """What a percentile of so much means, in a sentence; "ms per request" says what outcomes are of.

    >>> percentile_in_words(quantile(0.95, costs=True), 212.0, "ms per request")
    '19 of 20 requests take at most 212 ms'
    >>> percentile_in_words(quantile(0.1), 40.0, "francs per order"), percentile_in_words(quantile(0.5), 7.0)
    ('9 of 10 orders bring at least 40 francs', '1 of 2 outcomes is at least 7')
    """
    level = level_of(preference)
    assert level is not None
    part = level if preference.costs else 1.0 - level
    whole = Fraction(part).limit_denominator(1_000)
    many = (
        f"{whole.numerator:,} of {whole.denominator:,}" if abs(whole - part) < 1e-9 else f"{100.0 * part:.6g}% of the"
    )
    measure, per, noun = unit.partition(" per ")
    if not per or noun in TIMES:  # a rate, such as km per hour, is of no noun
        measure, verb, noun = unit, "are at most" if preference.costs else "are at least", "outcome"
    elif not preference.costs:
        verb = "bring at least"
    else:
        verb = "take at most" if measure.removesuffix("s") in TIMES or measure in TIMES else "stay within"
    if whole.numerator == 1 and "of the" not in many:
        verb = verb.replace("are", "is") if verb.startswith("are") else verb.replace(" ", "s ", 1)
    return f"{many} {_plural(noun)} {verb} {amount(outcome, measure, digits)}"


def _plural(noun: str) -> str:
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def certainty_equivalent_in_words(
    preference: Preference, value: float, unit: str = "", digits: int = 4, subject: Literal["", "it"] = ""
) -> str:
    """A value as the sure amount that is worth as much, or what it means as a percentile; as it is where there is none.

    >>> certainty_equivalent_in_words(Preference.tversky_kahneman(), 6.23332, "francs", subject="it")
    'it feels like 8 francs for sure'
    """
    if math.isnan(sure := sure_amount(preference, value)):
        return f"{subject} has the value {plain(value, digits)}, which no sure outcome has".lstrip()
    return sure_in_words(preference, sure, unit, digits, subject)


def sure_in_words(
    preference: Preference, sure: float, unit: str = "", digits: int = 4, subject: Literal["", "it"] = ""
) -> str:
    """What a certainty equivalent means: by a percentile or the mean, people take it for what it is.

    >>> sure_in_words(expected_value(), 8.0, "francs", subject="it"), sure_in_words(expected_value(), 8.0, "francs")
    ('its mean is 8 francs', 'mean 8 francs')
    """
    if level_of(preference) is not None:
        return percentile_in_words(preference, sure, unit, digits)
    if is_mean(preference):
        return f"{'its mean is' if subject else 'mean'} {amount(sure, unit, digits)}"
    return f"{subject} feels like {amount(sure, unit, digits)} for sure".lstrip()


Counts = FloatArray | IntArray


def grouped(outcomes: FloatArray, counts: Counts, most: int) -> tuple[FloatArray, Counts]:
    """Outcomes with their counts, at most so many: rare ends stay apart, neighbours in the middle share their mean."""
    if outcomes.size <= most:
        return outcomes, counts
    order = np.argsort(outcomes)
    outcomes, counts = outcomes[order], counts[order]
    middles = (np.cumsum(counts) - counts / 2.0) / counts.sum()
    cuts = 0.5 * (1.0 - np.cos(np.pi * np.linspace(0.0, 1.0, most + 1)))[1:-1]  # narrow at both ends
    starts = np.flatnonzero(np.append(True, np.diff(np.searchsorted(cuts, middles)) > 0))
    together = np.add.reduceat(counts, starts)
    return np.add.reduceat(outcomes * counts, starts) / together, together
