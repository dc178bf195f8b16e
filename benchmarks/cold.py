"""The first use: CPU seconds of a new process with an empty cache, beside an older commit in the same run."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from allais._kernels.compiling import USUAL
from allais.report.markup import markdown_table
from benchmarks.against import ROOT, older
from benchmarks.against import run as run_in

BEFORE = "48295b4"  # the commit before compiled code was called by reference
TURNS = 2
END = """
import json, resource
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu": used.ru_utime + used.ru_stime}))
"""
MADE = """
from allais import *
people, fifty = Preference(TverskyKahneman(0.61)), Bounded(0, 50)
problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
"""
USES = {
    "import allais": ("import allais", None),
    "first `ask` + `tell` of `NPTS`": (
        MADE + "learner = NPTS(people, fifty).start(['A', 'B'], seed=1)\nlearner.tell(learner.ask(), 7.0)",
        5,
    ),
    "README's `compare` (NPTS, UCB1)": (
        MADE + "compare([NPTS(people, fifty), UCB1(fifty)], problem, n_rounds=100_000, n_runs=20, seed=1)",
        8,
    ),
    "the same with W-UCB in place of NPTS": (
        MADE + "compare([WUCB(people, fifty), UCB1(fifty)], problem, n_rounds=100_000, n_runs=20, seed=1)",
        None,
    ),
    "`best_arm(TopTwo)` on the tutorial's roads": (
        """
from allais import *
people = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69), reference=25, costs=True)
roads = Bandit([Discrete({20: 0.98, 120: 0.02}), Discrete({23: 0.5, 26: 0.5})], arms=["arterial", "ring road"])
known = [Finite([20, 120]), Finite([23, 26])]
best_arm(TopTwo(people, known, delta=0.05), roads, seed=1)
""",
        12,
    ),
}


def run() -> str:
    """The table: both trees in turn, each in a process of its own; the best of some turns counts."""
    with tempfile.TemporaryDirectory() as folder, older(BEFORE, folder) as other:
        rows = [_row(name, code, limit, other, Path(folder)) for name, (code, limit) in USES.items()]
    head = ("first use, CPU seconds", f"before ({BEFORE})", "now", "ratio", "aim", "with code on disk, before", "now")
    said = [(name, f"{seconds}", _measured(name)) for name, seconds in USUAL.items()]
    return (
        "## First use\n\nCPU seconds of a new process, `import` and the work itself included: with an empty cache,"
        f" then with the code on disk. Best of {TURNS} turns.\n\n{markdown_table(head, rows)}\n\n"
        "What the line on a terminal says, beside what a first `ask` + `tell` takes:\n\n"
        f"{markdown_table(('policy', 'seconds that the line says', 'CPU seconds here'), said)}"
    )


def _row(name: str, code: str, limit: int | None, other: Path, folder: Path) -> tuple[str, ...]:
    cold, warm = [float("inf")] * 2, [float("inf")] * 2
    for _ in range(TURNS):
        for place, tree in enumerate((other, ROOT)):
            cache = folder / "cache"
            cold[place] = min(cold[place], run_in(tree, code + END, str(cache))["cpu"])
            warm[place] = min(warm[place], run_in(tree, code + END, str(cache))["cpu"])
            shutil.rmtree(cache, ignore_errors=True)
    aim = "" if limit is None else f"{limit}"
    ratio = f"{cold[1] / cold[0]:.2f}"
    return (name, f"{cold[0]:.1f}", f"{cold[1]:.1f}", ratio, aim, f"{warm[0]:.2f}", f"{warm[1]:.2f}")


def _measured(name: str) -> str:
    """CPU seconds of a policy's first choice and outcome."""
    code = f"""
from allais.simulation.warm import uses_of
from allais.settings import kind_named
policy, problem = next(uses_of(kind_named({name!r})))
learner = policy.on(problem).start(problem.arms, seed=1)
learner.tell(learner.ask(), 1.0)
"""
    with tempfile.TemporaryDirectory() as cache:
        return f"{run_in(ROOT, code + END, cache)['cpu']:.1f}"
