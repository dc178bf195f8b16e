"""What is known about the arms' rewards, as policies and kernels take it, and what is remembered of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from allais._checks import FloatArray, brief, number, same_length, share, whole
from allais.bands import KL, Band, Betting, Envelope
from allais.bands.base import bounds_of
from allais.numerics.table import distortion_of
from allais.preferences import Preference
from allais.rewards import Bounded, Finite, Rewards, SubGaussian
from allais.samples.drift import Lifetimes, new_lifetimes
from allais.samples.memory import Worth
from allais.weights import Identity

# What a policy takes as rewards: one for all arms, or one per arm.
RewardsOfArms = Rewards | Sequence[Rewards]


def check_settings(preference: Preference, rewards: RewardsOfArms | None, *, needs_rewards: bool = True) -> None:
    """Refuse settings of the wrong kind when they are made, not when they are used."""
    if not isinstance(preference, Preference):
        raise TypeError(f"a policy takes a preference; got {preference!r}. Write Preference(TverskyKahneman()).")
    if rewards is None and not needs_rewards:
        return
    each = [rewards] if _is_known(rewards) else rewards
    if rewards is None or not isinstance(each, Sequence) or not each or not all(map(_is_known, each)):
        advice = "Write rewards=Bounded(0, 50)."
        if isinstance(rewards, int | float):  # such as a budget, which was once the second argument
            advice = "Everything but preference and rewards is given by name, such as budget=1000."
        raise TypeError(
            f"rewards must be Bounded, Finite or SubGaussian, one for all arms or one per arm; got {rewards!r}. "
            f"{advice}"
        )
    for known in as_list(rewards):
        if isinstance(known, SubGaussian):
            preference.truncation(known, 1)  # refuses a utility
        else:
            preference.finite_utilities("rewards", np.array(known.support))  # refuses what overflows


def check_band(band: object, *, takes_bets: bool, of_mean: bool) -> None:
    """Refuse anything but a band, such as a band's name, and bets where no policy is for them."""
    if not callable(getattr(band, "rule", None)) or isinstance(band, type):
        raise TypeError(f"band must be a band; got {brief(band)}. Write band=KL().")
    if isinstance(band, Betting) and not takes_bets:
        raise ValueError(
            "bets are for policies that look for the best arm at a confidence; got band=Betting() where regret counts, "
            "in which NPTS loses less (docs/theory/betting.md). Use NPTS, or band=KL()."
        )
    if isinstance(band, Betting) and of_mean:
        raise ValueError("bets are about the value, and not about w(mean); got both. Leave of_mean or the band out.")


def check_unit_interval(preference: Preference, rewards: RewardsOfArms) -> None:
    """Refuse rewards whose mean is no probability: the WE heuristics weight the mean itself."""
    for known in as_list(rewards):
        low, high = bounds_of(preference, known)
        if low < 0.0 or high > 1.0:
            raise ValueError(
                f"the mean that w(mean) weights must lie in [0, 1]; got rewards from {low:g} to {high:g}. "
                "Rescale the rewards, or use a policy that estimates the value."
            )


def _is_known(rewards: object) -> bool:
    return isinstance(rewards, Bounded | Finite | SubGaussian)


def as_list(rewards: RewardsOfArms) -> list[Rewards]:
    """The rewards that were declared, as a list."""
    return list(rewards) if isinstance(rewards, Sequence) else [rewards]


def worth_of(preference: Preference, rewards: Sequence[Rewards], n_arms: int, *, of_mean: bool = False) -> Worth:
    """How values are computed from memories, under a preference."""
    if rewards:
        advice = "Write self.rewards_of(n_arms)."
        same_length("rewards must be one per arm, or none", len(rewards), n_arms, "arms", advice)
    tails = [known if isinstance(known, SubGaussian) else None for known in rewards] or [None] * n_arms
    return Worth(
        distortion_of(preference.gains),
        distortion_of(preference.losses),
        np.array([np.inf if known is None else preference.truncation(known, 1) for known in tails]),
        np.array([0.0 if known is None else known.scale for known in tails]),
        of_mean,
        isinstance(preference.gains, Identity) and isinstance(preference.losses, Identity),
    )


def first_pulls(rewards: Sequence[Rewards]) -> int:
    """How often each arm is pulled before the rule begins: the truncated bound needs two pulls."""
    return 2 if any(isinstance(known, SubGaussian) for known in rewards) else 1


def fitting_band(rewards: RewardsOfArms) -> Band:
    """The narrowest band that holds for the rewards."""
    return Envelope() if any(isinstance(known, SubGaussian) for known in as_list(rewards)) else KL()


