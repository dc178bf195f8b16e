"""The other pages: signing in, the list of experiments, a new one, people, and an interview."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple
from urllib.parse import urlencode

from fastapi import Response

from allais.preferences import Preference
from allais.preferences.named import in_words
from allais.report.sure import amount
from allais.report.tables import share
from allais.settings import from_spec

UNDRAWN = '<p class="quiet" role="alert">This part could not be worked out; the log of the service says why.</p>'


def page(title: str, body: str, *, signed_in: bool = True, here: str = "") -> Response:
    """A whole page."""
    return html(whole(title, body, signed_in=signed_in, here=here))


def html(content: str, status: int = 200) -> Response:
    """HTML as an answer."""
    return Response(content, status, media_type="text/html; charset=utf-8")


def whole(title: str, body: str, *, signed_in: bool = True, here: str = "") -> str:
    """The text of a whole page."""
    links = (("/", "Experiments"), ("/people", "People"), ("/docs", "Calls"))
    marked = "".join(
        f'<a href="{to}"{" aria-current=page" if to == here else ""}>{word}</a>' for to, word in links if signed_in
    )
    leave = '<form method="post" action="/sign-out"><button class="plain">Sign out</button></form>' if signed_in else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<link rel="icon" href="data:,">\n<title>{escape(title)}</title>\n'
        '<link rel="stylesheet" href="/static/dashboard.css">\n<script src="/static/dashboard.js" defer></script>\n'
        f'</head>\n<body>\n<header><a class="brand" href="/">allais</a><nav>{marked}</nav>'
        f'<span id="status" role="status"></span>{leave}</header>\n<main>\n{body}\n</main>\n</body>\n</html>\n'
    )


def live(address: str, content: str) -> str:
    """Content that the script keeps fresh from an address."""
    return f'<div id="live" data-live="{escape(address)}">\n{content}\n</div>'


def card(title: str, body: str, kind: str = "", note: str = "") -> str:
    """A part of a page."""
    small = f'<p class="small">{escape(note)}</p>' if note else ""
    name = "".join(letter for letter in title.lower() if letter.isalpha())
    return f'<section class="card {kind}" data-part="{name}"><h2>{escape(title)}</h2>\n{body}\n{small}</section>'


def tile(number: str, word: str, kind: str = "") -> str:
    """A number that matters."""
    return f'<div class="tile {kind}"><strong>{escape(number)}</strong><span>{escape(word)}</span></div>'


def refusal(sentence: str, status: int, *, signed_in: bool) -> Response:
    """What was refused, as a page."""
    said = sentence[:1].upper() + sentence[1:]
    back = '<p><a href="/">Back</a></p>'
    body = f'<section class="card narrow"><h1>That did not work</h1><p>{escape(said)}</p>{back}</section>'
    return html(whole("That did not work", body, signed_in=signed_in), status)


PEOPLE_PER_PAGE = 100


class Summary(NamedTuple):
    """An experiment in one line."""

    name: str
    state: str
    unit: str
    outcomes: int
    waiting: int
    arms: int
    best: str | None
    felt: float
    alarms: int
    trouble: str = ""  # why it could not be read


def sign_in(said: str = "") -> str:
    """The form for a key."""
    wrong = f'<p class="wrong" role="alert">{escape(said)}</p>' if said else ""
    return (
        '<section class="card narrow"><h1>Sign in</h1>'
        "<p>Use an API key of this service. The first one was shown when it started for the first time.</p>"
        f'{wrong}<form method="post" action="/sign-in" class="fields">'
        '<input name="user" autocomplete="username" value="allais" hidden>'
        '<label>API key<input type="password" name="key" autocomplete="current-password" required autofocus></label>'
        "<button>Sign in</button></form></section>"
    )


def framed(listed: str, *, manages: bool) -> str:
    """The list of experiments, and what a manager can do beside it."""
    if not manages:
        return f'<section class="head"><h1>Experiments</h1></section>{listed}'
    button = '<a class="button" href="/new">New experiment</a>'
    changes = '<p class="small"><a href="/changes">Who changed what</a></p>'
    return f'<section class="head"><h1>Experiments</h1>{button}</section>{listed}{changes}'


def experiments(found: list[Summary]) -> str:
    """All experiments."""
    if not found:
        return '<p class="answer" data-part="list">There is no experiment yet. Begin one: it needs a name and arms.</p>'
    return f'<div class="list" data-part="list">{"".join(map(_line, found))}</div>'


def _line(one: Summary) -> str:
    if one.trouble:
        return (
            f'<div class="card line"><h2>{escape(one.name)} <span class="pill changed">broken</span></h2>'
            f"<p>It cannot be read: {escape(one.trouble)}. Restore a backup, or delete it; the others go on.</p></div>"
        )
    best = "nothing told yet"
    if one.best is not None:
        best = f"<b>{escape(one.best)}</b> is best so far, like {escape(amount(one.felt, one.unit))} for sure"
    alarm = ' <span class="pill changed">changed</span>' if one.alarms else ""
    return (
        f'<a class="card line" href="/experiments/{escape(one.name)}"><h2>{escape(one.name)} '
        f'<span class="pill {one.state}">{one.state}</span>{alarm}</h2><p>{best}</p>'
        f'<p class="small">{_many(one.arms, "arm")} · {_many(one.outcomes, "outcome")} · '
        f"{one.waiting:,} waiting</p></a>"
    )


def _many(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def new_experiment(given: dict[str, str], said: str = "") -> str:
    """The form of a new experiment."""
    wrong = f'<p class="wrong" role="alert">{escape(said)}</p>' if said else ""

    def text(name: str, word: str, hint: str = "", kind: str = "text", more: str = "") -> str:
        value = escape(given.get(name, ""))
        return (
            f'<label>{word}<input type="{kind}" name="{name}" value="{value}" {more}>'
            f'<span class="small">{hint}</span></label>'
        )

    def choice(name: str, word: str, options: dict[str, str]) -> str:
        inside = "".join(
            f'<option value="{value}"{" selected" if given.get(name) == value else ""}>{shown}</option>'
            for value, shown in options.items()
        )
        return f'<label>{word}<select name="{name}">{inside}</select></label>'

    less = "checked" if given.get("costs") else ""
    fields = (
        text("name", "Name", "letters, digits, dots and dashes", more='required pattern="[A-Za-z0-9][A-Za-z0-9_.\\-]*"')
        + f'<label>Arms<textarea name="arms" rows="4" required>{escape(given.get("arms", ""))}</textarea>'
        '<span class="small">what can be chosen, one per line</span></label>'
        + '<div class="two">'
        + text("low", "Least outcome", kind="number", more='step="any" required')
        + text("high", "Greatest outcome", kind="number", more='step="any" required')
        + "</div>"
        + text("unit", "Unit", "such as minutes")
        + f'<label class="tick"><input type="checkbox" name="costs" value="yes" {less}> Less is better</label>'
        + text("reference", "Reference", "the outcome that is neither gain nor loss; 0 if left out", "number",
               'step="any"')
        + choice("taste", "Goes by, for people without a preference of their own", TASTES)
        + choice("policy", "Explores with", {"NPTS": "NPTS, which learns fastest",
                                              "WUCB": "W-UCB, which keeps intervals"})
    )  # fmt: skip
    return (
        f'<section class="card narrow"><h1>A new experiment</h1>{wrong}'
        '<form method="post" action="/new" class="fields">'
        f"{fields}<button>Begin</button></form></section>"
    )


TASTES = {
    "tversky_kahneman": "what people feel (prospect theory)",
    "expected_value": "the mean",
    "cvar": "the worst 10%",
}


def people(found: Sequence[tuple[str, Preference, str]], more: str | None, *, manages: bool) -> str:
    """People by name, and what they go by."""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(in_words(preference))}</td>"
        f"<td>{escape(source.replace('_', ' '))}</td></tr>"
        for name, preference, source in found
    )
    head = "<thead><tr><th>name</th><th>goes by</th><th>known from</th></tr></thead>"
    table = f'<table class="people">{head}<tbody>{rows}</tbody></table>'
    table += '<p class="small">Applied to the gains and losses of each experiment, in its own direction.</p>'
    body = table if found else '<p class="quiet">Nobody has a preference of her own yet.</p>'
    if more is not None:
        body += f'<p><a href="/people?{escape(urlencode({"after": more}))}">Further people</a></p>'
    ask = (
        '<form method="post" action="/interviews" class="fields"><label>Name<input name="person" required '
        'maxlength="200"></label><div class="two"><label>Least stake<input type="number" step="any" name="low" '
        'value="-50" required></label><label>Greatest stake<input type="number" step="any" name="high" value="200" '
        'required></label></div><label>Unit<input name="unit" maxlength="40" placeholder="euros"></label>'
        '<label class="tick"><input type="checkbox" name="costs" value="yes"> Less is better</label>'
        '<button name="by" value="here">Ask a few questions here</button>'
        '<button name="by" value="link" class="plain">Make a link to send</button></form>'
    )
    interview = card("An interview", ask, "", "Twenty questions tell what somebody goes by.") if manages else ""
    return f'<div class="sides">{card("People", body)}{interview}</div>'


def link(person: str, address: str) -> str:
    """A link to send to a person."""
    return (
        f'<section class="card narrow"><h1>A link for {escape(person)}</h1><p>Whoever has it answers these questions, '
        "without a key, for seven days. It is shown this once.</p>"
        f'<p class="fields"><input readonly value="{escape(address)}" aria-label="link"></p>'
        '<p><a href="/people">To all people</a></p></section>'
    )


def interview(shown: dict[str, Any], unit: str, here: str, *, signed_in: bool) -> str:
    """The next question, or what the answers showed; `here` is the address of this page."""
    question = shown["question"]
    back = ""
    if shown["previous"] is not None:
        back = f'<p><a class="button plain" href="{escape(here)}?question={shown["previous"]}">Back</a></p>'
    if question is None:
        others = '<p><a href="/people">To all people</a></p>' if signed_in else ""
        shows = in_words(from_spec(shown["preference"]))
        return (
            f'<section class="card narrow"><h1>Thank you, {escape(shown["person"])}</h1>'
            f"<p>From now on, decisions for you go by your own answers: {escape(shows)}.</p>"
            f"{back}{others}</section>"
        )
    options = "".join(_option(side, question[side.lower()], unit, question["given"]) for side in "AB")
    done = 100.0 * (question["number"] - 1) / max(shown["questions"], 1)
    asking = question["wording"].splitlines()[0]
    return (
        f'<section class="question"><p class="small">Question {question["number"]} of {shown["questions"]} for '
        f'{escape(shown["person"])}</p><svg class="progress" width="100%" height="6" aria-hidden="true">'
        f'<rect width="100%" height="6" rx="3" class="rest"/><rect width="{done:.1f}%" height="6" rx="3"/></svg>'
        f"<h1>{escape(asking)}</h1>"
        f'<form method="post" action="{escape(here)}" class="options">'
        f'<input type="hidden" name="question" value="{question["id"]}">{options}</form>{back}</section>'
    )


def _option(side: str, outcomes: list[list[float]], unit: str, given: str | None) -> str:
    lines = "".join(
        f'<span class="outcome"><b>{escape(amount(x, unit))}</b> <span>{"for sure" if p >= 1.0 else share(p)}</span>'
        f'<svg width="100%" height="8" aria-hidden="true"><rect class="rest" width="100%" height="8" rx="4"/>'
        f'<rect width="{100.0 * p:.1f}%" height="8" rx="4"/></svg></span>'
        for x, p in outcomes
    )
    chosen = ' <span class="small">your answer</span>' if given == side else ""
    return f'<button name="answer" value="{side}"><span class="side">{side}{chosen}</span>{lines}</button>'
