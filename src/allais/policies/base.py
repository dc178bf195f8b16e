"""What every K-armed policy is to the rest of the library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from allais._random import Seed
from allais.bands import KL, Band, Envelope
from allais.bands.base import bounds_of
from allais.errors import FloatArray, IntArray, brief
from allais.memory import Memory, Worth
from allais.preferences import Preference
from allais.rewards import Bounded, Finite, Rewards, SubGaussian
from allais.values.patches import distortion_of
from allais.weights import Identity

if TYPE_CHECKING:
    from allais.learner import Learner

# What a policy takes as rewards: one for all arms, or one an arm.
RewardsOfArms = Rewards | Sequence[Rewards]


class Policy(ABC):
    """How to explore: frozen settings, turned into a rule and a state for a number of arms."""

    name: str  # for tables and legends
    preference: Preference
    rewards: RewardsOfArms | None
    goal: ClassVar[str]  # "regret", "confidence" or "budget"
    open_to_arms: ClassVar[bool] = False  # whether arms may come and go while it runs
    open_to_data: ClassVar[bool] = True  # whether it can use what it did not ask for
    open_to_contexts: ClassVar[bool] = False  # whether arms may differ from round to round, by their features
    keeps_outcomes: ClassVar[bool] = True  # whether each arm's outcomes are remembered

    @abstractmethod
    def rule(self, n_arms: int) -> Any:
        """The settings as the kernels read them."""

    @abstractmethod
    def state(self, n_arms: int) -> Any:
        """The state before the first round."""

    @property
    def error_rate(self) -> float | None:
        """The chance of a wrong recommendation that is allowed (delta), for fixed confidence."""
        return None

    def regret_bound(self, values: FloatArray, rounds: IntArray) -> FloatArray | None:
        """A proven bound on the expected regret after each number of rounds, or None where there is none."""
        return None

    def rewards_of(self, n_arms: int) -> list[Rewards]:
        """What is known of each arm's rewards."""
        return rewards_of_arms(self.rewards, n_arms)

    def check_state(self, rule: Any, state: Any) -> None:  # noqa: B027
        """Raise a ValueError for a state, read from a file, whose numbers the kernels would follow out of an array.

        What every state has (`asked`, `active`, the memory, and the length of each array) is checked already.
        """

    def value_bounds(self, n_arms: int) -> list[tuple[float, float]]:
        """What the value of each arm can be at least and at most, as felt; infinite where nothing is declared."""
        if getattr(self, "of_mean", False):
            return [(0.0, 1.0)] * n_arms  # w(mean) is a weight
        known = self.rewards_of(n_arms)
        return [bounds_of(self.preference, one) for one in known] or [(-np.inf, np.inf)] * n_arms

    def on(self, problem: Any) -> Policy:
        """The policy for a problem at hand: linear ones take its features."""
        return self

    def with_features(self, features: ArrayLike) -> Policy:
        """The policy for arms with these features, one row for each: linear ones take them."""
        raise ValueError(
            f"{type(self).__name__} learns each arm on its own and takes no features; got some. "
            "Leave features out, or use LinTS or WOFUL."
        )

    def start(self, arms: int | Sequence[Hashable], seed: Seed, *, exact: bool = False) -> Learner:
        """A learner that asks for arms and is told what happened.

        An arm with more than 16,384 distinct outcomes keeps neighbours in cells, so that its memory is bounded;
        `Learner.memory_error` says what that may hide. With `exact=True` every outcome is kept.

        >>> from allais import WUCB
        >>> policy = WUCB(Preference(TverskyKahneman(0.61)), rewards=Bounded(0, 50))
        >>> learner = policy.start(arms=["A21", "A28"], seed=1)
        >>> learner.ask()
        Choice(id=1, arm='A21')
        """
        from allais.learner import Learner

        return Learner(self, arms, seed, exact=exact)


def check_settings(preference: Preference, rewards: RewardsOfArms | None, *, needs_rewards: bool = True) -> None:
    """Refuse settings of the wrong kind when they are made, not when they are used."""
    if not isinstance(preference, Preference):
        raise TypeError(f"a policy takes a preference; got {preference!r}. Write Preference(TverskyKahneman()).")
    if rewards is None and not needs_rewards:
        return
    each = [rewards] if _is_known(rewards) else rewards
    if rewards is None or not isinstance(each, Sequence) or not each or not all(map(_is_known, each)):
        raise TypeError(
            f"rewards must be Bounded, Finite or SubGaussian, one for all arms or one an arm; got {rewards!r}. "
            "Write rewards=Bounded(0, 50)."
        )
    for known in as_list(rewards):
        if isinstance(known, SubGaussian):
            preference.truncation(known, 1)  # refuses a utility
        elif not np.isfinite(preference.felt(np.array(known.support))).all():
            raise ValueError(
                f"rewards must feel finite; the ends of {known!r} do not under this utility. Rescale them."
            )


