"""The page of an experiment: what to choose, for whom, how sure that is, and what it costs."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from allais.evidence import Worth
from allais.preferences import Explanation
from allais.preferences.explain import small_share
from allais.preferences.named import FELT, heading_of, is_mean
from allais.preferences.valuation import amount, plain
from allais.report.effort import TO
from allais.report.evidence_pages import AS_DECIDED, both_values, histories
from allais.report.markup import duration, macro, quoted, share
from allais.report.pictures import HIGH, WIDE, Curve, Row, Shape, over_time, plot, rows_as_svg, ticks_over
from allais.serve.core.evaluations import APPRENTICE
from allais.serve.core.service import log
from allais.serve.dashboard.view_model import COLOURS, RECENT, ArmFacts, Facts, GroupFacts

if TYPE_CHECKING:
    from markupsafe import Markup

PAGE, PARTS = (f"serve/dashboard/templates/{name}.html.j2" for name in ("experiment", "parts"))
MOST_SILENT = 3  # arms without outcomes that are named
CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))  # of a stretch of the width
MOST_STEPS, FEWEST = 40, 12  # of shares that are drawn, and decisions in each


def content(facts: Facts, *, manages: bool) -> Markup:
    """The part of the page that is refreshed."""
    began = time.strftime("%Y-%m-%d %H:%M", time.localtime(facts.created_at))
    cards = [_card(title, facts) for title in _CARDS]
    cards += [macro(PARTS, "undrawn")(title) for title in facts.failed]
    return macro(PAGE, "content")(facts, manages, began, _answer(facts), list(_alarms(facts)), _tiles(facts), cards)


def _card(title: str, facts: Facts) -> Markup | str:
    """A card, or that it could not be drawn: one that fails leaves the others as they are."""
    try:
        return _CARDS[title](facts)
    except Exception:
        log.exception("a part of the page of %s failed: %s", facts.name, title)
        return macro(PARTS, "undrawn")(title)


# -- words ----------------------------------------------------------------------------------------


def _answer(facts: Facts) -> str:
    """The whole page in a few sentences."""
    if facts.verdict is not None:
        return facts.verdict.summary
    if facts.best is None:
        return "No outcomes yet. Decide and reward, and this page follows."
    arm = next(one for one in facts.arms if one.name == facts.best)
    best = f"{quoted(arm.name)} is best so far"
    if not math.isnan(arm.sure.value):
        best += f": {facts.worth(arm.sure.value)}"
    return " ".join([f"{best}{_against_the_mean(facts, arm)}", *_parted(facts)])


def _against_the_mean(facts: Facts, best: ArmFacts) -> str:
    if facts.by_features:
        if facts.across:
            return (
                f", over all contexts. What is chosen goes by the context, {quoted(facts.across[0]['feature'])} first."
            )
        return ", at a moment without features. What is chosen goes by those of the moment."
    if facts.mean_best is None or is_mean(facts.of):
        return "."
    if facts.mean_best == facts.best:
        return ". The mean would choose it, too."
    other = next((one for one in facts.arms if one.name == facts.mean_best), None)
    if other is None or math.isnan(other.sure.value):
        return f". The mean would choose {quoted(facts.mean_best)}."
    felt = FELT if heading_of(facts.of) == FELT else "has"
    return (
        f". The mean would choose {quoted(other.name)}, which {felt} {amount(other.sure.value, facts.unit)}: "
        f"{amount(abs(other.sure.value - best.sure.value), facts.unit, 3)} worse each time."
    )


def _parted(facts: Facts) -> Iterator[str]:
    """Whether people of different preferences go different ways."""
    ways: dict[str, list[str]] = {}
    for group in facts.groups:
        if group.best is not None and group.decisions:
            ways.setdefault(group.best, []).append(group.label)
    if len(ways) > 1:
        each = "; ".join(f"{quoted(arm)} for those who go by {' or '.join(labels)}" for arm, labels in ways.items())
        yield f"People part ways: {each}."


def _alarms(facts: Facts) -> Iterator[str]:
    """Arms whose outcomes no longer look as they did."""
    for arm in facts.arms:
        if arm.alarms and arm.ago is not None and arm.ago <= RECENT:
            many = f"{arm.alarms} times; the last alarm {arm.ago:,} outcomes ago"
            since = many if arm.alarms > 1 else f"since {arm.ago:,} outcomes"
            yield f"{quoted(arm.name)} no longer looks as it did ({since})."
    if facts.unfinished:
        yield facts.unfinished
    in_play = {arm.name for arm in facts.arms if arm.in_play}
    for name in facts.broken:
        where = "is still in play" if name in in_play else "is out of play"
        yield f"{quoted(name)} was shown to break a guardrail ({facts.guardrails}), and {where}."


def _tiles(facts: Facts) -> list[tuple[str, str, str]]:
    """Numbers that matter: each, the words for it, and its kind."""
    oldest = "" if facts.oldest is None else f", the oldest {duration(max(time.time() - facts.oldest, 0.0))}"
    expired = facts.ended["expired"]
    warn = "warn" if expired > 0.05 * max(facts.decisions, 1) else ""
    tiles = [
        (f"{facts.decisions:,}", "decisions", ""), (f"{facts.outcomes:,}", "outcomes", ""),
        (plain(facts.per_minute, 3), "decisions per minute", ""),
        (f"{facts.waiting:,}", f"waiting for a reward{oldest}", ""),
        (f"{expired:,}", f"expired, after {duration(facts.expires_after)}{facts.expiry}", warn),
    ]  # fmt: skip
    if not facts.by_features:  # else what is best, and so what is lost, depends on the moment
        told = facts.lost and facts.decisions and facts.mean_best is not None
        lost = plain(facts.lost[-1][0] / facts.decisions, 2) if told else "not yet"
        tiles.append((lost, f"{facts.unit} lost per decision while learning".strip(), ""))
    return tiles


def _waiting(facts: Facts) -> str:
    """What is said of arms that were tried and have no outcomes, while others have some."""
    silent = [arm for arm in facts.arms if arm.in_play and arm.waiting and not arm.outcomes and facts.outcomes]
    said = [f"{quoted(arm.name)} has 0 outcomes, {arm.waiting:,} waiting" for arm in silent[:MOST_SILENT]]
    if len(silent) > MOST_SILENT:
        said.append(f"so have {len(silent) - MOST_SILENT:,} more")
    return f" {'; '.join(said)}: what has none is tried again now and then until one arrives." if said else ""


# -- cards ----------------------------------------------------------------------------------------


def _verdict(facts: Facts) -> Markup | str:
    """What a test has found, and what is missing."""
    found = facts.verdict
    if found is None or facts.test is None:
        return ""
    judged = found.found or ()
    pictures = [(one.question, both_values(one)) for one in judged]
    over = histories(found.found) if found.found is not None else []
    said = [*found.notes, *(() if found.found is None else found.found.notes)]
    return macro(PAGE, "verdict")(facts, found, pictures, over, list(dict.fromkeys(said)))


def _apprentice(facts: Facts) -> Markup | str:
    """What the application's choices brought, and what the policy's would have."""
    seen = facts.worth_of_apprentice
    if seen is None or seen.found is None:
        return ""
    done, would = (seen.found.worth(target) for target in (AS_DECIDED, APPRENTICE))
    said = [
        _between("What the application did brought", done, facts),
        _between("The policy would have brought", would, facts),
    ]
    return macro(PAGE, "apprentice")(facts, said, seen.pictures[0][1])


def _between(what: str, one: Worth, facts: Facts) -> str:
    """A value with its interval, in a sentence."""
    if math.isnan(one.value):
        return f"{what} an amount that this log cannot tell: {one.caveat}"
    ends = [amount(end, facts.unit) if math.isfinite(end) else "anything" for end in one.interval]
    return f"{what} {amount(one.value, facts.unit)} by {one.by}, between {ends[0]} and {ends[1]}."


def _arms(facts: Facts) -> Markup | str:
    if not facts.arms:
        return ""
    sign, by_mean = 1.0 if facts.costs else -1.0, is_mean(facts.of)
    best_first = sorted(facts.arms, key=lambda arm: math.inf if math.isnan(arm.sure.value) else sign * arm.sure.value)
    rows = [
        Row(
            arm.name, f"{arm.outcomes:,} outcome{'' if arm.outcomes == 1 else 's'}" if arm.in_play else "retired",
            facts.colour(arm.name) + (" leads" if arm.name == facts.best else ""), arm.sure,
            math.nan if by_mean else arm.mean,
        )
        for arm in best_first
    ]  # fmt: skip
    picture = rows_as_svg(f"{facts.of_each}, with its interval", rows)
    return macro(PAGE, "arms")(facts, best_first, picture, _waiting(facts), heading_of(facts.of), by_mean)


def _contexts(facts: Facts) -> Markup | str:
    """Where the preferred arm changes with the feature that matters most."""
    rows = facts.across
    if not rows:
        return ""
    names = [arm.name for arm in facts.arms[:COLOURS] if any(math.isfinite(row["sure"][arm.name]) for row in rows)]
    amounts = [row["sure"][name] for row in rows for name in names if math.isfinite(row["sure"][name])]
    ticks = ticks_over(min(amounts), max(amounts) + 0.05 * (max(amounts) - min(amounts)))  # a line is not cut off
    step = WIDE / len(rows)

    def y(amount: float) -> float:
        return HIGH * (ticks[-1] - amount) / (ticks[-1] - ticks[0])

    shapes = [
        Shape("polygon", f"{facts.colour(str(row['arm']))} ground", [(step * (k + i), j * HIGH) for i, j in CORNERS])
        for k, row in enumerate(rows)
    ]
    for name in names:
        ends = [(step * (k + half), y(row["sure"][name])) for k, row in enumerate(rows) for half in (0.0, 1.0)
                if math.isfinite(row["sure"][name])]  # fmt: skip
        shapes.append(Shape("polyline", facts.colour(name), ends))
    levels = [(y(tick), plain(tick, 6)) for tick in ticks]
    values = [_level(row["value"]) for row in rows]
    marks = [((k + 0.5) / len(rows), value) for k, value in enumerate(values)]
    picture = plot(f"{facts.of_each}, by the feature that matters most", shapes, levels, marks, rows[0]["feature"])
    return macro(PAGE, "contexts")(facts, names, rows[0]["feature"], _stretches(rows, values), picture)


def _level(value: str | bool | float) -> str:
    """A feature's value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else plain(value, 4)


