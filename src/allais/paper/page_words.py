"""The errata in a line each; docs/paper/errata.md has them whole, with the reason and a test."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from allais.paper.experiments import CORRECTED, DIFFERS, HOLDS, MISPRINT
from allais.paper.runner import Stored
from allais.report.markup import count


class Erratum(NamedTuple):
    """What an entry is about, and what is right."""

    number: int
    title: str  # as in the heading of the entry
    gist: str

    @property
    def anchor(self) -> str:
        """The heading's own link on the page of errata.

        >>> ERRATA[13].anchor
        '13-the-constant-in-the-lower-bounds'
        """
        plain = unicodedata.normalize("NFKD", f"{self.number}. {self.title}").encode("ascii", "ignore").decode()
        return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


_LINES = (
    ("The radius D_m of W-OFUL", "lambda^(d/2) must be lambda^(-d/2); the two agree at lambda = 1 only."),
    ("The update of b in W-OFUL and W-G", "The step is r x / |x|^2, not r x / |x|."),
    ("Theta-bar, the best parameter of the ellipsoid", "The centre theta_hat is added, not subtracted."),
    (
        "Lambda, and delta in the routing experiment",
        "lambda must be above 0; \"confidence delta = 0.99\" is a confidence of 1 %, and 0.01 is meant.",
    ),
    ("Which arm W-G plays", "The search must use what the update adds, and ties go to the fewest pulls."),
    ("Whom the winner of W-G must beat", "Every other arm; as printed it must beat itself, too, and never stops."),
    ("How large a lead W-G needs", "A factor kappa is missing: 1 for Tversky and Kahneman's weight, at most 2."),
    (
        "When W-UCB starts, and what its width promises",
        "The index rule starts after round K, and both probability statements are reversed.",
    ),
    ("The sign of the linear regret", "The printed one is never positive for rewards; the sign is the opposite."),
    ("Theorem 1 for rewards of both signs", "M is the width b - a of the rewards: 2 M for rewards in [-M, M]."),
    (
        "Proposition 1, for unbounded rewards",
        "sigma is missing, the mean is taken to be zero, and the two sides share eps; corrected, it holds.",
    ),
    (
        "What (A1) is needed for, and the remark on EDPM",
        "Bounded rewards have finite values without it; in the remark F - G is -3 eps, not eps.",
    ),
    (
        "The constant in the lower bounds",
        "Every weight has a constant of 1 or more, which 2^(alpha - 1) is not; the bounds hold with 2^(alpha - 1) L.",
    ),
    ("W-LUCB is correct", "Theorem 4 holds; its union bound comes to 0.560 delta."),
    ("How many pulls settle an arm of W-LUCB", "The lemma loses a constant; the order of Theorem 5 is unchanged."),
    ("The lower bound at fixed confidence", "log(1 / (2.4 delta)) is meant, and 1/4 where 4 is printed."),
    (
        "The error of W-SR",
        "Each estimate may err by half of the gap, which costs 2^(1 - 2/alpha) in the exponent; "
        "H_2 / 2 <= H_1 <= log(K) H_2.",
    ),
    ("The lower bounds at fixed budget", "Gaps are those of weights; a factor 10 and a K + 1 are lost on the way."),
    ("The regret of W-OFUL", "D_n stands for its root; corrected, the order d sqrt(n) is the same."),
    ("The sample complexity of W-G", "16 kappa^2 for 9, and rho <= (1 + eps) d max|x|^2."),
    ("The lottery of 50 with probability 0.1", "It is worth 9.31513; 10.55 is printed, and 9.304 is an estimate."),
    ("Setup(*)", "The exact values are 0.201195 and 0.133220; the printed ones are estimates."),
    ("The second problem of Figure 3", "No values are printed; they are 27.63307 and 25.20803."),
    ("The grid network's table", "It was computed with eta = 0.69, under the label 0.61."),
    ("The grid network's model", "Its noise is not that of the model; the preference for arm 1 survives the model's."),
    (
        "The table of routes",
        "No weight gives a normal delay a value against the sign of its mean; a detour is preferred where delays "
        "have a tail.",
    ),
    ("The weight of the routing experiment", "eta = 0.1 is not monotone; the form is from eta = 0.2792 on."),
    (
        "Figure 1, and words",
        "eta = 0.69 is plotted under 0.61; the introduction swaps its arms; two problems are given, not three.",
    ),
    (
        "Logarithmic regret on Setup(*)",
        "The bound is logarithmic for n to infinity; at 10^4 rounds the regret still grows like n^0.9.",
    ),
    (
        "The samples behind the figure of fixed confidence",
        "With the stated widths a run takes 4 x 10^8 samples; the figure's finding holds with them.",
    ),
)  # fmt: skip
ERRATA = {number: Erratum(number, *line) for number, line in enumerate(_LINES, 1)}


def pieces(text: str) -> list[tuple[str, Erratum | None]]:
    """The text in pieces: every "erratum 10" in it with its erratum, and what lies between.

    >>> [(piece, erratum and erratum.number) for piece, erratum in pieces("as printed (erratum 10)")]
    [('as printed (', None), ('erratum 10', 10), (')', None)]
    """
    found = re.split(r"\b(erratum \d+)", text)
    return [(piece, ERRATA.get(int(piece[8:])) if place % 2 else None) for place, piece in enumerate(found)]


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
    ending = f" {count(strange, 'finding')} NOT as expected." if strange else ""
    misprints = "is a misprint" if kinds[MISPRINT] == 1 else "are misprints"
    return (
        f"Of {count(sum(kinds.values()), 'claim')} of the paper {kinds[HOLDS]} hold as printed, "
        f"{kinds[CORRECTED]} once corrected, and {kinds[MISPRINT]} {misprints}"
        + (f"; {kinds[DIFFERS]} came out differently" if kinds[DIFFERS] else "")
        + f".{ending}"
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
    right = shares(facts)
    if len(right) == 4:
        runs = right["W-LUCB"][1] + right["W-SR"][1]
        ours, theirs = (right[a][0] + right[b][0] for a, b in (("W-LUCB", "W-SR"), ("LUCB", "SR")))
        parts.append(
            f"W-LUCB and W-SR end on the arm that people prefer in {ours:,} of {runs:,} runs, LUCB and SR in {theirs:,}"
        )
    return "; ".join(parts) + "." if parts else ""


def shares(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[int, int]]:
    """How many runs of each policy end on the arm that people prefer, and of how many; of policies that have run."""
    policies = {"LUCB": "confidence", "W-LUCB": "confidence", "SR": "budget", "W-SR": "budget"}
    known = {name: facts.get(experiment) or {} for name, experiment in policies.items()}
    return {name: (int(one[name]), int(one["runs"])) for name, one in known.items() if name in one}


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
