"""Outcomes that come from elsewhere, and go elsewhere."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import tempfile
import time
from collections.abc import AsyncIterator
from functools import partial
from itertools import groupby
from typing import Any, BinaryIO

from sqlalchemy import Connection, select

from allais.serve.keys import Key
from allais.serve.managing import audited
from allais.serve.refusals import Refused
from allais.serve.rows import Kind, Row
from allais.serve.schemas import Import
from allais.serve.service import Service
from allais.serve.tables import ARCHIVED, decisions, imports

COLUMNS = ("number", "arm", "person", "key", "asked_at", "closed_at", "state", "outcome", "propensity")
PAGE = 5_000  # decisions that are read at once


async def take_in(service: Service, name: str, call: Import, key: Key) -> dict[str, Any]:
    """Import outcomes: all, or none if one is refused."""
    if len(call.arms) != len(call.outcomes):
        raise Refused(422, f"each outcome has its arm; got {len(call.arms)} arms, {len(call.outcomes)} outcomes.")
    experiment = service.experiment(name)
    if call.key is not None:
        old = await service.read(partial(_imported, experiment=experiment.id, key=call.key))
        if old is not None:
            return {"imported": old}
    experiment = service.experiment(name)
    if experiment.state == ARCHIVED:
        raise Refused(409, f"an experiment that is archived takes no calls but reading; {name!r} is. Create another.")
    if not experiment.learner.policy.open_to_data:
        raise Refused(422, "this policy learns from its own choices only. Use NPTS, or WUCB.")
    if call.key is not None and call.key in experiment.importing:
        raise Refused(409, f"a key names one import; {call.key!r} is under way. Repeat the call in a moment.")
    now, rows = time.time(), list[Row]()
    experiment.check(call.arms, call.outcomes)
    pairs = zip(call.arms, call.outcomes, strict=True)
    with service.changing():
        for arm, group in groupby(pairs, key=lambda pair: pair[0]):
            rows += experiment.observe(arm, [outcome for _, outcome in group], now)
    rows.append(audited(key, "import", name, len(call.outcomes)))
    if call.key is not None:
        experiment.importing.add(call.key)
        rows.append((Kind.IMPORT, (experiment.id, call.key, len(call.outcomes), now)))
    await service.write(rows)
    experiment.importing.discard(call.key or "")
    return {"imported": len(call.outcomes)}


def _imported(connection: Connection, experiment: int, key: str) -> int | None:
    wanted = select(imports.c.outcomes).where(imports.c.experiment == experiment, imports.c.key == key)
    found: int | None = connection.execute(wanted).scalar()
    return found


async def _pages(service: Service, experiment: int) -> AsyncIterator[list[tuple[Any, ...]]]:
    """All decisions that are on disk, page by page."""
    last = 0
    while True:

        def reading(connection: Connection, after: int = last) -> list[tuple[Any, ...]]:
            wanted = select(*(decisions.c[name] for name in COLUMNS))
            these = wanted.where(decisions.c.experiment == experiment, decisions.c.number > after)
            return [tuple(row) for row in connection.execute(these.order_by(decisions.c.number).limit(PAGE))]

        page = await service.read(reading)
        if not page:
            return
        last = page[-1][0]
        yield page


async def as_lines(service: Service, name: str) -> AsyncIterator[bytes]:
    """Decisions as JSON lines."""
    async for page in _pages(service, service.experiment(name).id):
        lines = (json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in page)
        yield ("\n".join(lines) + "\n").encode()


async def as_csv(service: Service, name: str) -> AsyncIterator[bytes]:
    """Decisions as CSV."""
    yield (",".join(COLUMNS) + "\r\n").encode()
    async for page in _pages(service, service.experiment(name).id):
        text = io.StringIO()
        csv.writer(text).writerows([[_harmless(entry) for entry in row] for row in page])
        yield text.getvalue().encode()


def _harmless(entry: Any) -> Any:
    """Text that a spreadsheet would run as a formula, marked as text."""
    return f"'{entry}" if isinstance(entry, str) and entry[:1] in "=+-@" else entry


async def as_parquet(service: Service, name: str) -> BinaryIO:
    """Decisions as a Parquet file, at its beginning."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise Refused(501, "Parquet needs pyarrow, which is not installed. Ask for csv, or install it.") from None
    kinds = [pa.int64(), pa.string(), pa.string(), pa.string(), *[pa.float64()] * 2, pa.string(), *[pa.float64()] * 2]
    schema = pa.schema(list(zip(COLUMNS, kinds, strict=True)))
    file = tempfile.TemporaryFile()  # noqa: SIM115
    with pq.ParquetWriter(file, schema) as writer:
        async for page in _pages(service, service.experiment(name).id):
            columns = [pa.array(column, kind) for column, kind in zip(zip(*page, strict=True), kinds, strict=True)]
            await asyncio.to_thread(writer.write_table, pa.Table.from_arrays(columns, schema=schema))
    file.seek(0)
    return file
