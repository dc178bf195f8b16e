"""Pools of processes end with an error, whatever is still waiting for a worker."""

import subprocess
import sys

import pytest

from allais._system.processes import process_pool

BULKY = bytes(100_000)  # more than a pipe holds: what is on its way to a dead worker would block its sender

PROGRAM = """
from tests.searches.test_pools import fails_soon
if __name__ == "__main__":
    fails_soon()
"""


def fail(task):
    """What a worker does: it fails at once."""
    raise ZeroDivisionError(f"a block of {len(task)} bytes")


def fails_soon():
    """Many bulky tasks on two workers, the first of which fails."""
    with process_pool(2) as pool:
        list(pool.map(fail, [BULKY] * 10))


@pytest.mark.parametrize("attempt", range(4))
def test_a_program_ends_after_an_error_in_a_worker_while_tasks_wait(attempt):
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=False, cwd="."
    )
    assert ended.returncode == 1
    assert "ZeroDivisionError: a block of 100000 bytes" in ended.stderr
    assert "InvalidStateError" not in ended.stderr
