"""What several experiments do alike: play policies, show their regret, compare samples; and W-LUCB in batches.

With the paper's widths a run takes some 10^8 rounds, in which the two arms that are sampled hardly ever change. So each
decision of Algorithm 3 is held for a small share of the samples that its arms already have, and the outcomes of a batch
are drawn at once, as counts: hundreds of millions of samples in a second. Widths hold in all rounds at once, so a rule
that looks at some rounds only is still right with probability 1 - delta, and it stops at most that share later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.lotteries import Lottery
from allais.paper.experiments import Done, Figure, Finding, ResultTable
from allais.paper.report import BLUE, GREEN, INK, ORANGE, PURPLE, RED, drawing
from allais.policies.core.base import Policy
from allais.policies.wlucb import PAPER_UNION
from allais.preferences import Preference
from allais.problems import Bandit, Problem
from allais.report.markup import with_error
from allais.rewards import Bounded
from allais.simulation import Results, simulate


def played(
    policies: Mapping[str, Policy],
    problem: Problem,
    rounds: int,
    runs: int,
    seed: int,
    judge: Preference,
    done: Done = lambda share: None,
    checkpoints: Sequence[int] | None = None,
) -> dict[str, Results]:
    """Every policy on the same outcomes, by name."""
    found = {}
    for number, (name, policy) in enumerate(policies.items()):
        found[name] = simulate(
            policy, problem, rounds, runs, seed=seed, judge=judge, progress=False, checkpoints=checkpoints
        )
        done((number + 1) / len(policies))
    return found


MOST = 10**9  # samples: no policy of the paper that stops by itself takes as many


def stopped(policy: Policy, problem: Problem, runs: int, seed: int, judge: Preference | None = None) -> Results:
    """A policy that stops by itself, played until it does."""
    return simulate(policy, problem, MOST, runs, seed=seed, judge=judge, progress=False, checkpoints=[MOST])


def part(done: Done, index: int, of: int) -> Done:
    """The progress of one of several parts of the same size."""
    return lambda share: done((index + share) / of)


def regret_now(results: Results) -> str:
    """The mean regret at the end, with its standard error."""
    return with_error(float(results.mean_regret[-1]), float(results.regret_error[-1]))


def growth(results: Results, decade: float = 10.0) -> float:
    """The exponent of the last decade: 1 where regret is linear, near 0 where it is logarithmic."""
    last = results.checkpoints[-1]
    start = int(np.argmin(np.abs(results.checkpoints - last / decade)))
    ratio = results.mean_regret[-1] / results.mean_regret[start]
    return float(np.log(ratio) / np.log(last / results.checkpoints[start]))


LINEAR, LOGARITHMIC = 0.9, 0.3  # growth beyond or below which we call regret so; log n has 0.1 or so in these decades


def is_linear(results: Results) -> bool:
    """Whether most runs end on a wrong arm, and regret grows like the number of rounds."""
    return bool(growth(results) > LINEAR and results.error_rate[-1] > 0.5)


def mean_of(samples: np.ndarray) -> str:
    """The mean with its standard error."""
    return with_error(float(samples.mean()), float(samples.std(ddof=1) / np.sqrt(samples.size)))


def share_of(hits: int, runs: int) -> str:
    """A share with its standard error; where none or all hit, the count says more."""
    if hits in (0, runs):
        return f"{hits} of {runs:,}"
    share = hits / runs
    return with_error(share, float(np.sqrt(share * (1.0 - share) / runs)))


def gap_of_means(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """By what share one mean exceeds the other, and the standard error of that share."""
    spread = np.hypot(*(x.std(ddof=1) / np.sqrt(x.size) / x.mean() for x in (one, other)))
    return float(one.mean() / other.mean() - 1.0), float(spread)


ERRORS = 5.0  # standard errors of a clear difference: luck makes one once in 3 million


def below(better: Results, worse: Results) -> bool:
    """Whether one regret is clearly below another."""
    spread = float(np.hypot(better.regret_error[-1], worse.regret_error[-1]))
    return bool(worse.mean_regret[-1] - better.mean_regret[-1] > ERRORS * spread)


def regret_table(title: str, results: Mapping[str, Results]) -> ResultTable:
    """One row per policy."""
    rows = tuple(
        (name, regret_now(one), f"{growth(one):.2f}", share_of(round(one.error_rate[-1] * runs), runs))
        for name, one in results.items()
        if (runs := one.samples.size)
    )
    return ResultTable(title, ("policy", "regret", "growth in the last decade", "runs that end on a wrong arm"), rows)


SAMPLES = 50_000  # of the paper's estimates in Appendix E


def error_of_estimates(preference: Preference, lottery: Lottery, repeats: int, rng: np.random.Generator) -> float:
    """The standard error of the paper's estimates of a value, by repeating them."""
    return float(np.std([preference.estimate(lottery.sample(rng, SAMPLES)) for _ in range(repeats)], ddof=1))


