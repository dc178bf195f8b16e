"""Signal handlers that raise in the middle of a call: it happened, or it did not, or the learner is closed.

Where a learner is closed, its folder opens to what happened. A learner in memory closes only if a second interrupt
follows the first within microseconds, or one meets a change that is seldom made; the tests count that.
"""

import contextlib
import itertools
import random
import shutil
import signal
import threading
import time

import numpy as np
import pytest

from allais import WUCB, Bounded, Learner, Preference, TverskyKahneman, ValueStream
from allais.files import log
from allais.learner import journal
from tests.learner.test_journal import ARMS, POLICY, as_repeated, mixed, perform

PEOPLE = Preference(TverskyKahneman(0.61))

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals"),
    # an interrupt while an object is cleared away is lost, and Python says so
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


FEW = 60  # interrupts in the fast set, which counts none of them: a loaded machine sends them late
TRIALS = [FEW, pytest.param(400, marks=pytest.mark.slow)]


class Interrupted(BaseException):
    """What the handler raises."""


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """All code is loaded before the first interrupt, which would harm the compiler."""
    learner = POLICY.start(ARMS, seed=1)
    for size in (1, 400):
        learner.observe("A21", np.linspace(0, 50, size))
        learner.tell(learner.ask(), 7.0)
        learner.forget("A21", 0.0)
        learner.intervals()
    learner.add("new")
    for max_blocks in (None, 50):
        stream = ValueStream(PEOPLE, max_blocks=max_blocks)
        stream.add_many(np.linspace(-50, 50, 3000))
        stream.value()


@pytest.fixture(autouse=True)
def handler():
    def interrupt(*arguments):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


def interrupted(thing, operations, do, after):
    """Do operations until the timer interrupts, or all of them; how many were done for certain."""
    done = 0
    try:
        signal.setitimer(signal.ITIMER_REAL, after)
        for operation in operations:
            do(thing, operation)
            done += 1
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    except Interrupted:
        pass
    return done


def seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def without_draws(operations, documents):
    """A draw that was made for a choice and not used is kept, and is no change."""
    return operations, [
        {key: one[key] for key in ("policy", "arms", "state", "outstanding", "next")} for one in documents
    ]


def is_closed(thing):
    try:
        thing._guard.require_whole()
    except ValueError:
        return True
    log = getattr(thing._guard, "log", None)
    return log is not None and log.closed


def require_unlocked(thing):
    """No lock is left behind that another thread would wait for."""
    free = []

    def enter():
        free.append(thing._guard.lock.acquire(timeout=10))
        thing._guard.lock.release()

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert free == [True]


@pytest.mark.parametrize("trials", TRIALS)
def test_a_learner_in_memory_is_as_before_or_after_the_call(trials):
    operations, documents = without_draws(*mixed(60, seed=8))
    for one in (POLICY.start(ARMS, seed=1) for _ in range(3)):  # the first compiles
        usual = seconds(lambda one=one: [perform(one, operation) for operation in operations])
    rng, closed, broken_off = random.Random(1), 0, 0
    for _ in range(trials):
        learner = POLICY.start(ARMS, seed=1)
        done = interrupted(learner, operations, perform, rng.uniform(0.0, usual))
        broken_off += done < len(operations)
        require_unlocked(learner)
        if is_closed(learner):
            closed += 1
            with pytest.raises(
                ValueError, match=r"was interrupted in the middle, so it is closed. Load what was saved"
            ):
                learner.ask()
            with pytest.raises(ValueError, match="interrupted in the middle"):
                learner.recommend()
        else:
            assert as_repeated(learner) in documents[done : done + 2]
    print(f"{broken_off} interrupts, {closed} learners closed")
    if trials > FEW:  # on a loaded machine the timer is late
        assert broken_off >= trials // 4
        assert closed <= broken_off // 4  # most of them in `forget` and `add`, which take long


@pytest.mark.parametrize("trials", TRIALS)
def test_asking_and_telling_in_memory_survive_every_interrupt(trials):
    """Hundreds of interrupts of one learner, which goes on as its twin does."""
    learner, twin = (WUCB.as_printed(PEOPLE, Bounded(0, 50)).start(ARMS, seed=1) for _ in range(2))
    rng, survived = random.Random(2), 0
    for arm in ARMS:  # so many that they have moved to the trees, in the middle of which a learner would close
        for one in (learner, twin):
            one.observe(arm, np.linspace(0, 50, 200))

    def go_on(one, outcome):
        waiting = one.outstanding
        one.tell(waiting[0] if waiting else one.ask(), outcome)

    outcomes = [rng.uniform(0, 50) for _ in range(100_000)]
    while survived < trials:
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 3e-4))
            while True:
                go_on(learner, outcomes[learner.samples])
        except Interrupted:
            survived += 1
    while twin.samples < learner.samples:
        go_on(twin, outcomes[twin.samples])
    while twin.outstanding < learner.outstanding:
        twin.ask()
    if learner._engine.draw is not None:  # made for a choice, and kept for the next
        twin._engine.make_draw()
    assert learner.snapshot() == twin.snapshot()


