"""Numbers as people read them."""

from __future__ import annotations

from math import floor, log10


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


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(7300)
    '2.0 hours'
    """
    for size, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} seconds"