# what a reader has to know where a curve and the limit of regret are in one figure
ABOUT_THE_LIMIT = (
    "The limit is a slope, not a level: for n to infinity no consistent policy's regret grows more slowly per log n. "
    "It is drawn where the curve ends; at any one n a curve may lie anywhere"
)


def draw_slope(axes: Any, results: Results, slope: float) -> None:
    """The least growth of regret per log n, as a stretch that begins on a curve at a tenth of its rounds."""
    last = float(results.checkpoints[-1])
    start = int(np.argmin(np.abs(results.checkpoints - last / 10.0)))
    rounds = np.geomspace(results.checkpoints[start], last, 40)
    regret = results.mean_regret[start] + slope * np.log(rounds / rounds[0])
    axes.plot(rounds, regret, "--", color=INK, lw=1.5, label="slope of the limit, n to infinity")


def values_figure(
    name: str,
    caption: str,
    exact: Mapping[str, float],
    printed: Mapping[str, float],
    label: str,
    means: Sequence[float],
) -> Figure:
    """Exact values as bars, beside the means, with what the paper printed drawn in."""
    with drawing(name, caption, 1.3 + 0.62 * len(exact)) as picture:
        axes, places = picture.axes, np.arange(len(exact))[::-1]
        axes.barh(places + 0.19, list(means), 0.34, color=ORANGE, label="mean")
        axes.barh(places - 0.19, list(exact.values()), 0.34, color=BLUE, label="distorted, exact")
        spots = [place - 0.19 for place, arm in zip(places, exact, strict=True) if arm in printed]
        axes.plot([printed[arm] for arm in exact if arm in printed], spots, "D", color=RED, ms=7, label="printed")
        most = max(*exact.values(), *printed.values(), *means)
        axes.set(xlabel=label, yticks=places, yticklabels=list(exact), xlim=(0.0, 1.08 * most))
        axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncol=3, columnspacing=1.0, handlelength=1.4)
    return picture.figure


def colour_of(policy: str) -> str:
    """The paper's policies in blue, those that they are compared with in orange, in every figure.

    >>> [colour_of(name) == BLUE for name in ("W-UCB", "W-OFUL", "UCB", "WE-UCB", "NPTS")]
    [True, True, False, False, False]
    """
    if policy.startswith("W-"):
        return BLUE
    return {"WE-UCB": PURPLE, "WE-LUCB": PURPLE, "NPTS": GREEN}.get(policy, ORANGE)


def regret_is_linear(claim: str, printed: str, results: Results) -> Finding:
    """That a policy's regret is linear."""
    return Finding(
        claim, printed,
        f"regret grows like n^{growth(results):.2f}, and {results.error_rate[-1]:.0%} of runs end on a wrong arm",
        is_linear(results),
    )  # fmt: skip


def regret_is_lower(claim: str, printed: str, ours: Results, theirs: Results) -> Finding:
    """That a policy's regret is below another's; what has to be said where it still grows almost like n."""
    exponent = growth(ours)
    return Finding(
        claim, printed,
        f"{regret_now(ours)} against {regret_now(theirs)}, growing like n^{exponent:.2f}; "
        f"{ours.error_rate[-1]:.0%} of runs end on a wrong arm",
        below(ours, theirs) and not is_linear(ours),
        why="" if exponent < LINEAR else (
            f"lower by a factor, not yet in its order: it still grows like n^{exponent:.2f}, almost as fast as a "
            "linear one, since the widths have not narrowed; the arm that it ends on is the right one"
        ),
    )  # fmt: skip