def _stretches(rows: list[dict[str, Any]], values: list[str]) -> list[tuple[str, str]]:
    """Neighbouring values with the same best arm: what they are, and the arm."""
    found: list[list[Any]] = []
    for row, value in zip(rows, values, strict=True):
        if found and found[-1][2] == row["arm"] and not isinstance(row["value"], str | bool):
            found[-1][1] = value
        else:
            found.append([value, value, row["arm"]])
    return [(first if first == last else f"{first} to {last}", str(arm)) for first, last, arm in found]


def _lost(facts: Facts) -> Markup | str:
    return "" if facts.mean_best is None else macro(PAGE, "lost")(facts, lost_picture(facts))


def lost_picture(facts: Facts) -> Markup | None:
    """What was lost so far, as decided and by the mean."""
    if len(facts.lost) < 2:
        return None
    ticks = ticks_over(0.0, max(max(pair) for pair in facts.lost) or 1.0)
    sums = [(0.0, 0.0), *facts.lost]

    def y(amount: float) -> float:
        return HIGH * (1.0 - amount / ticks[-1])

    shapes = [
        Shape("polyline", kind, [(WIDE * k / len(facts.lost), y(pair[which])) for k, pair in enumerate(sums)])
        for which, kind in ((1, "theirs"), (0, "ours"))
    ]
    levels = [(y(tick), plain(tick, 6) if tick else "") for tick in ticks]
    marks = [(1.0, f"{facts.decisions:,}"), (0.5, f"{facts.decisions // 2:,}")]
    return plot("What was lost, as decided and by the mean", shapes, levels, marks, "decisions")