def test_a_learner_starts_and_gets_arms_without_the_compilers_lock():
    """Which an interrupt would leave taken for the whole process: only new code needs it."""
    from numba.core.compiler_lock import global_compiler_lock

    def live():
        learner = POLICY.start(ARMS, seed=1)
        learner.add("new")
        learner.tell(learner.ask(), 7.0)
        learner.copy()
        ValueStream(PEOPLE).add(7.0)
        done.append(learner)

    done = []
    live()
    with global_compiler_lock:
        thread = threading.Thread(target=live, daemon=True)
        thread.start()
        thread.join(timeout=60)
        waited = thread.is_alive()
    thread.join()
    assert not waited
    assert len(done) == 2


@pytest.mark.parametrize("trials", TRIALS)
def test_data_that_is_fed_in_is_taken_as_a_whole(trials):
    data = np.random.default_rng(3).uniform(0, 50, 400).tolist()
    policy = WUCB.as_printed(PEOPLE, Bounded(0, 50))
    full = policy.start(ARMS, seed=1)
    usual = seconds(lambda: full.observe("A21", data))
    rng, closed = random.Random(3), 0
    for _ in range(trials):
        learner = policy.start(ARMS, seed=1)
        interrupted(learner, [data], lambda one, some: one.observe("A21", some), rng.uniform(0.0, usual))
        if is_closed(learner):
            closed += 1
        else:
            assert learner.samples in (0, len(data))
    if trials > FEW:
        assert closed <= trials // 5  # while memory grows, which it does a few times


def trials_in_folders(tmp_path, monkeypatch, trials, seed):
    monkeypatch.setattr(journal, "FEWEST_LINES", 9)
    operations, documents = without_draws(*mixed(40, seed=seed))
    with Learner.open(tmp_path / "first", POLICY, ARMS, seed=1) as learner:
        usual = seconds(lambda: [perform(learner, operation) for operation in operations])
    rng, closed = random.Random(seed), 0
    for trial in range(trials):
        folder = tmp_path / str(trial)
        learner = Learner.open(folder, POLICY, ARMS, seed=1)
        with contextlib.suppress(Interrupted):
            done = interrupted(learner, operations, perform, rng.uniform(0.0, usual))
        require_unlocked(learner)
        if is_closed(learner):
            closed += 1
            with pytest.raises(ValueError, match=r"was closed, since a call could not be .* Open it again to go on"):
                learner.ask()
            live = None
        else:
            live = as_repeated(learner)
            assert live in documents[done : done + 2]
            learner.close()
        with Learner.open(folder) as again:
            found = as_repeated(again)
        assert found in documents[done : done + 2]
        assert live in (None, found)
        shutil.rmtree(folder)
    return closed


def test_a_folder_holds_the_interrupted_call_wholly_or_not_at_all(tmp_path, monkeypatch):
    trials_in_folders(tmp_path, monkeypatch, trials=FEW // 2, seed=4)


@pytest.mark.slow
def test_hundreds_of_interrupts_leave_every_folder_whole(tmp_path, monkeypatch):
    closed = trials_in_folders(tmp_path, monkeypatch, trials=500, seed=5)
    print(f"{closed} of 500 closed")


def test_a_learner_that_could_not_even_close_gives_its_folder_away(tmp_path, monkeypatch):
    """Two interrupts: the second comes while the first closes the learner."""
    learner = Learner.open(tmp_path, POLICY, ARMS, seed=1)

    def interrupt(*arguments):
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(log, "line_of", interrupt)
        patch.setattr(Learner, "close", interrupt)
        with pytest.raises(Interrupted):
            learner.observe("A21", [7.0])
    with Learner.open(tmp_path) as again:
        assert again.samples == 0
    with pytest.raises(ValueError, match="was closed"):
        learner.ask()


@pytest.mark.parametrize("max_blocks", [None, 50])
@pytest.mark.parametrize("trials", TRIALS)
def test_a_stream_is_as_before_or_after_the_call(max_blocks, trials, monkeypatch):
    from allais.streams import samples as module

    monkeypatch.setattr(module, "BUFFER", 64)
    rng = random.Random(6)
    batches = [[rng.uniform(-50, 50) for _ in range(rng.choice([1, 1, 1, 30]))] for _ in range(60)]

    def do(stream, batch):
        stream.add(batch[0]) if len(batch) == 1 else stream.add_many(batch)

    lengths, values = [0], [None]
    alone = ValueStream(PEOPLE, max_blocks=max_blocks)
    for batch in batches:
        do(alone, batch)
        lengths.append(len(alone))
        values.append(PEOPLE.estimate(list(itertools.chain(*batches[: len(lengths) - 1]))))
    usual = seconds(lambda: [do(alone, batch) for batch in batches])
    closed = 0
    for _ in range(trials):
        stream = ValueStream(PEOPLE, max_blocks=max_blocks)
        done = interrupted(stream, batches, do, rng.uniform(0.0, usual))
        require_unlocked(stream)
        if is_closed(stream):
            closed += 1
            with pytest.raises(ValueError, match="interrupted in the middle"):
                stream.value()
            continue
        assert len(stream) in lengths[done : done + 2]
        if len(stream):
            value, error = stream.certified()
            assert abs(value - values[lengths.index(len(stream))]) <= error + 1e-9
    if trials > FEW:
        assert closed <= trials // 10
