"""`allais serve` under two clocks that a test can move: the time of day, and the time that has passed.

The file that the variable DAY_CLOCK names has two numbers, in seconds: how much more time has passed, and by how much
the time of day was set ahead.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from allais.cli.app import app
from allais.serve.core import keys

_time, _steady = time.time, keys.steady


def moved() -> tuple[float, float]:
    passed, set_ahead = map(float, Path(os.environ["DAY_CLOCK"]).read_text().split())
    return passed, set_ahead


if __name__ == "__main__":
    time.time = lambda: _time() + sum(moved())
    keys.steady = lambda: _steady() + moved()[0]
    app(["serve", *sys.argv[1:]])
