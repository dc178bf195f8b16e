"""Functions of one variable as polynomials on cells: the one set-up and the one format of every table.

A cell is fitted at Chebyshev's nodes and halved until its error is negligible. A table then holds a row for
each cell: where it starts, its centre, 1 / half-width, and the coefficients of the powers of
s = (x - centre) / half-width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from allais._checks import FloatArray
from allais.numerics.integrals import Integrand, integrate, integrate_tail
from allais.weights import Weight

START, CENTRE, SCALE, FIRST_POWER = 0, 1, 2, 3  # columns of a table of cells
TERMS = 12  # of the polynomials of `fit`
MOST_HALVINGS = 60


class Basis(NamedTuple):
    """Polynomials with a given number of terms, on [-1, 1]."""

    nodes: FloatArray  # Chebyshev's, (terms,)
    to_series: FloatArray  # values at the nodes @ this: the coefficients of a Chebyshev series
    to_powers: FloatArray  # coefficients of a series @ this: those of powers

    def nodes_in(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """The nodes of each cell, (cells, terms)."""
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        return middle[:, None] + half[:, None] * self.nodes

    def series(self, function: Callable[[FloatArray], FloatArray], nodes: FloatArray) -> FloatArray:
        """The Chebyshev series of a function on each cell, from the cells' nodes."""
        return function(nodes.ravel()).reshape(nodes.shape) @ self.to_series


@lru_cache
def basis(terms: int) -> Basis:
    """The polynomials with a given number of terms."""
    nodes = chebyshev.chebpts1(terms)
    to_series = 2.0 / terms * np.asarray(chebyshev.chebvander(nodes, terms - 1).T, dtype=np.float64)
    to_series[0] /= 2.0
    powers = [np.pad(chebyshev.cheb2poly(row), (0, terms))[:terms] for row in np.eye(terms)]
    return Basis(nodes, to_series.T, np.array(powers))


