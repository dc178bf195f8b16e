"""Two hundred thousand calls with whatever comes to hand: refused with a documented error and nothing changed, or done.

Run as a module, this file is the process that is fuzzed: a crash or a hang ends it, and not the tests.
"""

import collections
import datetime
import decimal
import faulthandler
import fractions
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

from allais import (
    NPTS,
    WLUCB,
    WSR,
    WUCB,
    Bounded,
    Finite,
    Learner,
    PowerUtility,
    Preference,
    SubGaussian,
    TverskyKahneman,
    ValueStream,
    cvar,
    expected_value,
)
from allais.learner import Choice, LinearLearner, NotNow
from allais.linear import LinTS, ParameterNoise
from allais.policies import EXP3
from allais.policies.core.state import saved_parts
from allais.streams.stream import stream_document

ROOT = Path(__file__).parents[2]
CALLS = 200_000
LONGEST = 120  # seconds that one call may take before it counts as a hang
REFUSALS = (ValueError, TypeError, NotNow)  # what the documentation names; OSError for a path that cannot be written
LIFE = 150  # calls before a learner or a stream begins anew, so that it stays small
PEOPLE = Preference(TverskyKahneman(0.61))
STEEP = Preference(TverskyKahneman(0.61), utility=PowerUtility(30.0, 1.0))


class Odd:
    """A thing with a number that is none."""

    def __float__(self):
        raise ValueError("no number")


def odd_things():
    """What nobody should pass, and what somebody will."""
    return [
        *(None, True, False, "7", "", "A", "nan", b"7", 7, -7, 0, 1, 2, 3, 10**30, 10**400, -(10**400)),
        *(0.0, -0.0, 0.5, 7.0, 49.99, 50.0, 50.000001, -0.001, 1e308, -1e308, 1.8e308, 5e-324, 1e9, 1e-12),
        *(float("nan"), float("inf"), float("-inf"), 1j, fractions.Fraction(1, 3), decimal.Decimal("NaN")),
        *(decimal.Decimal("3.5"), datetime.date(2026, 1, 1), np.float32(7.1), np.int64(7), np.bool_(True)),
        *(np.float64("nan"), np.uint64(2**63), np.array(7.0), np.array([7.0]), np.zeros(0), np.zeros((2, 2))),
        *(np.array(["a"]), np.array([1.0, np.nan]), np.datetime64("2026-01-01")),
        *([], [1], [1.0, 2.0], [7.0, "x"], [[1.0], [2.0, 3.0]], [None], [10**400], [1e308, -1e308], (), (1, 2)),
        *({}, {1: 2}, {1.0, 2.0}, range(3), range(0), iter([1.0]), object, Odd(), Odd, lambda: 7, ...),
        *(Choice(1, "A"), Choice(2, "B"), Choice(10**30, "A"), Choice(-1, None), Choice("1", "A"), Choice(1, [])),
        *(PEOPLE, STEEP, cvar(0.1), Bounded(0, 50), Finite([0, 7]), SubGaussian(1.0, 1.0), "x" * 10_000, "\ud800"),
        *(ValueStream(PEOPLE), ValueStream(expected_value()), np.eye(2), np.ones((3, 2)), np.full((1, 2), np.inf)),
    ]


LEARNERS = [
    lambda: WUCB.as_printed(PEOPLE, Bounded(0, 50)).start(["A", "B"], seed=1),
    lambda: WUCB.as_printed(Preference.tversky_kahneman(reference=20.0, costs=True), [Bounded(0, 50)] * 2).start(
        ["A", "B"], 1
    ),
    lambda: NPTS(PEOPLE, Bounded(0, 50)).start(["A", "B"], seed=1),
    lambda: WLUCB(PEOPLE, Finite([0, 7, 50]), delta=0.1).start(["A", "B"], seed=1),
    lambda: WSR(STEEP, budget=60).start(["A", "B", 2], seed=1),
    lambda: WUCB.as_printed(PEOPLE, SubGaussian(1.0, 1.0)).start(["A", "B"], seed=1),
    lambda: EXP3(Bounded(0, 50)).start(["A", "B"], seed=1),
    lambda: LinTS(PEOPLE, ParameterNoise(), delta=0.1, beta=1.0).start(["A", "B"], seed=1, features=np.eye(2)),
]
STREAMS = [
    lambda: ValueStream(PEOPLE),
    lambda: ValueStream(STEEP, max_blocks=5),
    lambda: ValueStream(STEEP),
    lambda: ValueStream(cvar(0.1), Bounded(0, 50)),
    lambda: ValueStream(Preference.tversky_kahneman(reference=1e300, costs=True)),
    lambda: ValueStream(expected_value(), SubGaussian(1.0, 1.0), 4),
]


