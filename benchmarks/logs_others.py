"""obp's and SCOPE-RL's estimates of logs in a folder, for `logs.py`: run by a Python that has both.

Such a Python is 3.9 with obp 0.5.5, scope-rl 0.2.1 and d3rlpy 2.0.4, installed without their dependencies, and beside
them numpy 1.23, scipy 1.10, pandas 1.5, scikit-learn 1.1, torch 1.12, gym 0.25, gymnasium 0.27, and what else they ask
for when they are imported.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

ALPHA = 0.1


def _by_obp(log: Any, shares: Any) -> dict[str, float]:
    from obp import ope
    from sklearn.linear_model import Ridge

    n, n_arms = log["chosen"].size, int(log["arms"])
    given = {
        "reward": log["outcome"], "action": log["chosen"], "pscore": log["likely"],
        "action_dist": np.tile(shares, (n, 1))[:, :, None], "position": np.zeros(n, dtype=int),
    }  # fmt: skip
    model = ope.RegressionModel(  # a ridge of 1e-6 on indicators of arms: their means
        n_actions=n_arms, base_model=Ridge(1e-6), action_context=np.eye(n_arms)
    )
    fitted = model.fit_predict(
        context=np.zeros((n, 1)), action=log["chosen"], reward=log["outcome"], n_folds=5, random_state=1
    )
    return {
        "obp, DR": ope.DoublyRobust().estimate_policy_value(**given, estimated_rewards_by_reg_model=fitted),
        "obp, SNIPW": ope.SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(**given),
        "obp, IPW": ope.InverseProbabilityWeighting().estimate_policy_value(**given),
    }


def _by_scope_rl(log: Any, shares: Any) -> dict[str, float]:
    from scope_rl.ope import discrete

    n, n_arms = log["chosen"].size, int(log["arms"])
    counts = np.bincount(log["chosen"], minlength=n_arms)
    means = np.bincount(log["chosen"], weights=log["outcome"], minlength=n_arms) / np.maximum(counts, 1)
    given = {
        "step_per_trajectory": 1, "action": log["chosen"], "reward": log["outcome"],
        "pscore": log["likely"], "evaluation_policy_action_dist": np.tile(shares, (n, 1)),
        "state_action_value_prediction": np.tile(means, (n, 1)),
        "reward_scale": np.unique(log["outcome"]),  # its default
        "alphas": np.array([ALPHA]),
    }  # fmt: skip
    estimators = {
        "SCOPE-RL, TDR": discrete.CumulativeDistributionTDR(),
        "SCOPE-RL, SNTIS": discrete.CumulativeDistributionSNTIS(),
        "SCOPE-RL, TIS": discrete.CumulativeDistributionTIS(),
    }
    return {name: float(one.estimate_conditional_value_at_risk(**given)[0]) for name, one in estimators.items()}


def main() -> None:
    """Print the estimates of each log as JSON."""
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, list[float]]] = {"mean": {}, "CVaR .1": {}}
    for path in sorted(Path(sys.argv[1]).glob("*.npz")):
        log = dict(np.load(path))
        shares = np.zeros(int(log["arms"]))
        shares[log["target"][:, 0].astype(int)] = log["target"][:, 1]
        for value, estimates in (("mean", _by_obp(log, shares)), ("CVaR .1", _by_scope_rl(log, shares))):
            for name, estimate in estimates.items():
                found[value].setdefault(name, []).append(float(estimate))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
