"""A start that fails says why, in one sentence and without a traceback."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from allais.serve.store.database import Database
from tests.forks import forks

SETTINGS = '[experiments.routes]\narms = ["a"]\npolicy = {{type = "{policy}"}}\n'
CASES = [
    (["advisor.toml", "--port", "0"], "error: experiments.routes: a policy needs a type, such as NPTS"),
    (["--port", "99999"], "error: invalid value for '--port'"),
    (["--database", "postgresql://x@127.0.0.1:1/y", "--port", "0"], "error: a service needs its database"),
    (["--database", "text.db", "--port", "0"], "error: a service needs its database"),
    (["--database", "newer.db", "--port", "0"], "error: a database must be of this version or an older one"),
    (["--host", "192.0.2.1", "--port", "0"], "error: a service needs an address that is free; 192.0.2.1:0 is not"),
]
START = "import sys; from allais.cli import main; sys.argv = {words!r}; main()"


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """The exit code of each start, and what it said."""
    folder = tmp_path_factory.mktemp("starts")
    (folder / "advisor.toml").write_text(SETTINGS.format(policy="os:system"))
    (folder / "text.db").write_bytes(b"this is no database. " * 100)
    newer = Database(str(folder / "newer.db"))
    newer.migrate()
    with newer.connect() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        connection.commit()
    newer.dispose()
    with forks(folder, "allais.serve.running", "allais.cli") as started:
        ended = [started.run(START.format(words=["allais", "serve", *words]), folder) for words, _ in CASES]
    return [(one.returncode, one.stderr) for one in ended]


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: CASES[number][1].removeprefix("error: "))
def test_a_start_that_fails_is_one_sentence(ends, number):
    code, said = ends[number]
    assert code == 2
    assert said.startswith(CASES[number][1])
    assert len(said.strip().splitlines()) == 1
