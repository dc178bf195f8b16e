"""HTML by templates, for all pages: one environment, which escapes what it is given, and one style sheet.

Templates and style sheets lie beside the code that uses them, and are named by their place in the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allais.preferences.valuation import amount, plain
from allais.report.tables import duration, quoted, share

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

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
    """HTML that was made by us, as it is."""
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
