"""What a first interview compiles is compiled beside the service; until then callers are told to wait."""

from __future__ import annotations

import subprocess
import sys

import pytest

from allais.serve import workers
from allais.serve.workers import MARK, Precompiler

SLOW = "import time; time.sleep(600)"


def test_an_interview_waits_for_the_compiler_with_a_clear_answer(caller):
    caller.service.precompiler._process = subprocess.Popen([sys.executable, "-c", SLOW], stdin=subprocess.PIPE)
    answer = caller.post("/v1/people/alice/interview", json={})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "compiled once" in answer.json()["error"]
    caller.service.precompiler.close()
    assert caller.post("/v1/people/alice/interview", json={}).status_code == 201


@pytest.mark.slow
def test_code_is_compiled_once_and_the_process_ends_with_its_service(tmp_path, monkeypatch):
    monkeypatch.setenv("ALLAIS_CACHE_DIR", str(tmp_path))
    command = [sys.executable, "-m", "allais.serve.workers", "compile"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=120)  # its service is gone at once
    assert ended.returncode == 1
    assert not list(tmp_path.rglob(MARK))
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert process.wait(timeout=600) == 0
    assert len(list(tmp_path.rglob(MARK))) == 1
    process.stdin.close()


@pytest.mark.parametrize("there", [True, False])
def test_what_is_compiled_is_not_compiled_again(tmp_path, monkeypatch, there):
    monkeypatch.setattr(workers, "CACHE", str(tmp_path))
    monkeypatch.setenv("ALLAIS_CACHE_DIR", str(tmp_path))
    if there:
        (tmp_path / MARK).touch()
    one = Precompiler()
    one.begin()
    assert (one._process is None) == there
    one.close()
    one.require_done()
