"""An answer in words: what to choose, what it feels like, how sure that is, and what the mean would have cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import NamedTuple

import numpy as np

from allais.bands import Interval
from allais.learner import Learner
from allais.learner.reading import sure_intervals
from allais.learner.unfinished import likely_distribution
from allais.policies.core.base import rarest_of
from allais.policies.core.guardrails import Feasibility
from allais.preferences import Explanation
from allais.preferences.named import in_words, is_mean
from allais.preferences.valuation import amount, level_of, percentile_in_words, plain, sure_amount
from allais.report.effort import TO, explained
from allais.report.markup import quoted, share
from allais.searches.forecast import chances
from allais.simulation import BestArm

BY_CHANCE = 1e-3  # if failures fell evenly, they would seldom gather as they do in an option that is named


class ByMean(NamedTuple):
    """The option of the best mean outcome, and the means; None where outcomes are not kept, or there are none."""

    arm: Hashable | None
    means: dict[Hashable, float]


def by_mean(learner: Learner) -> ByMean:
    """What a machine would choose: the best mean outcome, in the user's units."""
    means = {name: _mean(learner, name, many) for name, many in learner.unfinished.items()}
    seen = {name: mean for name, mean in means.items() if not math.isnan(mean)}
    pick = min if learner.policy.preference.costs else max
    return ByMean(pick(seen, key=lambda name: seen[name]) if seen else None, means)


def _mean(learner: Learner, name: Hashable, unfinished: int) -> float:
    if not learner.policy.keeps_outcomes:
        return math.nan
    if unfinished:
        return likely_distribution(learner, name).mean
    outcomes, counts = learner.outcomes(name)
    return float(np.average(outcomes, weights=counts)) if counts.size else math.nan


def recommendation(answer: BestArm, unit: str = "") -> str:
    """What to do, in a paragraph: the option, what it feels like, what the mean would have cost, and how sure it is."""
    if not answer.samples:
        return "No run has finished, so nothing can be recommended yet."
    said = guardrails(answer, unit)
    if answer.arm is None:
        slip = Feasibility(answer.learner.policy, len(answer.pulls)).delta
        return f"Choose none of these. {said} The chance that one of them keeps the guardrails is below {share(slip)}."
    sure = sure_intervals(answer.learner, answer.pulls, answer.intervals)
    mean = by_mean(answer.learner)
    text = [f"Choose {quoted(answer.arm)}{but_some_failed(answer, unit)}.", _feeling(answer, sure, mean.arm, unit)]
    if answer.unfinished:
        text.append(answer.unfinished)
    if mean.arm is not None:
        text.append(_against_the_mean(answer, sure, mean, unit))
    text.append(said)
    return " ".join([part for part in text if part] + [confidence(answer, unit)])


def guardrails(answer: BestArm, unit: str = "") -> str:
    """What was shown about the guardrails, in the user's unit; nothing where there are none."""
    learner, names = answer.learner, list(answer.pulls)
    if not learner.policy.guardrails:
        return ""
    place = None if answer.arm is None else names.index(answer.arm)
    return Feasibility(learner.policy, len(names)).in_words(names, learner.state, place, unit)


def _feeling(answer: BestArm, sure: dict[Hashable, Interval], by_mean: Hashable | None, unit: str) -> str:
    utility = sure[answer.arm].value
    if math.isnan(utility):
        return f"Its value is {plain(answer.value)}, which no sure outcome has."
    rival = next((name for name in ranked(answer) if name != answer.arm and not math.isnan(sure[name].value)), None)
    preference = answer.learner.policy.preference
    text, likewise = f"To people it feels like {amount(utility, unit)} for sure", "feels like"
    if is_mean(preference):
        text, likewise = f"Its mean is {amount(utility, unit)}", "has"
    elif level_of(preference) is not None:
        text, likewise = f"With it, {percentile_in_words(preference, utility, unit)}", "has"
    if rival is None or rival == by_mean:  # that one is spoken about in the next sentence
        return f"{text}."
    if answer.intervals[rival].value == answer.intervals[answer.arm].value:
        return f"{text}, and so {'does' if likewise == 'feels like' else 'it is with'} {quoted(rival)}."
    return f"{text}; the next best, {quoted(rival)}, {likewise} {amount(sure[rival].value, unit)}."


