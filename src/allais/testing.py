"""Contract checks that anyone can run on their own weight, policy or problem.

Each raises an AssertionError that names the broken promise, and returns nothing otherwise.

>>> check_weight(TverskyKahneman(0.61))
>>> check_policy(WUCB(Preference(TverskyKahneman(0.61)), Bounded(0, 1)), rounds=300)
"""

from __future__ import annotations

import math
import tempfile
import warnings
from pathlib import Path

import numpy as np

from allais.learner import Choice, Learner, NotNow
from allais.lotteries import Discrete, Lottery, Normal, Uniform
from allais.policies.core.base import Policy
from allais.policies.core.verbs import bracket
from allais.problems import Bandit, Problem
from allais.rewards import Finite, SubGaussian
from allais.settings import modules_of, to_spec
from allais.simulation.rollout import Rollout, new_record, one_by_one, streams_of
from allais.weights import Weight


def _promise(kept: object, sentence: str) -> None:
    if not kept:
        raise AssertionError(sentence)


def check_weight(weight: Weight) -> None:
    """Check that a weight keeps the promises of `Weight`.

    Args:
        weight: The weight.

    Raises:
        AssertionError: If it breaks one, with a sentence that says which.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        p = np.concatenate([[0.0, 5e-324, 1e-300], np.logspace(-16, -2, 50), np.linspace(0.01, 1.0, 500)])
        seen = weight(p)
        _promise(seen[0] == 0.0 and weight(1.0) == 1.0, "w(0) must be 0 and w(1) must be 1")
        _promise(np.isfinite(seen).all() and (seen >= 0).all() and (seen <= 1).all(), "w must stay within [0, 1]")
        rises = bool((np.diff(seen) >= -1e-15).all())
        _promise(rises or not weight.is_monotone, "a weight that calls itself monotone must not fall")
        rounding = weight.modulus(2.3e-16) + 1e-12
        turned = np.abs(weight.dual()(p) - (1.0 - weight(1.0 - p))).max()
        _promise(turned <= rounding, "the dual must be 1 - w(1 - p)")
        for eps in (1e-6, 1e-3, 0.05, 0.5):
            step = np.abs(weight(np.minimum(p + eps, 1.0)) - seen).max()
            _promise(weight.modulus(eps) >= step - 1e-12, "modulus(eps) must bound every step of eps")
            if weight.holder is not None:
                constant, alpha = weight.holder
                _promise(step <= constant * eps**alpha * (1 + 1e-9), "the Hölder pair must bound every step")
        if weight.is_monotone:
            back = weight(weight.inverse(seen))
            _promise(np.abs(back - seen).max() <= rounding + 1e-9, "the inverse must undo the weight")


def check_problem(problem: Problem, draws: int = 100) -> None:
    """Check that a problem keeps the promises of `Problem`.

    Args:
        problem: The problem.
        draws: How many outcomes of each arm are drawn.

    >>> check_problem(Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})]))
    """
    _promise(problem.n_arms >= 1, "a problem must have an arm")
    _promise(len(set(problem.arms)) == problem.n_arms, "arms must have distinct names")
    for arm in range(problem.n_arms):
        first = problem.draw(arm, np.random.default_rng(1), draws)
        again = problem.draw(arm, np.random.default_rng(1), draws)
        _promise(first.shape == (draws,), "draw(arm, rng, size) must return `size` outcomes")
        _promise(np.isfinite(first).all(), "outcomes must be finite")
        _promise(np.array_equal(first, again), "the same generator must give the same outcomes")


def suitable_problem(policy: Policy, n_arms: int) -> Problem:
    """A problem whose outcomes a policy's rewards admit.

    Args:
        policy: The policy.
        n_arms: The number of arms.
    """
    known = policy.rewards_of(n_arms)
    lotteries: list[Lottery] = []
    for arm in range(n_arms):
        if not known:
            lotteries.append(Uniform(arm, arm + 2.0))
        elif isinstance(known[arm], SubGaussian):
            lotteries.append(Normal(known[arm].mean_bound * (arm / n_arms), known[arm].scale))  # type: ignore[attr-defined]
        elif isinstance(known[arm], Finite):
            values = known[arm].values  # type: ignore[attr-defined]
            lotteries.append(Discrete(dict.fromkeys(values, 1.0 / len(values))))
        else:
            low, high = known[arm].support
            few = np.linspace(low, high, 4 + arm)
            lotteries.append(Discrete(dict.fromkeys(few.tolist(), 1.0 / few.size)))
    return Bandit(lotteries)


def check_policy(policy: Policy, problem: Problem | None = None, rounds: int = 2_000, seed: int = 1) -> None:
    """Check that a policy keeps the promises of `Policy`, live and in simulation.

    Args:
        policy: The policy.
        problem: What it is run on; by default one that its rewards admit.
        rounds: How many rounds are run.
        seed: The seed of choices and outcomes.
    """
    problem = suitable_problem(policy, 3) if problem is None else problem
    policy = policy.on(problem)
    _same_live_and_simulated(policy, problem, rounds, seed)
    _refusals_change_nothing(policy, problem, seed)
    _late_tells_count(policy, problem, seed)


def _same_live_and_simulated(policy: Policy, problem: Problem, rounds: int, seed: int) -> None:
    """The loop and the learner choose alike; saving, loading and copying in the middle changes nothing."""
    record = new_record(np.zeros(0, dtype=np.int64), problem.n_arms, traced=rounds)
    rollout = Rollout(policy, problem, np.random.SeedSequence(seed))
    rollout.run(rounds, record)
    chooser, *tellers = np.random.SeedSequence(seed).spawn(problem.n_arms + 1)
    tapes = one_by_one(streams_of(policy, problem, tellers))
    learner = policy.start(problem.arms, np.random.default_rng(chooser))
    index = {name: arm for arm, name in enumerate(problem.arms)}
    for step in range(rollout.samples):
        if step == rollout.samples // 2:
            learner = _through_a_file(learner).copy()
        choice = learner.ask()
        arm = index[choice.arm]
        _promise(arm == record.choices[step], f"learner and loop must choose alike; in round {step + 1} they do not")
        learner.tell(choice, next(tapes[arm]))
    if rollout.stopped:
        _promise(learner.recommend().settled, "a policy that stops must say that it has settled")
    _promise(learner.recommend().arm in problem.arms, "a recommendation must be one of the arms")
    ends = np.zeros((2, problem.n_arms))
    bracket(rollout.rule, rollout.state, ends[0], ends[1])  # also brings the values up to date, where they are lazy
    # to the last bit, but for trees that saving has laid out anew
    tolerance = 1e-12 if rollout.state.memory.in_trees.any() else 0.0
    same = np.allclose(learner.state.memory.value, rollout.state.memory.value, rtol=tolerance, atol=tolerance)
    _promise(same, "learner and loop must end with the same values")


def _through_a_file(learner: Learner) -> Learner:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.json"
        learner.save(path)
        return Learner.load(path, trust=modules_of(to_spec(learner.policy)))  # its own, which are imported already


def _refusals_change_nothing(policy: Policy, problem: Problem, seed: int) -> None:
    learner = policy.start(problem.arms, seed)
    choice = learner.ask()
    before = learner.snapshot()
    for bad in (math.nan, math.inf, -math.inf, "seven"):
        try:
            learner.tell(choice, bad)  # type: ignore[arg-type]
        except ValueError:
            continue
        raise AssertionError(f"telling {bad!r} must be refused")
    for unknown in (Choice(10**9, choice.arm), -1):
        try:
            learner.tell(unknown, 0.0)
        except ValueError:
            continue
        raise AssertionError("telling a choice that was never asked must be refused")
    _promise(learner.snapshot() == before, "a refused call must leave the learner as it was")


def _late_tells_count(policy: Policy, problem: Problem, seed: int) -> None:
    learner = policy.start(problem.arms, seed)
    rng = np.random.default_rng(seed)
    index = {name: arm for arm, name in enumerate(problem.arms)}
    told = 0
    for _ in range(20):
        try:
            batch = learner.ask(3)
        except NotNow:
            break
        for choice in batch[::-1][:2]:
            learner.tell(choice, float(problem.draw(index[choice.arm], rng, 1)[0]))
            told += 1
        for lost in batch[::-1][2:]:
            learner.cancel(lost)
    _promise(learner.samples == told, "every accepted outcome must be counted, and no other")
    _promise(not learner.outstanding, "nothing told or cancelled may stay outstanding")
