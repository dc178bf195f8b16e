"""How fast bandits are: against river, against C written by hand, live, and at the start of a process."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from allais import UCB1, WUCB, Bandit, Bernoulli, Bounded, Discrete, Learner, Preference, TverskyKahneman, simulate
from allais.policies import Policy
from benchmarks.tables import CLAIMS, Table
from benchmarks.timing import best_of

PEOPLE = Preference(TverskyKahneman(0.61))
TEN = Bandit([Bernoulli(0.1 + 0.08 * k) for k in range(10)])
TWO = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({14: 0.5, 0: 0.5})])
ROUNDS, RUNS = 1_000_000, 3


def run() -> str:
    table = Table(*CLAIMS)
    for part in (_against_c, _against_river, _whole_simulation, _live, _start, _memory):
        part(table)
    return f"## K-armed bandits\n\n{table}"


def _seconds(policy: Policy, problem: Bandit, rounds: int, runs: int) -> float:
    start = perf_counter()
    simulate(policy, problem, rounds, runs, seed=1, progress=False)
    return perf_counter() - start


def _against_c(table: Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "loops"
        source = Path(__file__).with_name("loops.c")
        subprocess.run(["cc", "-O3", "-o", binary, source, "-lm"], check=True)

        def by_hand(name: str) -> float:
            command = [str(binary), name, str(ROUNDS), str(RUNS)]
            return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0])

        cases: list[tuple[str, Policy, Bandit]] = [
            ("ucb1", UCB1(Bounded(0, 1)), TEN),
            ("wucb", WUCB.as_printed(PEOPLE, Bounded(0, 50)), TWO),
        ]
        for name, policy, problem in cases:
            _seconds(policy, problem, 1000, 1)  # compiles, or loads
            c, ours = float("inf"), float("inf")
            for _ in range(20):
                c, ours = min(c, by_hand(name)), min(ours, _seconds(policy, problem, ROUNDS, RUNS))
            each = 1e9 / (ROUNDS * RUNS)
            speed = c / ours
            table.add(
                f"{policy.name}, {problem.n_arms} arms, 3 runs of 10^6 rounds", f"{ours * each:.0f} ns per round",
                f"hand-written C {c * each:.0f} ns", f"{speed:.2f} of C's speed", "at least 0.5", speed >= 0.5,
            )  # fmt: skip


def _against_river(table: Table) -> None:
    from river import bandit

    chances = [0.1 + 0.08 * k for k in range(10)]

    def by_river(rounds: int) -> None:
        policy, rng = bandit.UCB(delta=1, seed=1), random.Random(1)
        arms: list[int | str] = list(range(10))
        for _ in range(rounds):
            arm = policy.pull(arms)
            policy.update(arm, float(rng.random() < chances[int(arm)]))

    theirs, ours = best_of(3, lambda: by_river(20_000), lambda: _seconds(UCB1(Bounded(0, 1)), TEN, 1_000_000, 1))
    ratio = (theirs / 20_000) / (ours / 1_000_000)
    table.add(
        "UCB1, 10 Bernoulli arms", f"{1e3 * ours:.0f} ns per round", f"river's UCB {1e9 * theirs / 20_000:.0f} ns",
        f"{ratio:.0f} times faster", "at least 50", ratio >= 50,
    )  # fmt: skip


def _whole_simulation(table: Table) -> None:
    distorted, plain = WUCB.as_printed(PEOPLE, Bounded(0, 50)), UCB1(Bounded(0, 50))
    hundred, same = best_of(3, lambda: _seconds(distorted, TWO, 10_000, 100), lambda: _seconds(plain, TWO, 10_000, 100))
    ratio = hundred / same
    table.add("W-UCB, 100 runs of 10^4 rounds", f"{hundred:.2f} s", "", "", "under 1 s", hundred < 1)
    table.add("W-UCB on two arms", f"{hundred:.2f} s", f"UCB1, same problem {same:.2f} s", f"{ratio:.2f}", "at most 3",
              ratio <= 3)  # fmt: skip


def _live(table: Table) -> None:
    rounds = 20_000
    outcome = {"A21": 0.0, "A28": 7.0}
    policy = WUCB.as_printed(PEOPLE, Bounded(0, 50))

    def play(learner: Learner, n: int) -> None:
        for _ in range(n):
            choice = learner.ask()
            learner.tell(choice, outcome[str(choice.arm)])

    learner = policy.start(["A21", "A28"], seed=1)
    seconds, locked, bare = best_of(
        7, lambda: play(learner, rounds), lambda: _enter(learner, rounds), lambda: _pass(rounds)
    )
    each, lock = 1e6 * seconds / rounds, 1e6 * (locked - bare) / rounds
    with tempfile.TemporaryDirectory() as folder:
        durable = Learner.open(Path(folder) / "advisor", policy, ["A21", "A28"], seed=1)
        (early,) = best_of(3, lambda: play(durable, 300))
        play(durable, 10_000)
        (late,) = best_of(3, lambda: play(durable, 300))
        durable.close()
    table.add("ask + tell", f"{each:.1f} us", "", "", "under 20 us", each < 20)
    table.add("the lock of a call, of `ask` or of `tell`", f"{lock:.2f} us", f"half of ask + tell {each / 2:.1f} us",
              f"{2 * lock / each:.2f}", "under 0.3 us", lock < 0.3)  # fmt: skip
    table.add("ask + tell on disk, after 10,000 of them", f"{1e6 * late / 300:.0f} us",
              f"at the start {1e6 * early / 300:.0f} us", f"{late / early:.2f}", "does not grow",
              late < 2 * early)  # fmt: skip


def _enter(learner: Learner, n: int) -> None:
    """What a call does to be alone."""
    for _ in range(n):
        journal = learner._journal
        if journal.lock._is_owned():
            journal.require_outermost()
        with journal.lock:
            if journal.midway or journal.durable:
                journal.require_ready()


def _pass(n: int) -> None:
    for _ in range(n):
        pass


MADE = """
import resource, time
import allais
policy = allais.WUCB(allais.Preference(allais.TverskyKahneman(0.61)), allais.Bounded(0, 50))
problem = allais.Bandit([allais.Discrete({50: 0.1, 0: 0.9}), allais.Discrete({14: 0.5, 0: 0.5})])
"""
START = """
start = time.perf_counter()
allais.simulate(policy, problem, 1000, 1, seed=1)
print(time.perf_counter() - start)
"""


def _printed_by(code: str) -> float:
    """The number that a new process prints."""
    command = [sys.executable, "-c", MADE + code]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _start(table: Table) -> None:
    seconds = min(_printed_by(START) for _ in range(3))
    what = "first `simulate` of a new process, cache warm"
    table.add(what, f"{seconds:.2f} s", "", "", "at most 0.3 s", seconds <= 0.3)


MEMORY = """
allais.simulate(policy, problem, 1_000_000, 100, seed=1, n_jobs=2)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def _memory(table: Table) -> None:
    megabytes = _printed_by(MEMORY)
    table.add("memory of 100 runs of 10^6 rounds", f"{megabytes:.0f} MB", "", "", "under 500 MB", megabytes < 500)
