"""Why a value is what it is: probabilities beside the decision weights that they get."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from allais._checks import FloatArray
from allais._system.extras import extra
from allais.lotteries import Lottery
from allais.numerics.integrals import integrate, integrate_tail
from allais.preferences import valuation
from allais.preferences.showing import Rows, as_frame, as_html
from allais.preferences.valuation import certainty_equivalent_in_words, sure_amount
from allais.weights import Weight

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from allais.preferences.preference import Preference

# Where a continuous lottery is cut into bins: the rare ends apart, since they matter most.
CUTS = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
GAPS_BEYOND = np.array([0.05, 0.95])  # quantiles; a gap beyond them parts a rare event from the rest


@dataclass(frozen=True, eq=False)
class Explanation:
    """One row per outcome (or per bin of a continuous lottery), worst first.

    Attributes:
        preference: The preference that valued the lottery.
        labels: What each row is about: an outcome, or a range of them.
        probabilities: The probability of each row.
        decision_weights: What each row's utility counts for in the value.
        contributions: What each row adds to the value, as a utility.
        value: The value of the lottery: the sum of the contributions.

    >>> explanation = Preference(TverskyKahneman(0.61)).explain(Discrete({50: 0.1, 0: 0.9}))
    >>> explanation.decision_weights.round(4), round(explanation.value, 4)
    (array([0.8137, 0.1863]), 9.3151)
    """

    preference: Preference

    labels: tuple[str, ...]
    probabilities: FloatArray
    decision_weights: FloatArray
    contributions: FloatArray
    value: float

    _repr_html_, to_frame = as_html, as_frame

    def rows(self) -> Rows:
        """One row per outcome or bin: its probability, its decision weight, and what it adds to the value."""
        columns = self.probabilities.tolist(), self.decision_weights.tolist(), self.contributions.tolist()
        names = "outcome", "probability", "decision weight", self.contribution
        return [dict(zip(names, row, strict=True)) for row in zip(self.labels, *columns, strict=True)]

    @property
    def headline(self) -> str:
        """The value in words."""
        words = self._in_words(6)
        return f"{words[0].upper()}{words[1:]}."

    @property
    def sure(self) -> float:
        """The certainty equivalent, in the units of the outcomes; NaN where no sure outcome is worth as much.

        >>> round(Preference.tversky_kahneman().explain(Discrete({50: 0.1, 0: 0.9})).sure, 4)
        7.4075
        """
        return sure_amount(self.preference, self.value)

    @property
    def contribution(self) -> str:
        """What to call the contributions: under a utility they are not in the units of the outcomes."""
        return "contribution" if self.preference.utility is None else "weighted utility"

    def _in_words(self, digits: int) -> str:
        return certainty_equivalent_in_words(self.preference, self.value, digits=digits)

    def __str__(self) -> str:
        header = "outcome", "probability", "decision weight", self.contribution
        each = zip(self.labels, self.probabilities, self.decision_weights, self.contributions, strict=True)
        total = "total", self.probabilities.sum(), self.decision_weights.sum(), self.value
        rows = [header, *((label, small_share(p), small_share(w), f"{c:.4f}") for label, p, w, c in (*each, total))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("   ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join([*lines, self._in_words(6)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw two stacked bars: the probabilities of the outcomes, and their decision weights.

        Args:
            ax: Where to draw; by default a new figure.

        Returns:
            The axes. Needs `allais[plot]`.
        """
        with extra("plot", "a picture"):
            import matplotlib.pyplot as plt
            from matplotlib.patches import Patch

        if ax is None:
            _, ax = plt.subplots(figsize=(5.5, 4.2), layout="constrained")
        colours = plt.get_cmap("RdYlBu")(np.linspace(0.1, 0.9, len(self.labels)))
        for position, shares in enumerate((self.probabilities, self.decision_weights)):
            bottom = 0.0
            for share, colour in zip(shares, colours, strict=True):
                ax.bar(position, share, bottom=bottom, color=colour, edgecolor="white", width=0.62)
                if share > 0.035:  # room for the letters
                    ink = "white" if colour[:3] @ (0.3, 0.59, 0.11) < 0.5 else "black"
                    middle = bottom + share / 2.0
                    ax.text(position, middle, f"{share:.3f}", ha="center", va="center", color=ink, fontsize=9)
                bottom += share
        ax.set_xticks([0, 1], ["probability", "decision weight"])
        ax.set_ylabel("share")
        ax.set_title(self._in_words(4))
        ax.spines[["top", "right"]].set_visible(False)
        handles = [Patch(color=colour) for colour in colours]
        ax.legend(
            handles[::-1],
            self.labels[::-1],
            title="outcome",
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            frameon=False,
        )
        return ax


