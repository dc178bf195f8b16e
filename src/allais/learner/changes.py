"""What may change while a learner goes on, beside choosing and learning: its arms, its rewards, its preference.

Each change is made, or refused, and returned as the event that does it again.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import brief, finite_array
from allais.errors import NotAdmitted
from allais.learner._engine import Engine
from allais.learner.choices import WIDEN, Choice, NotNow, number_of, require_own, require_plain_names, why_too_large
from allais.learner.unfinished import checked_cut, lapse, require_cuts
from allais.learner.views import remeasure, same_utility, with_utilities
from allais.policies.core.base import Policy
from allais.policies.core.knowledge import RewardsOfArms, check_settings
from allais.policies.core.state import extended, reopen, started
from allais.preferences import Preference
from allais.problems.base import checked_names
from allais.rewards import Rewards, covers
from allais.samples.cuts import NEVER, Cut, as_json
from allais.samples.drift import NOW, Lifetimes, end_life, is_over, lifetime, without_outcome
from allais.samples.layout import cells_of_arm, with_arms
from allais.samples.memory import Memory, remove
from allais.settings import to_spec

Event = dict[str, Any]
Result = TypeVar("Result")


# -- arms in play -------------------------------------------------------------------------------------


def require_open_to_arms(policy: Policy, verb: str) -> None:
    """Refuse to add or retire an arm where a policy counts on those that it began with."""
    if not policy.open_to_arms:
        raise ValueError(
            f"{type(policy).__name__} fixes its arms when it starts, since its guarantee counts them; "
            f"cannot {verb} one. Start it anew, or use a regret policy such as WUCB."
        )


def among(engine: Engine, allowed: Sequence[Hashable] | None, do: Callable[[], Result]) -> Result:
    """Do something while all arms but these are out of play."""
    if allowed is None:
        return do()
    active = engine.state.active
    in_play = [engine.names[arm] for arm in np.flatnonzero(active).tolist()]
    if isinstance(allowed, str) or not isinstance(allowed, Collection):  # the letters of a name are no arms
        raise TypeError(f"allowed must be a list of arms; got {brief(allowed)}. Write [{brief(allowed)}].")
    these = set(allowed)
    if strange := these.difference(in_play):
        listed = ", ".join(map(repr, in_play[:8]))
        raise ValueError(f"allowed arms must be in play; {min(strange, key=repr)!r} is not. Choose from {listed}.")
    if not these:
        raise ValueError("allowed arms must be one or more; got none. Leave it out to allow all.")
    if len(these) == len(in_play):
        return do()
    require_open_to_arms(engine.policy, "leave out")
    before, mask = active.copy(), np.zeros_like(active)
    mask[[engine.index[name] for name in these]] = True
    try:
        active[:] = mask
        return do()
    finally:
        active[:] = before  # no call comes before it, so no signal's handler does


def add(engine: Engine, arm: Hashable, rewards: Rewards | None) -> Event:
    """Take a new arm into play, or one that retired."""
    event = _adding(engine, (arm,), rewards)
    if arm in engine.index:
        _bring_back(engine, arm, rewards)
    else:
        _bring_in(engine, (arm,), rewards)
    return {"add": arm, **event}


def add_all(engine: Engine, arms: Sequence[Hashable], rewards: Rewards | None) -> Event:
    """Take new arms into play, all or none."""
    event = _adding(engine, arms, rewards)
    names = checked_names(arms)
    if old := next((name for name in names if name in engine.index), None):
        raise ValueError(f"new arms must have names of their own; {old!r} is there already. Use add if it retired.")
    _bring_in(engine, names, rewards)
    return {"add all": list(names), **event}


def _adding(engine: Engine, arms: Sequence[Hashable], rewards: Rewards | None) -> Event:
    """What an event says about the rewards of new arms, if these can be added and written down."""
    require_open_to_arms(engine.policy, "add")
    names = checked_names(arms)
    if engine.guard.durable:
        require_plain_names(names)
    event = {"rewards": to_spec(rewards)} if engine.guard.durable else {}
    if rewards is not None:
        check_settings(engine.policy.preference, rewards)
    return event


def _bring_in(engine: Engine, arms: tuple[Hashable, ...], rewards: Rewards | None) -> None:
    """Take new arms into play; `rewards` says what is known about each of them."""
    each = isinstance(getattr(engine.policy, "rewards", None), Sequence)
    if each != (rewards is not None):
        raise ValueError(
            "a new arm needs rewards exactly if the policy has some for each arm; "
            f"got {'none' if each else 'some'}. {'Give' if each else 'Leave out'} rewards=."
        )
    policy = engine.policy
    if each:
        more = [*policy.rewards_of(len(engine.names)), *[rewards] * len(arms)]
        policy = policy.but(rewards=more)  # checks them
    names = (*engine.names, *arms)
    rule, new = started(policy, len(names))  # refuses what does not fit
    old = engine.state
    for name in ("asked", "active", "ticket", "own"):
        extended(getattr(old, name), getattr(new, name))
    kept = {"lifetimes": old.lifetimes} if hasattr(old, "lifetimes") else {}
    engine.adopt(policy, names, rule, new._replace(memory=with_arms(old.memory, new.memory.pulls.size), **kept))


def _bring_back(engine: Engine, arm: Hashable, rewards: Rewards | None) -> None:
    """Take an arm into play that retired."""
    k = engine.index[arm]
    if engine.state.active[k]:
        raise ValueError(f"arms must have distinct names; {arm!r} is there already. Rename it.")
    if rewards is not None and (not engine.known or rewards != engine.known[k]):
        raise ValueError(
            f"an arm that comes back keeps what is known about it; got other rewards for {arm!r}. Leave out rewards=."
        )
    engine.guard.midway = True
    engine.state.active[k] = True
    engine.guard.midway = engine.guard.durable


def retire(engine: Engine, arm: Hashable) -> Event:
    """Take an arm out of play."""
    require_open_to_arms(engine.policy, "retire")
    k, active = engine.arm_of(arm), engine.state.active
    if not active[k]:
        raise ValueError(f"only an arm in play can retire; {arm!r} already did.")
    if active.sum() == 1:
        raise ValueError(f"one arm must stay in play; {arm!r} is the last. Add another first.")
    engine.guard.midway = True
    active[k] = False
    engine.guard.midway = engine.guard.durable
    return {"retire": engine.names[k]}


def repeat(engine: Engine, choices: list[tuple[int, Hashable]], allowed: Sequence[Hashable] | None) -> Event:
    """Make choices as they were made, among the allowed arms; it does not matter for whom they were made."""
    next_ones = [id_ for id_, _ in choices] == list(range(engine.next, engine.next + len(choices)))
    known = all(arm in engine.index for _, arm in choices)
    if not (next_ones and known and among(engine, allowed, lambda: all(_ask_again(engine, *one) for one in choices))):
        raise ValueError(
            f"events must repeat to the same choices; {brief(choices)} does not. Use a backup of both, or a "
            "learner that began alike."
        )
    return {"ask": choices, **({} if allowed is None else {"allowed": list(allowed)})}


def issue(engine: Engine, arm: int, ticket: float) -> None:
    """Issue the next choice without asking the policy; its draw is used up."""
    engine.make_draw()
    engine.guard.midway = True
    engine.out[engine.next] = (arm, ticket)
    engine.next += 1
    engine.draw = None
    engine.state.asked[arm] += 1
    engine.guard.midway = engine.guard.durable


def _ask_again(engine: Engine, id_: int, name: Hashable) -> bool:
    """Ask as it was asked before, and leave the state as if this version had chosen alike; False if it cannot be.

    A policy may have improved since: what was played is what counts, unless it must know how likely that was.
    """
    if id_ != engine.next or name not in engine.index:
        return False
    arm, guard = engine.index[name], engine.guard
    try:
        other = engine.index[engine.ask().arm]
    except NotNow:  # it would have stopped by now
        issue(engine, arm, engine.state.ticket[0])
        return True
    guard.midway = True
    if other != arm and not type(engine.policy).open_to_data:  # bets hold whatever was chosen
        return False
    engine.state.asked[other] -= 1
    engine.out[id_] = (arm, engine.out[id_][1])
    engine.state.asked[arm] += 1
    guard.midway = guard.durable
    return True


# -- outcomes that were not asked for -----------------------------------------------------------------


def tell_cut(engine: Engine, choice: Choice | int, told: Cut, final: bool) -> Event:
    """Learn what is known of a choice whose outcome is not finished; with `final` it is no longer out."""
    if (id_ := number_of(choice)) not in engine.out:
        raise ValueError(engine.why_unknown(id_))
    arm, cuts = engine.out[id_][0], engine.cuts
    require_own(choice, engine.names[arm])
    cut = cuts.narrowed(id_, checked_cut(engine, arm, told))
    engine.guard.midway = True
    if final:
        del engine.out[id_]
        if id_ in cuts.open:
            cuts.without(id_)
        _remember_cuts(engine, arm, [cut])
        lapse(engine)
    else:
        cuts.put(id_, arm, cut)
    engine.guard.midway = engine.guard.durable
    return {"tell": id_, "cut": as_json(told), "final": final}


def _remember_cuts(engine: Engine, arm: int, cuts: list[Cut]) -> None:
    """Keep cuts for good, or as long as outcomes are remembered: each is an outcome, so the clock ticks."""
    state, keys = engine.state, []
    for cut in cuts:
        end = NEVER
        if isinstance(lifetimes := state.lifetimes, Lifetimes):
            lifetimes.clock[NOW] += 1
            end = int(lifetimes.clock[NOW] + lifetime(lifetimes, lifetimes.clock[NOW]))
            while is_over(lifetimes):
                other, utility, raw = end_life(lifetimes)
                remove(state.memory, other, utility, raw)
                state.asked[other] -= 1
                remeasure(engine.rule, state, other)
        keys.append(((arm, *cut, end), 1))
    engine.cuts.close(engine.cuts.with_more(keys, engine.exact))


def observe(
    engine: Engine, arm: Hashable | list[Any], rewards: ArrayLike, cuts: list[Cut],
    learn: Callable[[list[int], list[float]], None] | None = None,
) -> Event:  # fmt: skip
    """Learn outcomes of an arm, or of as many arms as there are outcomes, all of them or none."""
    if cuts:
        return _observe_cuts(engine, arm, rewards, cuts)
    each = isinstance(arm, list)
    arms = [engine.arm_of(name) for name in (arm if isinstance(arm, list) else [arm])]
    if not engine.policy.open_to_data:
        raise ValueError(
            f"{type(engine.policy).__name__} learns from its own choices only; got data about arm {brief(arm)}. "
            f"Use a policy that keeps an estimate of each arm, such as WUCB{_or_opened(engine.policy)}."
        )
    outcomes = finite_array("rewards", rewards)
    if each and len(arms) != outcomes.size:
        raise ValueError(f"each reward has its arm; got {len(arms)} arms, {outcomes.size} rewards. Give one of each.")
    whose = np.array(arms)
    try:
        for k in np.unique(whose) if engine.known else ():
            engine.known[k].check(outcomes[whose == k] if each else outcomes)
    except NotAdmitted as error:
        raise NotAdmitted(error.rule, WIDEN) from None
    engine.policy.preference.finite_utilities("rewards", outcomes)  # refuses what overflows
    if (most := float(np.abs(outcomes).max(initial=0.0))) > engine.largest:
        raise ValueError(why_too_large(engine.largest, most))
    told: list[float] = outcomes.tolist()
    (learn or engine.learn_all)(arms if each else arms * len(told), told)
    if engine.feasibility is not None:
        engine.feasibility.review(engine.rule, engine.state)
    return {"observe": [engine.names[k] for k in arms] if each else engine.names[arms[0]], "rewards": told}


def _observe_cuts(engine: Engine, arm: Hashable | list[Any], rewards: ArrayLike, cuts: list[Cut]) -> Event:
    """Learn outcomes of which some are not finished."""
    told = np.size(np.asarray(rewards, dtype=object))
    each, names = isinstance(arm, list), arm if isinstance(arm, list) else [arm] * (told + len(cuts))
    if len(names) != told + len(cuts):
        raise ValueError(
            f"each outcome has its arm, unfinished ones last; got {len(names)} arms, {told} rewards, {len(cuts)} "
            "unfinished. Give one of each."
        )
    lows, highs = zip(*cuts, strict=True)
    require_cuts(engine.policy, (max(lows), min(highs)), engine.cuts)  # all together, and not each with those before
    by_arm: dict[int, list[Cut]] = {}
    for name, cut in zip(names[told:], cuts, strict=True):
        k = engine.arm_of(name)
        by_arm.setdefault(k, []).append(checked_cut(engine, k, cut))
    event = observe(engine, names[:told] if each else arm, rewards, []) if told else {"observe": arm, "rewards": []}
    engine.guard.midway = True
    for k, checked in by_arm.items():
        engine.state.asked[k] += len(checked)
        _remember_cuts(engine, k, checked)
    lapse(engine)
    engine.guard.midway = engine.guard.durable
    if each:
        event["observe"] = [engine.names[engine.arm_of(name)] for name in names]
    return {**event, "cuts": [as_json(cut) for cut in cuts]}


def forget(engine: Engine, arm: Hashable, reward: float) -> Event:
    """Take back one outcome of an arm."""
    k = engine.arm_of(arm)
    if not (engine.policy.open_to_data and engine.policy.keeps_outcomes):
        opened = _or_opened(engine.policy)
        raise ValueError(f"{type(engine.policy).__name__} cannot unlearn. Start it anew from the right data{opened}.")
    outcome = engine.checked(k, reward)
    utilities = engine.utilities(outcome)
    engine.others.forget()
    engine.guard.midway = True
    if not remove(engine.state.memory, k, utilities, outcome):
        engine.guard.midway = False
        raise ValueError(f"only an outcome that was seen can be forgotten; {reward!r} of {arm!r} was not. Check it.")
    engine.state.asked[k] -= 1
    reopen(engine.policy, engine.state)
    if isinstance(getattr(engine.state, "lifetimes", None), Lifetimes):
        without_outcome(engine.state.lifetimes, k, outcome)
    remeasure(engine.rule, engine.state, k)
    engine.guard.midway = engine.guard.durable
    return {"forget": engine.names[k], "reward": outcome}


# -- other settings -----------------------------------------------------------------------------------


def _or_opened(policy: Policy) -> str:
    """The setting that a policy would need from its start, if any, to use outcomes that it did not ask for."""
    return f", or start it with {policy.opened_by}" if policy.opened_by else ""


def with_rewards(policy: Policy, rewards: RewardsOfArms) -> Policy:
    """The policy under other rewards.

    >>> with_rewards(WLUCB(expected_value(), Bounded(0, 30), delta=0.05), Bounded(0, 60)).rewards
    Bounded(low=0.0, high=60.0)
    """
    told: Any = getattr(policy, "rewards", None)
    if told is None:
        raise ValueError(
            f"wider rewards are for a policy that has some; {type(policy).__name__} has none. Leave them out."
        )
    return policy.but(rewards=rewards)


def widen(engine: Engine, rewards: RewardsOfArms) -> Event:
    """Go on with wider rewards."""
    policy = with_rewards(engine.policy, rewards)
    if not policy.open_to_data:
        raise ValueError(
            f"{type(policy).__name__} has scaled what it learned by its bounds; cannot widen them. "
            f"Start it anew, or use a policy that keeps outcomes, such as NPTS{_or_opened(policy)}."
        )
    for old, new in zip(engine.known, policy.rewards_of(len(engine.names)), strict=True):
        if not covers(new, old):
            raise ValueError(f"wider rewards must admit all that {old!r} does; {new!r} does not. Widen it.")
    event = {"widen": to_spec(rewards)} if engine.guard.durable else {}  # refuses what cannot be written
    _go_on(engine, policy, copy.deepcopy(engine.state.memory))
    return event


def change_preference(engine: Engine, preference: Preference) -> Event:
    """Go on with another preference."""
    if not isinstance(preference, Preference):
        raise TypeError(f"a learner serves a preference; got {preference!r}. Write Preference(TverskyKahneman()).")
    if not engine.policy.open_to_data:
        raise ValueError(
            f"{type(engine.policy).__name__} has learned for its own preference only. Start it anew for another"
            f"{_or_opened(engine.policy)}."
        )
    policy = engine.policy.but(preference=preference)
    event = {"prefer": to_spec(preference)} if engine.guard.durable else {}
    _go_on(engine, policy, _memory_for(engine, preference))
    return event


def _go_on(engine: Engine, policy: Policy, memory: Memory) -> None:
    """Take over the settings of another policy over the same arms."""
    rule, fresh = started(policy, len(engine.names))  # refuses what does not fit
    old, kept = engine.state, {"kept": fresh.kept} if hasattr(fresh, "kept") else {}
    if hasattr(old, "own"):
        kept["own"] = policy.reopened(old.own, len(engine.names))
    engine.adopt(policy, engine.names, rule, old._replace(memory=memory, **kept))


def _memory_for(engine: Engine, preference: Preference) -> Memory:
    """The memory with the utilities that somebody else gives to what is in it."""
    memory, own = engine.state.memory, engine.policy.preference
    if not engine.policy.keeps_outcomes or same_utility(preference, own):
        moved = (preference.reference, preference.costs) != (own.reference, own.costs)
        if getattr(engine.policy, "estimates", False) and moved:
            raise ValueError("noise is estimated from gains, so reference and costs must stay. Change weights only.")
        return copy.deepcopy(memory)
    in_cells = any(cells_of_arm(memory, k).size for k in range(memory.pulls.size))
    if isinstance(engine.state.lifetimes, Lifetimes) or in_cells:
        raise ValueError(
            "outcomes that share cells, or are forgotten in time, keep their utilities; the new preference has "
            "another utility, reference or direction. Keep those, or start anew."
        )
    return with_utilities(memory, preference)
