"""The settings that linear policies share: features, noise, the radius of the ellipsoid (Section V)."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray, Seed, not_negative, positive, same_length, share
from allais.linear.arm_sets import checked_features
from allais.linear.location_tables import locations_of
from allais.linear.noise import MOST_SEEN, EstimatedNoise, Noise, check_noise
from allais.linear.regression import LinearState, World, project
from allais.numerics.table import table_of
from allais.policies.core.base import Policy, setting
from allais.policies.core.knowledge import Fading
from allais.policies.core.state import require_place
from allais.samples.memory import empty_memory

if TYPE_CHECKING:
    from allais.learner import LinearLearner


class RadiusWarning(UserWarning):
    """The bound beta on the length of theta is too small for the problem."""


def length(name: str, given: Any) -> float | None:
    """A bound on the length of theta, or None if it is not known."""
    return None if given is None else not_negative(name, given, "Give a bound on the length of theta.")


@dataclass(frozen=True)
class LinearPolicy(Policy):
    """A policy whose arms are feature vectors: rewards x.theta plus noise of a known kind.

    Arms need not span the space: a part of theta that no arm shows is never needed.

    Args:
        preference: What is maximised.
        noise: What is added to x.theta.
        name: What tables and legends call it.
        delta: The probability that the ellipsoid ever misses theta, in (0, 1).
        beta: A bound on the length of theta.
        regularisation: The lambda of the ridge regression, above 0.
        features: One row of numbers per arm; None if they come with the problem or with `start`.
    """

    noise: Noise = field(kw_only=False)
    delta: float = setting(check=share)
    beta: float | None = setting(check=length)
    regularisation: float = setting(1.0, positive)
    features: Any = setting(None, repr=False)

    keeps_outcomes: ClassVar[bool] = False
    with_cross: ClassVar[bool] = False  # whether the products x' A^-1 y of all arms are kept
    with_factor: ClassVar[bool] = False  # whether Cholesky's factor of A is kept

    def __post_init__(self) -> None:
        if not hasattr(self.noise, "of"):
            raise TypeError(f"noise must be a kind of noise; got {self.noise!r}. Write ParameterNoise().")
        super().__post_init__()

    def check(self) -> None:
        """Refuse settings that do not go together."""
        if self.estimates and self.preference.utility is not None:
            raise ValueError(
                "noise is estimated for a linear utility; got a preference with a utility. "
                "Use a K-armed policy, or leave the utility out."
            )
        if self.estimates and self.goal != "regret":
            raise ValueError(
                f"{type(self).__name__} promises an error rate, which needs noise of a known form; got EstimatedNoise. "
                "Use LinTS or WOFUL, or a K-armed policy."
            )
        if self.estimates and self.memory is not None:
            raise ValueError("noise is estimated from all outcomes alike; got a memory that fades. Declare the noise.")
        if self.features is not None:
            rows = checked_features(self.features)
            object.__setattr__(self, "features", tuple(map(tuple, rows.tolist())))
            self.world(rows)  # refuses what does not fit

    def rule(self, n_arms: int) -> Any:
        return self.rule_for(self._rows(n_arms))

    @abstractmethod
    def rule_for(self, rows: FloatArray) -> Any:
        """The settings for arms with these features."""

    def on(self, problem: Any) -> LinearPolicy:
        """The policy with a problem's features; warns where beta is below the length of its theta."""
        features = getattr(problem, "features", None)
        if features is None:
            if self.features is not None:
                return self
            raise ValueError(
                f"{type(self).__name__} needs arms with features; {problem!r} has none. "
                "Use LinearBandit, or give features=."
            )
        theta = getattr(problem, "theta", None)
        if theta is not None and self.beta is not None and np.linalg.norm(theta) > self.beta * (1.0 + 1e-12):
            warnings.warn(
                f"beta must be at least the length of theta for the ellipsoid to hold; got {self.beta:g} for "
                f"{np.linalg.norm(theta):.6g}. Raise beta.",
                RadiusWarning,
                stacklevel=3,
            )
        return self.with_features(features)

    def with_features(self, features: ArrayLike) -> LinearPolicy:
        """The policy for arms with these features, one row per arm."""
        return self.but(features=features)  # type: ignore[return-value]

    def start(
        self, arms: int | Sequence[Hashable], seed: Seed, features: ArrayLike | None = None, *, exact: bool = False
    ) -> LinearLearner:
        """Start a learner over arms with features.

        Args:
            arms: The names of the arms, or how many there are.
            seed: The seed of choices.
            features: One row of numbers per arm; None if the policy has them.
            exact: Of no effect: theta is learned, and no outcome is kept.
        """
        placed = self if features is None else self.with_features(features)
        from allais.learner import LinearLearner

        return LinearLearner(placed, arms, seed, exact=exact)

    def drawn_thetas(self, rule: Any, state: LinearState, u: float) -> tuple[list[FloatArray], float]:
        """Draws of theta, for a policy that chooses by them: that needs an oracle only, and no list of arms.

        Args:
            rule: The rule of the policy.
            state: What was learned.
            u: A uniform draw.
        """
        raise ValueError(f"{type(self).__name__} cannot choose among arms that are not listed. Use LinTS, which can.")

    def world(self, features: FloatArray) -> World:
        """What the kernels know about arms with these features."""
        noise = self.noise.of(features)
        check_noise(noise, len(features))
        root = math.sqrt(self.regularisation)
        return World(
            features,
            noise.mean,
            noise.scale,
            locations_of(self.preference, noise),
            table_of(self.preference.gains),
            table_of(self.preference.losses),
            -1.0 if self.preference.costs else 1.0,
            self.preference.reference,
            2.0 * math.log(1.0 / self.delta) - features.shape[1] * math.log(self.regularisation),
            math.inf if self.beta is None else self.beta * root,
            self.fade,
            self.regularisation,
        )

    @property
    def memory(self) -> Fading | None:
        """`Fading(half_life)` gives an outcome the weight 2^(-age / half_life); None for equal weights."""
        return None

    @property
    def fade(self) -> float:
        """By which the weight of every outcome falls with each further one; 1 where nothing fades."""
        return 1.0 if self.memory is None else self.memory.discount

    def _rows(self, n_arms: int) -> FloatArray:
        if self.features is None:
            raise ValueError(f"{type(self).__name__} needs the features of its arms; got none. Give features=.")
        same_length("features must be one row per arm", len(self.features), n_arms, "arms")
        return np.array(self.features)

    def state(self, n_arms: int, rule: Any) -> LinearState:
        """The state before the first round: A = lambda I, b = 0."""
        rows = self._rows(n_arms)
        d = rows.shape[1]
        state = LinearState(
            **self.of_arms(n_arms),
            ticket=np.zeros(1),
            gram=self.regularisation * np.eye(d),
            inverse=np.eye(d) / self.regularisation,
            vector=np.zeros(d),
            theta=np.zeros(d),
            log_det=np.array([d * math.log(self.regularisation)]),
            told=np.zeros(2, dtype=np.int64),
            factor=math.sqrt(self.regularisation) * np.eye(d if self.with_factor else 0),
            step=np.zeros(d),
            work=np.zeros((d, d)),
            rival=np.full(1, -1, dtype=np.int64),
        )
        project(rows, state)
        return state

    def check_state(self, rule: Any, state: Any) -> None:
        """Refuse a rival or an outcome that does not exist, and numbers that cannot be."""
        require_place("rival", int(state.rival[0]), -1, state.asked.size - 1)
        for size in state.sizes.tolist():
            require_place("number of outcomes", size, 0, max(state.seen.shape[2] - 1, 0))
        for told in state.told.tolist():
            require_place("number of outcomes", told, 0, 2**62)
        learned = (state.gram, state.inverse, state.vector, state.theta, state.log_det, state.factor, state.seen)
        of_arms = (state.norms, state.locations, state.cross)
        if not all(np.isfinite(part).all() for part in (*learned, *of_arms)):
            raise ValueError("what a linear policy has learned must be finite; a saved number is not. Use a backup.")
        if not all((np.diagonal(part) > 0.0).all() for part in (state.gram, state.inverse, state.factor)):
            raise ValueError("the spread of what was learned must be positive; a saved one is not. Use a backup.")
        for (outcomes, counts), size in zip(state.seen, state.sizes.tolist(), strict=True):
            if not ((np.diff(outcomes[:size]) > 0.0).all() and (counts[:size] > 0.0).all()):
                raise ValueError("outcomes must ascend and have positive counts; a saved arm's do not. Use a backup.")

    def of_arms(self, n_arms: int) -> dict[str, Any]:
        """The parts of a state that belong to arms; the others belong to theta."""
        return {
            "memory": empty_memory(n_arms, capacity=1),
            "asked": np.zeros(n_arms, dtype=np.int64),
            "active": np.ones(n_arms, dtype=np.bool_),
            "norms": np.zeros(n_arms),
            "locations": np.zeros(n_arms),
            "cross": np.zeros((n_arms, n_arms) if self.with_cross else (0, 0)),
            "along": np.zeros(n_arms),
            "scores": np.zeros(n_arms),
            "eligible": np.ones(n_arms, dtype=np.bool_),
            "shares": np.zeros(n_arms),
            "seen": np.zeros((n_arms, 2, MOST_SEEN + 1 if self.estimates else 0)),
            "sizes": np.zeros(n_arms, dtype=np.int64),
        }

    @property
    def estimates(self) -> bool:
        """Whether the distribution of the noise is learned too."""
        return isinstance(self.noise, EstimatedNoise)