def _shares(facts: Facts, group: GroupFacts) -> list[Shape]:
    """Where decisions went, bucket by bucket: shares that fill the height."""
    filled = _joined(group.series)
    names = [arm.name for arm in facts.arms if any(bucket[arm.name] for bucket in filled)]
    smooth = [sum(filled[max(0, k - 1) : k + 2], Counter[str]()) for k in range(len(filled))]
    if len(smooth) == 1:
        smooth *= 2
    xs = [WIDE * k / (len(smooth) - 1) for k in range(len(smooth))]
    base, shapes = [0.0] * len(smooth), []
    for name in [*names, ""]:
        top = [
            b + (c[name] if name else sum(n for arm, n in c.items() if arm not in names)) / c.total()
            for b, c in zip(base, smooth, strict=True)
        ]
        edges = [[(x, 100.0 * (1.0 - y)) for x, y in zip(xs, ys, strict=True)] for ys in (top, base)]
        if any(t - b > 1e-9 for t, b in zip(top, base, strict=True)):
            shapes.append(Shape("polygon", facts.colour(name), edges[0] + edges[1][::-1]))
        base = top
    return shapes


def _joined(series: list[Counter[str]]) -> list[Counter[str]]:
    """Neighbours together, until there are enough decisions in each for a share that means something."""
    enough = max(FEWEST, sum(bucket.total() for bucket in series) / MOST_STEPS)
    found: list[Counter[str]] = []
    for bucket in series:
        if not bucket:
            continue
        if found and found[-1].total() < enough:
            found[-1] = found[-1] + bucket
        else:
            found.append(bucket)
    if len(found) > 1 and found[-1].total() < enough / 2:
        found[-2:] = [found[-2] + found[-1]]
    return found


