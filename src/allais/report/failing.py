"""Failed runs in words: how many, in which options they gather, and what they do to the promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import NamedTuple

from allais.preferences.valuation import amount
from allais.report.tables import quoted, share
from allais.simulation import BestArm

BY_CHANCE = 1e-3  # if failures fell evenly, they would seldom gather as they do in an option that is named


class Failing(NamedTuple):
    """The runs of an option that failed."""

    failed: int
    runs: int  # in all, those that were left out too


def failing(answer: BestArm) -> dict[Hashable, Failing]:
    """How many runs of each option failed, of how many."""
    counted = Counter(one.arm for one in answer.failures if one.reward is not None)
    left_out = answer.excluded
    return {
        name: Failing(counted[name] + left_out.get(name, 0), pulls + left_out.get(name, 0))
        for name, pulls in answer.pulls.items()
    }


def but_some_failed(answer: BestArm, unit: str) -> str:
    """How the first sentence goes on after runs have failed; nothing if none has."""
    found = failing(answer)
    failed, runs = sum(one.failed for one in found.values()), sum(one.runs for one in found.values())
    if not failed:
        return ""
    then = "were left out" if answer.excluded else f"failed and count as {_counted_as(answer, unit)}"
    worst = max(found, key=lambda name: (found[name].failed / max(found[name].runs, 1), found[name].failed))
    own = found[worst]
    if not _gathers(own, failed, runs, len(found)):
        return f", but {failed:,} of {runs:,} runs {then}"
    which = "its" if worst == answer.arm else "the"
    whose = "" if worst == answer.arm else f" of {quoted(worst)}"
    others = [name for name in found if name != worst]
    rest = f"the {runs - own.runs:,} of {quoted(others[0]) if len(others) == 1 else 'the other options'}"
    few = f"{failed - own.failed:,}" if failed > own.failed else "none"
    return (
        f", but {own.failed:,} of {which} {own.runs:,} runs{whose} {then}, and {few} of {rest}: "
        "failing depends on the option"
    )


def _gathers(own: Failing, failed: int, runs: int, n_options: int) -> bool:
    """Whether so many failures in one option are more than chance would bring (Fisher's exact test)."""
    from scipy.stats import hypergeom

    return bool(hypergeom.sf(own.failed - 1, runs, failed, own.runs) < BY_CHANCE / n_options)


def _counted_as(answer: BestArm, unit: str) -> str:
    rewards = sorted({one.reward for one in answer.failures if one.reward is not None})
    return " or ".join(amount(reward, unit) for reward in rewards)


def withdrawal(answer: BestArm) -> Iterator[str]:
    """Why the promise of a policy does not hold, and what would help."""
    asked = answer.learner.policy.error_rate
    assert asked is not None
    begun = "The search settled, but its" if answer.settled else "The search was stopped before it settled, and its"
    yield f"{begun} promise is withdrawn: what the runs that were left out would have brought is not known."
    reached = answer.reached_delta if answer.learner.policy.promise == "proven" else None
    if reached is not None:
        yield (
            f"Counted as what speaks most against this answer, they raise its error chance from {share(asked)} to "
            f"{share(reached)}."
        )
    elif answer.learner.policy.promise == "proven":
        yield "If they were as bad for this answer as they can be, another option might be better."
    yield "Give runs more time (time_limit), or say what a failed run counts as (then = ...)."
