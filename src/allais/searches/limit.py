"""What intervals need: the fewest runs with which they can part, if each arm goes on as it was seen to."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.bands import Holder
from allais.bands._distribution_bounds import TailRule, ends_of
from allais.bands._joint_test import DistributionRule, distribution_ends, distribution_rule
from allais.bands.base import anytime_rule
from allais.policies.core.base import Policy
from allais.policies.core.knowledge import fitting_band, worth_of
from allais.policies.toptwo import WHOLE, TopTwo
from allais.policies.wlucb import WLUCB
from allais.preferences import Preference
from allais.rewards import Bounded, Rewards
from allais.samples.layout import remembered
from allais.samples.memory import measure
from allais.searches.runs import Run

STEPS = 8  # numbers of runs that are looked at between n and 2 n; in between, ends are interpolated
MOST = 40 * STEPS  # 2^40 runs; more is never

Seen = tuple[FloatArray, IntArray]
Ends = Callable[[int], tuple[float, float]]  # of an arm's interval after 2^(step / STEPS) runs


def fewest_runs(policy: Policy, values: FloatArray, seen: Sequence[Seen]) -> float | None:
    """The fewest runs in all that part a policy's intervals, however they are shared out; None where it has none.

    No sampling rule that waits for these intervals can be done sooner: searches are measured by this. It is infinite
    where two arms seem equal.

    Args:
        policy: The policy.
        values: The value of each arm.
        seen: The outcomes of each arm, and how often each came; each arm is taken to go on like this.

    >>> policy = WLUCB(expected_value(), Finite([0, 1]), delta=0.1)
    >>> outcomes = np.array([0.0, 1.0])
    >>> limit = fewest_runs(policy, np.array([0.9, 0.5]), [(outcomes, np.array([1, 9])), (outcomes, np.array([5, 5]))])
    >>> answer = best_arm(policy, Bandit([Bernoulli(0.9), Bernoulli(0.5)]), seed=1)
    >>> 0.5 * answer.samples < limit < 2 * answer.samples
    True
    """
    if values.size < 2 or not np.isfinite(values).all() or any(outcomes.size == 0 for outcomes, _ in seen):
        return None
    ways = [ends for ends in _ways(policy, values, seen) if ends is not None]
    return min((_fewest(policy, values, ends) for ends in ways), default=None)


def _fewest(policy: Policy, values: FloatArray, ends: list[Ends]) -> float:
    leader = int(values.argmax())
    rivals = [arm for arm in range(values.size) if arm != leader]
    slack, second = float(getattr(policy, "tolerance", 0.0)), float(values[rivals].max())
    if values[leader] - second + slack <= 0.0:
        return math.inf
    fewest = math.inf
    # before this step the leader's lower end is not above its rivals' values, let alone their upper ends
    step = _first(lambda step: ends[leader](step)[0] + slack > second)
    while step is not None and step <= MOST and 2.0 ** (step / STEPS) < fewest:
        floor = ends[leader](step)[0] + slack
        fewest = min(fewest, 2.0 ** (step / STEPS) + sum(_runs_below(ends[arm], floor) for arm in rivals))
        step += 1
    return fewest


class Proof(NamedTuple):
    """What a proof by intervals takes at least, for any policy.

    Attributes:
        runs: The fewest runs; infinite where two options seem equal.
        delta: The probability of a wrong proof.
        own: Whether these are the policy's own intervals; else those of W-LUCB.
        assumed: The range that outcomes were assumed to lie in, if none was declared: that of those seen.
    """

    runs: float
    delta: float
    own: bool
    assumed: tuple[float, float] | None = None


def least_proof(policy: Policy, values: FloatArray, seen: Sequence[Seen], delta: float = 0.05) -> Proof | None:
    """The fewest runs of a proof: by the policy's own intervals, or by those that W-LUCB would wait for.

    It is None where fewer than two arms, or not all, have been seen. A policy that was told nothing about its rewards
    gets the range of what was seen, which can only make a proof easier.

    Args:
        policy: The policy.
        values: The value of each arm.
        seen: The outcomes of each arm, and how often each came.
        delta: The probability of a wrong proof, for policies without intervals of their own.

    >>> outcomes = np.array([0.0, 1.0])
    >>> seen = [(outcomes, np.array([1, 9])), (outcomes, np.array([5, 5]))]
    >>> proof = least_proof(WSR(expected_value(), budget=20), np.array([0.9, 0.5]), seen)
    >>> proof.own, proof.delta, proof.assumed
    (False, 0.05, (0.0, 1.0))
    """
    own = fewest_runs(policy, values, seen)
    if own is not None:
        return Proof(own, policy.error_rate or delta, True)
    if values.size < 2 or not np.isfinite(values).all() or any(outcomes.size == 0 for outcomes, _ in seen):
        return None
    chance = policy.error_rate or delta
    if policy.rewards is not None:
        try:
            runs = fewest_runs(WLUCB(policy.preference, policy.rewards, delta=chance), values, seen)
        except ValueError:  # sub-Gaussian rewards and a utility, of which no interval is known
            runs = None
        if runs is not None:
            return Proof(runs, chance, False)
    low, high = min(float(x.min()) for x, _ in seen), max(float(x.max()) for x, _ in seen)
    if low == high:
        return Proof(math.inf, chance, False, (low, high))
    runs = fewest_runs(WLUCB(policy.preference, Bounded(low, high), delta=chance), values, seen)
    return None if runs is None else Proof(runs, chance, False, (low, high))


def _first(holds: Callable[[int], bool]) -> int | None:
    """The first step at which something holds that goes on to hold; None if it never does."""
    below, above = -1, 0
    while not holds(above):
        below, above = above, 2 * above + 1
        if above > MOST:
            return None
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def _runs_below(ends: Ends, floor: float) -> float:
    """The runs after which an arm's upper end is at most `floor`."""
    above = _first(lambda step: ends(step)[1] <= floor)
    if above is None or above == 0:
        return math.inf if above is None else 1.0
    below = above - 1
    outer, inner = ends(below)[1], ends(above)[1]
    part = 1.0 if not math.isfinite(outer) else (outer - floor) / (outer - inner)
    return float(2.0 ** ((below + part) / STEPS))


