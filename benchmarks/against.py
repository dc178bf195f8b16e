"""`python -m benchmarks.against REVISION [WORD ...]`: speed beside an older commit, in alternation on one machine.

Both trees are run in processes of their own, one after the other, several times; the best CPU time of each counts. The
snippet below speaks the interface of both: names from wherever they are, settings by name. With words, only rows that
have one of them in their names are measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from allais.report.markup import markdown_table

ROOT = Path(__file__).parents[1]
TURNS = 2
SNIPPET = """
import json, sys, time
import numpy as np
begin = time.process_time()
import allais
wanted = lambda name: not sys.argv[1:] or any(word in name for word in sys.argv[1:])
took = {"import allais": time.process_time() - begin}

def named(name, *homes):
    for home in ("allais", *homes):
        try:
            return getattr(__import__(home, fromlist=[name]), name)
        except AttributeError:
            pass
    raise AttributeError(name)

from allais import NPTS, IMED, TopTwo, UCB1, WLUCB, WUCB, Bandit, Bernoulli, Bounded, Discrete, Finite, Preference
from allais import TverskyKahneman, Uniform, ValueStream, simulate
Holder, KL = named("Holder", "allais.bands"), named("KL", "allais.bands")
WOFUL, LinTS = named("WOFUL", "allais.linear"), named("LinTS", "allais.linear")
LinearBandit, ParameterNoise = named("LinearBandit", "allais.linear"), named("ParameterNoise", "allais.linear")
people, unit, fifty = Preference(TverskyKahneman(0.61)), Bounded(0, 1), Bounded(0, 50)
ten = Bandit([Bernoulli(0.3 + 0.03 * k) for k in range(10)])
three = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({30: 0.2, 0: 0.8}), Discrete({7: 1.0})])
smooth = Bandit([Uniform(0, 0.5 + 0.1 * k) for k in range(5)])
rows = np.random.default_rng(1).normal(size=(50, 10)) / 4
linear = LinearBandit(rows, theta=np.full(10, 0.3), noise=ParameterNoise())
known = [Finite([0, 50]), Finite([0, 30]), Finite([7])]
cases = {
    "UCB1, 10 coins, 10^6 rounds": (UCB1(unit), ten, 1_000_000),
    "W-UCB as printed, 3 lotteries, 10^6 rounds": (WUCB(people, fifty, band=Holder()), three, 1_000_000),
    "W-UCB, KL band, 3 lotteries, 10^5 rounds": (WUCB(people, fifty, band=KL()), three, 100_000),
    "W-UCB as printed, 5 continuous arms, 10^5 rounds": (WUCB(people, Bounded(0, 2), band=Holder()), smooth, 100_000),
    "NPTS, 3 lotteries, 10^5 rounds": (NPTS(people, fifty), three, 100_000),
    "NPTS, 5 continuous arms, 10^4 rounds": (NPTS(people, Bounded(0, 2)), smooth, 10_000),
    "IMED, 3 lotteries, 10^5 rounds": (IMED(people, known), three, 100_000),
    "W-LUCB, 3 lotteries, until it stops": (WLUCB(people, Finite([0, 7, 30, 50]), delta=0.05), three, 10**6),
    "W-OFUL, 50 arms, 10^4 rounds": (WOFUL(people, ParameterNoise(), delta=0.05, beta=1.0), linear, 10_000),
    "LinTS, 50 arms, 10^4 rounds": (LinTS(people, ParameterNoise()), linear, 10_000),
}
for name, (policy, problem, rounds) in cases.items():
    if not wanted(name):
        continue
    simulate(policy, problem, n_rounds=100, seed=1)
    begun, repeats = time.process_time(), 0
    while repeats < 4 or time.process_time() - begun < 0.5:  # what takes a moment only is more easily disturbed
        begin, repeats = time.process_time(), repeats + 1
        simulate(policy, problem, n_rounds=rounds, seed=1)
        took[name] = min(time.process_time() - begin, took.get(name, np.inf))
if wanted(row := "ask + tell of a learner, 20,000 times"):
    learner = NPTS(people, fifty).start(["A", "B", "C"], seed=1)
    for _ in range(100):
        learner.tell(learner.ask(), 7.0)
    begin = time.process_time()
    for _ in range(20_000):
        learner.tell(learner.ask(), 7.0)
    took[row] = time.process_time() - begin
if wanted(row := "add + value of a stream, 20,000 times"):
    stream, samples = ValueStream(people), np.random.default_rng(1).normal(size=20_000).tolist()
    stream.add(0.5), stream.value()
    begin = time.process_time()
    for sample in samples:
        stream.add(sample)
        stream.value()
    took[row] = time.process_time() - begin
if wanted(row := "estimate of 10^6 samples"):
    samples = np.random.default_rng(1).normal(size=10**6)
    people.estimate(samples[:100])
    begin = time.process_time()
    people.estimate(samples)
    took[row] = time.process_time() - begin
print(json.dumps(took))
"""
COLD = """
import json, time
import allais
from allais import NPTS, UCB1, Bandit, Bounded, Discrete, Preference, TverskyKahneman, compare
people, fifty = Preference(TverskyKahneman(0.61)), Bounded(0, 50)
begin = time.process_time()
learner = NPTS(people, fifty).start(["A", "B"], seed=1)
learner.tell(learner.ask(), 7.0)
print(json.dumps({"first ask + tell of NPTS, empty cache, CPU": time.process_time() - begin}))
"""


def run(tree: Path, code: str, cache: str | None = None, words: Sequence[str] = ()) -> dict[str, Any]:
    """What a snippet found in a tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    if cache is not None:
        environment["ALLAIS_CACHE_DIR"] = cache
    command = [sys.executable, "-W", "ignore", "-c", code, *words]
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def older(revision: str, folder: str) -> Iterator[Path]:
    """Within: the tree of an older commit, in a folder."""
    tree = Path(folder) / "tree"
    subprocess.run(["git", "worktree", "add", "--detach", str(tree), revision], cwd=ROOT, check=True)
    try:
        yield tree
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


def main() -> None:
    """Measure both trees in turn, and print a table."""
    if len(sys.argv) < 2:
        raise SystemExit("a revision is needed; usage: python -m benchmarks.against REVISION [WORD ...]")
    words = sys.argv[2:]
    best: list[dict[str, float]] = [{}, {}]
    with tempfile.TemporaryDirectory() as folder, older(sys.argv[1], folder) as other:
        for turn in range(TURNS + 1):  # the first fills the caches
            for place, tree in zip(best, (other, ROOT), strict=True):
                for name, seconds in run(tree, SNIPPET, words=words).items():
                    place[name] = min(seconds, place.get(name, float("inf")) if turn > 1 else seconds)
        for turn in range(0 if words else 2):
            for number, (place, tree) in enumerate(zip(best, (other, ROOT), strict=True)):
                for name, seconds in run(tree, COLD, f"{folder}/cache-{turn}-{number}").items():
                    place[name] = min(seconds, place.get(name, float("inf")))
    before, now = best
    rows = [(name, f"{before[name]:.3g} s", f"{now[name]:.3g} s", f"{now[name] / before[name]:.2f}") for name in now]
    print(markdown_table(("what", sys.argv[1], "here", "ratio"), rows))


if __name__ == "__main__":
    main()
