"""NPTS: value each arm under a random reweighting of what was seen, and play the best (Baudry et al. 2021)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais._checks import FloatArray, IntArray, whole
from allais._kernels import by_reference, kernel, late, verb
from allais.bands.base import bounds_of, refresh, refuse_unbounded
from allais.numerics.table import distorted_sum
from allais.policies.core.base import KArmed, Propensity, setting
from allais.policies.core.guardrails import Guardrail, guardrails_of
from allais.policies.core.knowledge import Fading, Recent, as_list, floors, least_probabilities, remembering
from allais.policies.core.steps import has_floor, issue, issue_drawn, pick_highest, survey
from allais.policies.core.verbs import choose
from allais.preferences import Preference
from allais.samples.censored import CLOSE_DRAW, CutRoom, self_consistent
from allais.samples.draws import MOST_SAMPLES, gamma, gamma_of_count, stream_of, stride, uniform
from allais.samples.memory import FLAT, Memory, Worth
from allais.samples.trees import ROOT, TOTAL, outcome_at_rank

SHARE = 8.0  # samples beyond a bin, over those in it; 12 costs a third more, and no regret was seen to fall


@by_reference
class Narrowing(NamedTuple):
    """Where bins narrow, and how many there can be."""

    points: FloatArray  # shares of the samples from the best down: 0, 1, and singular points between
    most: int  # bins per arm, and one place for the best outcome that could occur


@by_reference
class BinsRule(NamedTuple):
    """How the arms' outcomes are put into bins."""

    narrowing: Narrowing
    tops: FloatArray  # per arm the best outcome that could occur, as a utility; (n_arms,)

    def kept(self, n_arms: int) -> Bins:
        """Empty bins."""
        places, counts = np.zeros((n_arms, self.narrowing.most)), np.zeros((n_arms, self.narrowing.most))
        places[:, -1], counts[:, -1] = self.tops, 1.0
        scratch = Masses(np.zeros(self.narrowing.most))
        return Bins(places, counts, np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms), scratch)


@by_reference
class Masses(NamedTuple):
    """Scratch: random masses of one arm."""

    of_bins: FloatArray  # (most,)


@by_reference
class Bins(NamedTuple):
    """The bins of each arm, ascending to the end of its row."""

    places: FloatArray  # a bin's utility of an outcome, and last the best outcome that could occur; (n_arms, most)
    counts: FloatArray  # how many samples a bin holds, and last a 1 for that outcome
    sizes: IntArray  # how many bins an arm has; 0 where they are out of date, (n_arms,)
    lacking: FloatArray  # the value of an arm's samples less that of its bins, (n_arms,)
    masses: Masses


@by_reference
class CutBinsRule(NamedTuple):
    """In the place of bins where some outcomes are not finished."""

    finished: BinsRule


@by_reference
class CutBins(NamedTuple):
    """The bins of finished outcomes, and cuts of the others, as utilities, of one arm after the other."""

    finished: Bins
    memory: Memory  # of finished outcomes: that of the state counts the others, too
    starts: IntArray  # the first cut of each arm, and the end of all; (n_arms + 1,)
    low: FloatArray  # the least and the greatest that an outcome may be; (cuts,)
    high: FloatArray
    mass: FloatArray  # of how many outcomes this is known
    gap_starts: IntArray  # the same of gaps: where cuts meet, and mass may lie though no outcome does; (n_arms + 1,)
    gap_low: FloatArray
    gap_high: FloatArray
    gap_at: FloatArray  # where its mass is then placed: in the middle, or at the bound of the declared rewards
    room: CutRoom


class DrawnRule(NamedTuple):
    """In the place of bins where values were drawn beforehand, for somebody else (`learner/views.py`)."""


@by_reference
class Drawn(NamedTuple):
    """What was drawn."""

    values: FloatArray  # (draws, n_arms)


def bins_for(preference: Preference, tops: FloatArray) -> BinsRule:
    """How to put the arms' outcomes into bins; `tops` are the best outcomes that could occur, as a utility."""
    points = np.array(narrow_at(preference))
    most = max(FLAT, (points.size - 1) * _most_toward(MOST_SAMPLES)) + 1
    return BinsRule(Narrowing(points, most), tops)