def learner_calls(learner, odd, paths):
    """Calls of a learner, each with one to three things that were picked at random."""
    out = learner.outstanding
    choice = out[len(out) // 2] if out else odd()
    return [
        lambda: learner.ask(),
        lambda: learner.ask(n=small(odd())),
        lambda: learner.ask(features=odd()),
        lambda: learner.ask(among=odd()),
        lambda: learner.tell(choice, odd()),
        lambda: learner.tell(choice, 7.0),
        lambda: learner.tell(odd(), odd()),
        lambda: learner.tell(getattr(choice, "id", 0), odd()),
        lambda: learner.cancel(odd()),
        lambda: learner.cancel(choice),
        lambda: learner.observe(odd(), odd()),
        lambda: learner.observe("A", odd()),
        lambda: learner.forget(odd(), odd()),
        lambda: learner.forget("A", odd()),
        lambda: learner.add(odd()),
        lambda: learner.add(odd(), odd()),
        lambda: learner.retire(odd()),
        lambda: learner.value(odd()),
        lambda: learner.outcomes(odd()),
        lambda: learner.features_of(odd()) if isinstance(learner, LinearLearner) else learner.ask(),
        lambda: learner.apply(odd()),
        lambda: learner.apply({"tell": odd(), "reward": odd()}),
        lambda: learner.apply({"ask": odd()}),
        lambda: learner.apply({"ask": [[odd(), odd()]]}),
        lambda: learner.apply({"add": odd(), "rewards": odd()}),
        lambda: learner.apply({"chose": odd(), "arm": odd(), "features": odd()}),
        lambda: (learner.value(), learner.intervals(), learner.recommend(), learner.is_settled()),
        lambda: (learner.arms, learner.samples, learner.pulls, learner.outstanding, learner.copy(), repr(learner)),
        lambda: learner.save(paths(odd())),
        lambda: Learner.load(paths(odd())),
        lambda: Learner.load(paths("kept"), trust=odd()),
    ]


def stream_calls(stream, odd, paths):
    """Calls of a stream."""
    return [
        lambda: stream.add(odd()),
        lambda: stream.add(7.0),
        lambda: stream.add_many(odd()),
        lambda: stream.add_many([1.0, odd()]),
        lambda: stream.merge(odd()),
        lambda: (stream.value(), stream.certified(), stream.parts(), len(stream), repr(stream)),
        lambda: stream.interval(odd()),
        lambda: stream.survival(odd()),
        lambda: stream.quantile(odd()),
        lambda: stream.save(paths(odd())),
        lambda: ValueStream.load(paths(odd())),
        lambda: ValueStream(odd(), odd(), odd()),
    ]


def small(thing):
    """A batch may be as long as memory allows; here it is short, or nothing."""
    whole = isinstance(thing, int | np.integer) and not isinstance(thing, bool)
    return min(thing, 3) if whole else thing


def print_of(thing):
    """Everything that a refusal must leave alone."""
    if isinstance(thing, ValueStream):
        header, arrays = stream_document(thing)
        return header["samples"], tuple(arrays[name].tobytes() for name in sorted(arrays))
    engine = thing._engine
    state = engine.state
    parts = {name: part.tobytes() for name, part in saved_parts(state).items()}
    memory = [getattr(state.memory, name).tobytes() for name in ("utility", "raw", "counts", "sizes", "pulls")]
    trees = state.memory.trees.heads.tobytes()
    out = dict(engine.out), dict(getattr(engine, "rows", {}))
    return repr(engine.names), parts, memory, trees, out, engine.next, repr(thing.policy)


def fuzz(calls, seed, folder):
    """Make calls; how often what happened, and what should not have."""
    rng = np.random.default_rng(seed)
    seen, wrong = collections.Counter(), []
    LEARNERS[0]().save(folder / "kept")

    things = odd_things()

    def odd():
        return things[rng.integers(len(things))]

    def paths(thing):
        """A path inside the folder, or what is no path."""
        return folder / thing if isinstance(thing, str) else thing

    for number in range(calls):
        if number % LIFE == 0:
            things[:] = odd_things()
            makers = LEARNERS if rng.random() < 0.6 else STREAMS
            target = makers[rng.integers(len(makers))]()
            before = print_of(target)
        listed = (stream_calls if isinstance(target, ValueStream) else learner_calls)(target, odd, paths)
        which = int(rng.integers(len(listed)))
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        trouble = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)  # numbers that went wrong unseen
                listed[which]()
            seen["done"] += 1
            before = print_of(target)
        except REFUSALS as error:
            seen["refused"] += 1
            if print_of(target) != before:
                trouble = f"changed by a refusal: {error!r}"
        except OSError as error:
            seen["refused"] += 1
            if error.errno is None or print_of(target) != before:
                trouble = repr(error)
        except BaseException as error:
            trouble = f"{type(error).__name__}: {error}"
        faulthandler.cancel_dump_traceback_later()
        if trouble is not None:
            wrong.append(f"{type(target).__name__}, call {which}: {trouble[:300]}")
            before = print_of(target)
    return {**seen, "wrong": len(wrong), "examples": sorted(set(wrong))[:30]}


@pytest.mark.slow
def test_calls_with_anything_are_done_or_refused_and_change_nothing(tmp_path):
    command = [sys.executable, "-m", "tests.learner.test_fuzz", str(CALLS), "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=7200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = json.loads(done.stdout)
    print(answers)
    assert answers["examples"] == []
    assert answers["done"] + answers["refused"] == CALLS
    assert min(answers["done"], answers["refused"]) > CALLS // 10


def test_a_few_calls_with_anything_are_done_or_refused(tmp_path):
    assert fuzz(3_000, 2, tmp_path)["examples"] == []


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(fuzz(int(sys.argv[1]), int(sys.argv[2]), Path(name))))
    sys.stdout.flush()
    os._exit(0)
