"""A search for the best arm while runs are out: what to run next, and which results may be used.

A run's time may depend on its result, so the first results to arrive are a biased sample. An arm's
results are told in the order asked, up to the first one that is still missing: then every interval
is one of a prefix of the arm's runs, whatever the order of arrival (docs/theory/asynchronous.md).

Policies are adapted to it first: to runs that share their seeds (with common random numbers, run r of every option has
the same seed, so that luck which all options share cancels), and to a difference that does not matter.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from allais._checks import FloatArray, positive
from allais.errors import OutOfBounds, RunRefused
from allais.learner import Choice, NotNow
from allais.linear.policy import LinearPolicy
from allais.policies.core.base import Policy
from allais.policies.toptwo import TopTwo
from allais.searches.forecast import Forecast, forecast
from allais.searches.limit import Seen
from allais.searches.runs import Outcome, Run, Seeds
from allais.simulation.best_arm import Failure
from allais.simulation.history import History

GRID = 4096  # sure amounts at which a utility is looked at
LADDER = (1.0, 0.5, 0.2, 0.1)  # of the largest amount that is asked about


def with_indifference(policy: Policy, amount: float) -> Policy:
    """The policy that is content with an option within an amount of the best, in certainty equivalents.

    Without a utility that is its tolerance. With one, the tolerance is the least difference in utility that this amount
    makes anywhere between the bounds of the rewards: so it errs on the safe side.

    Args:
        policy: A policy with a tolerance.
        amount: The difference that does not matter, in the unit of outcomes.

    >>> people = Preference(TverskyKahneman(0.61), utility=PowerUtility(0.88, 2.25), reference=10)
    >>> policy = WLUCB(people, Bounded(0, 30), delta=0.05)
    >>> round(with_indifference(policy, 1.0).tolerance, 4)
    0.6161
    """
    amount = positive("indifference", amount)
    if not hasattr(policy, "tolerance"):
        raise ValueError(
            f"indifference is for a policy that stops by itself; {type(policy).__name__} spends a budget. Leave it out."
        )
    if policy.preference.utility is None:
        return policy.but(tolerance=amount)
    known = policy.rewards if isinstance(policy.rewards, Sequence) else policy.rewards_of(1)
    ends = [end for one in known for end in one.support]
    if not ends or not all(map(math.isfinite, ends)):
        raise ValueError(
            "the utility of an amount depends on where it comes, so indifference under a utility needs bounds on "
            "rewards; there are none. Give the policy a tolerance, as a utility."
        )
    low, high = min(ends), max(ends)
    if amount >= high - low:
        raise ValueError(
            f"indifference must be smaller than the range of rewards, {high - low:g}; got {amount:g}. Give less."
        )
    kinks = np.array([policy.preference.reference - amount, policy.preference.reference])
    kinks = kinks[(kinks >= low) & (kinks <= high - amount)]
    sure = np.unique(np.append(np.linspace(low, high - amount, GRID), kinks))
    steps = np.abs(policy.preference.utilities(sure + amount) - policy.preference.utilities(sure))
    return policy.but(tolerance=float(steps.min()))


def costs_of_indifference(
    policy: Policy,
    values: FloatArray,
    seen: Sequence[Seen],
    amounts: Sequence[float],
    table: FloatArray | None = None,
) -> dict[float, Forecast | None]:
    """How many runs a search would take at each indifference, if options go on as before.

    Args:
        policy: A policy with a tolerance.
        values: The value of each arm.
        seen: The outcomes of each arm, and how often each came.
        amounts: Indifferences, in the unit of outcomes.
        table: What was seen, arms by rows and runs by columns, for common random numbers.

    >>> outcomes = np.array([0.0, 1.0])
    >>> seen = [(outcomes, np.array([20, 80])), (outcomes, np.array([30, 70]))]
    >>> policy = LUCB(Bounded(0, 1), delta=0.05)
    >>> costs = costs_of_indifference(policy, np.array([0.8, 0.7]), seen, amounts=[0.3, 0.1])
    >>> costs[0.3].expected < 0.5 * costs[0.1].expected
    True
    """
    return {amount: forecast(with_indifference(policy, amount), values, seen, table) for amount in amounts}


def worth_asking(sure: FloatArray) -> list[float]:
    """Amounts that a user may be asked about: round ones, from the best four options' distance down."""
    best = np.sort(sure[np.isfinite(sure)])[::-1][:4]
    spread = float(best[0] - best[-1]) if best.size > 1 else 0.0
    if not spread > 0.0:
        return []
    largest = 10.0 ** math.floor(math.log10(spread))
    top = max(step * largest for step in (1.0, 2.0, 5.0) if step * largest <= spread)
    return [float(f"{top * part:.1g}") for part in LADDER]