def narrow_at(preference: Preference) -> tuple[float, ...]:
    """Shares of the samples, from the best down, toward which bins narrow."""
    inside = {p for p in preference.gains.singularities if 0.0 < p < 1.0}
    inside |= {1.0 - p for p in preference.losses.singularities if 0.0 < p < 1.0}  # w- sees P(X <= z)
    return tuple(sorted({0.0, *inside, 1.0}))


def _most_toward(samples: float) -> int:
    """How many bins lie between two neighbouring points, at most."""
    return 2 * int(2.0 * SHARE + (SHARE + 1.0) * math.log(samples))


# -- compiled -------------------------------------------------------------------------------------


@refresh.of(BinsRule)
def _(band, kept, memory, arm):
    kept.sizes[arm] = 0


@kernel
def _felt_at(memory, arm, rank):
    """The outcome, as a utility, that `rank` samples from the best down reach, for an arm in the trees."""
    trees = memory.trees
    gains = int(trees.numbers[trees.heads[2 * arm, ROOT], TOTAL])
    if rank <= gains:
        return outcome_at_rank(trees, 2 * arm, rank)
    losses = int(trees.numbers[trees.heads[2 * arm + 1, ROOT], TOTAL])
    return -outcome_at_rank(trees, 2 * arm + 1, losses - (rank - gains) + 1)


