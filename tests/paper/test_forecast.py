"""The time that is left, on a clock of our own; what is remembered of costs; what is said meanwhile."""

import dataclasses
import io
import json

import numpy as np
import pytest
from rich.console import Console

from allais.cli.paper import Progress
from allais.paper.costs import Expected, Forecast, Memory, calibration, in_words
from allais.paper.experiments import BY_NAME, EXPERIMENTS
from tests.paper.made_up import made_up

TICK = 0.25


def played(expected, actual, workers, marks=5):
    """What a forecast shows, at every tick of a run whose experiments take as long as `actual` says."""
    now, waiting, running, shown = 0.0, list(expected), {}, []
    forecast = Forecast(expected, workers, now)
    while waiting or running:
        while waiting and len(running) < workers:
            running[waiting[0]] = now
            forecast.tell(waiting.pop(0), 0.0, now)
        shown.append((now, forecast.left(now)))
        now += TICK
        for name, begun in list(running.items()):
            share = (now - begun) / actual[name]
            if share >= 1.0:
                forecast.tell(name, 1.0, now)
                del running[name]
            elif int(share * marks) > int((share - TICK / actual[name]) * marks):
                forecast.tell(name, int(share * marks) / marks, now)
    return np.array(shown), now


COSTS = {"vehicles": 95.0, "sharper": 76.0, "grid": 21.0, "budget": 11.0, "regret": 16.0, "weight": 0.2}


def test_a_forecast_that_is_right_counts_down():
    shown, end = played(COSTS, COSTS, 2)
    assert np.abs(shown[:, 0] + shown[:, 1] - end).max() < 0.05 * end
    assert (np.diff(shown[:, 1]) <= 1e-9).all()


@pytest.mark.parametrize("factor", [0.4, 0.7, 1.5, 3.0])
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_machine_of_another_speed_is_noticed_without_jumps(factor, workers):
    shown, end = played(COSTS, {name: factor * cost for name, cost in COSTS.items()}, workers)
    steps = np.diff(shown[:, 1])
    assert steps.max() < 0.02 * end  # in a quarter of a second
    late = shown[np.argmin(np.abs(shown[:, 0] - 0.75 * end)), 1]
    assert 0.15 * end < late < 0.4 * end  # a quarter is left
    assert shown[-1, 1] < 0.1 * end


def test_costs_that_are_wrong_one_by_one_do_not_make_it_jump():
    rng = np.random.default_rng(1)
    for _ in range(20):
        actual = {name: cost * float(rng.uniform(0.4, 2.5)) for name, cost in COSTS.items()}
        shown, end = played(COSTS, actual, 2)
        risen = np.maximum(np.diff(shown[:, 1]), 0.0)
        assert risen.max() < 0.02 * end
        assert risen.sum() < 0.6 * end


def test_times_are_said_no_more_exactly_than_they_are_known():
    assert [in_words(seconds) for seconds in (0.0, 3.0, 17.0, 44.0, 58.0, 125.0, 600.0)] == [
        "1 s", "5 s", "20 s", "40 s", "1 min", "2 min", "10 min"
    ]  # fmt: skip


def test_costs_are_remembered_and_compiling_is_counted_once(tmp_path, monkeypatch):
    monkeypatch.setattr("allais.paper.costs.calibration", lambda: 2.0)
    path, regret = tmp_path / "costs.json", BY_NAME["regret"]
    first = Memory(path).expected([regret], "quick")
    assert first.seconds["regret"] == pytest.approx(2.0 * (regret.seconds["quick"] + regret.compiling))
    assert first.compiling == pytest.approx(2.0 * regret.compiling)
    Memory(path).remember("regret", "quick", 30.0)
    second = Memory(path).expected([regret], "quick")
    assert second == Expected({"regret": 2.0 * regret.seconds["quick"]}, 0.0)  # it is compiled now
    Memory(path).remember("regret", "quick", 5.0)
    assert Memory(path).expected([regret], "quick") == Expected({"regret": 5.0}, 0.0)
    known = json.loads(path.read_text())
    known["compiled"] = {"kernels-other": ["regret"]}  # other sources: compiled anew
    path.write_text(json.dumps(known))
    assert Memory(path).expected([regret], "quick") == Expected({"regret": 30.0}, 25.0)
    Memory(path).remember("regret", "quick", 30.0)
    assert "kernels-other" in json.loads(path.read_text())["compiled"]  # which another checkout goes on with
    assert Memory(path).expected([regret], "quick") == Expected({"regret": 5.0}, 0.0)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"speed": "fast"}', '{"again": {"quick": {"regret": -1}}}', '{"first": 3}']
)
def test_a_damaged_memory_is_no_memory(tmp_path, text):
    path = tmp_path / "costs.json"
    path.write_text(text)
    assert Memory(path).expected([BY_NAME["weight"]], "quick").seconds["weight"] > 0.0
    Memory(path).remember("weight", "quick", 0.2)
    assert json.loads(path.read_text())["first"] == {"quick": {"weight": 0.2}}


def test_a_memory_that_cannot_be_written_costs_no_run(tmp_path):
    (tmp_path / "file").write_text("")
    Memory(tmp_path / "file" / "costs.json").remember("weight", "quick", 0.2)


def test_the_calibration_is_short():
    assert 0.0 < calibration() < 1e3


def test_progress_is_one_line_that_names_what_is_left():
    now = [0.0]
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=120)
    expected = Expected({one.name: 10.0 for one in EXPERIMENTS}, 56.0)
    progress = Progress(EXPERIMENTS, "quick", expected, 2, console, clock=lambda: now[0])
    assert "14 experiments at quick scale, 2 at a time: about 1 min 10 s here, 40% of it compiling" in out.getvalue()
    assert progress.line().plain.endswith("0 of 14 done; starting")
    progress.watch("regret", 0.0)
    progress.watch("budget", 0.0)
    now[0] = 10.0
    progress.watch("regret", 1.0)
    line = progress.line().plain
    assert "\n" not in line
    assert "about 1 min left; 1 of 14 done; now budget" in line


def test_without_a_terminal_each_finished_experiment_says_what_is_left():
    now = [0.0]
    out = io.StringIO()
    stored = {one.name: one for one in made_up()}
    todo = [dataclasses.replace(BY_NAME[name]) for name in ("weight", "regret")]
    console = Console(file=out, width=120)
    with Progress(
        todo, "quick", Expected({"weight": 2.0, "regret": 40.0}, 0.0), 1, console, lambda: now[0]
    ) as progress:
        progress.watch("weight", 0.0)
        now[0] = 2.0
        progress.finished(stored["weight"])
        progress.watch("regret", 0.0)
        progress.finished(stored["regret"])
    assert out.getvalue().splitlines() == [
        "2 experiments at quick scale: about 40 s here.",
        "weight (1.0 s): 2 hold, 1 hold once corrected, 1 typing error; about 40 s left",
        "regret (1.0 s): 2 hold, 1 hold once corrected, 1 typing error",
    ]
