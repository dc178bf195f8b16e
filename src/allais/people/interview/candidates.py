"""Questions (two lotteries, and the words in which a person is asked), and candidates for the next one.

Candidates are pairs between which some person drawn from the prior is undecided; each is rated by its expected
information.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from allais._checks import FloatArray, IntArray, real
from allais.files import require, whole
from allais.lotteries import Discrete
from allais.people.data.choices import dominates
from allais.people.data.choices_builder import plain_option
from allais.people.model.likelihood import OptionValues

if TYPE_CHECKING:
    from allais.people.model.family import Family


SIDES = ("A", "B")
TIMES = ("s", "second", "seconds", "min", "mins", "minute", "minutes", "h", "hour", "hours", "day", "days", "week",
         "weeks", "month", "months", "ms", "millisecond", "milliseconds")  # fmt: skip


@dataclass(frozen=True)
class Question:
    """Two options, A and B, and the number under which the answer is told.

    Args:
        id: The number under which the answer is told.
        a: Option A.
        b: Option B.
        better: Of an attention check, the option that dominates the other.
        unit: What outcomes are measured in.
        costs: Whether less is better.

    >>> question = Question(1, Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0}), unit="euros")
    >>> print(question)
    Which would you rather have?
      A: 50 euros with 10 %, 0 euros with 90 %
      B: 7 euros for sure
    >>> print(Question(2, Discrete({30: 0.1, 5: 0.9}), Discrete({10: 1.0}), unit="minutes", costs=True))
    Which would you rather wait?
      A: 30 minutes with 10 %, 5 minutes with 90 %
      B: 10 minutes for sure
    """

    id: int
    a: Discrete
    b: Discrete
    better: str | None = None
    unit: str = ""
    costs: bool = False

    @property
    def options(self) -> tuple[Discrete, Discrete]:
        """Both lotteries."""
        return self.a, self.b

    @property
    def is_check(self) -> bool:
        """Whether it is an attention check: one side dominates the other."""
        return self.better is not None

    @property
    def asking(self) -> str:
        """The question without its options."""
        return asked_about(self.costs, self.unit)

    @property
    def wording(self) -> str:
        """What the person reads."""
        lines = [f"  {side}: {in_words(one, self.unit)}" for side, one in zip(SIDES, self.options, strict=True)]
        return "\n".join([self.asking, *lines])

    def __str__(self) -> str:
        return self.wording

    def as_json(self) -> dict[str, Any]:
        """The question as JSON."""
        return {"id": self.id, "options": [plain_option(one) for one in self.options], "better": self.better}

    @staticmethod
    def from_json(content: Any, unit: str, costs: bool) -> Question:
        """The question that JSON describes."""
        id_ = whole(content["id"], "the number of a question", 1)
        require(isinstance(content["options"], list) and len(content["options"]) == 2, "a question has two options")
        require(content["better"] in (None, *SIDES), "the better side of a question is A, B or none")
        a, b = (Discrete(dict(one) if isinstance(one, list) else {one: 1.0}) for one in content["options"])
        return Question(id_, a, b, content["better"], unit, costs)


def asked_about(costs: bool, unit: str) -> str:
    """How people are asked: costs are not offered as if they were gains.

    >>> asked_about(False, "euros"), asked_about(True, "minutes"), asked_about(True, "euros")
    ('Which would you rather have?', 'Which would you rather wait?', 'Which cost would you rather bear?')
    """
    if not costs:
        return "Which would you rather have?"
    waiting = unit.strip().lower() in TIMES
    return "Which would you rather wait?" if waiting else "Which cost would you rather bear?"


def in_words(lottery: Discrete, unit: str) -> str:
    """A lottery in plain words, the highest outcome first."""
    pairs = list(zip(lottery.outcomes.tolist(), lottery.probabilities.tolist(), strict=True))[::-1]
    if len(pairs) == 1:
        return f"{amount(pairs[0][0], unit)} for sure"
    return ", ".join(f"{amount(outcome, unit)} with {percent(chance)}" for outcome, chance in pairs)


def amount(outcome: float, unit: str) -> str:
    """An outcome with its unit.

    >>> amount(-12.5, "euros")
    '-12.5 euros'
    """
    return f"{outcome:g} {unit}".rstrip()


def percent(chance: float) -> str:
    """A probability as people read it.

    >>> percent(0.05), percent(1 / 3)
    ('5 %', '33.3 %')
    """
    return f"{100.0 * chance:.3g} %"


def checked_answer(answer: Any) -> str:
    """The side that an answer names."""
    side = answer.strip().upper() if isinstance(answer, str) else answer
    if side not in SIDES:
        raise ValueError(f'an answer is "A" or "B"; got {answer!r}. Give one of them.')
    return str(side)


CHANCES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # as people read them
COARSE, FINE = 20, 100  # steps from 0 to the end of the stakes: of lotteries, and of sure amounts
LOTTERIES = 300  # that pairs are made of
PEOPLE = 200  # drawn from the prior; a pair is made for one of them, who is nearly indifferent
RIVALS = 30  # random lotteries, of which the one with the nearest value is the other option
SURE = 0.5  # of the pairs have a sure amount
CHECKS = 40  # dominated pairs
CLEARLY = 3  # steps by which each outcome of a check is better
MOST_TRIES = 20  # for each pair

Pair = tuple[Discrete, Discrete]


class Candidates(NamedTuple):
    """The questions that may be asked."""

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


def pool(family: Family, stakes: tuple[float, float], n: int, rng: np.random.Generator) -> Candidates:
    """n pairs and some checks, for outcomes between the stakes.

    A pair is made for one person drawn from the prior: a lottery, and a sure amount or another lottery of about the
    same value to this person. So there are informative questions for everybody.
    """
    low, high = sorted(_utilities(family, end) for end in stakes)
    coarse, fine = _grid(low, high, COARSE), _grid(low, high, FINE)
    if coarse.size < 2 * CLEARLY:
        raise ValueError(f"stakes must leave room for different outcomes; got {stakes}. Widen them.")
    lotteries = [_lottery(family, coarse, rng) for _ in range(LOTTERIES)]
    sure = [Discrete({_outcome(family, x): 1.0}) for x in fine.tolist()]
    values = OptionValues(family, [*lotteries, *sure])(family.natural(family.prior.draw(PEOPLE, rng)))
    found: dict[frozenset[Discrete], Pair] = {}
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
    return Candidates(list(found.values()), [_check(family, coarse, rng) for _ in range(CHECKS)])


def lotteries_within(family: Family, stakes: tuple[float, float], n: int, rng: np.random.Generator) -> list[Discrete]:
    """Lotteries of two round outcomes between the stakes."""
    low, high = sorted(_utilities(family, end) for end in stakes)
    grid = _grid(low, high, COARSE)
    return [_lottery(family, grid, rng) for _ in range(n)]


def _utilities(family: Family, outcome: float) -> float:
    return family.reference - outcome if family.costs else outcome - family.reference


def _outcome(family: Family, utility: float) -> float:
    return round(family.reference - utility if family.costs else family.reference + utility, 9)


def _grid(low: float, high: float, steps: int) -> FloatArray:
    """Round numbers between the stakes, on each side of zero with a step that fits its range."""
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
    """Two outcomes: both gains, both losses, or one of each, as the stakes allow."""
    sides = [side for side in (grid[grid >= 0.0], grid[grid <= 0.0], grid) if side.size > 1]
    high, low = np.sort(rng.choice(sides[rng.integers(len(sides))], 2, replace=False))[::-1].tolist()
    return _two(family, high, low, float(rng.choice(CHANCES)))


def _two(family: Family, high: float, low: float, chance: float) -> Discrete:
    return Discrete({_outcome(family, high): chance, _outcome(family, low): round(1.0 - chance, 9)})


def _check(family: Family, grid: FloatArray, rng: np.random.Generator) -> Pair:
    """A lottery, and one that is clearly dominated by it."""
    by = min(CLEARLY, grid.size // 3)
    low, high = np.sort(rng.choice(np.arange(by, grid.size), 2, replace=False)).tolist()
    chance = float(rng.choice([0.3, 0.4, 0.5, 0.6, 0.7]))
    better = _two(family, float(grid[high]), float(grid[low]), chance)
    return better, _two(family, float(grid[high - by]), float(grid[low - by]), chance)


def parameter_information(log_chance: FloatArray) -> FloatArray:
    """The mutual information, in bits, of an answer and the parameters; log probabilities are (draws, questions).

    >>> parameter_information(np.log([[1.0, 0.5], [1e-9, 0.5]])).round(3)
    array([1., 0.])
    """
    chance = np.exp(log_chance)
    rest = np.maximum(1.0 - chance, 1e-300)
    inside = -(chance * np.maximum(log_chance, -700.0) + rest * np.log(rest)).mean(axis=0) / np.log(2.0)
    return entropy(chance.mean(axis=0)) - inside


def decision_information(log_chance: FloatArray, decision: IntArray) -> FloatArray:
    """The mutual information, in bits, of an answer and the preferred arm, which `decision` has for each draw.

    >>> decision_information(np.log([[0.9, 0.5], [0.1, 0.5]]), np.array([0, 1])).round(3)
    array([0.531, 0.   ])
    """
    chance = np.exp(log_chance)
    left = np.zeros(chance.shape[1])
    for arm in np.unique(decision):
        mine = chance[decision == arm]
        left += len(mine) / len(chance) * entropy(mine.mean(axis=0))
    return entropy(chance.mean(axis=0)) - left


def entropy(chance: FloatArray) -> FloatArray:
    """The entropy of a coin, in bits."""
    inside = np.clip(chance, 1e-300, 1.0 - 1e-16)
    return -(inside * np.log(inside) + (1.0 - inside) * np.log1p(-inside)) / np.log(2.0)


def entropy_of(shares: FloatArray) -> FloatArray:
    """The entropy of distributions along the last axis, in bits."""
    return np.asarray(special.entr(shares).sum(axis=-1) / np.log(2.0))
