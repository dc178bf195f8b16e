"""Steps that policies share: kernels to build `choose` from."""

from __future__ import annotations

import numpy as np

from allais._kernels import kernel, late, routine
from allais.bands.base import widen
from allais.samples.draws import stream_of, uniform
from allais.samples.drift import told_ever

PAIRING = 1_000_003  # a prime: two counts as one number, so that one cannot make up for the other


@kernel
def survey(first, state):
    """The next arm that is asked whatever its value, or -1; and the round m.

    Every arm is asked `first` times, in turn. One whose outcomes were lost or are late is asked again now and then,
    until it has so many (`_asks_again`). Marks as eligible the arms that were told often enough to be judged; all
    active ones if none was.

    Args:
        first: How often each arm is asked before it is judged.
        state: The state of the policy.
    """
    m, told = 1, 0
    any_judged, all_judged = False, True
    n_asked, n_told, active, eligible = state.asked, state.memory.pulls, state.active, state.eligible
    for arm in range(n_asked.size):
        m += n_asked[arm]
        pulls = n_told[arm]
        told += pulls
        judged = active[arm] & (pulls >= first)
        eligible[arm] = judged
        any_judged |= judged
        all_judged &= judged | (not active[arm])
    if all_judged and any_judged:
        return -1, m
    return _asked_first(first, state, m, told, any_judged), m


@routine
def _asked_first(first, state, m, told, any_judged):
    """What `survey` returns while an arm in play has not been told often enough."""
    chosen, overdue, most = -1, -1, 0
    vain = 0.0
    for arm in range(state.asked.size):
        asked, pulls = state.asked[arm], state.memory.pulls[arm]
        if not state.active[arm]:
            continue
        most = max(most, pulls)
        if asked < first:
            if chosen < 0 or asked < state.asked[chosen]:
                chosen = arm
        elif pulls < first:
            in_vain = (asked - first + 1.0) / (pulls + 1.0)
            if overdue < 0 or in_vain < vain:
                overdue, vain = arm, in_vain
    # If all outcomes are equally late, no arm has more than `first` of them before every arm has that many
    if chosen < 0 and overdue >= 0 and most > first:
        out = m - 1 - told - (state.asked[overdue] - state.memory.pulls[overdue])
        if _asks_again(state, m, told, out, vain):
            chosen = overdue
    if not any_judged:
        for arm in range(state.asked.size):
            state.eligible[arm] = state.active[arm]
    return chosen


@late(bool)
def _asks_again(state, m, told, out, vain):
    """Whether an arm that lacks outcomes is asked again, while others have had more than they needed.

    The chance halves with each ask in vain, so that the n-th comes after some 2^n outcomes of others, and it falls with
    the choices of others that are out, which show how late outcomes usually are. It is never below one in as many
    outcomes as are remembered. The coin is a hash of what was told and asked so far: live, simulated and reloaded
    learners ask alike.
    """
    coin, _ = uniform(np.uint64(told_ever(state.lifetimes, told) * PAIRING + m))
    return coin < max(0.5**vain / (1.0 + out), 1.0 / (1.0 + told))


@kernel
def anticipate(state):
    """Lower the upper ends, as if the outcomes that are out had come back and left the values as they are.

    For choosing only, so that workers do not all repeat one arm; nothing may be concluded from these ends.
    Returns True if anything is out.

    Args:
        state: The state of the policy.
    """
    any_out = False
    for arm in range(state.asked.size):
        pulls, asked = state.memory.pulls[arm], state.asked[arm]
        any_out = any_out or pulls < asked
        if 0 < pulls < asked:
            value = state.memory.value[arm]
            state.high[arm] = value + (state.high[arm] - value) * np.sqrt(pulls / asked)
    return any_out


@kernel
def fewest_asked(state, other):
    """The active arm that was asked for least often, apart from `other`.

    Args:
        state: The state of the policy.
        other: An arm to leave out, or -1.
    """
    fewest = -1
    for arm in range(state.asked.size):
        if state.active[arm] and arm != other and (fewest < 0 or state.asked[arm] < state.asked[fewest]):
            fewest = arm
    return fewest


@kernel
def judged(first, state):
    """Whether every arm has been told often enough.

    Args:
        first: How often an arm must have been told.
        state: The state of the policy.
    """
    fewest = state.memory.pulls[0]
    for pulls in state.memory.pulls:
        fewest = min(fewest, pulls)
    return fewest >= first


@kernel
def best_value(state):
    """The active arm of the highest estimated value; ties go to the most pulls. An arm never told comes last.

    Args:
        state: The state of the policy.
    """
    best = -1
    value, pulls = state.memory.value, state.memory.pulls
    for arm in range(state.asked.size):
        ahead = best < 0 or value[arm] > value[best] or (value[arm] == value[best] and pulls[arm] > pulls[best])
        if best >= 0 and (pulls[arm] == 0) != (pulls[best] == 0):
            ahead = pulls[best] == 0
        if state.active[arm] and ahead:
            best = arm
    return best


