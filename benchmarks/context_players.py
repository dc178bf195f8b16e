"""Learners of others on contextual problems: vowpalwabbit and mabwiser, on the rounds and outcomes of ours."""

from __future__ import annotations

from typing import Any

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from vowpalwabbit import Workspace

from allais import Preference
from allais.problems import ContextualBandit

Context = dict[str, Any]


class VowpalWabbit:
    """vowpalwabbit on actions with features, its costs scaled to [0, 1]."""

    def __init__(self, options: str, n_arms: int, low: float, high: float, seed: int, gains: bool) -> None:
        self._vw = Workspace(f"--cb_explore_adf {options} -q xa --random_seed {seed} --quiet")
        self._rng, self._low, self._high, self._gains = np.random.default_rng(seed), low, high, gains
        self._n_arms = n_arms

    def _lines(self, told: tuple[int, float, float] | None) -> list[str]:
        features = " ".join(
            f"{k}={x}" if isinstance(x, str) else f"{k}:{float(x):.6g}" for k, x in self._context.items()
        )
        lines = [f"shared |x {features}"]
        for place, arm in enumerate(self._arms):
            label = f"0:{told[1]:.6f}:{told[2]:.6f} " if told is not None and told[0] == place else ""
            lines.append(f"{label}|a arm={arm}")
        return lines

    def choose(self, context: Context, arms: list[int]) -> int:
        self._context, self._arms = context, arms
        shares = np.array(self._vw.predict(self._lines(None)), dtype=float)
        shares /= shares.sum()
        self._place = int(self._rng.choice(len(arms), p=shares))
        self._share = float(shares[self._place])
        return arms[self._place]

    def tell(self, outcome: float) -> None:
        cost = (outcome - self._low) / (self._high - self._low)
        cost = float(np.clip(1.0 - cost if self._gains else cost, 0.0, 1.0))
        self._vw.learn(self._lines((self._place, cost, self._share)))


class Mabwiser:
    """mabwiser's LinTS on the numbers of a context, text as 0 and 1."""

    def __init__(self, n_arms: int, seed: int) -> None:
        self._mab = MAB(arms=list(range(n_arms)), learning_policy=LearningPolicy.LinTS(alpha=1.0), seed=seed)
        self._ready = False

    def choose(self, context: Context, arms: list[int]) -> int:
        self._row = [[1.0, *(float(x == "rain") if isinstance(x, str) else float(x) for x in context.values())]]
        if not self._ready:
            self._arm = 0
        else:
            found = self._mab.predict_expectations(self._row)
            self._arm = max(arms, key=lambda arm: found[arm])
        return self._arm

    def tell(self, outcome: float) -> None:
        learn = self._mab.partial_fit if self._ready else self._mab.fit
        learn([self._arm], [outcome], self._row)
        self._ready = True


def play(
    player: Any, problem: ContextualBandit, preference: Preference, rounds: int, seed: np.random.SeedSequence
) -> tuple[float, list[float]]:
    """One run of somebody else's learner on the same rounds and outcomes as ours; its regret, and its outcomes."""
    _, comer, *tellers = seed.spawn(problem.n_arms + 2)
    rngs, names = [np.random.default_rng(one) for one in tellers], list(problem.arms)
    values: dict[Any, float] = {}
    lost, outcomes = 0.0, []
    for one in problem.rounds(rounds, np.random.default_rng(comer)):
        here = [k for k, name in enumerate(names) if name in one.lotteries]
        arm = player.choose(dict(one.context), here)
        drawn = {k: float(one.lotteries[names[k]].sample(rngs[k], 1)[0]) for k in here}
        player.tell(drawn[arm])
        outcomes.append(drawn[arm])
        worth = {}
        for k in here:
            lottery = one.lotteries[names[k]]
            if lottery not in values:
                values[lottery] = preference.value(lottery)
            worth[k] = values[lottery]
        lost += max(worth.values()) - worth[arm]
    return lost, outcomes
