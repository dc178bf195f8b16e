"""The baselines of linear bandits: the paper's own algorithms under other settings, without code of their own."""

from __future__ import annotations

from typing import Any

from allais.linear.noise import Noise
from allais.linear.wg import WG
from allais.linear.woful import WOFUL
from allais.policies.baseline import Baseline
from allais.preferences import expected_value


class OFUL(Baseline, WOFUL):
    """OFUL (Abbasi-Yadkori et al. 2011): W-OFUL for the mean, with the same ellipsoid.

    >>> from allais import simulate
    >>> from allais.linear import LinearBandit, ParameterNoise
    >>> problem = LinearBandit([[1, 0], [0, 1]], theta=[2.0, 0.0])
    >>> policy = OFUL(ParameterNoise(), delta=0.05, beta=2.0)
    >>> bool(simulate(policy, problem, n_rounds=500, seed=1).pulls[0, -1, 0] > 450)
    True
    """

    def __init__(
        self,
        noise: Noise,
        *,
        delta: float,
        beta: float,
        regularisation: float = 1.0,
        features: Any = None,
        reference: float = 0.0,
        costs: bool = False,
    ) -> None:
        preference = expected_value(reference=reference, costs=costs)
        shared: dict[str, Any] = {"delta": delta, "beta": beta, "regularisation": regularisation, "features": features}
        super().__init__(preference, noise, name="OFUL", **shared)


class GAllocation(Baseline, WG):
    """G-allocation (Soare et al. 2014): W-G for the mean, with the same choices of arms.

    >>> from allais import best_arm
    >>> from allais.linear import LinearBandit, ParameterNoise
    >>> problem = LinearBandit([[1, 0], [0, 1]], theta=[2.0, 0.0])
    >>> best_arm(GAllocation(ParameterNoise(), delta=0.05, beta=2.0), problem, seed=1).arm
    0
    """

    def __init__(
        self,
        noise: Noise,
        *,
        delta: float,
        beta: float,
        regularisation: float = 1.0,
        tolerance: float = 0.0,
        stopping: str = "exact",
        features: Any = None,
        reference: float = 0.0,
        costs: bool = False,
    ) -> None:
        preference = expected_value(reference=reference, costs=costs)
        shared: dict[str, Any] = {"delta": delta, "beta": beta, "regularisation": regularisation, "features": features}
        super().__init__(preference, noise, tolerance=tolerance, stopping=stopping, name="G-allocation", **shared)