@late(None)
def _arrange_by_rank(rule, bins, worth, memory, arm):
    places, counts = bins.places[arm], bins.counts[arm]
    top = places.size - 1
    pulls, done, k = memory.pulls[arm], 0, top
    while done < pulls:
        k -= 1
        upto = min(done + stride(rule.narrowing.points, done, pulls, SHARE), pulls)
        if k == 0:
            upto = pulls
        places[k] = _felt_at(memory, arm, (done + upto + 1) // 2)
        counts[k] = upto - done
        done = upto
    bins.sizes[arm] = top - k
    bins.lacking[arm] = memory.value[arm] - _value(worth, places, counts, k, top, float(pulls))


@kernel
def arrange(rule, bins, worth, memory, arm):
    """Bring an arm's bins up to date: one bin per outcome in the flat memory, and bins by rank in the trees."""
    places, counts = bins.places[arm], bins.counts[arm]
    top = places.size - 1  # bins lie before this place, the best of them last
    if not memory.in_trees[arm]:
        size = memory.sizes[arm]
        for k in range(size):
            places[top - size + k] = memory.utility[arm, k]
            counts[top - size + k] = memory.counts[arm, k]
        bins.sizes[arm] = size
        bins.lacking[arm] = 0.0
        return
    _arrange_by_rank(rule, bins, worth, memory, arm)


@kernel
def _value(worth, places, masses, first, last, total):
    """The value of the distribution that has the outcomes from `first` to before `last`, with their masses."""
    return distorted_sum(worth.gains.table, worth.losses.table, places, masses, first, last, total, 0.0, np.inf)


def _draw_value(rule, bins, worth, memory, arm, turn, stream):
    """The value of an arm under random masses, each drawn from Gamma(count); and where the stream goes on."""


draw_value = verb(_draw_value)


@draw_value.of(DrawnRule)
def _(rule, drawn, worth, memory, arm, turn, stream):
    return drawn.values[turn, arm], stream


@draw_value.of(BinsRule)
def _draw_finished(rule, bins, worth, memory, arm, turn, stream):
    if bins.sizes[arm] == 0:
        arrange(rule, bins, worth, memory, arm)
    places, counts, masses = bins.places[arm], bins.counts[arm], bins.masses.of_bins
    first, last = places.size - 1 - bins.sizes[arm], places.size
    total = 0.0
    for k in range(last - 1, first - 1, -1):  # from the best down
        masses[k], stream = gamma_of_count(counts[k], stream)
        total += masses[k]
    return _value(worth, places, masses, first, last, total) + bins.lacking[arm], stream


@kernel
def _place(kept, arm, bins):
    """Write an arm's places: its bins, and gaps between cuts in which no bin lies; return how many there are."""
    places, counts, room = bins.places[arm], bins.counts[arm], kept.room
    k, gap, size = places.size - 1 - bins.sizes[arm], kept.gap_starts[arm], 0
    while k < places.size or gap < kept.gap_starts[arm + 1]:
        if gap < kept.gap_starts[arm + 1] and (k == places.size or kept.gap_low[gap] <= places[k]):
            if k == places.size or kept.gap_high[gap] < places[k]:
                room.at[size], room.base[size] = kept.gap_at[gap], 0.0
                size += 1
            gap += 1
        else:
            room.at[size], room.base[size] = places[k], counts[k]
            size, k = size + 1, k + 1
    return size


@draw_value.of(CutBinsRule)
def _(rule, kept, worth, memory, arm, turn, stream):
    bins, room = kept.finished, kept.room
    begin, end = kept.starts[arm], kept.starts[arm + 1]
    if begin == end:
        return _draw_finished(rule.finished, bins, worth, kept.memory, arm, turn, stream)
    if bins.sizes[arm] == 0 and kept.memory.pulls[arm] > 0:
        arrange(rule.finished, bins, worth, kept.memory, arm)
    size = _place(kept, arm, bins)
    at, base, masses = room.at[:size], room.base[:size], room.masses[:size]
    for k in range(size - 1, -1, -1):  # from the best down
        if base[k] > 0.0:
            base[k], stream = gamma(base[k], stream)
    first, last, drawn = room.first[: end - begin], room.last[: end - begin], room.drawn[: end - begin]
    for c in range(end - begin):
        first[c] = np.searchsorted(at, kept.low[begin + c], side="left")
        last[c] = np.searchsorted(at, kept.high[begin + c], side="right")
        drawn[c], stream = gamma(kept.mass[begin + c], stream)
    self_consistent(base, first, last, drawn, masses, room.sums, CLOSE_DRAW)  # Lo 1993
    total = 0.0
    for k in range(size - 1, -1, -1):
        total += masses[k]
    lacking = bins.lacking[arm] if kept.memory.pulls[arm] > 0 else 0.0
    return _value(worth, at, masses, 0, size, total) + lacking, stream


MOST_OPTIMISM = 100  # draws, each of which costs as much as the first
MOST_DRAWS = 10_000


def _optimism(name: str, given: Any) -> int:
    if given == 0 and not isinstance(given, bool):
        return 0
    return whole(name, given, "a whole number, 0 or more", MOST_OPTIMISM)


def draws_of_shares(name: str, given: Any) -> int:
    """How many draws give the probabilities of a choice."""
    return whole(name, given, "a whole number, 1 or more", MOST_DRAWS)


@dataclass(frozen=True)
class NPTS(KArmed):
    """Non-parametric Thompson sampling, low regret: play the arm that is best under a random reweighting.

    Each outcome that was seen gets a mass from Gamma(its count), and the best outcome that could occur one from
    Gamma(1); the arm is worth what the distribution with these masses is worth.

    An arm with more than 128 distinct outcomes is drawn in bins: a bin holds a single outcome at both ends, and
    elsewhere at most an eighth of the samples beyond it. So no event is too rare to be drawn. The probabilities beyond
    each bin are drawn exactly; how far the bins' value is from that of all samples is known, and added. Logarithmic
    regret is proven for means (Riou & Honda 2020) and for conditional values at risk (Baudry et al. 2021), without
    bins; for other weights, and in bins, it is measured (docs/choosing.md).

    After an early disaster a draw rarely makes an arm look good again, though it may be the best one. With `optimism`
    an arm counts at least as what it looks like (optimistic Bayesian sampling; May, Korda, Lee and Leslie 2012), and is
    drawn so many times, of which the best draw counts.

    Of one draw, only the winner is known. With `draws`, or a floor, a choice has a probability that can be logged: the
    arm is drawn from p = floor + (1 - sum of floors) q, where q are the shares of arms that win among so many draws. So
    p is exact, and without a floor an arm is as likely as by one draw, since q has that probability as its mean.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        memory: What is remembered where outcomes change, `Recent` or `Fading`; None for everything.
        optimism: How many draws an arm has, the best of which counts, or its estimate where that is higher; 0 for one
            draw as it is.
        draws: How many draws give the probability of a choice, which is its `propensity`; each costs as much as the
            first. With one draw, and no floor, it is not known.
        floor: The least probability of every arm in play, for logs from which other policies are evaluated; or a list
            with that of each arm, such as [0.1, 0] for a control share.
        guardrails: Limits that the answer must keep, a list of `Guardrail`.

    >>> from allais import Bandit, simulate
    >>> problem = Bandit([Discrete({50: 0.1, 0: 0.9}), Discrete({7: 1.0})])
    >>> people = Preference(TverskyKahneman(0.61))
    >>> ours = simulate(NPTS(people, Bounded(0, 50)), problem, n_rounds=10_000, n_runs=10, seed=1)
    >>> papers = simulate(WUCB.as_printed(people, Bounded(0, 50)), problem, n_rounds=10_000, n_runs=10, seed=1)
    >>> bool(ours.mean_regret[-1] < 0.25 * papers.mean_regret[-1])
    True
    """

    memory: Recent | Fading | None = setting(None, remembering)
    optimism: int = setting(0, _optimism)
    draws: int = setting(1, draws_of_shares)
    floor: float | tuple[float, ...] = setting(0.0, least_probabilities)
    guardrails: Sequence[Guardrail] = setting((), guardrails_of)

    called: ClassVar[str] = "NPTS"
    propensity: ClassVar[Propensity] = "ticket"
    goal: ClassVar[str] = "regret"
    open_to_people: ClassVar[bool] = True
    open_to_arms: ClassVar[bool] = True
    needs_rewards: ClassVar[bool] = True

    def check(self) -> None:
        """Refuse rewards without a best outcome that could occur."""
        assert self.rewards is not None
        refuse_unbounded("NPTS", as_list(self.rewards))

    def rule(self, n_arms: int) -> NPTSRule:
        """The settings as the kernels read them."""
        return rule_of_draws(self, n_arms, self.optimism, self.draws, self.floor)


class NPTSRule(NamedTuple):
    """The settings of NPTS that draws once, and as it is: draws 1, no optimism and no floor."""

    worth: Worth
    band: BinsRule | CutBinsRule | DrawnRule  # it draws values: bins stand where others have a band
    optimism: int
    draws: int
    floor: FloatArray  # the least probability of each arm in play


class ManyDrawsRule(NPTSRule):
    """All other settings of NPTS; a type of its own, so that those who draw once pay nothing for it."""


def rule_of_draws(policy: KArmed, n_arms: int, optimism: int, draws: int, floor: float | tuple[float, ...]) -> NPTSRule:
    """The rule of a policy that chooses by values which are drawn."""
    tops = np.array([bounds_of(policy.preference, known)[1] for known in policy.rewards_of(n_arms)])
    least = floors(floor, n_arms)
    kind = NPTSRule if draws == 1 and optimism == 0 and not least.any() else ManyDrawsRule
    return kind(policy.worth(n_arms), bins_for(policy.preference, tops), optimism, draws, least)


@kernel
def _draw_winner(rule, optimism, state, turn, u, stream):
    """The arm that is best by values that are drawn, and where the stream goes on."""
    for k in range(state.asked.size):
        if state.eligible[k]:
            if state.memory.pulls[k] == 0:  # nothing was told about any arm yet
                state.score[k] = np.inf
                continue
            # no draw makes an arm worse than it looks (May et al. 2012, Algorithm 2)
            best = state.memory.value[k] if optimism > 0 else -np.inf
            for _ in range(max(optimism, 1)):
                drawn, stream = draw_value(rule.band, state.kept, rule.worth, state.memory, k, turn, stream)
                best = max(best, drawn)
            state.score[k] = best
    return pick_highest(state, state.score, u), stream


@choose.of(NPTSRule)
def _(rule, state, u):
    arm, _ = survey(1, state)
    if arm < 0:
        arm, _ = _draw_winner(rule, 0, state, 0, u, stream_of(u))
    state.ticket[0] = 0.0  # of one draw, only the winner is known
    return issue(state, arm)


@choose.of(ManyDrawsRule)
def _(rule, state, u):
    wins, stream = state.low, stream_of(u)  # NPTS has no intervals, so there is room
    arm, _ = survey(1, state)
    for k in range(wins.size):
        wins[k] = k == arm
    if arm < 0:
        for turn in range(rule.draws):
            arm, stream = _draw_winner(rule, rule.optimism, state, turn, u, stream)
            wins[arm] += 1.0
            u, stream = uniform(stream)  # breaks the ties of the next draw
    if rule.draws > 1 or has_floor(rule.floor):
        return issue_drawn(state, wins, rule.floor, u)
    state.ticket[0] = 0.0  # of one draw, only the winner is known
    return issue(state, arm)