@kernel
def issue(state, arm):
    """Count a choice, and return it.

    Args:
        state: The state of the policy.
        arm: The arm that is chosen.
    """
    state.asked[arm] += 1
    return arm


@kernel
def bounds_at(rule, state, exponent):
    """Write the intervals at an exponent to `state.low` and `state.high`.

    Args:
        rule: The rule, which has a `band`.
        state: The state of the policy.
        exponent: How much confidence is bought: an interval fails with probability 2 e^-exponent.
    """
    widen(rule.band, state.kept, state.memory, exponent, state.low, state.high)


@kernel
def pick_with_ties(scores, eligible, asked, u):
    """What `pick` returns, and how many arms were as good: the draw decided between them."""
    best, second = -np.inf, -np.inf
    leader = -1
    for arm in range(scores.size):
        if eligible[arm]:
            if leader < 0 or scores[arm] > best:
                second = best if leader >= 0 else second
                best, leader = scores[arm], arm
            else:
                second = max(second, scores[arm])
    level = best - 1e-12 * abs(best) if np.isfinite(best) else best
    if leader < 0 or second < level:
        return leader, 1
    fewest = -1
    ties = 0
    for arm in range(scores.size):
        if eligible[arm] and scores[arm] >= level:
            if fewest < 0 or asked[arm] < fewest:
                fewest, ties = asked[arm], 0
            ties += asked[arm] == fewest
    skip = min(int(u * ties), ties - 1)
    for arm in range(scores.size):
        if eligible[arm] and scores[arm] >= level and asked[arm] == fewest:
            if skip == 0:
                return arm, ties
            skip -= 1
    return leader, 1


@kernel
def pick(scores, eligible, asked, u):
    """The eligible arm with the highest score: ties go to the fewest asks, then the draw u decides.

    Scores tie if they are equal to a relative 1e-12, since values come from tables. Returns -1 if no arm is eligible.

    Args:
        scores: A score per arm.
        eligible: Whether each arm may be picked.
        asked: How often each arm was asked.
        u: A uniform draw.
    """
    return pick_with_ties(scores, eligible, asked, u)[0]


@kernel
def pick_highest(state, scores, u):
    """The eligible arm with the highest score; ties go to the fewest asks, then the draw u decides.

    The probability of this is left as the choice's ticket.

    Args:
        state: The state of the policy.
        scores: A score per arm.
        u: A uniform draw.
    """
    arm, ties = pick_with_ties(scores, state.eligible, state.asked, u)
    state.ticket[0] = 1.0 / ties
    return arm


@kernel
def has_floor(floor):
    """Whether any arm has a least probability above 0.

    Args:
        floor: The least probability of each arm in play.
    """
    for least in floor:  # noqa: SIM110  # numba compiles no generator, and np.any as a function of its own
        if least > 0.0:
            return True
    return False


@late(int)
def issue_drawn(state, wins, floor, u):
    """Draw an arm from p = floor + (1 - sum of floors) q, count the choice, and return it; its ticket is p.

    So p is the probability of the choice given the past and q, exactly, whatever q is an estimate of. Where floors
    exceed 1 together, arms in play are as likely as their floors say among each other.

    Args:
        state: The state of the policy.
        wins: How many draws each arm in play has won, and 0 of others; q is their share.
        floor: The least probability of each arm in play; the last number is that of all further arms.
        u: A uniform draw, which q does not depend on.
    """
    reserved, draws = 0.0, 0.0
    for arm in range(wins.size):
        draws += wins[arm]
        if state.active[arm]:
            reserved += floor[min(arm, floor.size - 1)]
    scale = 1.0 / max(reserved, 1.0)
    cumulative, drawn, likely = 0.0, -1, 0.0
    for arm in range(wins.size):
        if state.active[arm]:
            p = floor[min(arm, floor.size - 1)] * scale + (1.0 - reserved * scale) * (wins[arm] / draws)
            if p > 0.0 and (drawn < 0 or cumulative <= u):  # the last one, if sums are rounded
                drawn, likely = arm, p
            cumulative += p
    state.ticket[0] = likely
    return issue(state, drawn)


@kernel
def issue_with_floor(state, arm, floor, wins, u):
    """Issue the arm that a rule has picked; with a floor, draw anew, so that it may be any arm in play.

    Args:
        state: The state of the policy, whose ticket is the probability of what was picked.
        arm: What was picked.
        floor: The least probability of each arm in play.
        wins: Room for a number per arm.
        u: The uniform draw of this round.
    """
    return _issue_again(state, arm, floor, wins, u) if has_floor(floor) else issue(state, arm)


@late(int)
def _issue_again(state, arm, floor, wins, u):
    for k in range(wins.size):
        wins[k] = k == arm  # given the draw that broke a tie
    v, _ = uniform(stream_of(u))
    return issue_drawn(state, wins, floor, v)


@kernel
def rounds_so_far(state):
    """m: one more than the choices so far, so that it exceeds every T_k.

    Args:
        state: The state of the policy.
    """
    m = 1
    for asked in state.asked:
        m += asked
    return m
