"""Compiling: only what is reached, once for all processes, undisturbed by signals, and said on a terminal."""

import io
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import pytest

import allais
from allais._kernels import compiling
from allais.extend import KArmed, NoBand, Worth, choose, issue

POLICY = """
import allais
people, rewards = allais.Preference(allais.TverskyKahneman(0.61)), allais.Bounded(0, 50)
policy = allais.NPTS(people, rewards)
"""
COUNTED = """
from numba.core import event
class Count(event.Listener):
    seen = []
    def on_start(self, one): self.seen.append(one.data["dispatcher"].py_func.__name__)
    def on_end(self, one): pass
event.register("numba:compile", Count())
"""
LIVE = """
learner = policy.start(["a", "b"], seed=1)
learner.tell(learner.ask(), 7.0)
"""


def start(code, folder, **settings):
    environment = {**os.environ, "ALLAIS_CACHE_DIR": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment, **settings
    )


def printed(process):
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return out.strip()


@pytest.mark.slow
def test_code_is_compiled_when_it_is_reached(tmp_path):
    """Trees of outcomes serve arms with many distinct outcomes: a first session needs none."""
    code = f"""
{POLICY}
from allais.samples.tree import insert_outcome
{LIVE}
print(len(insert_outcome.inner.overloads))
for outcome in range(300):
    learner.observe("a", [outcome / 10])
print(len(insert_outcome.inner.overloads), round(learner.value()["a"], 6))
print(round(people.estimate([7.0, *(outcome / 10 for outcome in range(300))]), 6))
"""
    before, after, exact = printed(start(code, tmp_path)).splitlines()
    assert before == "0"
    assert after == f"1 {exact}"


@pytest.mark.slow
def test_two_processes_at_once_compile_nothing_twice(tmp_path):
    code = f"{COUNTED}\n{POLICY}\n{LIVE}\nprint(len(Count.seen))"
    alone = int(printed(start(code, tmp_path / "alone")))
    both = [start(code, tmp_path / "both") for _ in range(2)]
    assert alone > 10
    assert sum(int(printed(one)) for one in both) == alone
    assert printed(start(code, tmp_path / "both")) == "0"


def test_code_that_was_written_between_the_first_look_and_the_lock_is_read(tmp_path):
    looks = iter([None, "code"])
    try:
        assert compiling.found_on_disk(lambda: next(looks), tmp_path) == "code"
    finally:
        compiling._let_go()


@pytest.mark.slow
def test_code_that_was_compiled_ahead_is_not_compiled_again(tmp_path):
    environment = {**os.environ, "ALLAIS_CACHE_DIR": str(tmp_path)}
    ahead = [sys.executable, "-m", "allais.cli", "warm", "EXP3"]
    out = subprocess.run(ahead, env=environment, check=True, capture_output=True, text=True).stdout
    assert out.startswith("EXP3")
    assert str(tmp_path) in out
    code = f"""
{COUNTED}
import allais
from allais.policies import EXP3
policy = EXP3(allais.Bounded(0, 50))
learner = policy.start(["a", "b"], seed=1)
learner.tell(learner.ask(), 7.0)
allais.simulate(policy, allais.Bandit([allais.Uniform(0, 50), allais.Uniform(0, 40)]), 1000, 1, seed=1)
print(Count.seen)
"""
    assert printed(start(code, tmp_path)) == "[]"


INTERRUPTED = """
import signal, sys, threading
class Alarm(Exception): pass
def ring(*_): raise Alarm
signal.signal(signal.SIGALRM, ring)
"""


