"""Imports and exports of outcomes."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from itertools import repeat
from typing import Any, BinaryIO

from sqlalchemy import Connection, select

from allais.evidence.tables import AT_LEAST, AT_MOST
from allais.forests.encoding import flat
from allais.samples.cuts import Cut, as_json, known_cut
from allais.serve.api.schemas import Import
from allais.serve.core.errors import Refused, refusing
from allais.serve.core.experiment import Experiment
from allais.serve.core.experiments import audited
from allais.serve.core.features import Encoding
from allais.serve.core.keys import Key
from allais.serve.core.restore import cuts_told, detail_of, imported_after
from allais.serve.core.service import Service
from allais.serve.store.tables import EXPIRED, OPEN, decisions, imports
from allais.serve.store.writer import Kind, Row
from allais.serve.unfinished import ages_of, warmed

STORED = ("number", "arm", "person", "key", "asked_at", "closed_at", "state", "outcome", "propensity")
COLUMNS = (*STORED, AT_LEAST, AT_MOST, "would", "features")
IMPORTED = "imported"  # the state of an outcome that came from elsewhere
PAGE = 5_000  # decisions that are read at once


async def take_in(service: Service, name: str, call: Import, key: Key) -> dict[str, Any]:
    """Import outcomes: all, or none if one is refused."""
    if len(call.arms) != len(call.outcomes):
        raise Refused(422, f"each outcome has its arm; got {len(call.arms)} arms, {len(call.outcomes)} outcomes.")
    if call.features is not None and len(call.features) != len(call.outcomes):
        raise Refused(422, f"each outcome has its features; got {len(call.features)}. Give {{}} where there are none.")
    for ends in (call.at_least, call.at_most):
        if ends is not None and len(ends) != len(call.outcomes):
            raise Refused(
                422,
                f"at_least and at_most are as long as outcomes; got {len(ends)}. Give null for what is known.",
            )
    if call.key is None:
        return await _take_in(service, name, call, key)
    find = partial(_imported, experiment=service.experiment(name).id, key=call.key)
    return await service.once("import", name, call.key, find=find, make=lambda: _take_in(service, name, call, key))


async def _take_in(service: Service, name: str, call: Import, key: Key) -> dict[str, Any]:
    await warmed(service.experiment(name), call)

    def learning(experiment: Experiment) -> tuple[dict[str, Any], list[Row]]:
        experiment.require_open()
        if not experiment.learner.policy.open_to_data:
            raise Refused(422, "this policy learns from its own choices only. Use NPTS, or WUCB.")
        now = time.time()
        with refusing():
            named = None if call.features is None else [flat(one) for one in call.features]
            outcomes, cuts = _parted(call)
        told = [call.arms[k] for k in outcomes]
        named = named and [named[k] for k in outcomes]
        experiment.check(told, named, list(outcomes.values()))
        rows = _observe_cuts(experiment, call, cuts, now)  # first: these are refused all together, if at all
        rows += experiment.observe(told, named, list(outcomes.values()), call.key, now)
        rows.append(audited(key, "import", name, len(call.outcomes)))
        # a start compares the last import with its events; no caller's key has a line break
        mark = f"\n{secrets.token_hex(8)}" if call.key is None else call.key
        rows.append((Kind.IMPORT, (experiment.id, mark, len(call.outcomes), now)))
        return {"imported": len(call.outcomes)}, rows

    return await service.change_in_thread(name, learning)


def _parted(call: Import) -> tuple[dict[int, float], dict[int, Cut]]:
    """The outcomes that are finished, and what is known of the others; by their places."""
    outcomes, cuts, nothing = dict[int, float](), dict[int, Cut](), [None] * len(call.outcomes)
    beside = zip(call.outcomes, call.at_least or nothing, call.at_most or nothing, strict=True)
    for k, (outcome, low, high) in enumerate(beside):
        if outcome is None:
            cuts[k] = known_cut(low, high)
        elif low is not None or high is not None:
            raise ValueError(f"an outcome is known, or bounded; got {outcome} and bounds. Leave one out.")
        else:
            outcomes[k] = outcome
    return outcomes, cuts


def _observe_cuts(experiment: Experiment, call: Import, cuts: dict[int, Cut], now: float) -> list[Row]:
    """The rows of outcomes that are not finished."""
    if not cuts:
        return []
    arms, ends = [call.arms[k] for k in cuts], list(map(as_json, cuts.values()))
    with refusing(experiment.name):
        experiment.learner.observe(arms, between=ends)
    return [experiment.event({"observe": arms, "rewards": [], "cuts": ends, "imported": call.key}, now)]


def _imported(connection: Connection, experiment: int, key: str) -> dict[str, Any] | None:
    """The answer that an import with this key had."""
    wanted = select(imports.c.outcomes).where(imports.c.experiment == experiment, imports.c.key == key)
    found = connection.execute(wanted).scalar()
    return None if found is None else {"imported": found}


async def _pages(service: Service, name: str) -> AsyncIterator[list[tuple[Any, ...]]]:
    """All decisions that are on disk, page by page; then what was imported."""
    experiment = service.experiment(name)
    encoding, every, last = experiment.features.encoding, not experiment.settings.apprentice, 0
    cuts = await service.read(partial(cuts_told, experiment=experiment.id), long=True) | ages_of(experiment)

    def decided(connection: Connection) -> list[tuple[Any, ...]]:
        wanted = select(*(decisions.c[column] for column in STORED), decisions.c.detail)
        these = wanted.where(decisions.c.experiment == experiment.id, decisions.c.number > last)
        rows = connection.execute(these.order_by(decisions.c.number).limit(PAGE))
        return [_decision(tuple(row), cuts, encoding) for row in rows]

    while page := await service.read(decided, long=True):
        last = page[-1][0]
        yield page
    last = -1

    def imported(connection: Connection) -> list[tuple[int, float, dict[str, Any]]]:
        return imported_after(connection, experiment.id, last, every=every)

    while found := await service.read(imported, long=True):
        last = found[-1][0]
        yield [row for _, at, event in found for row in _outcomes(at, event, encoding)]


def _decision(row: tuple[Any, ...], cuts: dict[int, Cut], encoding: Encoding | None) -> tuple[Any, ...]:
    detail, state, outcome = detail_of(row[-1]), row[STORED.index("state")], row[STORED.index("outcome")]
    known = state in (OPEN, EXPIRED) and outcome is None and row[0] in cuts
    ends = as_json(cuts[row[0]]) if known else (None, None)
    known_before = detail["context"] if "context" in detail else _features(detail.get("features"), encoding)
    return (*row[:-1], *ends, detail.get("would"), known_before)


def _outcomes(at: float, event: dict[str, Any], encoding: Encoding | None) -> Iterator[tuple[Any, ...]]:
    """The outcomes of an import, as decisions that nobody made."""
    observed, features = event.get("observe", event.get("arm")), _features(event.get("features"), encoding)
    outcomes = [
        *((outcome, None, None) for outcome in event["rewards"]),
        *((None, *cut) for cut in event.get("cuts", ())),
    ]
    arms = observed if isinstance(observed, list) else repeat(observed)
    for arm, (outcome, *ends) in zip(arms, outcomes, strict=False):
        yield (None, arm, None, event.get("imported"), None, at, IMPORTED, outcome, None, *ends, None, features)


def _features(row: list[float] | None, encoding: Encoding | None) -> Any:
    """What the policy saw: terms by name, or the numbers of a row."""
    return row if row is None or encoding is None else encoding.shown(row)


async def as_lines(service: Service, name: str) -> AsyncIterator[bytes]:
    """Decisions as JSON lines."""
    async for page in _pages(service, name):
        lines = (json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in page)
        yield ("\n".join(lines) + "\n").encode()


async def as_csv(service: Service, name: str) -> AsyncIterator[bytes]:
    """Decisions as CSV; features as JSON."""
    yield (",".join(COLUMNS) + "\r\n").encode()
    async for page in _pages(service, name):
        text = io.StringIO()
        csv.writer(text).writerows([[_harmless(entry) for entry in _with_text(row)] for row in page])
        yield text.getvalue().encode()


def _with_text(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row whose features are text."""
    return (*row[:-1], None if row[-1] is None else json.dumps(row[-1]))


def _harmless(entry: Any) -> Any:
    """Text that a spreadsheet would run as a formula, marked as text."""
    return f"'{entry}" if isinstance(entry, str) and entry[:1] in "=+-@" else entry


async def as_parquet(service: Service, name: str) -> BinaryIO:
    """Decisions as a Parquet file, at its beginning; features as JSON."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise Refused(501, "Parquet needs pyarrow, which is not installed. Ask for csv, or install it.") from None
    text, number = pa.string(), pa.float64()
    kinds = [pa.int64(), text, text, text, number, number, text, *[number] * 4, text, text]
    schema = pa.schema(list(zip(COLUMNS, kinds, strict=True)))
    file = tempfile.TemporaryFile()  # noqa: SIM115
    with pq.ParquetWriter(file, schema) as writer:
        async for page in _pages(service, name):
            by_column = zip(zip(*map(_with_text, page), strict=True), kinds, strict=True)
            columns = [pa.array(column, kind) for column, kind in by_column]
            await asyncio.to_thread(writer.write_table, pa.Table.from_arrays(columns, schema=schema))
    file.seek(0)
    return file
