"""Handlers of signals that call the learner again."""

import random
import signal

import numpy as np
import pytest

from allais import WUCB, Bounded, Learner, ValueStream
from allais.files import log
from tests.learner.test_interrupts import PEOPLE, compiled, handler, pytestmark  # noqa: F401  # fixtures
from tests.learner.test_journal import ARMS, POLICY, as_repeated


def test_a_handler_that_saves_and_returns_loses_no_outcome(tmp_path):
    """As where a cluster asks for a checkpoint: saving lays memory out anew, under the feet of the call."""
    learner, rng = WUCB.as_printed(PEOPLE, Bounded(0, 50)).start(ARMS, seed=1), random.Random(7)
    for arm in ARMS:  # so many that saving has something to lay out
        learner.observe(arm, np.linspace(0, 50, 200))
    saved, refused = 0, []

    def checkpoint(*arguments):
        nonlocal saved
        try:
            learner.save(tmp_path / "learner.json")
            saved += 1
        except ValueError as error:
            refused.append(str(error))

    signal.signal(signal.SIGALRM, checkpoint)
    told = learner.samples
    while saved + len(refused) < 60:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 3e-4))
        for _ in range(60):
            learner.tell(learner.ask(), rng.uniform(0, 50))
            told += 1
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    assert all("must end before the next begins; this one came during another call" in one for one in refused)
    assert learner.samples == told
    assert learner.snapshot()["state"]["asked"] == list(learner.pulls.values())
    learner.save(tmp_path / "learner.json")
    assert Learner.load(tmp_path / "learner.json").snapshot() == learner.snapshot()


CHANGES = {
    "ask": lambda learner: learner.ask(),
    "tell": lambda learner: learner.tell(learner.outstanding[0], 7.0),
    "cancel": lambda learner: learner.cancel(learner.outstanding[0]),
    "observe": lambda learner: learner.observe("A21", [7.0]),
    "forget": lambda learner: learner.forget("A28", 7.0),
    "add": lambda learner: learner.add("new"),
    "retire": lambda learner: learner.retire("A21"),
}


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_no_change_begins_inside_another(where, tmp_path):
    """What a handler would do, at a place that is known: where an outcome is turned into what is utility."""
    folder = tmp_path / "folder"
    learner = POLICY.start(ARMS, seed=1) if where == "memory" else Learner.open(folder, POLICY, ARMS, seed=1)
    learner.observe("A28", [7.0, 7.0])
    learner.ask(3)
    utility, refusals, looks = learner._engine.utilities, [], []

    def calling(outcome):
        for change in (*CHANGES.values(), lambda one: one.save(tmp_path / "learner.json")):
            with pytest.raises(ValueError, match=r"must end before the next begins; .* during another call"):
                change(learner)
            refusals.append(change)
        return utility(outcome)

    def looking(outcome):
        if not learner._guard.midway:
            looks.append(learner.pulls)
        return utility(outcome)

    for change in ("tell", "observe", "forget"):
        learner._engine.utilities = calling
        CHANGES[change](learner)
    assert len(refusals) == 8 * 3
    learner._engine.utilities = looking
    CHANGES["tell"](learner)
    assert looks == [{"A21": 2, "A28": 1, "A40": 0}]
    learner._engine.utilities = utility
    assert learner.pulls == {"A21": 2, "A28": 1, "A40": 1}
    for change in CHANGES.values():
        change(learner)
    if where == "folder":
        live = as_repeated(learner)
        learner.close()
        with Learner.open(folder) as again:
            assert as_repeated(again) == live


@pytest.mark.parametrize("max_blocks", [None, 20])
def test_no_sample_is_added_inside_another_call(max_blocks):
    stream, other = (ValueStream(PEOPLE, max_blocks=max_blocks) for _ in range(2))
    for one in (stream, other):
        one.add_many([1.0, 2.0])
    with stream._guard.lock:  # as a handler finds it
        for change in (lambda: stream.add(3.0), lambda: stream.add_many([3.0]), lambda: stream.merge(other)):
            with pytest.raises(ValueError, match=r"must end before the next begins; .* during another call"):
                change()
        stream.value()  # to look is allowed
    assert len(stream) == 2


def test_a_folder_that_a_handler_closes_holds_the_call_or_does_not(tmp_path, monkeypatch):
    learner = Learner.open(tmp_path, POLICY, ARMS, seed=1)
    learner.observe("A21", [7.0])
    genuine = log.line_of

    def closing(entry):
        learner.close()
        return genuine(entry)

    monkeypatch.setattr(log, "line_of", closing)
    with pytest.raises(ValueError, match=r"a journal is closed between two calls; .* Open it again to see whether"):
        learner.observe("A21", [50.0])
    monkeypatch.undo()
    with Learner.open(tmp_path) as again:
        assert again.samples == 1


def test_a_handler_that_opens_the_folder_of_the_call_under_way_is_refused(tmp_path, monkeypatch):
    learner = Learner.open(tmp_path, POLICY, ARMS, seed=1)
    genuine = log.line_of

    def opening(entry):
        with pytest.raises(ValueError, match="is open in another"):
            Learner.open(tmp_path)
        return genuine(entry)

    monkeypatch.setattr(log, "line_of", opening)
    learner.observe("A21", [50.0])
    monkeypatch.undo()
    assert learner.samples == 1
    learner.close()
