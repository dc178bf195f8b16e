"""A start that fails says why, in one sentence and without a traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sqlalchemy import text

from allais.serve.store.database import Database

SETTINGS = '[experiments.routes]\narms = ["a"]\npolicy = {{type = "{policy}"}}\n'


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["advisor.toml", "--port", "0"], "error: experiments.routes: a policy needs a type, such as NPTS"),
        (["--port", "99999"], "error: invalid value for '--port'"),
        (["--database", "postgresql://x@127.0.0.1:1/y", "--port", "0"], "error: a service needs its database"),
        (["--database", "text.db", "--port", "0"], "error: a service needs its database"),
        (["--database", "newer.db", "--port", "0"], "error: a database must be of this version or an older one"),
        (["--host", "192.0.2.1", "--port", "0"], "error: a service needs an address that is free; 192.0.2.1:0 is not"),
    ],
)
def test_a_start_that_fails_is_one_sentence(tmp_path, arguments, sentence):
    (tmp_path / "advisor.toml").write_text(SETTINGS.format(policy="os:system"))
    (tmp_path / "text.db").write_bytes(b"this is no database. " * 100)
    newer = Database(str(tmp_path / "newer.db"))
    newer.migrate()
    with newer.connect() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        connection.commit()
    newer.dispose()
    command = [sys.executable, "-m", "allais.cli", "serve", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith(sentence)
    assert len(done.stderr.strip().splitlines()) == 1
