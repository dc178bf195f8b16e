"""How often an address may send a key that is wrong, and a link may be used.

No pace makes a key of 256 random bits guessable; but whoever tries, or loops with an old key, should be told to stop.
A right key is never counted here, and never waits for the wrong ones of its address.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict

from allais.serve.refusals import Refused

WRONG = "an address may send {:g} wrong keys per minute; this one sent more. Check the key."
MOST = 10_000  # addresses that are remembered


class Guesses:
    """A bucket of wrong keys for each address, which fills up to one minute's worth; or of others who are counted."""

    def __init__(self, per_minute: float, rule: str = WRONG) -> None:
        self.per_minute, self._rule = per_minute, rule.format(per_minute)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # guesses that are left, and when

    def count(self, address: str) -> None:
        """Take one guess, or refuse it."""
        now = time.monotonic()
        left, then = self._left.get(address, (self.per_minute, now))
        left = min(self.per_minute, left + (now - then) * self.per_minute / 60.0)
        self._left[address] = (left - 1.0 if left >= 1.0 else left, now)
        self._left.move_to_end(address)
        if len(self._left) > MOST:
            self._left.popitem(last=False)
        if left < 1.0:
            wait = math.ceil((1.0 - left) * 60.0 / self.per_minute)
            raise Refused(429, self._rule, wait)
