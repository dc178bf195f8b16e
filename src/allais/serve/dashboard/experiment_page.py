"""The page of an experiment: what to choose, for whom, how sure that is, and what it costs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from html import escape

from allais.report.pictures import short
from allais.report.sure import amount, quoted
from allais.report.tables import duration, plain, share
from allais.serve.core.service import log
from allais.serve.dashboard.pages import UNDRAWN, card, tile
from allais.serve.dashboard.pictures import (
    arms_picture,
    closing_picture,
    colour,
    legend,
    lost_picture,
    rank,
    shares_picture,
    weights_picture,
)
from allais.serve.dashboard.view_model import RECENT, Facts, TasteFacts

MOST_SILENT = 3  # arms without outcomes that are named


def heading(facts: Facts, *, manages: bool) -> str:
    """The name, the state, and the one click that pauses."""
    about = [facts.policy, f"goes by {facts.preference}", f"began {_day(facts.created_at)}"]
    if facts.apprentice:
        about.insert(0, "apprentice: it watches")
    if facts.unit:
        about.append(f"in {facts.unit}{', less is better' if facts.costs else ''}")
    button = ""
    if manages and facts.state in ("running", "paused"):
        verb = "pause" if facts.state == "running" else "resume"
        button = (
            f'<form method="post" action="/experiments/{escape(facts.name)}/{verb}">'
            f'<button class="{verb}">{verb.capitalize()}</button></form>'
        )
    return (
        f'<section class="head" data-part="head"><div><h1>{escape(facts.name)} '
        f'<span class="pill {facts.state}">{facts.state}</span></h1>'
        f'<p class="small">{escape(" · ".join(about))}</p></div>{button}</section>'
    )


def content(facts: Facts, *, manages: bool) -> str:
    """All that is kept fresh."""
    parts = [heading(facts, manages=manages), _answer(facts), _alarms(facts), _tiles(facts)]
    parts.append('<div class="grid">')
    parts += [_part(title, draw, facts) for title, draw in _CARDS.items()]
    parts += [card(title, UNDRAWN, "wide12") for title in facts.failed]
    parts.append("</div>")
    return "\n".join(part for part in parts if part)


def _part(title: str, draw: Callable[[Facts], str], facts: Facts) -> str:
    """A card, or that it could not be drawn: one that fails leaves the others as they are."""
    try:
        return draw(facts)
    except Exception:
        log.exception("a part of the page of %s failed: %s", facts.name, title)
        return card(title, UNDRAWN, "wide12")


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _answer(facts: Facts) -> str:
    """The whole page in a few sentences."""
    if facts.best is None:
        text = "Nothing was told yet. Decide and reward, and this page follows."
    else:
        text = " ".join([_best_in_words(facts), *_parted(facts)])
    return f'<p class="answer" data-part="answer">{escape(text)}</p>'


def _best_in_words(facts: Facts) -> str:
    arm = next(one for one in facts.arms if one.name == facts.best)
    felt = f"{quoted(arm.name)} is best so far"
    if not math.isnan(arm.sure.value):
        felt += f": it feels like {amount(arm.sure.value, facts.unit)} for sure"
    if facts.by_features:
        return f"{felt}, at a moment without features. What is chosen goes by those of the moment."
    if facts.mean_best is None:
        return f"{felt}."
    if facts.mean_best == facts.best:
        return f"{felt}. The mean would choose it, too."
    other = next((one for one in facts.arms if one.name == facts.mean_best), None)
    if other is None or math.isnan(other.sure.value):
        return f"{felt}. The mean would choose {quoted(facts.mean_best)}."
    return (
        f"{felt}. The mean would choose {quoted(other.name)}, which feels like {amount(other.sure.value, facts.unit)}: "
        f"{amount(abs(other.sure.value - arm.sure.value), facts.unit, 3)} worse each time."
    )


def _parted(facts: Facts) -> list[str]:
    """Whether people of different tastes go different ways."""
    ways: dict[str, list[str]] = {}
    for taste in facts.tastes:
        if taste.best is not None and taste.decisions:
            ways.setdefault(taste.best, []).append(taste.label)
    if len(ways) < 2:
        return []
    each = "; ".join(f"{quoted(arm)} for those who go by {' or '.join(labels)}" for arm, labels in ways.items())
    return [f"People part ways: {each}."]


def _alarms(facts: Facts) -> str:
    """Arms whose outcomes no longer look as they did."""
    said = [
        f"{quoted(arm.name)} no longer looks as it did"
        + (f" ({arm.alarms} times; the last alarm {arm.ago:,} outcomes ago)." if arm.alarms > 1 else
           f" (since {arm.ago:,} outcomes).")
        for arm in facts.arms if arm.alarms and arm.ago is not None and arm.ago <= RECENT
    ]  # fmt: skip
    older = sum(arm.alarms for arm in facts.arms) - len(said)
    text = " ".join(said)
    if not text:
        return '<p class="alarm none" data-part="alarm"></p>' if older <= 0 else (
            f'<p class="alarm old" data-part="alarm">{older} older alarms of change; all is as before since.</p>'
        )  # fmt: skip
    return f'<p class="alarm" role="alert" data-part="alarm"><b>The world may have changed.</b> {escape(text)}</p>'


def _tiles(facts: Facts) -> str:
    oldest = "" if facts.oldest is None else f", the oldest {duration(max(time.time() - facts.oldest, 0.0))}"
    known = facts.lost and facts.decisions and facts.mean_best is not None
    each = facts.lost[-1][0] / facts.decisions if known else math.nan
    tiles = [
        tile(f"{facts.decisions:,}", "decisions"),
        tile(f"{facts.outcomes:,}", "outcomes"),
        tile(plain(facts.per_minute, 3), "decisions per minute"),
        tile(f"{facts.waiting:,}", f"waiting for a reward{oldest}"),
        tile(f"{facts.ended['expired']:,}", f"expired, after {duration(facts.expires_after)}",
             "warn" if facts.ended["expired"] > 0.05 * max(facts.decisions, 1) else ""),
    ]  # fmt: skip
    if not facts.by_features:  # else what is best, and so what is lost, depends on the moment
        lost = "not yet" if math.isnan(each) else plain(each, 2)
        tiles.append(tile(lost, f"{facts.unit} lost per decision while learning".strip()))
    return f'<div class="tiles" data-part="tiles">{"".join(tiles)}</div>'


def _arms(facts: Facts) -> str:
    if not facts.arms:
        return ""
    kept = "the policy's own" if facts.own_intervals else "those of 95% of redrawn outcomes, for the eye"
    note = "Dots are what an arm feels like for sure, strokes its mean."
    if any(math.isfinite(arm.sure.low) and math.isfinite(arm.sure.high) for arm in facts.arms):
        note += f" Intervals are {kept}."
    if facts.others > 0:
        note += f" {facts.others:,} other {'arm is' if facts.others == 1 else 'arms are'} not drawn."
    note += _unanswered(facts)
    size = "wide12" if facts.mean_best is None else "wide7"
    return card("The arms", arms_picture(facts) + _table(facts), size, note)


def _unanswered(facts: Facts) -> str:
    """What is said of arms that were tried and have no outcomes, while others have some."""
    silent = [arm for arm in facts.arms if arm.in_play and arm.waiting and not arm.outcomes and facts.outcomes]
    said = [f"{quoted(arm.name)} has 0 outcomes, {arm.waiting:,} waiting" for arm in silent[:MOST_SILENT]]
    if len(silent) > MOST_SILENT:
        said.append(f"so have {len(silent) - MOST_SILENT:,} more")
    return f" {'; '.join(said)}: what has none is tried again now and then until one arrives." if said else ""


def _table(facts: Facts) -> str:
    """The numbers behind the picture."""
    rows = []
    for arm in sorted(facts.arms, key=lambda one: rank(one, facts.costs)):
        bounded = math.isfinite(arm.sure.low) and math.isfinite(arm.sure.high)
        cells = (
            _number(arm.sure.value), f"{plain(arm.sure.low)} to {plain(arm.sure.high)}" if bounded else "",
            _number(arm.mean), share(round(arm.lately, 2)),
        )  # fmt: skip
        name = f'<td><span class="{colour(facts.arms, arm.name)}">{short(arm.name)}</span></td>'
        rows.append(f"<tr>{name}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    head = "".join(f"<th>{word}</th>" for word in ("arm", "feels like", "interval", "mean", "traffic now"))
    return f'<table class="numbers"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _number(number: float) -> str:
    return "" if math.isnan(number) else plain(number)


def _closing(facts: Facts) -> str:
    names = [arm.name for arm in facts.arms if any(arm.name in one.sure for one in facts.moments)]
    body = legend(facts.arms, names[:8]) + closing_picture(facts.arms, facts.moments)
    return card("How they closed", body, "wide12", "Lines are what each arm felt like, bands its interval then.")


def _lost(facts: Facts) -> str:
    if facts.mean_best is None:
        return ""
    body = '<p class="legend"><span class="ours">as decided</span><span class="theirs">always the best mean</span></p>'
    body += lost_picture(facts)
    note = "Estimated by what is known now, each person's loss by her own preference."
    if facts.lost:
        ours, theirs = facts.lost[-1]
        words = f"Lost so far: {amount(ours, facts.unit, 3)}."
        words += f" Always {quoted(facts.mean_best)} would have lost {amount(theirs, facts.unit, 3)}."
        body = f"<p>{escape(words)}</p>{body}"
    return card("Against always the best mean", body, "wide5", note)


def _traffic(facts: Facts) -> str:
    shown = [arm.name for arm in facts.arms]
    panels = "".join(_panel(facts, taste) for taste in facts.tastes)
    body = f'{legend(facts.arms, shown[:8])}<div class="panels">{panels}</div>'
    return card("Where traffic goes", body, "wide12", "Shares of decisions, from the first to the last.")


def _panel(facts: Facts, taste: TasteFacts) -> str:
    """One taste: who they are, where they went, where they go."""
    lately = taste.lately
    now = ""
    if lately.total():
        arm, many = lately.most_common(1)[0]
        part = share(round(many / lately.total(), 2))
        now = f'now <b class="{colour(facts.arms, arm)}">{short(arm) or "others"}</b> {part}'
    who = f"{taste.people:,} {'person' if taste.people == 1 else 'people'}" if taste.people else "the experiment's own"
    return (
        f'<div class="panel"><h3>{escape(taste.label)}</h3>'
        f'<p class="small">{who}, {taste.decisions:,} decisions</p>'
        f"{shares_picture(facts.arms, taste.series, f'Decisions of {taste.label}')}"
        f'<p class="now">{now}</p></div>'
    )


def _why(facts: Facts) -> str:
    """The decision weights of the two arms that matter, for each taste."""
    rows: list[str] = []
    told = [taste for taste in facts.tastes if taste.best is not None and taste.why]
    opened = next((taste for taste in told if len(taste.why) > 1), told[0] if told else None)
    for taste in told:
        assert taste.best is not None
        names = [taste.best] + [name for name in taste.why if name != taste.best]
        tables = "".join(
            f'<div><h4><span class="{colour(facts.arms, name)}">{short(name)}</span> feels like '
            f"{escape(amount(taste.felt[name], facts.unit))}</h4>"
            f"{weights_picture(taste.why[name], colour(facts.arms, name))}</div>"
            for name in names if name in taste.felt
        )  # fmt: skip
        verdict = "agrees with the mean" if len(names) == 1 else f"not {facts.mean_best}, which the mean would choose"
        start = f'<details id="why-{len(rows)}"{" open" if taste is opened else ""}>'
        rows.append(
            f"{start}<summary><b>{escape(taste.label)}</b> takes "
            f'{short(taste.best)}: {escape(verdict)}</summary><div class="pair">{tables}</div></details>'
        )
    if not rows:
        return ""
    return card("Why people differ", "".join(rows), "wide12", "How often outcomes came, and how much they count.")


_CARDS = {
    "The arms": _arms,
    "Against always the best mean": _lost,
    "Where traffic goes": _traffic,
    "How they closed": _closing,
    "Why people differ": _why,
}