def halved_until(
    fitted: Callable[[FloatArray, FloatArray, int], tuple[FloatArray, NDArray[np.bool_]]],
    low: FloatArray,
    high: FloatArray,
    most: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cells halved until each is good enough, `most` times at most: where they start and end, and their rows.

    `fitted(low, high, halvings)` gives a row for each cell, and whether it is good enough.
    """
    kept = []
    for halvings in range(most + 1):
        rows, done = fitted(low, high, halvings)
        if halvings == most:
            done = np.ones_like(done)
        kept.append(np.column_stack([low, high, rows])[done])
        if done.all():
            break
        left, right = low[~done], high[~done]
        middle = 0.5 * (left + right)
        low, high = np.append(left, middle), np.append(middle, right)
    cells = np.concatenate(kept)
    cells = cells[np.argsort(cells[:, 0])]
    return cells[:, 0], cells[:, 1], cells[:, 2:]


def cells_of(breaks: FloatArray, powers: FloatArray) -> FloatArray:
    """A table of cells between breaks, from the coefficients of powers."""
    half = 0.5 * np.diff(breaks)
    return np.column_stack([breaks[:-1], breaks[:-1] + half, 1.0 / half, powers])


class PiecewisePolynomial(NamedTuple):
    """A table of cells that numpy reads."""

    cells: FloatArray  # (cells, FIRST_POWER + terms)
    end: float  # of the last cell

    @property
    def breaks(self) -> FloatArray:
        """Where the cells start, and the end."""
        return np.append(self.cells[:, START], self.end)

    def __call__(self, x: FloatArray) -> FloatArray:
        """The function at x, which must lie between the first and the last break."""
        columns = self.cells.T
        cell = np.maximum(np.searchsorted(columns[START], x, side="right") - 1, 0)
        s = (x - columns[CENTRE][cell]) * columns[SCALE][cell]
        result = columns[-1][cell]
        for column in columns[-2 : FIRST_POWER - 1 : -1]:  # Horner's rule, over all x at once
            result *= s
            result += column[cell]
        return result

    def antiderivative(self, start: float) -> PiecewisePolynomial:
        """The integral from the first break, plus `start`."""
        powers = self.cells[:, FIRST_POWER:]
        exponents = np.arange(1.0, powers.shape[1] + 1.0)
        inner = np.pad(powers / (self.cells[:, SCALE, None] * exponents), ((0, 0), (1, 0)))
        inner[:, 0] = -inner @ (-1.0) ** np.arange(inner.shape[1])  # zero at the left end of each cell
        inner[:, 0] += start + np.append(0.0, np.cumsum(inner.sum(axis=1))[:-1])
        return PiecewisePolynomial(np.hstack([self.cells[:, :FIRST_POWER], inner]), self.end)


def joined(pieces: list[PiecewisePolynomial]) -> PiecewisePolynomial:
    """Pieces, each of which starts where the one before it ends, as one."""
    return PiecewisePolynomial(np.concatenate([piece.cells for piece in pieces]), pieces[-1].end)


def fit(function: Callable[[FloatArray], FloatArray], breaks: FloatArray, tolerance: float) -> PiecewisePolynomial:
    """A table of a function, with cells halved until what they leave out integrates to less than `tolerance`.

    >>> table = fit(np.exp, np.array([0.0, 1.0]), 1e-12)
    >>> abs(table(np.array([0.5]))[0] - np.exp(0.5)) < 1e-13
    np.True_
    """
    polynomials = basis(TERMS)

    def fitted(low: FloatArray, high: FloatArray, halvings: int) -> tuple[FloatArray, NDArray[np.bool_]]:
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        series = polynomials.series(function, polynomials.nodes_in(low, high))
        left_out = np.abs(series[:, -3:]).max(axis=1) * half
        return series, (left_out <= tolerance) | (half <= 1e-15 * np.maximum(np.abs(middle), 1e-3))

    starts, _, series = halved_until(fitted, breaks[:-1], breaks[1:], MOST_HALVINGS)
    ends = np.append(starts, breaks[-1])
    return PiecewisePolynomial(cells_of(ends, series @ polynomials.to_powers), float(breaks[-1]))


# -- values of a shifted distribution --------------------------------------------------------------

# The value of a shifted distribution as a function of the shift, from one table per weight and distribution.
#
# For t + Z the gain part is G(t), the integral of w+(P(Z > -u)) over u < t, and the loss part is the same
# function of -t for -Z under w-: so g(t) = G_{w+, Z}(t) - G_{w-, -Z}(-t), and g' = w+(P(Z > -t)) + w-(P(Z < -t)).
# This replaces the paper's simulation of 25,000 samples in every round (Section VI).

NEGLIGIBLE = 1e-13  # the integral of a tail that the table leaves out
FARTHEST = 1e150  # log Phi is -u^2/2 there, and u^2 is still a double
MOST_DOUBLINGS = 400  # of the distance at which a tail is cut; beyond, its integral does not converge


class Distribution(NamedTuple):
    """What a table needs to know about Z, whose scale is about 1."""

    log_survival: Callable[[FloatArray], FloatArray]
    log_cdf: Callable[[FloatArray], FloatArray]
    quantile: Callable[[FloatArray], FloatArray]
    landmarks: FloatArray  # between which the distribution is smooth
    support: tuple[float, float]


STANDARD_NORMAL = Distribution(
    lambda x: scipy.special.log_ndtr(-x), lambda x: scipy.special.log_ndtr(x), lambda p: scipy.special.ndtri(p),
    np.zeros(1), (-np.inf, np.inf),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class LocationTable:
    """G(t), the gain part of t + Z under one weight, to 1e-10 (relative to G(0) if that exceeds 1)."""

    bounded: PiecewisePolynomial  # G(t) - max(t, 0), which stays bounded

    def __call__(self, t: FloatArray) -> FloatArray:
        """G at each t."""
        first, last = self.bounded.breaks[[0, -1]]
        gain = self.bounded(np.clip(t, first, last)) + np.maximum(t, 0.0)
        return np.where(t < first, 0.0, gain)


@lru_cache(maxsize=256)
def normal_table(weight: Weight) -> LocationTable:
    """The table of a weight for a standard normal Z, built once (some milliseconds).

    >>> from allais.weights import Identity
    >>> float(normal_table(Identity())(np.array([0.0]))[0])  # 1 / sqrt(2 pi)
    0.3989422804...
    """
    return location_table(weight, STANDARD_NORMAL)


def location_table(weight: Weight, distribution: Distribution) -> LocationTable:
    """The table of a weight and a distribution; an infinite value is refused with a `ValueError`."""

    def gain_derivative(u: FloatArray) -> FloatArray:
        return weight.of_logs(distribution.log_survival(-u), distribution.log_cdf(-u))

    def shortfall(u: FloatArray) -> FloatArray:
        return dual.of_logs(distribution.log_cdf(-u), distribution.log_survival(-u))  # 1 - w(P(Z > -u)), all digits

    dual = weight.dual()
    kinks = distribution.quantile(np.array([1.0 - p for p in weight.singularities if 0.0 < p < 1.0]))
    corners = -np.concatenate([kinks, distribution.landmarks])
    bottom, top = distribution.support
    left_tail = 0.0
    total = 1.0
    far_left, far_right = max(top, 0.0), max(-bottom, 0.0)
    if np.isinf(top):
        far_left, left_tail, total = _cut(lambda u: gain_derivative(-u))
    if np.isinf(bottom):
        far_right, _, _ = _cut(shortfall)
    tolerance = 1e-13 * max(1.0, total)
    pieces = []
    at_zero = left_tail
    if far_left > 0.0:
        pieces.append(fit(gain_derivative, _breaks(-far_left, 0.0, corners), tolerance).antiderivative(left_tail))
        at_zero = float(pieces[0](np.zeros(1))[0])
    if far_right > 0.0:
        above = fit(lambda u: -shortfall(u), _breaks(0.0, far_right, corners), tolerance)
        pieces.append(above.antiderivative(at_zero))
    return LocationTable(joined(pieces))


def _cut(falling: Integrand) -> tuple[float, float, float]:
    """Where the rest of a falling function's integral is negligible, that rest, and the whole."""
    whole = integrate(falling, [0.0, 1.0]).value + integrate_tail(falling, 1.0, FARTHEST).value
    far = 2.0
    for _ in range(MOST_DOUBLINGS):
        rest = integrate_tail(falling, far, FARTHEST, max(1.0, whole)).value
        if rest <= NEGLIGIBLE * max(1.0, whole):
            return far, rest, whole
        far *= 1.5
    raise ValueError(
        "the distorted tail of a distribution must have a finite value; this one is infinite. Use lighter tails."
    )


def _breaks(low: float, high: float, corners: FloatArray) -> FloatArray:
    """The ends, the corners between them, and doublings in between."""
    doublings = 2.0 ** np.arange(-1, 64)
    points = np.concatenate([-doublings, doublings, corners])
    inner = points[(points > low) & (points < high)]
    return np.unique(np.concatenate([[low], inner, [high]]))
