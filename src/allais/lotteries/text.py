"""Lotteries as words: "50:0.1,0:0.9"."""

from __future__ import annotations

from allais.lotteries.finite import Discrete


def lottery_of(text: str) -> Discrete:
    """The lottery that outcomes and probabilities describe.

    >>> lottery_of("50:0.1, 0:0.9")
    Discrete({50: 0.1, 0: 0.9})
    """
    chances: dict[float, float] = {}
    for part in text.split(","):
        outcome, colon, chance = part.partition(":")
        try:
            key, probability = float(outcome), float(chance)
        except ValueError:
            raise ValueError(
                f'a lottery is outcomes and probabilities, such as "50:0.1,0:0.9"; got {part.strip()!r} in {text!r}. '
                + ("Write numbers." if colon else "Write outcome:probability.")
            ) from None
        if key in chances:
            raise ValueError(f"an outcome is given once; got {key:g} twice in {text!r}. Add its probabilities up.")
        chances[key] = probability
    return Discrete(chances)