def _ways(policy: Policy, values: FloatArray, seen: Sequence[Seen]) -> Iterator[list[Ends] | None]:
    """Each arm's interval by its number of runs, once for each kind of interval that ends a search.

    None for unknown ones; no way for a policy that waits for no intervals.
    """
    known = policy.rewards_of(values.size)
    if isinstance(policy, WLUCB):
        rounds = policy.rule(values.size)
        rules = [_one_arm(policy.band, policy.preference, one) for one in known]
        yield _by_band(policy, values, seen, rules, lambda n: rounds.log_share + rounds.growth * math.log(n))
    elif isinstance(policy, TopTwo):
        rule = policy.rule(values.size)
        cuts = [_one_arm(fitting_band(known), policy.preference, one) for one in known]
        # two halves of what must be paid for a pair are one way to split it, and top-two must pass every one
        if rule.band.whole.all():
            price = 0.0 if rule.band.few.all() else -math.log(WHOLE)
            half = 0.5 * (rule.beta + price)
            distributions = [
                distribution_rule(one, policy.preference, [own]) for one, own in zip(cuts, known, strict=True)
            ]
            yield _by_band(policy, values, seen, distributions, lambda _: half)
        if not rule.band.few.all():
            rest = 0.5 * (rule.beta - (math.log1p(-WHOLE) if rule.band.whole.all() else 0.0))
            yield _by_band(policy, values, seen, cuts, lambda _: rest)


def _one_arm(band: Any, preference: Preference, known: Rewards) -> Any:
    """A band's rule for an arm by itself, or the band where it needs none."""
    if isinstance(band, Holder):
        return band
    always = anytime_rule(band, preference, [known])
    return band.rule(preference, [known]) if always is None else always


def _by_band(
    policy: Policy, values: FloatArray, seen: Sequence[Seen], rules: list[Any], exponent: Callable[[float], float]
) -> list[Ends] | None:
    known, preference = policy.rewards_of(values.size), policy.preference
    if not all(isinstance(rule, Holder | TailRule | DistributionRule) for rule in rules):
        return None

    def of_arm(arm: int, rule: Any) -> Ends:
        def ends(step: int) -> tuple[float, float]:
            runs = 2.0 ** (step / STEPS)
            x, n = exponent(runs), max(round(runs), 1)  # no round comes before an arm's own runs
            if isinstance(rule, Holder):
                radius = float(rule.radius(preference, known[arm], n, x))
                return float(values[arm]) - radius, float(values[arm]) + radius
            memory = _memory(preference, seen[arm], n)
            if isinstance(rule, DistributionRule):
                measure(worth_of(preference, [known[arm]], 1), memory, 0)
                low, high = distribution_ends(rule, rule.kept(1), memory, 0, x)
            else:
                low, high = ends_of(rule, memory, 0, x)
            return float(low), float(high)

        return lru_cache(maxsize=None)(ends)

    return [of_arm(arm, rule) for arm, rule in enumerate(rules)]


def _memory(preference: Preference, seen: Seen, runs: int) -> object:
    """The memory of one arm after some runs that fell as those before."""
    outcomes, counts = seen
    utility = preference.utilities(outcomes)
    order = np.lexsort((outcomes, utility))
    share = np.cumsum(counts[order]) / counts.sum()
    times = np.diff(np.rint(share * runs), prepend=0.0).astype(np.int64)
    order, times = order[times > 0], times[times > 0]
    mean = np.array([np.average(utility[order], weights=times)])
    spread = np.array([times @ (utility[order] - mean[0]) ** 2])
    return remembered([(utility[order], outcomes[order], times)], mean, spread)


TITLE = b"# Failed runs of a search by allais\n"
MOST_KEPT = 1 << 16  # characters of one failure, its end
MOST_BYTES = 1 << 24  # of the whole log: the first failures say most


class FailureLog:
    """A file that is made with the first failure; one of this name that somebody else made is never touched."""

    def __init__(self, journal: Path) -> None:
        self.path = journal.with_name(f"{journal.stem}.failures.log").absolute()
        try:
            with open(self.path, "rb") as file:
                beginning = file.read(len(TITLE))
        except FileNotFoundError:
            return
        except OSError as error:
            raise ValueError(
                f"failed runs are written to {self.path}, which cannot be read ({error.strerror}). Move it away."
            ) from None
        if beginning and beginning != TITLE:
            raise ValueError(
                f"failed runs are written to {self.path}, which exists and is something else. Move it away."
            )

    def write(self, arm: object, run: Run, failure: str, details: str) -> str:
        """Append a failure; the sentence that says where its details are, if they could be written."""
        when = time.strftime("%Y-%m-%d %H:%M:%S")
        entry = f"\n{when} run {run.number} of {arm!r}, seed {run.seed}\n{failure}\n{details[-MOST_KEPT:].rstrip()}\n"
        try:
            with open(self.path, "ab") as file:
                if file.tell() > MOST_BYTES:
                    return ""
                file.write((b"" if file.tell() else TITLE) + entry.encode(errors="replace"))
        except OSError:  # a failure that cannot be logged is still said
            return ""
        if not details:
            return ""
        return f"{'The traceback' if details.startswith('Traceback') else 'What it printed'} is in {self.path}."
