"""The lotteries of the paper: what it printed of their values, beside the exact ones."""

from __future__ import annotations

from dataclasses import dataclass

from rich.table import Table

from allais.lotteries import Discrete, Lottery, Normal
from allais.preferences import Preference
from allais.weights import TverskyKahneman

PEOPLE = Preference(TverskyKahneman(0.61))
DELAYS = Preference(TverskyKahneman(0.61), reference=80.0, costs=True)  # gains on the usual route's 80
DELAYS_069 = Preference(TverskyKahneman(0.69), reference=80.0, costs=True)

FIFTY = Discrete({50: 0.1, 0: 0.9})
THIRTY = Discrete({30: 0.2, 0: 0.8})
SEVEN = Discrete({7: 1.0})
FIVE_HUNDRED = Discrete({500: 0.01, 0: 0.99})
TWO_HUNDRED_FIFTY = Discrete({250: 0.03, 0: 0.97})
SETUP_1 = Discrete({1: 0.1, 0.2: 0.1, 0: 0.8})
SETUP_2 = Discrete({1: 0.001, 0.2: 0.8, 0: 0.199})
SAFE_ROUTE = Normal(71.0, 1.0)
FAST_ROUTE = Discrete({68: 0.99, 168: 0.01})


@dataclass(frozen=True)
class Printed:
    """A lottery, and what the paper printed of its value."""

    where: str
    name: str
    lottery: Lottery
    preference: Preference = PEOPLE
    printed: float | None = None
    why: str = ""


PRINTED = (
    Printed("problem (a)", "arm 1: 50 @ .1", FIFTY, printed=10.55, why="no eta gives 10.55; the maximum is 9.883"),
    Printed("problem (a)", "arm 2: 7 for sure", SEVEN, printed=7.0),
    Printed("problem (b)", "arm 1: 500 @ .01", FIVE_HUNDRED),
    Printed("problem (b)", "arm 2: 250 @ .03", TWO_HUNDRED_FIFTY),
    Printed("three arms", "arm 1: 50 @ .1", FIFTY, printed=9.304, why="Monte-Carlo, 50,000 samples"),
    Printed("three arms", "arm 2: 30 @ .2", THIRTY),
    Printed("three arms", "arm 3: 7 for sure", SEVEN, printed=7.0),
    Printed("Setup(*)", "arm 1", SETUP_1, printed=0.2005, why="Monte-Carlo"),
    Printed("Setup(*)", "arm 2", SETUP_2, printed=0.1327, why="Monte-Carlo"),
    Printed("grid network", "arm 1: N(71, 1)", SAFE_ROUTE, DELAYS, 8.865, "printed with eta = 0.69"),
    Printed("grid network", "arm 3: 68 or 168", FAST_ROUTE, DELAYS, 7.795, "printed with eta = 0.69"),
    Printed("same, eta = 0.69", "arm 1: N(71, 1)", SAFE_ROUTE, DELAYS_069, 8.865, "Monte-Carlo"),
    Printed("same, eta = 0.69", "arm 3: 68 or 168", FAST_ROUTE, DELAYS_069, 7.795, "Monte-Carlo"),
)


def table() -> Table:
    """The exact values beside the printed ones; costs as gains on the reference of 80."""
    result = Table(title="Values of the paper's lotteries (Tversky-Kahneman weight, eta = 0.61 unless stated)")
    for heading in ("problem", "lottery", "mean"):
        result.add_column(heading, justify="left" if heading != "mean" else "right")
    for heading in ("distorted value", "paper printed", "difference"):
        result.add_column(heading, justify="right")
    result.add_column("why")
    for entry in PRINTED:
        exact = entry.preference.value(entry.lottery)
        printed = "" if entry.printed is None else f"{entry.printed:g}"
        difference = "" if entry.printed is None else f"{entry.printed - exact:+.4f}"
        mean = f"{entry.lottery.mean:g}"
        result.add_row(entry.where, entry.name, mean, f"{exact:.6f}", printed, difference, entry.why)
    return result
