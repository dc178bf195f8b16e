"""HTML by templates, and tables and numbers as text; one environment, with autoescape, and one style sheet.

Templates and style sheets lie beside the code that uses them, and are named by their place in the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allais.preferences.valuation import amount, plain

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


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


def with_error(number: float, error: float, digits: int = 2) -> str:
    """A number and its standard error, to the digits that the error leaves.

    >>> with_error(211.4937, 1.2345), with_error(0.5, 0.0), with_error(61659.2, 312.0)
    ('211.5 ± 1.2', '0.5', '61,660 ± 310')
    """
    if not error > 0.0:
        return f"{number:,.4g}" if abs(number) < 1e4 else f"{number:,.0f}"
    places = digits - 1 - floor(log10(error))
    if places <= 0:
        return f"{round(number, places):,.0f} ± {round(error, places):,.0f}"
    return f"{number:,.{places}f} ± {error:.{places}f}"


def share(number: float) -> str:
    """A share in percent; a rare one is not shown as none.

    >>> share(0.05), share(0.9312), share(3e-7), share(0.9999)
    ('5%', '93.12%', '3e-05%', '99.99%')
    """
    if 0.0 < number < 5e-5:
        return f"{100.0 * number:.1g}%"
    return f"{100.0 * number:.2f}".rstrip("0").rstrip(".") + "%"


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(7300), duration(12.3), duration(0.02)
    ('2.0 hours', '12 seconds', 'less than a second')
    """
    for size, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= size:
            return f"{seconds / size:.1f} {name}"
    if seconds < 1.0:
        return "less than a second"
    return f"{seconds:.1f} seconds" if seconds < 10.0 else f"{seconds:.0f} seconds"


def quoted(name: Hashable) -> str:
    """The name of an option as a sentence shows it.

    >>> quoted("seven agents, slower"), quoted(3)
    ('"seven agents, slower"', 'option 3')
    """
    return f'"{name}"' if isinstance(name, str) else f"option {name}"


PACKAGE = Path(__file__).parents[1]
SHARED_STYLE = "report/static/style.css"
MOST_NAME = 32  # characters that a phone has room for in a picture; tables have whole names


def render(template: str, **given: Any) -> Markup:
    """A template, filled in; a name that it uses and was not given is an error."""
    return trusted(_environment().get_template(template).render(given))


def macro(template: str, name: str) -> Callable[..., Markup]:
    """A part of a template, as a function.

    >>> print(macro("report/templates/parts.html.j2", "table")(["a"], [["<2>"]]))
    <div class="wide"><table><thead><tr><th>a</th></tr></thead><tbody>
    <tr><td data-label="a">&lt;2&gt;</td></tr>
    </tbody></table></div>
    """
    found: Callable[..., Markup] = getattr(_environment().get_template(template).module, name)
    return found


def style(*sheets: str) -> Markup:
    """The style that all pages share, and what a page adds to it; for a page that needs no other file."""
    return static(SHARED_STYLE, *sheets)


def static(*files: str) -> Markup:
    """Files of ours as they are, one after the other."""
    return trusted("\n".join((PACKAGE / name).read_text(encoding="utf-8") for name in files))


def trusted(text: str) -> Markup:
    """HTML of our own, which is not escaped."""
    from markupsafe import Markup

    return Markup(text)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # 50 ms, for pages only

    made = Environment(
        loader=FileSystemLoader(PACKAGE), autoescape=True, undefined=StrictUndefined, auto_reload=False,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    made.filters |= {
        "amount": amount, "count": count, "duration": duration, "number": number, "plain": plain, "quoted": quoted,
        "share": share, "short": short,
    }  # fmt: skip
    made.tests["finite"] = math.isfinite
    made.globals["static"] = static
    return made


def count(many: int, word: str = "") -> str:
    """A count, with the word for what is counted.

    >>> count(1204), count(1, "arm"), count(2, "arm")
    ('1,204', '1 arm', '2 arms')
    """
    return f"{many:,} {word}{'' if many == 1 else 's'}" if word else f"{many:,}"


def number(given: float) -> str:
    """A number to a few digits; nothing where there is none."""
    return "" if math.isnan(given) else plain(given)


def short(name: str) -> str:
    """A name that a phone has room for."""
    return name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…"
