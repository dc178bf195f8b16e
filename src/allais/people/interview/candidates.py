"""Candidate questions: pairs between which some person of the prior would be in two minds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allais._checks import FloatArray, real
from allais.lotteries import Discrete, FiniteLottery
from allais.people.model.likelihood import Worths

if TYPE_CHECKING:
    from allais.people.model.family import Family

CHANCES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # as people read them
COARSE, FINE = 20, 100  # steps from 0 to the end of the stakes: of lotteries, and of sure amounts
LOTTERIES = 300  # that pairs are made of
PEOPLE = 200  # of the prior, between whose minds pairs lie
RIVALS = 30  # lotteries at random, of which the one that is worth most nearly as much is the other option
SURE = 0.5  # of the pairs have a sure amount
CHECKS = 40  # dominated pairs
CLEARLY = 3  # steps by which each outcome of a check is better
MOST_TRIES = 20  # for each pair that is wanted

Pair = tuple[FiniteLottery, FiniteLottery]


class Pool(NamedTuple):
    """What may be asked."""

    pairs: list[Pair]
    checks: list[Pair]  # the first of each is better in everything


def checked_stakes(stakes: tuple[float, float]) -> tuple[float, float]:
    """The least and the greatest outcome that may be asked about."""
    try:
        low, high = stakes
    except (TypeError, ValueError):
        raise ValueError(f"stakes are the least and the greatest outcome; got {stakes!r}. Write (-50, 200).") from None
    low, high = real("the least of the stakes", low), real("the greatest of the stakes", high)
    if not low < high:
        raise ValueError(f"the least of the stakes lies below the greatest; got {low:g} and {high:g}. Swap them.")
    return low, high


def pool(family: Family, stakes: tuple[float, float], n: int, rng: np.random.Generator) -> Pool:
    """n pairs and some checks, for outcomes between the stakes.

    A pair is made for one person of the prior: a lottery, and a sure amount or another lottery that is worth about as
    much to this person. So there is a telling question for whoever may come.
    """
    low, high = sorted(_utilities(family, end) for end in stakes)
    coarse, fine = _grid(low, high, COARSE), _grid(low, high, FINE)
    if coarse.size < 2 * CLEARLY:
        raise ValueError(f"stakes must leave room for different outcomes; got {stakes}. Widen them.")
    lotteries = [_lottery(family, coarse, rng) for _ in range(LOTTERIES)]
    sure = [Discrete({_outcome(family, x): 1.0}) for x in fine.tolist()]
    values = Worths(family, [*lotteries, *sure])(family.natural(family.prior.draw(PEOPLE, rng)))
    found: dict[frozenset[FiniteLottery], Pair] = {}
    for _ in range(MOST_TRIES * n):
        if len(found) == n:
            break
        person, first = int(rng.integers(PEOPLE)), int(rng.integers(LOTTERIES))
        if rng.random() < SURE:
            rivals = np.arange(LOTTERIES, LOTTERIES + len(sure))
        else:
            rivals = rng.integers(LOTTERIES, size=RIVALS)
        other = rivals[np.abs(values[person, rivals] - values[person, first]).argmin()]
        pair = lotteries[first], [*lotteries, *sure][other]
        if not (dominates(*pair) or dominates(*pair[::-1])):
            found.setdefault(frozenset(pair), pair)
    return Pool(list(found.values()), [_check(family, coarse, rng) for _ in range(CHECKS)])


def lotteries_within(
    family: Family, stakes: tuple[float, float], n: int, rng: np.random.Generator
) -> list[FiniteLottery]:
    """Lotteries of two round outcomes between the stakes."""
    low, high = sorted(_utilities(family, end) for end in stakes)
    grid = _grid(low, high, COARSE)
    return [_lottery(family, grid, rng) for _ in range(n)]


def _utilities(family: Family, outcome: float) -> float:
    return family.reference - outcome if family.costs else outcome - family.reference


def _outcome(family: Family, utility: float) -> float:
    return round(family.reference - utility if family.costs else family.reference + utility, 9)


def _grid(low: float, high: float, steps: int) -> FloatArray:
    """Round numbers between the stakes: as many on each side of zero as go into its end."""
    found = {0.0} if low <= 0.0 <= high else set()
    for sign, near, far in ((1.0, max(low, 0.0), high), (-1.0, max(-high, 0.0), -low)):
        if far > near:
            step = round_step((far - near) / steps)
            places = np.arange(math.ceil(near / step - 1e-9), math.floor(far / step + 1e-9) + 1)
            found |= {float(sign * step * place) for place in places}
    return np.array(sorted({round(x, 9) + 0.0 for x in found}))


def round_step(least: float) -> float:
    """The smallest of 1, 2 and 5, times a power of ten, that is no smaller.

    >>> round_step(2.4), round_step(0.03), round_step(10)
    (5.0, 0.05, 10.0)
    """
    power = 10.0 ** math.floor(math.log10(least) + 1e-9)
    return next(float(f"{k * power:.6g}") for k in (1, 2, 5, 10) if k * power >= least * (1.0 - 1e-9))


def _lottery(family: Family, grid: FloatArray, rng: np.random.Generator) -> Discrete:
    """Two outcomes: gains, losses, or one of each, as often as the stakes have them."""
    sides = [side for side in (grid[grid >= 0.0], grid[grid <= 0.0], grid) if side.size > 1]
    high, low = np.sort(rng.choice(sides[rng.integers(len(sides))], 2, replace=False))[::-1].tolist()
    return _two(family, high, low, float(rng.choice(CHANCES)))


def _two(family: Family, high: float, low: float, chance: float) -> Discrete:
    return Discrete({_outcome(family, high): chance, _outcome(family, low): round(1.0 - chance, 9)})


def _check(family: Family, grid: FloatArray, rng: np.random.Generator) -> Pair:
    """A lottery, and one that is clearly worse in either case."""
    by = min(CLEARLY, grid.size // 3)
    low, high = np.sort(rng.choice(np.arange(by, grid.size), 2, replace=False)).tolist()
    chance = float(rng.choice([0.3, 0.4, 0.5, 0.6, 0.7]))
    better = _two(family, float(grid[high]), float(grid[low]), chance)
    return better, _two(family, float(grid[high - by]), float(grid[low - by]), chance)


def dominates(first: FiniteLottery, second: FiniteLottery) -> bool:
    """Whether the first gives at least every outcome at least as often.

    >>> dominates(Discrete({10: 0.5, 0: 0.5}), Discrete({10: 0.4, 0: 0.6}))
    True
    """
    points = np.union1d(first.outcomes, second.outcomes)
    return bool((_survival(first, points) >= _survival(second, points) - 1e-12).all())


def _survival(lottery: FiniteLottery, points: FloatArray) -> FloatArray:
    return np.append(lottery.at_least, 0.0)[np.searchsorted(lottery.outcomes, points)]
