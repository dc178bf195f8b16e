"""A start that fails says why, in one sentence and without a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from sqlalchemy import text

from allais.serve.store.database import Database

SETTINGS = '[experiments.routes]\narms = ["a"]\npolicy = {{type = "{policy}"}}\n'
CASES = [
    (["advisor.toml", "--port", "0"], "error: experiments.routes: a policy needs a type, such as NPTS"),
    (["--port", "99999"], "error: invalid value for '--port'"),
    (["--database", "postgresql://x@127.0.0.1:1/y", "--port", "0"], "error: a service needs its database"),
    (["--database", "text.db", "--port", "0"], "error: a service needs its database"),
    (["--database", "newer.db", "--port", "0"], "error: a database must be of this version or an older one"),
    (["--host", "192.0.2.1", "--port", "0"], "error: a service needs an address that is free; 192.0.2.1:0 is not"),
]
# each start in a process of its own, which has loaded everything already
STARTS = """
import json, os, sys
import allais.serve.running
from allais.cli import main

codes = []
for number, words in enumerate(json.loads(sys.argv[1])):
    child = os.fork()
    if not child:
        os.dup2(os.open(f"{number}.said", os.O_WRONLY | os.O_CREAT), 2)
        sys.argv = ["allais", "serve", *words]
        try:
            main()
        except SystemExit as end:
            sys.stderr.flush()
            os._exit(end.code)
        os._exit(0)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(codes)
"""


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
    cases = [words for words, _ in CASES]
    if not hasattr(os, "fork"):
        alone = [sys.executable, "-m", "allais.cli", "serve"]
        ended = [subprocess.run([*alone, *words], cwd=folder, capture_output=True, text=True) for words in cases]
        return [(one.returncode, one.stderr) for one in ended]
    command = [sys.executable, "-c", STARTS, json.dumps(cases)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=True)
    said = [(folder / f"{number}.said").read_text() for number in range(len(cases))]
    return list(zip(json.loads(done.stdout.splitlines()[-1]), said, strict=True))


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: CASES[number][1].removeprefix("error: "))
def test_a_start_that_fails_is_one_sentence(ends, number):
    code, said = ends[number]
    assert code == 2
    assert said.startswith(CASES[number][1])
    assert len(said.strip().splitlines()) == 1