# Their tests multiply martingales of several arms, or regress on all arms at once. Such a product is a martingale if
# arms are independent; with common seeds only each arm by itself is one.
JOINT = (TopTwo, LinearPolicy)


def with_common_numbers(policy: Policy) -> Policy:
    """The policy for runs that share their seeds, or an error where its promise needs options that are independent.

    A policy that compares options pair by pair is told. For any other, each interval holds for its own option's
    runs, as ever, and nothing else changes.

    >>> with_common_numbers(TopTwo(expected_value(), Finite([0, 1]), delta=0.05))
    Traceback (most recent call last):
        ...
    ValueError: common random numbers make options dependent; TopTwo multiplies their evidence, which is ...
    """
    if policy.goal == "confidence" and isinstance(policy.plain(), JOINT):
        raise ValueError(
            f"common random numbers make options dependent; {type(policy).__name__} multiplies their evidence, which "
            "is sound for independent options only. Use WLUCB, or leave common random numbers out."
        )
    told = any(one.name == "common_random_numbers" for one in dataclasses.fields(policy))
    return policy.but(common_random_numbers=True) if told else policy


MOST_FAILURES = 20  # of one arm in a row, before leaving them out is refused


class Search:
    """Asks and tells, without a clock, a file or a worker: the same events lead to the same state.

    Args:
        policy: A policy that looks for the best arm.
        arms: The names of the arms.
        root: What the seeds of choices and runs are made from.
        exact: Whether to keep every outcome, also where an arm has more than 16,384 distinct ones.
        common_random_numbers: Whether run r of every arm has the same seed.
    """

    def __init__(
        self,
        policy: Policy,
        arms: Sequence[Hashable],
        root: np.random.SeedSequence,
        *,
        exact: bool = False,
        common_random_numbers: bool = False,
    ) -> None:
        self._policy, self._exact = policy, exact
        self._seeds = Seeds(root, len(arms), common=common_random_numbers)
        self.arms = tuple(arms)
        self._index = {name: arm for arm, name in enumerate(self.arms)}
        self.restart({})

    def restart(self, known: Mapping[Run, Outcome]) -> None:
        """Begin from the first run; runs that are known are taken in at the moment they are asked for.

        Args:
            known: Finished runs and their outcomes.
        """
        rng = np.random.default_rng(self._seeds.choices)
        self.learner = self._policy.start(self.arms, rng, exact=self._exact)
        self._known = {run: self.admitted(run, outcome) for run, outcome in known.items()}
        self.asked = self.told = 0
        self.settled = False
        self.failures: list[Failure] = []
        self.excluded: Counter[Hashable] = Counter()  # failed runs of each arm that were left out, in the order asked
        self.history = History(len(self.arms))
        self.run_seconds = 0.0  # of all runs that came back, one after the other
        self._next = [0] * len(self.arms)  # the number of each arm's next run
        # of arms with runs that are out, and of no others: there may be many thousands
        self._in_order: dict[int, deque[Choice]] = {}  # asked, and not yet told
        self._arrived: dict[int, dict[int, Outcome]] = {}  # behind one that is missing
        self._failed_in_a_row: Counter[int] = Counter()

    @property
    def out(self) -> list[Run]:
        """The runs that were asked for and have not come back, oldest first."""
        missing = [
            (choice.id, Run(arm, number, self._seeds.of(arm, number)))
            for arm, queue in self._in_order.items()
            for number, choice in enumerate(queue, self._next[arm] - len(queue))
            if number not in self._arrived.get(arm, ())
        ]
        return [run for _, run in sorted(missing)]

    def is_out(self, run: Run) -> bool:
        """Whether a run was asked for and has not come back.

        Args:
            run: A run.
        """
        last = self._next[run.arm]
        return (
            last - len(self._in_order.get(run.arm, ())) <= run.number < last
            and run.number not in self._arrived.get(run.arm, ())
            and run.seed == self._seeds.of(run.arm, run.number)
        )

    def ask(self, most: float = math.inf) -> Run | None:
        """The next run to be done, or None: the search has settled, has reached its limit, or must wait.

        Args:
            most: The most runs that may have been asked for, in all.
        """
        while self.asked < most and (run := self._chosen()) is not None:
            outcome = self._known.get(run)
            if outcome is None:
                return run
            self.absorb(run, outcome)
        return None

    def ask_some(self, n: int, most: float = math.inf) -> list[Run]:
        """The next n runs; fewer where it settles, comes to a limit, or must wait.

        Args:
            n: How many runs.
            most: The most runs that may have been asked for, in all.
        """
        found: list[Run] = []
        while len(found) < n and (run := self.ask(most)) is not None:
            found.append(run)
        return found

    def _chosen(self) -> Run | None:
        if self.settled:
            return None
        try:
            choice = self.learner.ask()
        except NotNow:
            self.settled = self.learner.is_settled()
            return None
        arm = self._index[choice.arm]
        number = self._next[arm]
        self._next[arm] += 1
        self._in_order.setdefault(arm, deque()).append(choice)
        self.asked += 1
        return Run(arm, number, self._seeds.of(arm, number))

    def notice_settled(self) -> None:
        """See whether what was told is enough."""
        self.settled = self.settled or (self.asked > 0 and self.learner.is_settled())

    def admitted(self, run: Run, outcome: Outcome) -> Outcome:
        """Check an outcome before it is written down; one that the declared rewards rule out is refused.

        Args:
            run: The run.
            outcome: What came of it.
        """
        if outcome.reward is None and outcome.at_least is None:
            return outcome
        try:
            if outcome.reward is None:
                cut = self.learner.check_cut(self.arms[run.arm], at_least=outcome.at_least)
                return outcome._replace(at_least=cut[0])
            return outcome._replace(reward=self.learner.check_reward(self.arms[run.arm], outcome.reward))
        except ValueError as error:
            raise refusal(self.arms[run.arm], run, error) from None

    def take_in(self, run: Run, outcome: Outcome) -> None:
        """Check a run that has come back, and tell what is now complete, from the oldest of the arm on.

        Args:
            run: The run.
            outcome: What came of it.
        """
        self.absorb(run, self.admitted(run, outcome))

    def absorb(self, run: Run, outcome: Outcome) -> None:
        """Take in an outcome that has been checked.

        Args:
            run: The run.
            outcome: What came of it.
        """
        if not self.is_out(run):
            raise ValueError(
                f"a result is accepted once; run {run.number} of {self.arms[run.arm]!r} is not outstanding."
            )
        if outcome.failure is not None:
            self.failures.append(
                Failure(self.arms[run.arm], *run[1:], outcome.failure, outcome.reward, outcome.at_least)
            )
        self.run_seconds += outcome.seconds
        queue, arrived = self._in_order[run.arm], self._arrived.setdefault(run.arm, {})
        arrived[run.number] = outcome
        while queue and (number := self._next[run.arm] - len(queue)) in arrived:
            self._tell(run.arm, queue.popleft(), arrived.pop(number))
        if not arrived:
            del self._arrived[run.arm]
        if not queue:
            del self._in_order[run.arm]

    def _tell(self, arm: int, choice: Choice, outcome: Outcome) -> None:
        if outcome.reward is None and outcome.at_least is not None:
            self.learner.tell(choice, at_least=outcome.at_least, final=True)
        elif outcome.reward is None:
            self.learner.cancel(choice)
            self._failed_in_a_row[arm] += 1
            self.excluded[self.arms[arm]] += 1
            return
        else:
            self.learner.tell(choice, outcome.reward, checked=True)
        self.told += 1
        if self._failed_in_a_row:
            self._failed_in_a_row.pop(arm, None)
        self.history.note(self.told, lambda: (self.learner.pulls, self.learner.intervals()))

    def require_rewards(self, arms: Iterable[int]) -> None:
        """Raise an error if all runs of an arm failed and were left out.

        Args:
            arms: The indices of the arms.
        """
        for arm in arms:
            if self._failed_in_a_row[arm] >= MOST_FAILURES:
                last = next(one.reason for one in reversed(self.failures) if one.arm == self.arms[arm])
                raise RunRefused(
                    f"an arm must give a reward now and then; {self.arms[arm]!r} failed {self._failed_in_a_row[arm]} "
                    f"times in a row ({last.rstrip('.')}). Leave the arm out, or say which reward a failure counts as."
                )


def refusal(arm: Hashable, run: Run, rule: ValueError) -> OutOfBounds:
    """An outcome broke a rule: say which run it was, so that it can be looked at."""
    return OutOfBounds(f"run {run.number} of {arm!r} (seed {run.seed}): {rule}")
