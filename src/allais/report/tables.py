"""Tables and numbers as text."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import floor, log10


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