def _closing(facts: Facts) -> Markup:
    names = [arm.name for arm in facts.arms[:COLOURS]]
    curves = [
        Curve(
            facts.colour(name),
            [(one.outcomes, one.sure[name]) for one in facts.moments
             if name in one.sure and math.isfinite(one.sure[name].value)],
        )
        for name in names
    ]  # fmt: skip
    if any(curve.bounded for curve in curves):  # else no value has an interval
        curves = [curve._replace(points=curve.bounded) for curve in curves]
    curves = [curve for curve in curves if len(curve.points) > 1]
    label = "How the values closed, by the number of outcomes"
    shown = [name for name in names if any(name in one.sure for one in facts.moments)]
    return macro(PAGE, "closing")(facts, shown, over_time(label, curves, "outcomes") if curves else None)


def _why(facts: Facts) -> Markup | str:
    """The decision weights of the two arms that matter, for each group of people."""
    groups = [group for group in facts.groups if group.best is not None and group.why]
    if not groups:
        return ""
    opened = next((group for group in groups if len(group.why) > 1), groups[0])
    return macro(PAGE, "why")(facts, groups, opened, _weights)


def _weights(rows: Explanation) -> list[tuple[str, float, float, str, str]]:
    """Outcomes of an arm: how often they came, and how much they count; as bars and as text."""
    most = max(*rows.probabilities, *rows.decision_weights, 1e-9)
    return [
        (TO.join(sorted(label.split(TO), key=float)), p / most, max(w, 0.0) / most, _percent(p), _percent(w))
        for label, p, w in zip(rows.labels, rows.probabilities.tolist(), rows.decision_weights.tolist(), strict=True)
    ]


def _percent(p: float) -> str:
    if abs(p) < 1e-9:
        return "0%"
    return share(round(p, 3)) if p >= 0.001 else small_share(p)


_CARDS = {
    "The verdict": _verdict,
    "The apprentice": _apprentice,
    "The arms": _arms,
    "Where the best arm changes": _contexts,
    "Against always the best mean": _lost,
    "Where traffic goes": lambda facts: macro(PAGE, "traffic")(facts, _shares),
    "Intervals over time": _closing,
    "Why people differ": _why,
}
