"""What every policy is to the rest of the library, and the settings that policies share."""

from __future__ import annotations

import dataclasses
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, IntArray, Seed, brief, not_negative, same_length
from allais.bands import Betting
from allais.bands.base import Band, bounds_of
from allais.policies.core.guardrails import USUAL, Guardrail, check_guardrails
from allais.policies.core.knowledge import (
    Fading,
    Recent,
    RewardsOfArms,
    as_list,
    check_band,
    check_settings,
    check_unit_interval,
    first_pulls,
    fitting_band,
    worth_of,
)
from allais.policies.core.state import FOREVER, fresh_state, started
from allais.preferences import Preference
from allais.rewards import Rewards
from allais.samples.cells import LIMIT
from allais.samples.memory import Worth

if TYPE_CHECKING:
    from allais.learner import Learner


Promise = Literal["proven", "asymptotic", "none"]
# the probability of a choice: 1 where chance decides between ties only, its ticket, or not known
Propensity = Literal["one", "ticket", "unknown"]

# What each promise means, in general. `promise_in_words` has the same with a policy's own numbers.
PROMISES: dict[Promise, str] = {
    "proven": "if every outcome keeps to what was declared, the answer is wrong with a chance below delta, "
    "whatever the distribution of the outcomes.",
    "asymptotic": "the answer is wrong with a chance of about delta, by the central limit theorem; this is not proven "
    "for a finite number of runs, and events rarer than `rarest` may never have been seen.",
    "none": "the answer is the best guess after the runs that were made, and its chance of being wrong is not known.",
}


def rarest_of(policy: Policy) -> float | None:
    """The probability below which events may be missed, as a policy or its band was told; None where none was.

    >>> from allais import WLUCB, expected_value, Bounded
    >>> rarest_of(WLUCB(expected_value(), Bounded(0, 1), delta=0.05)) is None
    True
    """
    own: float | None = getattr(policy, "rarest", None)
    return getattr(policy.band, "rarest", None) if own is None else own


def promise_in_words(policy: Policy) -> str:
    """A policy's promise in one sentence, with its own numbers in it.

    >>> from allais import WLUCB, expected_value, Bounded
    >>> print(promise_in_words(WLUCB(expected_value(), Bounded(0, 1), delta=0.05)))
    Proven: if every outcome keeps to what was declared, the answer is wrong with a chance below 0.05, whatever the ...
    """
    text = PROMISES[policy.promise]
    if policy.error_rate is not None:
        text = text.replace("delta", f"{policy.error_rate:g}")
    rarest = rarest_of(policy)
    if rarest is not None:
        text = text.replace("`rarest`", f"{rarest:g}")
    if policy.guardrails:
        slip = USUAL if policy.error_rate is None else policy.error_rate / 2.0
        text += (
            f" Of guardrails: with a chance below {slip:g} an arm that keeps them was dropped, or the answer, where it "
            "was shown to keep them, breaks one."
        )
    return f"{policy.promise.capitalize()}: {text}"


Check = Callable[[str, Any], Any]  # takes a setting's name and what came; returns the checked value


def setting(default: Any = dataclasses.MISSING, check: Check | None = None, *, repr: bool = True) -> Any:
    """A field that is given by name and checked when a policy is made.

    Args:
        default: The default; without one, the setting must be given.
        check: Takes the setting's name and what was given, and returns the checked value.
        repr: Whether texts about the policy show it.

    >>> WUCB(expected_value(), Bounded(0, 1), exploration=0)  # its check is `positive`
    Traceback (most recent call last):
        ...
    ValueError: exploration must be above 0; got 0. Give a positive number.
    """
    return field(default=default, kw_only=True, repr=repr, metadata={"check": check})


no_worse = partial(not_negative, advice="0 asks for the best arm itself.")  # of a tolerance