def ranked(answer: BestArm) -> list[Hashable]:
    """The options that were seen, the recommended one first, then by value."""
    seen = [name for name in answer.intervals if answer.pulls[name] and not math.isnan(answer.intervals[name].value)]
    return sorted(seen, key=lambda name: (name != answer.arm, -answer.intervals[name].value))


def _against_the_mean(answer: BestArm, sure: dict[Hashable, Interval], mean: ByMean, unit: str) -> str:
    """What going by the mean would have cost people, in units."""
    assert mean.arm is not None
    theirs, ours = mean.means[mean.arm], mean.means[answer.arm]
    same = is_mean(answer.learner.policy.preference)
    if mean.arm == answer.arm:
        also = f"It also has the best mean, {amount(ours, unit)}: going by the mean would cost people nothing."
        return "" if same else also
    name = quoted(mean.arm)
    text = f"{name} has the best mean, {amount(theirs, unit)} against {amount(ours, unit)}"
    if ours == theirs:
        return f"{name} has the same mean, {amount(ours, unit)}, so the mean could not choose between the two."
    if not answer.learner.state.active[list(answer.pulls).index(mean.arm)]:
        return f"{text}, but it breaks a guardrail."
    utility, best = sure[mean.arm].value, sure[answer.arm].value
    if math.isnan(utility) or math.isnan(best):
        return f"{text}, but it is not what people prefer."
    lost = utility - best if answer.learner.policy.preference.costs else best - utility
    if same:
        return f"{text}: the two are close."
    if lost <= 0.0:
        return f"{text}, and by these runs it feels no worse, {amount(utility, unit)} for sure: the two are close."
    if level_of(answer.learner.policy.preference) is not None:
        which = in_words(answer.learner.policy.preference)
        return f"{text}, but its {which} is {amount(utility, unit)}, worse by {amount(lost, unit, 3)}."
    return (
        f"{text}, but feels like {amount(utility, unit)} for sure: going by the mean would cost people "
        f"{amount(lost, unit, 3)} each time."
    )


def confidence(answer: BestArm, unit: str = "") -> str:
    """How sure an answer is: what was asked for, or what it really reached."""
    if answer.withdrawn:
        return " ".join(withdrawal(answer))
    anyhow = ", whatever the runs that were left out would have brought" if answer.excluded else ""
    if answer.settled and answer.delta is not None:
        said = f"The search settled: the chance that another option is better{_slack(answer, unit)} is"
        if answer.promise == "proven":
            return f"{said} below {share(answer.delta)}{anyhow}."
        if answer.promise == "none":
            return f"{said} meant to be below {share(answer.delta)}, which does not hold for outcomes of every kind."
        rarest = rarest_of(answer.learner.policy)
        missed = "" if rarest is None else f", and events rarer than {share(rarest)} may never have been seen"
        return (
            f"{said} about {share(answer.delta)}. That is asymptotic, by the central limit theorem, and not "
            f"proven{missed}."
        )
    if answer.settled:
        text = "The search used its budget as planned; a budget gives no confidence by itself."
        chance = chances(answer)[answer.arm]
        if math.isnan(chance):
            return text
        blind = ", which know nothing of the runs that were left out" if answer.excluded else ""
        return f"{text} When its runs are redrawn, this option is best in {chance:.0%} of the draws{blind}."
    reached = answer.reached_delta
    stopped = "The search was stopped before it settled"
    if reached is None:
        return f"{stopped}, and its intervals do not part at any confidence: take this as the best guess, no more."
    return f"{stopped}; what it has seen supports this answer with an error chance of {reached:.2g}{anyhow}."


