"""Learners and streams that several threads use at once: nothing is lost, and nothing is counted twice."""

import contextlib
import sys
import threading

import numpy as np
import pytest

from allais import NPTS, WUCB, Bounded, Learner, Preference, TverskyKahneman, ValueStream
from allais.linear import LinTS, ParameterNoise

PEOPLE = Preference(TverskyKahneman(0.61))
FIFTY = Bounded(0, 50)
ARMS = ["A21", "A28", "A40"]
POLICIES = {
    "W-UCB": WUCB.as_printed(PEOPLE, FIFTY),
    "NPTS": NPTS(PEOPLE, FIFTY),
    "LinTS": LinTS(PEOPLE, ParameterNoise(), features=[[1, 0], [0, 1], [0.6, 0.6]]),
}


@pytest.fixture(autouse=True)
def often():
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(*tasks):
    """Do tasks in threads that begin together; what one raises is raised."""
    start, raised = threading.Barrier(len(tasks)), []

    def run(task):
        start.wait()
        try:
            task()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive(), "a thread must end; this one waits for ever"
    if raised:
        raise raised[0]


def outcome_of(choice):
    return choice.id * 0.6180339887 % 1.0 * 50.0  # distinct, so that memory grows


def play(learner, rounds, told):
    for _ in range(rounds):
        choice = learner.ask()
        learner.tell(choice, outcome_of(choice))
        told.append(choice)


def look(learner, rounds):
    before = 0
    for _ in range(rounds):
        learner.recommend()
        now = sum(learner.pulls.values())
        assert before <= now  # nobody takes anything back
        before = now
        assert all(choice.arm in ARMS for choice in learner.outstanding)
        learner.value()
        learner.copy().ask()


@pytest.mark.parametrize("name", POLICIES)
def test_threads_share_a_learner(name):
    learner = POLICIES[name].start(ARMS, seed=1)
    learner.tell(learner.ask(), 7.0)  # code is compiled before the threads begin
    told = []
    at_once(*[lambda: play(learner, 800, told)] * 4, lambda: look(learner, 60))
    assert len({choice.id for choice in told}) == len(told) == 3200
    assert learner.samples == 3201
    assert learner.outstanding == ()
    if learner.policy.keeps_outcomes:
        for arm in ARMS:
            theirs = sorted([outcome_of(choice) for choice in told if choice.arm == arm] + [7.0] * (arm == "A21"))
            np.testing.assert_array_equal(np.repeat(*learner.outcomes(arm)), theirs)
            assert learner.value()[arm] == pytest.approx(PEOPLE.estimate(theirs), rel=1e-12)


def test_threads_feed_in_and_take_back_data_and_arms():
    learner = POLICIES["W-UCB"].start(ARMS, seed=1)
    learner.observe("A21", [7.0])

    def feed(arm):
        for turn in range(150):
            learner.observe(arm, [float(turn % 50), 50.0])
            learner.forget(arm, 50.0)
            learner.cancel(learner.ask())

    def come_and_go():
        for turn in range(20):
            learner.add(f"new {turn}")
            learner.retire(f"new {turn}")

    at_once(*(lambda arm=arm: feed(arm) for arm in ARMS), come_and_go)
    assert [learner.pulls[arm] for arm in ARMS] == [151, 150, 150]
    assert learner.arms == tuple(ARMS)
    assert learner.snapshot()["state"]["asked"][:3] == [151, 150, 150]


def test_threads_share_a_folder_and_it_goes_on(tmp_path):
    told = []
    with Learner.open(tmp_path, POLICIES["W-UCB"], ARMS, seed=1) as learner:
        at_once(*[lambda: play(learner, 60, told)] * 4, lambda: look(learner, 20))
        live, intervals = learner.snapshot(), learner.intervals()
    assert learner.samples == 240
    with Learner.open(tmp_path) as again:
        assert again.snapshot() == live
        assert again.intervals() == intervals


@pytest.mark.parametrize("max_blocks", [None, 200])
def test_threads_share_a_stream(max_blocks):
    samples = np.random.default_rng(1).uniform(-50, 50, 12_000)
    shared, alone = (ValueStream(PEOPLE, Bounded(-50, 50), max_blocks) for _ in range(2))
    alone.add_many(samples)

    def add(part):
        for at, sample in enumerate(part.tolist()):
            shared.add(sample)
            if at % 100 == 0:
                shared.value()

    def add_many(part):
        for some in np.array_split(part, 60):
            shared.add_many(some)

    at_once(*(lambda part=part: add(part) for part in samples.reshape(4, -1)[:3]), lambda: add_many(samples[9000:]))
    assert len(shared) == 12_000
    if max_blocks is None:
        assert shared.value() == pytest.approx(alone.value(), rel=1e-12)
        assert [shared.quantile(p / 1000) for p in range(1, 1000)] == np.sort(samples)[11:-1:12].tolist()
    else:
        exact = PEOPLE.estimate(samples)
        value, error = shared.certified()
        assert abs(value - exact) <= error


def test_streams_that_merge_crosswise_do_not_wait_for_each_other():
    here, there = ValueStream(PEOPLE), ValueStream(PEOPLE)
    here.add_many([1.0, 2.0])
    there.add_many([3.0])

    def merge(one, other):
        for _ in range(6):
            one.merge(other)

    at_once(lambda: merge(here, there), lambda: merge(there, here))
    assert len(here) >= 2 + 6 * 1
    assert len(there) >= 1 + 6 * 2


def test_a_closed_folder_refuses_the_other_threads_and_keeps_what_they_did(tmp_path):
    told = []

    def play_on():
        with contextlib.suppress(ValueError):  # it was closed
            play(learner, 10_000, told)

    learner = Learner.open(tmp_path, POLICIES["W-UCB"], ARMS, seed=1)

    def close():
        while len(told) < 20:
            pass
        learner.close()

    at_once(play_on, play_on, close)
    with Learner.open(tmp_path) as again:
        assert again.samples == len(told)
        assert len(again.outstanding) <= 2
