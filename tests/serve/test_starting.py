"""A start that fails says why, in one sentence and without a traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

SETTINGS = '[experiments.routes]\narms = ["a"]\npolicy = {{type = "{policy}"}}\n'


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["advisor.toml", "--port", "0"], "error: experiments.routes: a policy needs a type that is one"),
        (["--port", "99999"], "error: invalid value for '--port'"),
        (["--database", "postgresql://x@127.0.0.1:1/y", "--port", "0"], "error: a service needs its database"),
    ],
)
def test_a_start_that_fails_is_one_sentence(tmp_path, arguments, sentence):
    (tmp_path / "advisor.toml").write_text(SETTINGS.format(policy="os:system"))
    command = [sys.executable, "-m", "allais.cli", "serve", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith(sentence)
    assert len(done.stderr.strip().splitlines()) == 1
