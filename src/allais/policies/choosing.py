"""Which policy: the table of docs/choosing.md as code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from allais._checks import brief, nearest, whole
from allais.bands import Envelope
from allais.bands._joint_test import few_values
from allais.policies.contextual import ContextualNPTS
from allais.policies.core.base import Policy
from allais.policies.core.knowledge import RewardsOfArms, as_list, check_settings
from allais.policies.npts import NPTS
from allais.policies.screening import PairwiseScreening
from allais.policies.toptwo import PatientTopTwo, TopTwo
from allais.policies.wlucb import WLUCB
from allais.policies.wocba import WOCBA
from allais.policies.wsr import PatientRejects
from allais.policies.wucb import WUCB
from allais.preferences import Preference
from allais.preferences.named import level_of
from allais.rewards import SubGaussian

AUTO = "auto"  # what specs and the service call a policy that is chosen here
NEEDS = {"confidence": "delta", "budget": "budget"}  # the setting that says how much of a goal is wanted


class Asked(NamedTuple):
    """What somebody knows and wants."""

    goal: str
    preference: Preference
    rewards: list[Any]  # of each arm, or of all; empty where nothing is known
    has_rarest: bool

    @property
    def bounded(self) -> bool:
        """Whether all outcomes have known bounds."""
        return bool(self.rewards) and not self.tailed

    @property
    def tailed(self) -> bool:
        """Whether outcomes are known to be sub-Gaussian only."""
        return any(isinstance(known, SubGaussian) for known in self.rewards)

    @property
    def few(self) -> bool:
        """Whether every arm has few values, and they are known."""
        return self.bounded and few_values(self.rewards)

    @property
    def smooth(self) -> bool:
        """Whether weights neither jump nor fall."""
        weights = (self.preference.gains, self.preference.losses)
        return all(weight.is_monotone and not weight.breaks for weight in weights)

    @property
    def percentile(self) -> bool:
        """Whether the preference is one percentile."""
        return level_of(self.preference) is not None


@dataclass(frozen=True)
class Row:
    """A row of the table: where it applies, what it proposes, and why."""

    goal: str
    known: str  # about rewards, in words
    applies: Callable[[Asked], bool]
    kind: type[Policy]
    written: str  # the policy as the page shows it
    why: str
    settings: Callable[[], dict[str, Any]] = dict


GOALS = {
    "regret": "low regret",
    "contexts": "low regret, with a context before each choice",
    "proven regret": "low regret with the paper's proof",
    "confidence": "the best arm, wrong with probability delta",
    "budget": "the best arm, within a budget",
}

# The first row that applies is taken.
ROWS = (
    Row(
        "regret", "bounds, or the values", lambda asked: asked.bounded, NPTS, "`NPTS`",
        "it has no setting to tune, and its regret was among the lowest for all bounded rewards that were measured",
    ),
    Row(
        "regret", "sub-Gaussian", lambda asked: asked.tailed, WUCB, "`WUCB(..., band=Envelope(), exploration=1.0)`",
        "Thompson sampling needs bounds; the envelope band holds without them, and an exponent of log m loses less "
        "than that of the proof",
        lambda: {"band": Envelope(), "exploration": 1.0},
    ),
    Row(
        "contexts", "bounds, or the values", lambda asked: asked.bounded, ContextualNPTS, "`ContextualNPTS`",
        "it learns which features matter to which arm, and the whole distribution of outcomes in each context; its "
        "regret is measured, not proven ([how](contexts.md))",
    ),
    Row(
        "proven regret", "bounds, the values, or sub-Gaussian", lambda asked: bool(asked.rewards), WUCB, "`WUCB`",
        "it has the exponent of the paper's proof with the narrowest band that holds for the rewards; "
        "`WUCB.as_printed` is the paper's to the letter",
    ),
    Row(
        "confidence", "`rarest`, and no bounds or bounds far out",
        lambda asked: asked.has_rarest and (asked.smooth or asked.percentile), PairwiseScreening, "`PairwiseScreening`",
        "it needs no bounds, and far fewer samples than a proof by a steep weight or by bounds that lie far out, for "
        "ten to many thousands of arms; it is wrong with a chance of about delta ([asymptotic](theory/asymptotic.md))",
    ),
    Row(
        "confidence", "up to four values per arm; or bounds, by one percentile or monotone weights without jumps",
        lambda asked: asked.bounded and (asked.few or asked.smooth or asked.percentile), TopTwo, "`TopTwo`",
        "it judges two arms together, those with up to four values by their whole distributions and others by bets on "
        "the value alone, in a fraction of the samples of `WLUCB`, and by the mean or a tail in about as many as the "
        "asymptotic promise takes ([how](theory/betting.md))",
    ),
    Row(
        "confidence", "sub-Gaussian, or weights that jump or fall", lambda asked: bool(asked.rewards), WLUCB, "`WLUCB`",
        "its bands hold for every weight, and with the envelope band for sub-Gaussian rewards",
    ),
    Row(
        "budget", "how rare an event may be missed, and no hidden disasters",
        lambda asked: asked.has_rarest and asked.smooth, WOCBA, "`WOCBA`",
        "it erred least with ordinary arms; an arm that hides a disaster rarer than `rarest` deceives it",
    ),
    Row(
        "budget", "bounds, or the values", lambda asked: asked.bounded, PatientTopTwo, "`PatientTopTwo`",
        "it erred least with rare gains and with rare losses, and rejects no arm for good",
    ),
    Row(
        "budget", "nothing, or sub-Gaussian", lambda asked: True, PatientRejects, "`PatientRejects`",
        "it is never far from the best of its kind, whatever the arms are; `SequentialHalving` is as good only "
        "where no outcome is rare",
    ),
)  # fmt: skip


def recommended(
    goal: str,
    preference: Preference,
    rewards: RewardsOfArms | None = None,
    arms: int | Sequence[Hashable] | None = None,
    **settings: Any,
) -> Policy:
    """The policy that docs/choosing.md recommends, as an ordinary policy; `policy.why` says why in one sentence.

    Args:
        goal: "regret" for good choices while learning, "contexts" where something is known before each choice, "proven
            regret" for the paper's proof, "confidence" for the best arm with a chance of error (give `delta`), or
            "budget" for the best arm within a number of samples (give `budget`).
        preference: What is maximised.
        rewards: What is known about outcomes, if anything: one declaration for all arms, or a list with one per arm.
        arms: The arms, or how many there are, if that is known: a policy that cannot start with them is refused here.
        **settings: Settings of the policy, by name: `delta`, `budget`, `tolerance`, `guardrails`; with `rarest`, the
            probability below which events may be missed, an answer without a proof.

    >>> policy = recommended("confidence", expected_value(), Bounded(0, 1), arms=3, delta=0.05)
    >>> type(policy).__name__, policy.evidence
    ('TopTwo', 'auto')
    >>> print(policy.why)
    TopTwo: it judges two arms together, those with up to four values by their whole distributions and others by ...
    >>> type(recommended("regret", expected_value(), Bounded(0, 1))).__name__
    'NPTS'
    """
    if goal not in GOALS:
        close = nearest(goal, GOALS) if isinstance(goal, str) else ""
        raise ValueError(f"goal must be one of {', '.join(GOALS)}; got {brief(goal)}.{close}")
    need = NEEDS.get(goal)
    if need is not None and need not in settings:
        example = {"delta": "0.05", "budget": "1000"}[need]
        raise TypeError(f"a goal of {goal} needs {need}; there is none. Write {need}={example}.")
    check_settings(preference, rewards, needs_rewards=False)
    asked = Asked(goal, preference, [] if rewards is None else as_list(rewards), settings.get("rarest") is not None)
    row = next((row for row in ROWS if row.goal == goal and row.applies(asked)), None)
    if row is None:
        without = ", or rarest, the probability below which events may be missed" if goal == "confidence" else ""
        came = (
            "weights that jump or fall, which rarest alone does not do for" if asked.has_rarest else "nothing of these"
        )
        raise ValueError(
            f"a goal of {goal} needs rewards, such as Bounded(0, 50){without}; got {came}. Declare rewards."
        )
    given = {**row.settings(), **{name: entry for name, entry in settings.items() if entry is not None}}
    takes = inspect.signature(row.kind).parameters
    if strange := [name for name in given if name not in takes]:
        close = nearest(strange[0], [*takes, *NEEDS.values()])
        raise TypeError(
            f"{row.kind.__name__}, which fits this goal, takes no {strange[0]!r}.{close} "
            "Leave it out, or make another policy yourself."
        )
    policy = row.kind(**({"preference": preference, "rewards": rewards} | given))
    if arms is not None:
        count = len(arms) if isinstance(arms, Sequence) else whole("arms", arms, "a number or a list of names", least=0)
        if not count:
            raise ValueError("there must be at least one arm; got none. Name the options to choose from.")
        policy.rule(count)  # refuses arms that do not fit
    object.__setattr__(policy, "why", _plain(f"{row.kind.__name__}: {row.why}."))
    return policy


def from_auto(document: dict[str, Any], **known: Any) -> Policy:
    """The policy of a spec or of a request that leaves the choice to us: its goal follows from delta or budget.

    Args:
        document: Its settings, such as `delta`, and perhaps `goal`.
        **known: Preference, rewards and arms.

    >>> type(from_auto({"delta": 0.1}, preference=expected_value(), rewards=Bounded(0, 1))).__name__
    'TopTwo'
    """
    settings = {name: entry for name, entry in document.items() if name != "type"}
    found = [goal for goal, need in NEEDS.items() if need in settings]
    if len(found) > 1:
        raise ValueError("a policy has one goal; got delta and budget. Leave out one of them.")
    return recommended(**{"goal": found[0] if found else "regret", **settings, **known})


def table() -> str:
    """The table of docs/choosing.md.

    >>> from allais.policies import choosing
    >>> print(choosing.table().splitlines()[2][:45])
    | low regret | bounds, or the values | `NPTS`
    """
    lines = ["| goal | what is known about rewards | policy | why |", "|---|---|---|---|"]
    lines += [f"| {GOALS[row.goal]} | {row.known} | {row.written} | {row.why} |" for row in ROWS]
    return "\n".join(lines) + "\n"


def _plain(sentence: str) -> str:
    """A sentence without the marks of a page."""
    before, link, after = sentence.partition(" ([")
    return (before + after.partition("))")[2] if link else sentence).replace("`", "")
