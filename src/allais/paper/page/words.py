"""What was found, in three sentences that follow from the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from allais.paper.findings import CORRECTED, DIFFERS, HOLDS, TYPING
from allais.paper.store import Stored


def found(results: Sequence[Stored]) -> list[str]:
    """Three sentences about all experiments; fewer where some have not run."""
    facts = {stored.name: stored.result.facts for stored in results}
    sentences = (counts(results), _arms(facts), _roads(facts))
    return [sentence for sentence in sentences if sentence]


def kinds_of(results: Sequence[Stored]) -> Counter[str]:
    """How many claims of the paper are of each kind."""
    return Counter(one.kind for stored in results for one in stored.result.findings if one.of_paper)


def counts(results: Sequence[Stored]) -> str:
    """How the paper's claims came out."""
    kinds = kinds_of(results)
    strange = sum(not one.as_expected for stored in results for one in stored.result.findings)
    ending = "all as known" if not strange else f"{strange} of all findings NOT as known"
    return (
        f"Of {_number(sum(kinds.values()), 'claim')} of the paper {kinds[HOLDS]} hold as printed, "
        f"{kinds[CORRECTED]} once corrected, and {kinds[TYPING]} {_are(kinds[TYPING])}"
        + (f"; {kinds[DIFFERS]} came out otherwise" if kinds[DIFFERS] else "")
        + f": {ending}."
    )


def _arms(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """W-UCB, W-LUCB and W-SR against theirs."""
    parts = []
    regret = facts.get("regret")
    if regret:
        parts.append(
            f"W-UCB's regret on problem (a) is {regret['W-UCB']:,.0f} after {regret['rounds']:,} rounds, "
            f"UCB's {regret['UCB']:,.0f}"
        )
    right = {name: hits for name, hits in shares(facts).items() if hits is not None}
    if len(right) == 4:
        runs = right["W-LUCB"][1] + right["W-SR"][1]
        ours, theirs = (right[a][0] + right[b][0] for a, b in (("W-LUCB", "W-SR"), ("LUCB", "SR")))
        parts.append(
            f"W-LUCB and W-SR end on the arm that people prefer in {ours:,} of {runs:,} runs, LUCB and SR in {theirs:,}"
        )
    return "; ".join(parts) + "." if parts else ""


def shares(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[int, int] | None]:
    """How many runs of each policy end on the arm that people prefer, and of how many."""
    found: dict[str, tuple[int, int] | None] = {}
    for experiment, names in (("confidence", ("LUCB", "W-LUCB")), ("budget", ("SR", "W-SR"))):
        known = facts.get(experiment) or {}
        for name in names:
            found[name] = (int(known[name]), int(known["runs"])) if name in known else None
    return found


def _roads(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """The detour."""
    roads = facts.get("vehicles")
    if not roads:
        return ""
    return (
        f"On simulated traffic {roads['fastest']} is the fastest route on average and {roads['preferred']}, "
        f"{roads['longer']:.0f} s longer, the one that people prefer: OFUL ends on {roads['OFUL']}, W-OFUL, which "
        f"knows the noise, on {roads['W-OFUL']}."
    )


def _are(count: int) -> str:
    return "is a typing error" if count == 1 else "are typing errors"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
