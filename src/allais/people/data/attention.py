"""Attention: how often people took an option that is worse in everything."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allais.people.data.choices import Choices
from allais.people.interview.candidates import dominates


class Attention(NamedTuple):
    """How the attention checks went: questions in which one side is better in everything."""

    asked: int
    passed: int

    def __str__(self) -> str:
        if not self.asked:
            return "No attention check was answered."
        return f"{self.passed} of {self.asked} attention checks were passed."


def attention_of(choices: Choices, costs: bool) -> dict[str, Attention]:
    """For each person, the choices between two options of which one dominates the other, and how many went to it."""
    better = {}  # the position of the better option of each pair, or -1
    asked, passed = np.zeros(len(choices.people), np.int64), np.zeros(len(choices.people), np.int64)
    rows = zip(choices.person, choices.offered.tolist(), choices.chosen.tolist(), choices.count, strict=True)
    for person, offered, chosen, count in rows:
        pair = tuple(place for place in offered if place >= 0)
        if len(pair) != 2:
            continue
        if pair not in better:
            first, second = (choices.lotteries[place] for place in pair)
            above, below = dominates(first, second), dominates(second, first)
            better[pair] = -1 if above == below else int(above == costs)
        if better[pair] >= 0:
            asked[person] += count
            passed[person] += count * (chosen == better[pair])
    return {
        name: Attention(*counts) for name, *counts in zip(choices.people, asked.tolist(), passed.tolist(), strict=True)
    }
