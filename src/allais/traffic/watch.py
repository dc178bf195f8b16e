"""A live view of a learner that advises a traveller, day after day."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from allais._system.extras import extra
from allais.learner import Learner
from allais.policies import WUCB
from allais.policies.base import Policy
from allais.preferences import Preference
from allais.problems import Problem
from allais.rewards import Bounded
from allais.weights import TverskyKahneman

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

USUAL, LONGEST = 250.0, 7200.0  # seconds: what a traveller expects, and what no trip takes
EAGER = 1e-4  # of the paper's exploration, whose widths are for certainty: here something should happen soon


def watch(
    problem: Problem, days: int, seed: int, pause: float = 0.0, console: Console | None = None, usual: float = USUAL
) -> Learner:
    """Advise for some days, by the live simulator or a recording, and show it; the learner at the end."""
    with extra("cli", "a live view"):
        from rich.live import Live

    preference = Preference(TverskyKahneman(0.61), reference=usual, costs=True)
    policy: Policy = WUCB.as_printed(preference, Bounded(0.0, LONGEST), exploration=EAGER)
    chooser, traveller = np.random.SeedSequence(seed).spawn(2)
    learner = policy.start(problem.arms, np.random.default_rng(chooser))
    rng = np.random.default_rng(traveller)
    with Live(console=console, auto_refresh=False) as live:
        for day in range(1, days + 1):
            choice = learner.ask()
            delay = float(problem.draw(problem.arms.index(choice.arm), rng, 1)[0])
            learner.tell(choice, delay)
            live.update(view(learner, day, f"{choice.arm}", delay, usual), refresh=True)
            time.sleep(pause)
    return learner


def view(learner: Learner, day: int, route: str, delay: float, usual: float = USUAL) -> Table:
    """What the learner believes after a day."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(f"day {day}: advised {route}, it took {delay:.0f} s", "table.title"))
    for heading in ("route", "days", "mean, s", "longest, s", "feels like, s"):
        table.add_column(heading, justify="left" if heading == "route" else "right")
    best = learner.recommend().arm
    values = learner.value()
    for name, pulls in learner.pulls.items():
        if pulls == 0:
            table.add_row(Text(str(name)), "0", "", "", "")
            continue
        outcomes, counts = learner.outcomes(name)
        row = [f"{np.average(outcomes, weights=counts):.0f}", f"{outcomes.max():.0f}", f"{usual - values[name]:.0f}"]
        shown = Text(f"{name} *" if name == best else str(name))
        table.add_row(shown, str(pulls), *row, style="bold" if name == best else "")
    return table
