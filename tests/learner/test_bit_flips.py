"""Ten thousand flipped bits of saved learners, folders and streams: refused in one sentence, or read as they were.

Run as a module, this file is the process that reads them: a crash or a hang ends it, and not the tests.
"""

import collections
import faulthandler
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from allais import NPTS, WSR, WUCB, Bounded, Learner, Preference, TverskyKahneman, ValueStream, expected_value
from allais.learner import NotNow
from allais.linear import LinTS, ParameterNoise
from allais.streams.stream import stream_document

ROOT = Path(__file__).parents[2]
LONGEST = 120  # seconds that one file may take before it counts as a hang
FLIPS = {"learners": 4_000, "folders": 3_000, "streams": 3_000}
PEOPLE = Preference(TverskyKahneman(0.61))
POLICIES = [
    WUCB.as_printed(Preference.tversky_kahneman(reference=20.0, costs=True), Bounded(0, 50)),
    NPTS(PEOPLE, Bounded(0, 50)),
    WSR(PEOPLE, budget=90),
    LinTS(expected_value(), ParameterNoise(), delta=0.05, beta=9.0, features=[[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]),
]


def live(learner, rng, rounds=25):
    for _ in range(rounds):
        try:
            choice = learner.ask()
        except NotNow:
            return
        if rng.random() < 0.9:
            learner.tell(choice, float(rng.choice([0.0, 0.1, 7.0, 50.0])))


def state_of_stream(stream):
    header, arrays = stream_document(stream)
    return header, {name: array.tolist() for name, array in arrays.items()}


def same(path, load, expected):
    """What reading a file leads to: "same", "refused", or what went wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a warning says that something was left out
            found = load()
    except ValueError as error:
        sentence = str(error)
        ours = any(words in sentence for words in ("must", "needs its", "only", "is not an allais", "unknown type"))
        raw = isinstance(error, UnicodeError | json.JSONDecodeError)
        return "refused" if ours and not raw and "\n" not in sentence else f"not a sentence: {error!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "same" if found == expected else "read as something else"


def flip(path, rng):
    """One bit of a file, turned; where it was."""
    content = bytearray(path.read_bytes())
    at, bit = int(rng.integers(len(content))), int(rng.integers(8))
    content[at] ^= 1 << bit
    path.write_bytes(bytes(content))
    return at, bit


def opened(folder):
    with Learner.open(folder) as learner:
        return learner.snapshot()


def cases(kind, folder, rng):
    """Files to flip bits of, how they are read, and what must come of it."""
    if kind == "learners":
        for number, policy in enumerate(POLICIES):
            path, learner = folder / f"{number}.json", policy.start(3, seed=1)
            live(learner, rng)
            learner.save(path)
            yield [path], lambda path=path: Learner.load(path).snapshot(), learner.snapshot()
    elif kind == "folders":
        for number, policy in enumerate(POLICIES[:2]):
            home = folder / str(number)
            with Learner.open(home, policy, arms=3, seed=1) as learner:
                live(learner, rng)
                learner.observe(0, [1.0, 2.0])
            written = [path for path in home.iterdir() if path.stat().st_size]
            yield written, lambda home=home: opened(home), opened(home)
    else:
        for max_blocks in (None, 6):
            path, stream = folder / f"{max_blocks}.npz", ValueStream(PEOPLE, Bounded(-99, 99), max_blocks)
            stream.add_many(rng.normal(0.0, 9.0, 40).round(2))
            stream.save(path)
            yield [path], lambda path=path: state_of_stream(ValueStream.load(path)), state_of_stream(stream)


def run(kind, folder, flips, seed):
    """Flip bits one at a time; how often what happened, and what went wrong."""
    rng = np.random.default_rng(seed)
    seen, wrong = collections.Counter(), []
    prepared = list(cases(kind, folder, rng))
    for _ in range(flips):
        paths, load, expected = prepared[rng.integers(len(prepared))]
        before = {path: path.read_bytes() for path in paths}
        sizes = np.array([len(content) for content in before.values()])
        path = paths[rng.choice(len(paths), p=sizes / sizes.sum())]
        where = flip(path, rng)
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        answer = same(path, load, expected)
        faulthandler.cancel_dump_traceback_later()
        for known, content in before.items():
            known.write_bytes(content)
        seen[answer if answer in ("same", "refused") else "wrong"] += 1
        if answer not in ("same", "refused"):
            wrong.append(f"{path.name}, byte {where[0]}, bit {where[1]}: {answer}")
    return {**seen, "examples": wrong[:5]}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FLIPS)
def test_a_flipped_bit_is_refused_or_changes_nothing(kind, tmp_path):
    command = [sys.executable, "-m", "tests.learner.test_bit_flips", kind, str(tmp_path), str(FLIPS[kind]), "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = json.loads(done.stdout)
    print(kind, answers)
    assert answers["examples"] == []
    assert answers["refused"] + answers.get("same", 0) == FLIPS[kind]
    # the rest are spaces, digits beyond a double, and what a zip says twice or of dates
    assert answers["refused"] > 0.5 * FLIPS[kind]


def test_a_few_flipped_bits_are_refused_or_change_nothing(tmp_path):
    for kind in FLIPS:
        (tmp_path / kind).mkdir()
        assert run(kind, tmp_path / kind, 40, seed=2)["examples"] == []


if __name__ == "__main__":
    kind, folder, flips, seed = sys.argv[1:]
    print(json.dumps(run(kind, Path(folder), int(flips), int(seed))))
    sys.stdout.flush()
    os._exit(0)