def started(policy: Policy, n_arms: int) -> tuple[Any, Any]:
    """A policy's rule and state for a number of arms, or an error where an array has not an entry for each of them.

    Compiled code does not check places, so an array that is too short would be read beyond its end.
    """
    rule, state = policy.rule(n_arms), policy.state(n_arms)
    each: dict[str, Any] = {f"state.{name}": getattr(state, name, None) for name in ("asked", "active")}
    memory = getattr(state, "memory", None)
    if not isinstance(memory, Memory):
        raise TypeError(f"a policy's state keeps its arms' outcomes in `memory`; got {memory!r}. Use empty_memory.")
    shared = ("forest", "cells", "limit")
    each |= {f"memory.{name}": part for name, part in memory._asdict().items() if name not in shared}
    if hasattr(rule, "worth"):
        each |= {"worth.edge": rule.worth.edge, "worth.edge_scale": rule.worth.edge_scale}
    if hasattr(rule, "band"):
        of_band = rule.band._asdict() if hasattr(rule.band, "_asdict") else {}
        each |= {f"band.{name}": part for name, part in of_band.items() if isinstance(part, np.ndarray)}
    for name, part in each.items():
        if not isinstance(part, np.ndarray) or part.ndim == 0 or part.shape[0] != n_arms:
            length = part.shape[:1] if isinstance(part, np.ndarray) else part
            raise ValueError(
                f"{type(policy).__name__} must have an entry for each of its {n_arms} arms in {name}; got {length}. "
                "Make it from the number of arms."
            )
    shapes = {memory.felt.shape, memory.raw.shape, memory.counts.shape}
    if memory.forest.trees.shape[0] != 2 * n_arms or len(shapes) > 1:
        raise ValueError(f"the memory of {n_arms} arms must be made by empty_memory({n_arms}); this one was not.")
    ticket = getattr(state, "ticket", None)
    if not isinstance(ticket, np.ndarray) or ticket.shape != (1,):
        raise ValueError("a policy's state must have a ticket, an array of one number; write np.zeros(1).")
    return rule, state


def no_such_arm(policy: Policy, arm: int, n_arms: int) -> str:
    """What is said of a choice that is none of the arms."""
    return (
        f"choose must return an arm from 0 to {n_arms - 1}, SETTLED or WAITING; {type(policy).__name__} returned "
        f"{arm}. Repair its kernel."
    )


def check_band(band: object) -> None:
    """Refuse what is no band, such as the name of one."""
    if not callable(getattr(band, "rule", None)) or isinstance(band, type):
        raise TypeError(f"band must be a band; got {brief(band)}. Write band=KL().")


def check_unit_interval(preference: Preference, rewards: RewardsOfArms) -> None:
    """Refuse rewards whose mean is no probability: the WE heuristics weight the mean itself."""
    for known in as_list(rewards):
        low, high = bounds_of(preference, known)
        if low < 0.0 or high > 1.0:
            raise ValueError(
                f"w(mean) needs a mean that must lie in [0, 1]; got rewards from {low:g} to {high:g}. "
                "Rescale the rewards, or use a policy that estimates the value."
            )


def _is_known(rewards: object) -> bool:
    return isinstance(rewards, Bounded | Finite | SubGaussian)


def as_list(rewards: RewardsOfArms) -> list[Rewards]:
    """The rewards that were declared, as a list."""
    return list(rewards) if isinstance(rewards, Sequence) else [rewards]


def rewards_of_arms(rewards: RewardsOfArms | None, n_arms: int) -> list[Rewards]:
    """One entry an arm, from one for all or one each."""
    if rewards is None:
        return []
    if not isinstance(rewards, Sequence):
        return [rewards] * n_arms
    if len(rewards) != n_arms:
        raise ValueError(
            f"rewards must be one for all arms or one an arm; got {len(rewards)} for {n_arms} arms. "
            "Give as many as there are arms."
        )
    return list(rewards)


def worth_of(preference: Preference, rewards: Sequence[Rewards], n_arms: int, *, of_mean: bool = False) -> Worth:
    """How values are computed from memories, under a preference."""
    if rewards and len(rewards) != n_arms:
        raise ValueError(
            f"rewards must be one an arm, or none; got {len(rewards)} for {n_arms} arms. Write self.rewards_of(n_arms)."
        )
    tails = [known if isinstance(known, SubGaussian) else None for known in rewards] or [None] * n_arms
    return Worth(
        distortion_of(preference.gains),
        distortion_of(preference.losses),
        np.array([np.inf if known is None else preference.truncation(known, 1) for known in tails]),
        np.array([0.0 if known is None else known.scale for known in tails]),
        of_mean,
        isinstance(preference.gains, Identity) and isinstance(preference.losses, Identity),
    )


def require_place(what: str, number: int, least: int, most: int) -> None:
    """Refuse a number of a saved state that points at nothing."""
    if not least <= number <= most:
        raise ValueError(f"a saved {what} must lie between {least} and {most}; got {number}. Use a backup.")


def first_pulls(rewards: Sequence[Rewards]) -> int:
    """How often each arm is pulled before the rule begins: the truncated bound needs two."""
    return 2 if any(isinstance(known, SubGaussian) for known in rewards) else 1


def fitting_band(rewards: RewardsOfArms) -> Band:
    """The narrowest band that holds for the rewards."""
    return Envelope() if any(isinstance(known, SubGaussian) for known in as_list(rewards)) else KL()
