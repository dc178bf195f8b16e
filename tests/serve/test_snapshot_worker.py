"""Large learners are written by another process, which ends with its service."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest

from allais import NPTS, Bounded, expected_value
from allais.serve.core.restore import document_bytes, learner_of
from allais.serve.workers import LARGE, SnapshotWorker, receive, send

OWNER = """
import numpy as np
from allais import NPTS, Bounded, expected_value
from allais.serve.workers import LARGE, SnapshotWorker

learner = NPTS(expected_value(), Bounded(0, 1)).start(["a", "b"], seed=1)
learner.observe("a", np.random.default_rng(1).random(2 * LARGE))
worker = SnapshotWorker()
worker.document(learner)
print(worker._process.pid, flush=True)
input()
"""


def large():
    learner = NPTS(expected_value(), Bounded(0, 1)).start(["a", "b"], seed=1)
    learner.observe("a", np.random.default_rng(1).random(2 * LARGE))
    return learner


def test_the_worker_writes_what_the_service_would(monkeypatch):
    worker, learner = SnapshotWorker(), large()
    expected = document_bytes(learner)
    monkeypatch.setattr("allais.serve.workers.document_bytes", lambda _: b"in this process")
    assert worker.document(learner) == expected
    assert learner_of(expected).ask() == learner.ask()
    worker._process.kill()
    worker._process.wait()
    assert worker.document(learner.copy()) == document_bytes(learner)  # another one takes its place
    worker.close()


def test_the_worker_of_a_killed_service_ends():
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pid = int(owner.stdout.readline())
    owner.kill()
    owner.communicate()
    # it is nobody's child now, so that it is gone once its entry is
    subprocess.run(["timeout", "60", "tail", f"--pid={pid}", "-f", "/dev/null"], check=True)


@pytest.mark.parametrize("kept", [0, 5, 8, 12])
def test_a_message_that_breaks_off_is_none(kept):
    whole = io.BytesIO()
    send(whole, b"a document")
    assert receive(io.BytesIO(whole.getvalue())) == b"a document"
    with pytest.raises(EOFError):
        receive(io.BytesIO(whole.getvalue()[:kept]))