@pytest.mark.slow
def test_an_interrupt_of_a_first_use_is_heard_and_leaves_no_lock_behind(tmp_path):
    code = f"""
{INTERRUPTED}
{POLICY}
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    policy.start(["a", "b"], seed=1)
    print("not heard")
except Alarm:
    print("heard")
done = []
other = threading.Thread(target=lambda: done.append(allais.WUCB.as_printed(people, rewards).start(2, seed=1).ask().arm))
other.start()
other.join(120)
print(done, policy.start(["a", "b"], seed=1).ask().arm)
"""
    heard, after = printed(start(code, tmp_path)).splitlines()
    assert heard == "heard"
    assert after == "[0] a"


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.05, 0.3, 0.8])
def test_an_interrupt_of_code_that_looks_for_a_routine_spoils_nothing(tmp_path, seconds):
    """The alarm rings while the loop is held up in a call of a routine that is not compiled yet."""
    code = f"""
{INTERRUPTED}
{POLICY}
from allais.samples import memory
few = allais.Bandit([allais.Discrete({{0: 0.5, 1: 0.5}}), allais.Discrete({{0: 1.0}})])
many = allais.Bandit([allais.Uniform(0, 50), allais.Uniform(0, 40)])
allais.simulate(policy, few, 100, 1, seed=1)
find, begun = memory._insert_in_trees.address, []
def address(arguments):
    if not begun:
        begun.append(1)
        signal.setitimer(signal.ITIMER_REAL, {seconds})
    return find(arguments)
memory._insert_in_trees.address = address
try:
    allais.simulate(policy, many, 2000, 1, seed=1)
    print("not heard")
except Alarm:
    print("heard")
print(allais.simulate(policy, many, 2000, 1, seed=1).pulls[0, -1].tolist())
"""
    heard, pulls = printed(start(code, tmp_path)).splitlines()
    plain = f"""
{POLICY}
many = allais.Bandit([allais.Uniform(0, 50), allais.Uniform(0, 40)])
print(allais.simulate(policy, many, 2000, 1, seed=1).pulls[0, -1].tolist())
"""
    assert heard == "heard"
    assert pulls == printed(start(plain, tmp_path))


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("kind", "said"), [(Terminal, True), (io.StringIO, False)])
def test_a_line_is_shown_on_a_terminal_only_and_wiped(tmp_path, monkeypatch, kind, said):
    stderr = kind()
    monkeypatch.setattr(sys, "stderr", stderr)

    def compiled():
        compiling.found_on_disk(lambda: None, tmp_path)
        time.sleep(5 * compiling.TICK)
        return 7

    with compiling.compiled_for("NPTS"):
        assert compiling.undisturbed(compiled) == 7
    shown = stderr.getvalue()
    assert ("compiling NPTS for this machine, once: about 4 s" in shown) == said
    assert shown.endswith("\r\x1b[2K" if said else "")
    assert bool(shown) == said


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of its own needs pty")
def test_a_terminal_is_told_what_is_compiled_and_a_pipe_is_not(tmp_path):
    import pty

    ours, theirs = pty.openpty()
    process = start(POLICY + LIVE, tmp_path / "terminal", stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    printed(process)
    os.close(ours)
    assert b"compiling NPTS for this machine, once: about 4 s" in shown
    assert shown.endswith(b"\r\x1b[2K")  # the line is wiped
    again = start(POLICY + LIVE, tmp_path / "pipe", stderr=subprocess.PIPE)
    _, errors = again.communicate(timeout=300)
    assert errors == ""


def test_classes_that_no_import_finds_are_compiled():
    """As in a notebook whose cell is run twice, or in a function: each class has code of its own."""

    def last_or_first(last):
        class OneArmRule(NamedTuple):
            worth: Worth
            band: NoBand

        @choose.of(OneArmRule)
        def _(rule, state, u):
            return issue(state, state.asked.size - 1 if last else 0)

        @dataclass(frozen=True)
        class OneArm(KArmed):
            called: ClassVar[str] = "one arm"
            goal: ClassVar[str] = "regret"

            def rule(self, n_arms):
                return OneArmRule(self.worth(n_arms), NoBand())

        return OneArm(allais.Preference(allais.TverskyKahneman(0.61)))

    asked = [last_or_first(last).start(["a", "b"], seed=1).ask().arm for last in (False, True)]
    assert asked == ["a", "b"]
    problem = allais.Bandit([allais.Discrete({50: 0.1, 0: 0.9}), allais.Discrete({7: 1.0})])
    played = [allais.simulate(last_or_first(last), problem, 100, n_runs=1, seed=1) for last in (False, True)]
    assert [result.pulls[0, -1].tolist() for result in played] == [[100, 0], [0, 100]]