def explain(preference: Preference, lottery: Lottery) -> Explanation:
    """The decision weight of each outcome: the step of w over its probability."""
    value = preference.value(lottery)
    finite = lottery.as_finite()
    if finite is None:
        return _explain_bins(preference, lottery, value)
    utility, at_least, below = valuation.utilities_of(preference, finite)
    up_to, above = np.append(below[1:], 1.0), np.append(at_least[1:], 0.0)
    gain_weight = preference.gains.of_tails(at_least, below) - preference.gains.of_tails(above, up_to)
    loss_weight = preference.losses.of_tails(up_to, above) - preference.losses.of_tails(below, at_least)
    weights = np.where(utility >= 0.0, gain_weight, loss_weight)
    worst_first = slice(None, None, -1 if preference.costs else 1)
    labels = tuple(f"{outcome:.6g}" for outcome in finite.outcomes[worst_first])
    return Explanation(preference, labels, finite.probabilities[worst_first], weights, weights * utility, value)


def _explain_bins(preference: Preference, lottery: Lottery, value: float) -> Explanation:
    """Bins at quantiles and at the reference point; contributions add up to the value."""
    low, high = lottery.support
    cuts = np.concatenate([lottery.quantile(CUTS), _gaps(lottery, preference.reference), [preference.reference]])
    inner = np.unique(cuts)
    edges = np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]])
    bins = []
    for left, right in pairwise(edges.tolist()):
        is_gain = (right > preference.reference) != preference.costs
        counted = _bin(preference, lottery, left, right, gain=is_gain)
        bins.append((_label(left, right), _between(lottery, left, right), *counted))
    labels, *columns = zip(*(reversed(bins) if preference.costs else bins), strict=True)
    probabilities, weights, contributions = map(np.array, columns)
    return Explanation(preference, labels, probabilities, weights, contributions, value)


def _gaps(lottery: Lottery, reference: float) -> FloatArray:
    """The widest gap of a distribution below its 0.05 and above its 0.95 quantile: so a rare event gets its own row."""
    low, high = lottery.quantile(GAPS_BEYOND).tolist()
    marks = lottery.landmarks()
    marks = np.unique(marks[np.isfinite(marks)])
    left, right = marks[:-1], marks[1:]
    apart = (reference <= left) | (right <= reference)  # else the reference parts the two sides already
    left, right = left[apart], right[apart]
    before = np.nextafter(right, left)  # an outcome may lie on the gap's end itself
    cuts = []
    beneath = np.flatnonzero((right <= low) & (lottery.log_cdf(before) == lottery.log_cdf(left)))
    if beneath.size:
        cuts.append(before[beneath[np.argmax((right - left)[beneath])]])
    above = np.flatnonzero((left >= high) & (lottery.log_survival(before) == lottery.log_survival(left)))
    if above.size:
        cuts.append(left[above[np.argmax((right - left)[above])]])
    return np.array(cuts)


def _between(lottery: Lottery, left: float, right: float) -> float:
    ends = np.array([left, right])
    up_to, above = np.exp(lottery.log_cdf(ends)), np.exp(lottery.log_survival(ends))
    if left == lottery.support[0]:
        return float(up_to[1])  # including what lies on the end itself
    return float(up_to[1] - up_to[0] if up_to[0] < 0.5 else above[0] - above[1])


def _bin(preference: Preference, lottery: Lottery, left: float, right: float, *, gain: bool) -> tuple[float, float]:
    """The decision weight of a bin, and what the bin contributes: the integral of z dw, by parts."""
    sign = 1.0 if gain else -1.0
    weight = preference.gains if gain else preference.losses
    side = valuation.half_of(preference, lottery, sign, weight)
    weighted = side.weighed(weight)
    upward = gain != preference.costs  # whether larger outcomes lie further out on this side
    inner, outer = (left, right) if upward else (right, left)
    near = max(sign * float(preference.utilities(np.array(inner))), 0.0)
    far = sign * float(preference.utilities(np.array(outer)))
    # at the ends of the support the weight is known, and rounding would blur it
    at_near = 1.0 if inner == lottery.support[0 if upward else 1] else _beyond(weight, lottery, inner, upward)
    at_far = 0.0 if outer == lottery.support[1 if upward else 0] else _beyond(weight, lottery, outer, upward)
    if not np.isfinite(far):
        start = near if near > 0.0 else 1.0
        head = integrate(weighted, [near, start]).value if start > near else 0.0
        return at_near, sign * (near * at_near + head + integrate_tail(weighted, start, side.reach, head).value)
    breaks = np.concatenate([[near], side.breaks[(side.breaks > near) & (side.breaks < far)], [far]])
    area = integrate(weighted, breaks).value
    return at_near - at_far, sign * (near * at_near - far * at_far + area)


def _beyond(weight: Weight, lottery: Lottery, x: float, upward: bool) -> float:
    """w of the probability of an outcome further out than x."""
    at = np.array([x])
    above, below = lottery.log_survival(at), lottery.log_cdf(at)
    return float(weight.of_logs(above, below)[0] if upward else weight.of_logs(below, above)[0])


def small_share(share: float) -> str:
    """A share to four places, or to two digits if it is smaller: a rare event is not shown as impossible."""
    return f"{share:.4f}" if share == 0.0 or abs(share) >= 5e-5 else f"{share:.1e}"


def _label(left: float, right: float) -> str:
    if not np.isfinite(left):
        return f"below {right:.4g}"
    if not np.isfinite(right):
        return f"above {left:.4g}"
    return f"{left:.4g} to {right:.4g}"
