"""Questions: two lotteries, and the words in which a person is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from allais.files.reading import require, whole
from allais.lotteries import Discrete
from allais.people.data.jsonl import plain_option

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
