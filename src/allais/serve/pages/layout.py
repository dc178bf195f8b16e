"""What all pages share: the frame, cards, and answers."""

from __future__ import annotations

from html import escape

from fastapi import Response

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
