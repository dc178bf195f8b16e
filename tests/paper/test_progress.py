"""How far a run of the paper's experiments is, on a clock of our own."""

import dataclasses
import io

import numpy as np
import pytest
from rich.console import Console

from allais.cli.paper import Progress
from allais.paper.experiments import BY_NAME, EXPERIMENTS
from tests.paper.made_up import made_up

TICK = 0.25
COSTS = {"vehicles": 95.0, "sharper": 76.0, "grid-network": 21.0, "budget": 11.0, "regret": 16.0, "weight": 0.2}


def played(actual, workers, marks=5):
    """What is shown as the time left, at every tick of a run whose experiments take as long as `actual` says."""
    experiments = [dataclasses.replace(BY_NAME[name], seconds={"quick": cost}) for name, cost in COSTS.items()]
    now, waiting, running, shown = [0.0], list(COSTS), {}, []
    progress = Progress(experiments, "quick", workers, Console(file=io.StringIO()), clock=lambda: now[0])
    while waiting or running:
        while waiting and len(running) < workers:
            running[waiting[0]] = now[0]
            progress.watch(waiting.pop(0), 0.0)
        if progress.left is not None:
            shown.append((now[0], progress.left))
        now[0] += TICK
        for name, begun in list(running.items()):
            share = (now[0] - begun) / actual[name]
            if share >= 1.0:
                del running[name]
            if share >= 1.0 or int(share * marks) > int((share - TICK / actual[name]) * marks):
                progress.watch(name, min(int(share * marks) / marks, 1.0))
    return np.array(shown), now[0]


@pytest.mark.parametrize("factor", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_time_left_follows_the_pace_of_this_machine(factor, workers):
    shown, end = played({name: factor * cost for name, cost in COSTS.items()}, workers)
    off = np.abs(shown[:, 0] + shown[:, 1] - end) / end
    assert off.mean() < 0.15
    late = shown[np.argmin(np.abs(shown[:, 0] - 0.75 * end)), 1]
    assert 0.1 * end < late < 0.4 * end  # a quarter is left


def test_costs_that_are_wrong_one_by_one_leave_the_time_within_a_quarter():
    rng = np.random.default_rng(1)
    off = []
    for _ in range(20):
        shown, end = played({name: cost * float(rng.uniform(0.4, 2.5)) for name, cost in COSTS.items()}, 2)
        off.append(np.abs(shown[:, 0] + shown[:, 1] - end).mean() / end)
    assert np.mean(off) < 0.25


def test_progress_names_what_is_done_and_what_is_under_way():
    out = io.StringIO()
    progress = Progress(EXPERIMENTS, "quick", 2, Console(file=out, force_terminal=True, width=120), lambda: 0.0)
    assert "14 experiments at quick scale, 2 at a time." in out.getvalue()
    assert progress.words == "starting"
    progress.watch("regret", 0.0)
    progress.watch("budget", 0.0)
    progress.watch("regret", 1.0)
    assert progress.words == "left; 1 of 14 done; now budget"


def test_without_a_terminal_each_finished_experiment_says_what_is_left():
    now = [0.0]
    out = io.StringIO()
    stored = {one.name: one for one in made_up()}
    seconds = {"weight": 2.0, "regret": 40.0}
    todo = [dataclasses.replace(BY_NAME[name], seconds={"quick": cost}) for name, cost in seconds.items()]
    with Progress(todo, "quick", 1, Console(file=out, width=120), lambda: now[0]) as progress:
        progress.watch("weight", 0.0)
        now[0] = 1.0
        progress.watch("weight", 0.5)
        now[0] = 2.0
        progress.finished(stored["weight"])
        progress.watch("regret", 0.0)
        progress.finished(stored["regret"])
    assert out.getvalue().splitlines() == [
        "2 experiments at quick scale.",
        "weight (1.0 s): 2 hold, 1 hold once corrected, 1 misprint; about 40 seconds left",
        "regret (1.0 s): 2 hold, 1 hold once corrected, 1 misprint",
    ]
