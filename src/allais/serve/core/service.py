"""The service of one process: its experiments, its writer, and the way back after the database was away."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from sqlalchemy import Connection, Select

from allais.learner import Learner
from allais.serve import unfinished
from allais.serve.core import keys, restore
from allais.serve.core.errors import Refused, broken, not_found, reason_of, unavailable
from allais.serve.core.experiment import Experiment
from allais.serve.core.keys import Pool, RateLimit
from allais.serve.core.restore import PreferenceCache
from allais.serve.settings_file import ServerSettings
from allais.serve.store.database import PROBE, START_PATIENCE, Database, Gone, Ownership, is_away, why_failed
from allais.serve.store.writer import Kind, Row, Writer, checksum
from allais.serve.workers import Precompiler, SnapshotWorker

Result = TypeVar("Result")
TICK = 1.0  # seconds between two looks at what expires and what is worth a snapshot
PROBED = 1.0  # seconds for which a write that worked is good enough for /ready
LONGEST_PAUSE = 2.0  # seconds between two attempts to reach the database

SLOWLY = "a link may be used {:g} times per minute; this one was used more often. Wait a moment."

log = logging.getLogger("allais.serve")


class _Changing:
    """Around a change: one that breaks off in the middle is undone by reading the database again.

    Its error becomes one of the service. A refusal passes, since nothing has changed then.
    """

    def __init__(self, fail: Callable[[BaseException], None]) -> None:
        self._fail = fail

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if error is not None and not isinstance(error, Refused):
            log.error("a change broke off; its experiment is read again", exc_info=error)
            self._fail(error)
            raise unavailable("a change broke off in the middle") from error


class Service:
    """The service behind the HTTP calls; it belongs to one event loop."""

    writer: Writer

    def __init__(self, settings: ServerSettings, database: Database) -> None:
        self.settings, self.database = settings, database
        self.ownership = Ownership(database)
        self.ring = keys.KeyRing(settings.limits.requests_per_second, settings.limits.wrong_keys_per_minute)
        self.experiments: dict[str, Experiment] = {}
        self.broken: dict[str, str] = {}  # experiments that could not be read, and why
        self.elsewhere: set[str] = set()  # experiments of other processes
        self.people = PreferenceCache(self.read)
        self.interviews: dict[str, Any] = {}  # conversations by their ids
        self.answering = RateLimit(settings.limits.answers_per_minute, 60.0, SLOWLY)  # of each link to an interview
        self.ready = False
        self.failures = 0
        self._why = why_failed(Exception())  # why it is not ready
        self._probed = -PROBED
        self.snapshots, self.precompiler = SnapshotWorker(), Precompiler()
        self._keyed = WeakValueDictionary[Hashable, asyncio.Lock]()  # each goes with the last call of its key
        self._reads, self._long_reads = Pool("reads", 8), Pool("long reads", 3)
        self.interview_threads = Pool("interviews", 2, 32)
        self._changes = Pool("long changes", 2, 100)
        self.changing = _Changing(self.fail)  # around changes in memory
        self._recovery: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    # -- life -------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Take ownership of the experiments of this process, and read them."""
        await asyncio.to_thread(self.database.migrate)
        self.writer = Writer(self.database, self.ownership, self.fail)
        rows = await self.read(restore.rows_of_experiments)
        for row in rows:
            if self.serves(row.name):
                take = partial(self.ownership.take, experiment=row.id, name=row.name, patience=START_PATIENCE)
                await self.writer.call(take)
        await self._load_all()
        await self.read_keys()
        self.ready = True
        self.begin(self._tick())

    async def stop(self) -> None:
        """Write what is queued, and release everything."""
        for task in [*self._tasks, *([self._recovery] if self._recovery else [])]:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
        for experiment in list(self.experiments.values()):
            await experiment.idle()
        if self.ready:
            for experiment in list(self.experiments.values()):
                with contextlib.suppress(Refused):  # the events are on disk all the same
                    await self._take_snapshot(experiment)
        self.snapshots.close()
        self.precompiler.close()
        for pool in (self.interview_threads, self._changes):
            pool.close()
        for pool in (self._reads, self._long_reads):  # a read that is under way has a connection to give back
            await asyncio.to_thread(pool.close, wait=True)
        await asyncio.to_thread(self.writer.close)
        self.ownership.release()
        self.database.dispose()

    def begin(self, work: Any) -> None:
        """Run a background task until it ends or the service stops."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- what calls need --------------------------------------------------------------------------

    def serves(self, name: str) -> bool:
        """Whether an experiment of this name belongs to this process."""
        return self.settings.only is None or name in self.settings.only

    def experiment(self, name: str) -> Experiment:
        """An experiment of this process. Ask anew after every await: a failure replaces it."""
        if not self.ready:
            raise unavailable(self._why)
        found = self.experiments.get(name)
        if found is None:
            if name in self.broken:
                raise broken(name, self.broken[name])
            if name in self.elsewhere or not self.serves(name):
                raise Refused(421, f"an experiment is served by one process; {name!r} is not served by this one.")
            raise not_found("an experiment", name, "Create it first, or check the name.")
        return found

    async def idle(self, name: str) -> Experiment:
        """An experiment of this process, once no long change of it is under way."""
        while (experiment := self.experiment(name)).busy is not None:
            await experiment.idle()
        return experiment

    async def copy_of_learner(self, name: str) -> Learner:
        """A copy of an experiment's learner; one of many arms takes long."""
        experiment = await self.idle(name)
        if experiment.has_few_arms:
            return experiment.learner.copy()
        return await self.change_in_thread(name, lambda one: (one.learner.copy(), []))

    async def change_in_thread(self, name: str, work: Callable[[Experiment], tuple[Result, list[Row]]]) -> Result:
        """Change an experiment in another thread, since it takes long: its other calls wait, and no others.

        `work` returns the answer and the rows, which are on disk when this returns.
        """
        with self._changes.place():
            experiment = await self.idle(name)
            experiment.busy = asyncio.get_running_loop().create_future()
            # shielded: a caller who is gone must not free the experiment before the thread is done with it
            answer, written = await asyncio.shield(asyncio.ensure_future(self._change_at_length(experiment, work)))
            await written
            return answer

    async def _change_at_length(self, experiment: Experiment, work: Any) -> tuple[Any, Any]:
        def working() -> Any:
            experiment.worker = threading.get_ident()
            return work(experiment)

        done = experiment.busy
        assert done is not None
        try:
            with self.changing:
                answer, rows = await self._changes.run(working)
            if not self.ready or self.experiments.get(experiment.name) is not experiment:
                raise unavailable()  # it was read again meanwhile, without this change
            return answer, self.writer.put(rows)
        finally:
            experiment.busy = experiment.worker = None
            done.set_result(None)

    async def write(self, rows: list[Row]) -> None:
        """Put rows, and wait until they are on disk."""
        await self.writer.put(rows)

    async def once(
        self, *key: Hashable, find: Callable[[Connection], Result | None], make: Callable[[], Awaitable[Result]]
    ) -> Result:
        """The answer to a call that carries a key: what the first such call left on disk, or else what is made now.

        Calls of one key come one after the other, so that a repeated one finds what the first did.
        """
        async with self._keyed.setdefault(key, asyncio.Lock()):
            found = await self.read(find)
            return await make() if found is None else found

    async def read(self, work: Callable[[Connection], Result], *, long: bool = False) -> Result:
        """Read from the database in another thread; what takes long must say so, and keeps nobody else waiting."""
        if self.failures and not self.ready:
            raise unavailable(self._why)

        def reading() -> Result:
            with self.database.connect() as connection:
                return work(connection)

        try:
            return await (self._long_reads if long else self._reads).run(reading)
        except (Refused, ValueError):
            raise
        except Exception as error:
            raise unavailable(why_failed(error)) from error

    async def rows(self, wanted: Select[Any]) -> Sequence[Any]:
        """The rows of the database that a statement selects."""
        return await self.read(lambda connection: connection.execute(wanted).all())

    async def change(self, work: Callable[[Connection], Result]) -> Result:
        """Do a transaction of its own in the writer's thread."""
        return await self.writer.call(work)

    async def probe(self) -> None:
        """Test the database by a write that changes nothing, now and then: a full disk can still be read."""
        if not self.ready:
            raise unavailable(self._why)
        if time.monotonic() - self._probed >= PROBED:
            self._probed = time.monotonic()
            await self.change(lambda connection: connection.execute(PROBE).close())

    async def read_keys(self) -> None:
        """Know the keys of the database."""
        self.ring.replace(await self.read(keys.stored))

    async def watch(
        self, look: Callable[[Experiment], Awaitable[None]], failed: str,
        due: Callable[[Experiment, Any], Any] = lambda *_: True,
    ) -> None:  # fmt: skip
        """Look at every experiment now and then, until the service stops; one that fails leaves the others alone.

        `due` gets what it returned before the last look, or None; if it returns None, nothing is looked at.
        """
        looked: dict[int, Any] = {}
        while True:
            await asyncio.sleep(TICK)
            for experiment in list(self.experiments.values()):
                before = looked.get(experiment.id)
                if (now := due(experiment, before)) is None:
                    continue
                looked[experiment.id] = now
                try:
                    await look(experiment)
                except (Refused, ValueError):  # the database is away, or the experiment was changed meanwhile
                    looked[experiment.id] = before  # it is looked at again
                except Exception:
                    log.exception(failed, experiment.name)

    # -- failure and recovery ---------------------------------------------------------------------

    def fail(self, error: BaseException) -> None:
        """Throw away what is in memory, which may be ahead of the database, and read it again as soon as possible."""
        self.failures += 1
        self.ready = False
        self._why = why_failed(error)
        if self._recovery is None or self._recovery.done():
            said = " ".join(str(getattr(error, "orig", None) or error).split())[:200]
            log.warning("the database failed (%s); calls are refused until it is back", said)
            self._recovery = asyncio.get_running_loop().create_task(self._recover())

    async def _recover(self) -> None:
        pause = 0.05
        while True:
            seen = self.failures
            try:
                await self.writer.restart()
                await self._load_all()
                if self.failures == seen:
                    break
            except Exception as error:
                log.info("the database is still away: %s", error)
            await asyncio.sleep(pause)
            pause = min(2.0 * pause, LONGEST_PAUSE)
        self.ready = True
        log.warning("the database is back; every experiment was read again")

    async def _load_all(self) -> None:
        clocks = {experiment.id: experiment.clock for experiment in self.experiments.values()}
        found, unread = dict[str, Experiment](), dict[str, str]()

        def reading() -> set[str]:
            with self.database.connect() as connection:
                rows = restore.rows_of_experiments(connection)
                for row in rows:
                    if self.ownership.owns(row.id):
                        try:
                            found[row.name] = restore.load(connection, row, clocks.get(row.id))
                        except Exception as error:  # of this experiment alone: the others go on
                            if is_away(error):
                                raise
                            log.error("the experiment %s cannot be read: %s", row.name, error)
                            unread[row.name] = reason_of(error)
                            connection.rollback()
                return {row.name for row in rows if not self.ownership.owns(row.id)}

        self.elsewhere = await asyncio.to_thread(reading)
        self.experiments, self.broken = found, unread

    # -- from time to time ------------------------------------------------------------------------

    async def _tick(self) -> None:
        last_keys = time.monotonic()
        while True:
            await asyncio.sleep(TICK)
            if not self.ready:
                continue
            try:
                self.database.require_there()
            except Gone as error:
                self.fail(error)
                continue
            with contextlib.suppress(Refused):  # the database is away: recovery is under way
                for experiment in list(self.experiments.values()):
                    await self._expire(experiment)
                    if self.ready and experiment.seq - experiment.snapshot_at >= self.settings.snapshot_every:
                        await self._take_snapshot(experiment)
                if time.monotonic() - last_keys >= keys.FRESH:
                    await self.read_keys()
                    last_keys = time.monotonic()

    async def _expire(self, experiment: Experiment) -> None:
        while self.ready and experiment.busy is None:
            with self.changing:
                late = experiment.late()
                rows = [row for number in late for row in unfinished.give_up(experiment, number, time.time())]
                unfinished.grow(experiment)
            if not late:
                return
            await self.write(rows)
            for number in late:
                experiment.closing.pop(number, None)

    async def _take_snapshot(self, experiment: Experiment) -> None:
        """Write a snapshot: laid out and turned into a document by other threads."""
        now = time.time()
        if experiment.seq == experiment.snapshot_at or experiment.busy is not None:
            return

        def laid_out(one: Experiment) -> tuple[tuple[Experiment, Learner, int], list[Row]]:
            rows = one.lay_out(now)
            return (one, one.learner.copy(), one.seq), rows

        experiment, twin, seq = await self.change_in_thread(experiment.name, laid_out)

        def written() -> tuple[bytes, int]:
            document = self.snapshots.document(twin, len(experiment.settings.terms or ()))
            return document, checksum(document, experiment.id, seq)

        document, check = await asyncio.to_thread(written)
        if self.ready and self.experiments.get(experiment.name) is experiment:  # else its events may be lost
            older, experiment.snapshot_at = experiment.snapshot_at, seq
            snapshot = (experiment.id, seq, now, document, check)
            await self.write([(Kind.SNAPSHOT, snapshot), (Kind.OLD_SNAPSHOTS, (experiment.id, older))])
