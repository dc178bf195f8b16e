"""Choose among providers by the latency that users fear: p95 or CVaR, with time-outs, while providers change.

    python examples/tail_routing/tail_routing.py            # a table of regrets
    python examples/tail_routing/tail_routing.py --by cvar  # by the mean of the slowest twentieth

A request that runs into the time-out is not dropped: it is known to take *at least* that long.
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from allais import NPTS, Bounded, Preference, cvar, quantile

TIME_OUT = 2.0  # seconds after which a request is given up
WORST = 10.0  # seconds: no request is believed to take longer
PER_SECOND = 10.0  # requests
LEVEL = 0.95

Latency = Callable[[np.random.Generator, int], np.ndarray]  # seconds of so many requests


class Router(Protocol):
    """Whoever chooses a provider for every request, and hears how long it took."""

    def choose(self) -> Any:
        """A ticket for the next request: it has the provider in `arm`."""

    def finished(self, choice: Any, seconds: float) -> None:
        """The request took so long."""

    def timed_out(self, choice: Any, seconds: float) -> None:
        """The request was given up after so long."""


class Ticket(NamedTuple):
    """A request of a router that keeps no other record of it."""

    arm: Hashable


class TailRouter:
    """Routes by p95, or by any other preference; what timed out counts as "at least so long".

    When a provider no longer looks as it did (`learner.drift`), all are learned anew.
    """

    def __init__(self, providers: Sequence[str], preference: Preference, seed: int) -> None:
        self._policy = NPTS(preference, Bounded(0.0, WORST))
        self._providers, self._seed, self._asked = list(providers), seed, 0
        self.learner = self._policy.start(self._providers, seed)

    def choose(self) -> Any:
        """The next request goes to the provider that is best under a random reweighting of what was seen."""
        self._asked += 1
        if any(one.alarms for one in self.learner.drift().values()):
            self.learner = self._policy.start(self._providers, self._seed + self._asked)
        return self.learner.ask()

    def finished(self, choice: Any, seconds: float) -> None:
        """Learn how long it took."""
        self.learner.tell(choice, min(seconds, WORST))

    def timed_out(self, choice: Any, seconds: float) -> None:
        """Learn that it would have taken longer."""
        self.learner.tell(choice, at_least=seconds, final=True)


class Forgetful(TailRouter):
    """The same, but requests that timed out count for nothing."""

    def timed_out(self, choice: Any, seconds: float) -> None:
        """Learn nothing."""
        self.learner.cancel(choice)


class RoundRobin:
    """One provider after the other."""

    def __init__(self, providers: Sequence[str], preference: Preference, seed: int) -> None:
        self._next = deque(providers)

    def choose(self) -> Ticket:
        """The next one."""
        self._next.rotate(-1)
        return Ticket(self._next[-1])

    def finished(self, choice: Any, seconds: float) -> None:
        """Nothing is learned."""

    def timed_out(self, choice: Any, seconds: float) -> None:
        """Nothing is learned."""


class LowestLatency:
    """LiteLLM's "latency-based-routing", as its documentation describes it (docs.litellm.ai/docs/routing).

    The provider with the lowest mean of its last 10 latencies within a time window; one without any comes first, and
    equal ones are drawn. A time-out counts as 1,000 seconds. The window of its page is 10 s, its default an hour: then
    a provider that was slow once is left alone for an hour.
    """

    window = 10.0  # seconds

    def __init__(self, providers: Sequence[str], preference: Preference, seed: int) -> None:
        self._rng, self._clock = np.random.default_rng(seed), 0.0
        self._last: dict[str, deque[tuple[float, float]]] = {name: deque(maxlen=10) for name in providers}

    def choose(self) -> Ticket:
        """The lowest mean."""
        self._clock += 1.0 / PER_SECOND
        means = {name: self._mean(last) for name, last in self._last.items()}
        best = [name for name, mean in means.items() if mean == min(means.values())]
        return Ticket(best[int(self._rng.integers(len(best)))])

    def _mean(self, last: deque[tuple[float, float]]) -> float:
        young = [seconds for when, seconds in last if when > self._clock - self.window]
        return sum(young) / len(young) if young else 0.0

    def finished(self, choice: Any, seconds: float) -> None:
        """Note how long it took."""
        self._last[choice.arm].append((self._clock, seconds))

    def timed_out(self, choice: Any, seconds: float) -> None:
        """Note a penalty."""
        self._last[choice.arm].append((self._clock, 1000.0))


class ForAnHour(LowestLatency):
    """The same with its default window, which no run here outlasts."""

    window = 3600.0


ROUTERS: dict[str, Callable[[Sequence[str], Preference, int], Router]] = {
    "NPTS, time-outs at least so long": TailRouter,
    "NPTS, time-outs ignored": Forgetful,
    "LiteLLM's lowest latency, 10 s": LowestLatency,
    "LiteLLM's lowest latency, 1 h": ForAnHour,
    "round robin": RoundRobin,
}


# -- providers ----------------------------------------------------------------------------------------


def steady(seconds: float, spread: float = 0.1) -> Latency:
    """Around a latency, evenly."""
    return lambda rng, n: rng.uniform((1 - spread) * seconds, (1 + spread) * seconds, n)


def now_and_then(usual: float, slow: float, share: float) -> Latency:
    """A usual latency, and a slow one now and then."""
    return lambda rng, n: np.where(rng.random(n) < share, slow, usual) * rng.uniform(0.95, 1.05, n)


def heavy(median: float, sigma: float) -> Latency:
    """Log-normal."""
    return lambda rng, n: median * np.exp(sigma * rng.standard_normal(n))


HANGS = 1e6  # seconds: a request that never ends

# LiteLLM's own example (BerriAI/litellm#40352: 0.1 s with rare 1.5 s against a steady 0.3 s), and three more
SCENARIOS: dict[str, dict[str, Latency]] = {
    "rare 1.5 s against steady 0.3 s": {"A": now_and_then(0.1, 1.5, 0.1), "B": steady(0.3)},
    "a heavy tail": {"A": heavy(0.1, 1.3), "B": steady(0.3), "C": steady(0.4)},
    "cold starts": {"A": now_and_then(0.12, 1.9, 0.12), "B": steady(0.35), "C": now_and_then(0.2, 0.9, 0.2)},
    "requests that hang": {"A": now_and_then(0.2, HANGS, 0.015), "B": steady(0.6), "C": now_and_then(0.1, HANGS, 0.12)},
}


def slowed(provider: Latency, by: float) -> Latency:
    """A provider that takes so much longer."""
    return lambda rng, n: provider(rng, n) + by


def worth(provider: Latency, preference: Preference, many: int = 100_000) -> float:
    """The p95 or CVaR of the time that a user waits, by as many requests."""
    waited = np.minimum(provider(np.random.default_rng(0), many), TIME_OUT)
    return -float(preference.estimate(waited))


Phase = tuple[dict[str, Latency], int]  # providers, and how many requests they get


def play(router: Router, phases: Sequence[Phase], preference: Preference, seed: int) -> list[float]:
    """The mean regret of a request in each phase: how much worse its provider is than the best, by the preference."""
    found = []
    for k, (providers, requests) in enumerate(phases):
        rng = np.random.default_rng([seed, k])
        tails = {name: worth(one, preference) for name, one in providers.items()}
        best, tape = min(tails.values()), {name: one(rng, requests) for name, one in providers.items()}
        regret = 0.0
        for t in range(requests):
            choice = router.choose()
            seconds = float(tape[choice.arm][t])
            if seconds > TIME_OUT:
                router.timed_out(choice, TIME_OUT)
            else:
                router.finished(choice, seconds)
            regret += tails[choice.arm] - best
        found.append(regret / requests)
    return found


def times_out(providers: dict[str, Latency], many: int = 100_000) -> bool:
    """Whether a request runs into the time-out now and then."""
    return any(float(one(np.random.default_rng(0), many).max()) > TIME_OUT for one in providers.values())


def changed(providers: dict[str, Latency]) -> dict[str, Latency]:
    """The providers after a change: the first two have swapped their ways."""
    return {**providers, "A": providers["B"], "B": providers["A"]}


def main() -> None:
    """Print a table: regret per 1,000 requests, before and after the providers have changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--by", choices=["p95", "cvar"], default="p95")
    parser.add_argument("--requests", type=int, default=20_000, help="before the change, and as many after it")
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    preference = quantile(LEVEL, costs=True) if given.by == "p95" else cvar(1.0 - LEVEL, costs=True)
    print(f"Seconds of {given.by} lost per 1,000 requests: before the providers change, and after.")
    for title, providers in SCENARIOS.items():
        print(f"\n{title}")
        for name, make in ROUTERS.items():
            lost = []
            for seed in range(given.runs):
                phases = [(providers, given.requests), (changed(providers), given.requests)]
                lost.append(play(make(list(providers), preference, seed), phases, preference, seed))
            before, after = 1000.0 * np.mean(lost, axis=0)
            print(f"  {name:<34}{before:8.1f}{after:8.1f}")


if __name__ == "__main__":
    main()
