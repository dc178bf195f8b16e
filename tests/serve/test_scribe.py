"""Large learners are written by another process, which ends with its service."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest

from allais import NPTS, Bounded, expected_value
from allais.serve.core.loading import document_bytes, learner_of
from allais.serve.snapshot_worker import LARGE, Scribe, receive, send

OWNER = """
import numpy as np
from allais import NPTS, Bounded, expected_value
from allais.serve.snapshot_worker import LARGE, Scribe

learner = NPTS(expected_value(), Bounded(0, 1)).start(["a", "b"], seed=1)
learner.observe("a", np.random.default_rng(1).random(2 * LARGE))
scribe = Scribe()
scribe.document(learner)
print(scribe._process.pid, flush=True)
input()
"""


def large():
    learner = NPTS(expected_value(), Bounded(0, 1)).start(["a", "b"], seed=1)
    learner.observe("a", np.random.default_rng(1).random(2 * LARGE))
    return learner


def test_the_scribe_writes_what_the_service_would(monkeypatch):
    scribe, learner = Scribe(), large()
    expected = document_bytes(learner)
    monkeypatch.setattr("allais.serve.snapshot_worker.document_bytes", lambda _: b"in this process")
    assert scribe.document(learner) == expected
    assert learner_of(expected).ask() == learner.ask()
    scribe._process.kill()
    scribe._process.wait()
    assert scribe.document(learner.copy()) == document_bytes(learner)  # another one takes its place
    scribe.close()


def test_the_scribe_of_a_killed_service_ends():
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
