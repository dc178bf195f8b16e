"""Tables of text, in Markdown and in HTML."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

LONG_CELL = 24  # characters; longer ones, as names and reasons may be, are broken into lines


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; a cell may hold anything.

    >>> print(markdown_table(["route"], [["A|B"], ["2 * 3 * 5"]]))
    | route |
    |---|
    | A\\|B |
    | 2 \\* 3 \\* 5 |
    """
    return "\n".join([_line(header), "|" + "---|" * len(header), *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    text = " ".join(text.split()).replace("|", "\\|")
    return text.replace("*", "\\*") if text.count("*") > 1 else text  # one star alone is a star, two are emphasis


def html_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "", marked: Collection[int] = ()
) -> str:
    """A table in HTML, in a box that scrolls sideways; `kind` is its class, and `marked` rows have the class `best`.

    >>> print(html_table(["a", "b"], [["1", "<2>"]], "numbers"))
    <div class="wide"><table class="numbers"><thead><tr><th>a</th><th>b</th></tr></thead><tbody>
    <tr><td data-label="a">1</td><td data-label="b">&lt;2&gt;</td></tr>
    </tbody></table></div>
    """
    named = f' class="{kind}"' if kind else ""
    heading = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = [f'<div class="wide"><table{named}><thead><tr>{heading}</tr></thead><tbody>']
    for number, row in enumerate(rows):
        line = "".join(
            f'<td{_long(cell)} data-label="{escape(label)}">{escape(cell)}</td>'
            for label, cell in zip(header, row, strict=True)
        )
        lines.append(f'<tr class="best">{line}</tr>' if number in marked else f"<tr>{line}</tr>")
    return "\n".join([*lines, "</tbody></table></div>"])


def _long(cell: str) -> str:
    return ' class="words"' if len(cell) > LONG_CELL else ""