def least_probability(name: str, given: Any) -> float:
    """The least probability of an arm in play: 0, or a share of 1."""
    zero = isinstance(given, int | float) and given == 0 and not isinstance(given, bool)
    return 0.0 if zero else share(name, given, advice="0 adds no chance.")


def least_probabilities(name: str, given: Any) -> float | tuple[float, ...]:
    """The least probability of an arm in play: of every one, or of each by its place.

    >>> least_probabilities("floor", [0.1, 0])
    (0.1, 0.0)
    """
    if not isinstance(given, Sequence) or isinstance(given, str):
        return least_probability(name, given)
    found = tuple(least_probability(name, one) for one in given)
    if sum(found) > 1.0:
        raise ValueError(f"{name} must sum to 1 at most; got {sum(found):g}. Leave a part to the policy.")
    return found


def floors(given: float | tuple[float, ...], n_arms: int) -> FloatArray:
    """The least probability of each arm, as kernels read it: the last number is that of all further arms.

    Args:
        given: That of every arm, or of each.
        n_arms: The number of arms.
    """
    if not isinstance(given, tuple):
        return np.array([given])
    if len(given) > n_arms:
        raise ValueError(f"floor has one number for each arm; got {len(given)} for {n_arms} arms. Leave some out.")
    return np.array([*given, 0.0])  # arms that come have none


@dataclass(frozen=True)
class Recent:
    """Remember the last n outcomes, of all arms together, exactly: a window.

    Args:
        n: How many outcomes are remembered.

    >>> learner = NPTS(expected_value(), Bounded(0, 50), memory=Recent(3)).start(["A21", "A28"], seed=1)
    >>> learner.observe("A21", [50.0, 7.0])
    >>> learner.observe("A28", [20.0, 30.0])
    >>> learner.outcomes("A21")[0], learner.pulls
    (array([7.]), {'A21': 1, 'A28': 2})
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", whole("the n of Recent", self.n, "a number of outcomes, 1 or more", most=10**9))

    def lifetimes(self) -> Lifetimes:
        """Every outcome lives as long."""
        return new_lifetimes(self.n, 0.0, self.n + 2)


@dataclass(frozen=True)
class Fading:
    """Remember outcomes for a random time, half of them for `half_life` further outcomes or more.

    What is left of a moment fades as weights 2^(-age / half_life) would, and is still a sample: outcomes that count
    in full or not at all, so that every band and every draw goes on as before. About 1.44 `half_life` outcomes are
    remembered at a time. Linear policies have weights: a discounted ridge regression.

    Args:
        half_life: After how many further outcomes half of the old ones are forgotten.

    >>> learner = NPTS(expected_value(), Bounded(0, 50), memory=Fading(half_life=100)).start(["A21", "A28"], seed=1)
    >>> learner.observe("A21", [7.0] * 5_000)
    >>> 100 < learner.pulls["A21"] < 200
    True
    """

    half_life: float

    def __post_init__(self) -> None:
        life = number("half_life", self.half_life, "Give a number of outcomes.")
        if not 1.0 <= life <= 1e9:
            raise ValueError(
                f"half_life must lie between 1 and 1e9 outcomes; got {self.half_life!r}. Write Fading(half_life=2_000)."
            )
        object.__setattr__(self, "half_life", life)

    @property
    def mean_life(self) -> float:
        """How long an outcome is remembered on average."""
        return self.half_life / math.log(2.0)

    @property
    def discount(self) -> float:
        """By which weights fade with each further outcome."""
        return float(2.0 ** (-1.0 / self.half_life))

    def lifetimes(self) -> Lifetimes:
        """Lives of random length; the room is never used up, but for a chance of less than 1e-20."""
        usual = self.mean_life + 1.0
        return new_lifetimes(0, self.mean_life, int(usual + 12.0 * math.sqrt(usual)) + 64)


def remembering(name: str, given: Any) -> Any:
    """What is remembered: everything (None), the recent past, or a past that fades."""
    if given is None or isinstance(given, Recent | Fading):
        return given
    raise TypeError(f"{name} must be Recent, Fading or None for everything; got {given!r}. Write Recent(5_000).")


def fading(name: str, given: Any) -> Fading | None:
    """A memory that fades, or None for everything: for policies that keep no single outcomes, to be forgotten later."""
    if given is None or isinstance(given, Fading):
        return given
    half_life = max(given.n // 3, 1) if isinstance(given, Recent) else 2_000
    raise TypeError(
        f"{name} of a policy that keeps no single outcomes must be Fading, or None for everything; got {given!r}. "
        f"Write Fading(half_life={half_life})."
    )
