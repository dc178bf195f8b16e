"""The first screen of the report: what the paper claims, and three pictures that show it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from allais import __version__
from allais.paper.drawing import BLUE, GREY, INK, ORANGE
from allais.paper.findings import Figure
from allais.paper.page.figures import html_figure
from allais.paper.page.words import shares
from allais.paper.store import Stored

CLAIM = (
    "People overweight rare events, so the arm with the best mean is often not the one that they prefer. "
    "The paper weights probabilities as people do and turns UCB, LUCB, SR, OFUL and G-allocation into W-UCB, W-LUCB, "
    "W-SR, W-OFUL and W-G. It claims that these find the arm that people prefer, with regret and samples of the best "
    "possible order, where algorithms for the mean settle on another."
)
SOURCE = (
    "<i>Bandit algorithms to emulate human decision making using probabilistic distortions</i> (Kolla, Prashanth, "
    "Gopalan, Jagannathan, Fu and Marcus), run again"
)
PICTURES = (  # the figure, its experiment, and its words on the first screen
    ("regret-a", "regret", "W-UCB against UCB: regret where the cheaper arm on average is not the preferred one."),
    ("right-answers", "confidence", "W-LUCB and W-SR against LUCB and SR, on three arms."),
    ("map", "vehicles", "The detour: the fastest route on average, and the one that people prefer."),
)
ROW, LEFT, WIDE = 44.0, 86.0, 374.0  # of the bars, in points, as wide as the other figures


def opening(results: Sequence[Stored]) -> str:
    """Title, claim and pictures."""
    figures = {figure.name: figure for stored in results for figure in stored.result.figures}
    bars = right_answers(results)
    if bars is not None:
        figures[bars.name] = bars
    shown = [
        html_figure(figures[name], f'{escape(words)} <a href="#{experiment}">More</a>', "top-")
        for name, experiment, words in PICTURES
        if name in figures
    ]
    first = results[0]
    return "\n".join(
        [
            "<h1>Bandits that choose as people do: the paper, run again</h1>",
            f"<p>{_unbroken(CLAIM)}</p>",
            f'<div class="three">{"".join(shown)}</div>' if shown else "",
            f'<p class="soft">{SOURCE} by allais {__version__} at {first.scale} scale, seed {first.seed}.</p>',
        ]
    )


def right_answers(results: Sequence[Stored]) -> Figure | None:
    """Bars: how many runs of each policy end on the arm that people prefer."""
    found = {
        name: hits for name, hits in shares({one.name: one.result.facts for one in results}).items() if hits is not None
    }
    if not found:
        return None
    room = WIDE - LEFT - 12.0
    high = ROW * len(found) + 34.0
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {high:g}" font-family="sans-serif">']
    for row, (name, (hits, runs)) in enumerate(found.items()):
        top = 8.0 + ROW * row + (6.0 if name == "SR" else 0.0)
        long = room * hits / runs
        colour = BLUE if name.startswith("W-") else ORANGE
        parts += [
            f'<text x="{LEFT - 10:g}" y="{top + 20:g}" font-size="15" text-anchor="end" fill="{INK}">{name}</text>',
            f'<rect x="{LEFT:g}" y="{top:g}" width="{room:g}" height="30" fill="{GREY}" opacity="0.18"/>',
            f'<rect x="{LEFT:g}" y="{top:g}" width="{max(long, 2.0):.1f}" height="30" fill="{colour}"/>',
            f'<text x="{LEFT + (8 if long < room / 2 else long - 8):.1f}" y="{top + 20:g}" font-size="13" '
            f'fill="{INK if long < room / 2 else "#ffffff"}" text-anchor="{"start" if long < room / 2 else "end"}">'
            f"{hits:,} of {runs:,} runs</text>",
        ]
    parts.append(
        f'<text x="{LEFT:g}" y="{high - 6:g}" font-size="13" fill="{INK}">runs that end on the preferred arm</text>'
        "</svg>"
    )
    return Figure("right-answers", "Runs that end on the arm that people prefer.", "".join(parts))


def _unbroken(text: str) -> str:
    """Names such as W-UCB stay on one line."""
    return re.sub(r"\bW-[A-Z]+", lambda name: f'<span class="name">{name[0]}</span>', escape(text))