def _slack(answer: BestArm, unit: str) -> str:
    slack = getattr(answer.learner.policy, "tolerance", 0.0)
    if not slack:
        return ""
    preference = answer.learner.policy.preference
    if preference.utility is None:
        return f" by more than {amount(slack, unit)}"
    here, there = (sure_amount(preference, answer.value + more) for more in (0.0, slack))
    if math.isnan(here - there):
        return f" by more than {plain(slack)} in utility"
    return f" by more than about {amount(abs(there - here), unit, 2)} ({plain(slack)} in utility)"


def contrast(answer: BestArm, unit: str = "") -> str:
    """Why people and the mean differ, or that they agree; nothing where outcomes are not kept."""
    learner, mean = answer.learner, by_mean(answer.learner).arm
    if mean is None or answer.arm is None or not answer.pulls[answer.arm] or is_mean(learner.policy.preference):
        return ""
    if level_of(learner.policy.preference) is not None:
        which = in_words(learner.policy.preference)
        return f"Only {which} counts here: how far other outcomes lie above or below it makes no difference."
    if mean == answer.arm:
        return f"People and the mean agree on {quoted(answer.arm)}. {_most_distorted(learner, answer.arm, unit)}"
    return (
        f"People do not weigh outcomes by their probability. {_most_distorted(learner, mean, unit)} "
        f"{_most_distorted(learner, answer.arm, unit)}"
    )


def _most_distorted(learner: Learner, name: Hashable, unit: str = "") -> str:
    """The outcomes of an arm whose weight moves its value most, and by how much of its certainty equivalent."""
    rows = explained(learner, name)
    given, weights = rows.contributions, rows.decision_weights
    utility = np.divide(given, weights, out=np.zeros_like(given), where=weights > 0)
    moved = (weights - rows.probabilities) * utility
    most = int(np.argmax(np.abs(moved)))
    if abs(moved[most]) < 1e-12:
        return f"The outcomes of {quoted(name)} are weighed as they are."
    label = rows.labels[most]
    ends = TO.join(sorted(label.split(TO), key=float))
    which, counts = (f"outcomes from {ends}", "count") if TO in label else (f"the outcome {ends}", "counts")
    return (
        f"With {quoted(name)}, {which} came in {share(rows.probabilities[most])} of the runs and {counts} "
        f"like {share(weights[most])}{_moved(rows, float(moved[most]), unit)}."
    )


def _moved(rows: Explanation, value: float, unit: str) -> str:
    """What a change of value is in the units of the outcomes: against the value without it."""
    change = abs(rows.sure - sure_amount(rows.preference, rows.value - value))
    if math.isnan(change):
        return ""
    return f", which makes it feel {amount(change, unit, 3)} {'better' if value > 0.0 else 'worse'}"


# -- runs that failed ---------------------------------------------------------------------------


class Failing(NamedTuple):
    """The runs of an option that failed."""

    failed: int
    runs: int  # in all, those that were left out too


def failing(answer: BestArm) -> dict[Hashable, Failing]:
    """How many runs of each option failed, of how many."""
    cut = Counter(one.arm for one in answer.failures if one.at_least is not None)
    counted = cut + Counter(one.arm for one in answer.failures if one.reward is not None)
    left_out = answer.excluded
    return {
        name: Failing(counted[name] + left_out.get(name, 0), pulls + cut[name] + left_out.get(name, 0))
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
    ends = sorted({one.at_least for one in answer.failures if one.at_least is not None})
    return " or ".join([*(amount(one, unit) for one in rewards), *(f"at least {amount(one, unit)}" for one in ends)])


def withdrawal(answer: BestArm) -> Iterator[str]:
    """Why the promise of a policy does not hold, and what would help."""
    asked = answer.learner.policy.error_rate
    assert asked is not None
    begun = "The search settled, but its" if answer.settled else "The search was stopped before it settled, and its"
    if answer.doubt:
        yield f"{begun} promise is withdrawn: {answer.doubt}"
        yield "Declare bounds, cut outcomes where they no longer matter to you, or make more runs."
    if not answer.excluded:
        return
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