def regret_figure(
    name: str, caption: str, results: Mapping[str, Results], lower_slope: float | None = None, *, log: bool = False
) -> Figure:
    """Mean regret with a band of two standard errors; the slope of the limit is drawn at the last policy."""
    with drawing(name, caption) as picture:
        axes = picture.axes
        for label, one in results.items():
            mean, spread = one.mean_regret, 2.0 * one.regret_error
            (line,) = axes.plot(one.checkpoints, mean, label=label, color=colour_of(label))
            axes.fill_between(one.checkpoints, mean - spread, mean + spread, color=line.get_color(), alpha=0.25, lw=0)
        if lower_slope is not None:
            draw_slope(axes, list(results.values())[-1], lower_slope)
        axes.set(xlabel="rounds", ylabel="cumulative regret")
        if log:
            axes.set(xscale="log", yscale="log")
        else:
            axes.ticklabel_format(style="sci", scilimits=(-2, 4))
        axes.legend()
    return picture.figure


SHARE = 0.01  # of an arm's samples, for which a decision is held


@dataclass(frozen=True)
class Stops:
    """When each run stopped, and on which arm."""

    samples: IntArray
    arm: IntArray


def stops(
    problem: Bandit,
    preference: Preference,
    rewards: Bounded,
    delta: float,
    runs: int,
    rng: np.random.Generator,
    *,
    undistorted_widths: bool = False,
    union: float = PAPER_UNION,
) -> Stops:
    """Algorithm 3 on lotteries of finitely many rewards, none below 0; `undistorted_widths` are those of LUCB."""
    if rewards.low < 0.0 or preference.costs or preference.utility is not None:
        raise ValueError("batches are for rewards of 0 or more as they are; got losses or a utility. Use simulate.")
    steps, chances = _ladder(problem)
    n_arms, weight = problem.n_arms, preference.gains
    pair = weight.holder
    if pair is None:
        raise ValueError(f"the paper's widths need a Hölder weight; {weight!r} has no pair. Use another weight.")
    constant, alpha = (1.0, 1.0) if undistorted_widths else pair
    reach = constant * (rewards.high - rewards.low)
    counts = np.stack([rng.multinomial(np.ones(runs, dtype=np.int64), row) for row in chances], axis=1)
    pulls = counts.sum(axis=2)
    rounds = np.zeros(runs, dtype=np.int64)
    found = np.full(runs, -1, dtype=np.int64)
    going = np.arange(runs)
    while going.size:
        seen, times = counts[going], pulls[going]
        tails = np.cumsum(seen, axis=2) / times[:, :, None]  # shares at or above each reward, highest first
        value = (weight(np.minimum(tails, 1.0)) * steps).sum(axis=2)
        # m of gamma', the round; an arm may have more samples than there were rounds, so that m moves up, as in WLUCB
        exponent = 4.0 * np.log(np.maximum(rounds[going] + 1, times.max(axis=1))) + math.log(n_arms * union / delta)
        radius = reach * (exponent[:, None] / (2.0 * times)) ** (alpha / 2.0)
        index = np.arange(going.size)
        leader = value.argmax(axis=1)
        upper = value + radius
        upper[index, leader] = -np.inf
        rival = upper.argmax(axis=1)
        parted = upper[index, rival] < value[index, leader] - radius[index, leader]
        found[going[parted]] = leader[parted]
        index, going = index[~parted], going[~parted]
        leader, rival = leader[~parted], rival[~parted]
        fewest = np.minimum(times[index, leader], times[index, rival])
        batch = np.maximum(1, (SHARE * fewest).astype(np.int64))
        rounds[going] += batch
        for arms in (leader, rival):
            counts[going, arms] += rng.multinomial(batch, chances[arms])
            pulls[going, arms] += batch
    return Stops(pulls.sum(axis=1), found)


def _ladder(problem: Bandit) -> tuple[FloatArray, FloatArray]:
    """For each arm, the steps between its rewards from the highest down to 0, and their chances."""
    distributions = [lottery.as_finite() for lottery in problem.lotteries]
    widest = max(distribution.outcomes.size for distribution in distributions if distribution is not None)
    steps, chances = np.zeros((len(distributions), widest)), np.zeros((len(distributions), widest))
    for k, distribution in enumerate(distributions):
        assert distribution is not None  # the problems of the paper are finite
        size = distribution.outcomes.size
        falling = distribution.outcomes[::-1]
        steps[k, :size] = falling - np.append(falling[1:], 0.0)
        chances[k, :size] = distribution.probabilities[::-1]
    return steps, chances