@dataclass(frozen=True)
class Policy(ABC):
    """How to explore: frozen settings, turned into a rule and a state for a number of arms.

    What a policy can do is seen from the settings that it declares: `rewards`, `band`, `of_mean` and `memory`, which
    others have as properties; `delta`, where its goal is a confidence.

    Args:
        preference: What is maximised.
        name: What tables and legends call it.
    """

    preference: Preference
    _: KW_ONLY
    name: str = setting("", repr=False)

    called: ClassVar[str] = ""
    goal: ClassVar[str]  # "regret", "confidence" or "budget"
    open_to_arms: ClassVar[bool] = False  # whether arms may come and go while it runs
    open_to_data: ClassVar[bool] = True  # whether it can use outcomes that it did not ask for
    opened_by: ClassVar[str] = ""  # the setting with which it would use them, if there is one
    open_to_contexts: ClassVar[bool] = False  # whether arms may differ from round to round, by their features
    open_to_people: ClassVar[bool] = False  # whether one memory serves many: `choose` reads the rule and outcomes only
    keeps_outcomes: ClassVar[bool] = True  # whether each arm's outcomes are remembered
    takes_bets: ClassVar[bool] = False  # whether its band may be `Betting`: one confidence, and nothing is forgotten
    needs_rewards: ClassVar[bool] = False  # whether rewards must be declared, if its band does not do without
    promises: ClassVar[Promise] = "none"  # what holds of its answer, if it has no band that says otherwise
    propensity: ClassVar[Propensity] = "unknown"
    why: ClassVar[str] = ""  # why `recommended` took it

    made_from: ClassVar[type[Policy] | None] = None

    def __init_subclass__(cls, made_from: type[Policy] | None = None) -> None:
        """A baseline takes fewer settings than the policy that it is made from: `class UCB1(WUCB, made_from=WUCB)`."""
        if made_from is not None:
            cls.made_from = made_from
            cls.__repr__ = _as_given  # type: ignore[assignment, method-assign]

    def __new__(cls, *given: Any, **named: Any) -> Policy:
        """Refuse settings without a name: their order says nothing to a reader, and has changed before."""
        places = inspect.signature(cls).parameters.values() if given or named else ()
        allowed = [one.name for one in places if one.kind is not one.KEYWORD_ONLY]
        others = [one for one in places if one.kind is one.KEYWORD_ONLY]
        if len(given) > len(allowed):
            raise TypeError(
                f"{cls.__name__} takes {' and '.join(allowed)}, and everything else by name; got "
                f"{brief(given[len(allowed)])} without one. Name it: {', '.join(one.name for one in others)}."
            )
        missing = [one.name for one in others if one.default is one.empty and one.name not in named]
        if missing:
            raise TypeError(f"{cls.__name__} needs {' and '.join(missing)}, by name; got none. Write {missing[0]}=...")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        without = not getattr(self.band, "needs_rewards", True)  # a band that needs no bounds
        check_settings(self.preference, self.rewards, needs_rewards=self.needs_rewards and not without)
        if "band" in self.__dataclass_fields__:
            self._fit_band()
        if not self.name:
            object.__setattr__(self, "name", self.called or type(self).__name__)
        for one in dataclasses.fields(self):
            check = one.metadata.get("check")
            if check is not None:
                object.__setattr__(self, one.name, check(one.name, getattr(self, one.name)))
        self.check()
        check_guardrails(self)

    def _fit_band(self) -> None:
        """Choose a band if none was, and refuse one that does not hold for the rewards."""
        known = [] if self.rewards is None else as_list(self.rewards)
        band = fitting_band(known) if self.band is None else self.band
        check_band(band, takes_bets=self.takes_bets, of_mean=self.of_mean)
        if isinstance(band, Betting):  # bets follow the order of its own choices, for one preference and its bounds
            object.__setattr__(self, "open_to_data", False)
        band.rule(self.preference, known)  # refuses what is unfit
        if self.of_mean:
            check_unit_interval(self.preference, known)
        object.__setattr__(self, "band", band)

    def check(self) -> None:  # noqa: B027
        """Refuse settings that do not go together; each by itself is checked already."""

    @abstractmethod
    def rule(self, n_arms: int) -> Any:
        """The settings as the kernels read them."""

    def state(self, n_arms: int, rule: Any) -> Any:
        """The state before the first round."""
        forgets = isinstance(self.memory, Recent | Fading)  # a policy of yours may mean something else by it
        lifetimes: Any = self.memory.lifetimes() if self.memory is not None and forgets else FOREVER
        state = fresh_state(n_arms, rule.band.kept(n_arms), self.own(n_arms), lifetimes)
        if forgets:
            # what was forgotten leaves gaps: with twice the room they are closed before outcomes would share cells
            state.memory.limit[0] = max(LIMIT, 2 * lifetimes.ends.size)
        return state

    def own(self, n_arms: int) -> Any:
        """What the algorithm remembers besides outcomes and asks: a NamedTuple of arrays, which files hold by name."""
        return ()

    def reopened(self, own: Any, n_arms: int) -> Any:
        """What the algorithm remembers after `observe`, `forget`, `widen` or `change_preference`: all, by default.

        Args:
            own: What it remembered.
            n_arms: The number of arms.
        """
        return own

    @property
    def own_grows(self) -> bool:
        """Whether what it remembers may need more room as it goes: the verb `lacks_room` says when."""
        return False

    def roomier(self, own: Any) -> Any:
        """What the algorithm remembers, with more room."""
        return own

    def sized_as(self, own: Any, saved: dict[str, Any]) -> Any:
        """What the algorithm remembers, with the room that a file's lists need."""
        return own

    def worth(self, n_arms: int) -> Worth:
        """How kernels compute values from memories."""
        return worth_of(self.preference, self.rewards_of(n_arms), n_arms, of_mean=self.of_mean)

    def first(self, n_arms: int) -> int:
        """How often each arm is pulled before the rule begins."""
        return first_pulls(self.rewards_of(n_arms))

    @property
    def rewards(self) -> RewardsOfArms | None:
        """What is known about outcomes, if anything: one declaration for all arms, or a list with one per arm."""
        return None

    @property
    def band(self) -> Band | None:
        """How values are bounded, if they are; left out, it is the narrowest band that holds for the rewards."""
        return None

    @property
    def of_mean(self) -> bool:
        """Whether w(mean) takes the place of the value, as in the WE heuristics."""
        return False

    @property
    def guardrails(self) -> Sequence[Guardrail]:
        """Limits that an arm must keep to be the answer."""
        return ()

    @property
    def memory(self) -> Recent | Fading | None:
        """What is remembered where outcomes change; None for everything."""
        return None

    def try_on(self, n_arms: int) -> None:
        """Refuse a number of arms that does not fit."""
        started(self, n_arms)

    @property
    def error_rate(self) -> float | None:
        """The chance of a wrong recommendation that is allowed (delta), for fixed confidence."""
        return getattr(self, "delta", None) if self.goal == "confidence" else None

    @property
    def promise(self) -> Promise:
        """What holds of its answer: "proven", "asymptotic" or "none"; `policies/core/base.py` has the words.

        >>> WSR(expected_value(), budget=100).promise, WLUCB(expected_value(), Bounded(0, 1), delta=0.05).promise
        ('none', 'proven')
        """
        if self.of_mean or self.promises == "none":  # w(mean) is the value for coins only
            return "none"
        promise: Promise = getattr(self.band, "promise", self.promises)
        return promise

    def regret_bound(self, values: FloatArray, rounds: IntArray) -> FloatArray | None:
        """A proven bound on the expected regret after each number of rounds, or None where there is none.

        Args:
            values: The true value of each arm.
            rounds: Numbers of rounds.
        """
        return None

    def rewards_of(self, n_arms: int) -> list[Rewards]:
        """What is known about each arm's rewards; empty where nothing was declared."""
        if self.rewards is None:
            return []
        if not isinstance(self.rewards, Sequence):
            return [self.rewards] * n_arms
        same_length("rewards must be one for all arms or one per arm", len(self.rewards), n_arms, "arms")
        return list(self.rewards)

    def check_state(self, rule: Any, state: Any) -> None:  # noqa: B027
        """Raise a ValueError for a state from a file whose numbers would lead the kernels beyond the end of an array.

        What every state has (`asked`, `active`, the memory, and the length of each array) is checked already.
        """

    def value_bounds(self, n_arms: int) -> list[tuple[float, float]]:
        """The least and the greatest value that each arm can have, as a utility; infinite where nothing is declared."""
        if self.of_mean:  # w(mean) is a weight
            return [(0.0, 1.0)] * n_arms
        known = self.rewards_of(n_arms)
        return [bounds_of(self.preference, one) for one in known] or [(-np.inf, np.inf)] * n_arms

    def given(self) -> dict[str, Any]:
        """The settings that it was made with; a baseline has those of its preference by their own names."""
        if self.made_from is None:
            return {one.name: getattr(self, one.name) for one in dataclasses.fields(self) if one.init}
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self if hasattr(self, name) else self.preference, name) for name in names}

    def but(self, **changes: Any) -> Policy:
        """The same policy with other settings; where a baseline does not take some, the policy that it is made from.

        Args:
            **changes: Settings by name.
        """
        made = self if changes.keys() <= self.given().keys() else self.plain()
        return type(made)(**{**made.given(), **changes})

    def plain(self) -> Policy:
        """The policy with all of its settings; for a baseline, the policy that it is made from."""
        if self.made_from is None:
            return self
        return self.made_from(**{one.name: getattr(self, one.name) for one in dataclasses.fields(self.made_from)})

    def on(self, problem: Any) -> Policy:
        """The policy for a problem: a linear policy takes the problem's features."""
        return self

    def with_features(self, features: ArrayLike) -> Policy:
        """The policy for arms with these features, one row per arm; only linear policies take any."""
        raise ValueError(
            f"{type(self).__name__} learns each arm on its own and takes no features; got some. "
            "Leave features out, or use allais.linear.LinTS or WOFUL."
        )

    def start(
        self, arms: int | Sequence[Hashable], seed: Seed, features: ArrayLike | None = None, *, exact: bool = False
    ) -> Learner:
        """Start a learner that asks for arms and is told what happened.

        An arm with more than 16,384 distinct outcomes keeps neighbours in cells, so that its memory is bounded;
        `Learner.memory_error` says what that may hide.

        Args:
            arms: The names of the arms, or how many there are.
            seed: The seed of choices.
            features: One row of numbers per arm, for linear policies only.
            exact: Whether to keep every outcome instead.

        >>> from allais import WUCB
        >>> policy = WUCB(Preference(TverskyKahneman(0.61)), rewards=Bounded(0, 50))
        >>> learner = policy.start(arms=["A21", "A28"], seed=1)
        >>> learner.ask()
        Choice(id=1, arm='A21')
        """
        from allais.learner import Learner

        policy = self if features is None else self.with_features(features)
        return Learner(policy, arms, seed, exact=exact)


def _as_given(policy: Policy) -> str:
    usual = inspect.signature(type(policy).__init__).parameters
    shown = [f"{name}={value!r}" for name, value in policy.given().items() if value != usual[name].default]
    return f"{type(policy).__name__}({', '.join(shown)})"


@dataclass(frozen=True)
class KArmed(Policy):
    """A policy that learns each arm on its own, and may be told what is known about rewards.

    A subclass writes `rule`, and a kernel for `choose`; the other verbs have defaults.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes, if anything: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
    """

    rewards: RewardsOfArms | None = None
