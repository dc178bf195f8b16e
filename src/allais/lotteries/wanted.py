"""The check where a lottery is wanted: whatever else comes is refused with the lottery to write instead."""

from __future__ import annotations

from typing import Any

from allais._checks import brief
from allais.lotteries.base import Lottery


def require_lottery(thing: Any, rule: str, advice: str) -> None:
    """Refuse what is no lottery, by a `rule` that says where one is wanted."""
    if not isinstance(thing, Lottery):
        raise TypeError(f"{rule}; got {came(thing)}. {in_place_of(thing) or advice}")


def came(thing: Any) -> str:
    """What came, as a sentence names it; SciPy's own text for a law is the address of an object.

    >>> from scipy import stats
    >>> came(stats.norm(0, 1)), came([stats.gamma(2.0)]), came(7)
    ("SciPy's norm(...)", "a list with SciPy's gamma(...)", '7')
    """
    law = _law(thing)
    if law is not None:
        return f"SciPy's {_name(law)}" if law is thing else f"a {type(thing).__name__} with SciPy's {_name(law)}"
    return brief(thing)


def in_place_of(thing: Any) -> str | None:
    """What to write in place of a law of SciPy, or of a list of some; None where it is something else.

    >>> from scipy import stats
    >>> in_place_of(stats.norm(0, 1))
    'Wrap it: Continuous(stats.norm(...)).'
    """
    law = _law(thing)
    if law is None:
        return None
    if hasattr(getattr(law, "dist", law), "pmf"):
        return "Continuous wraps laws with a density; write this one as Discrete({outcome: probability})."
    return f"Wrap it: Continuous(stats.{_name(law)})."


def _law(thing: Any) -> Any:
    """The law of SciPy that something is, or the first one in it."""
    for one in thing if isinstance(thing, list | tuple) else (thing,):
        if hasattr(one, "rvs") and (hasattr(one, "dist") or hasattr(one, "freeze")) and not isinstance(one, type):
            return one
    return None


def _name(law: Any) -> str:
    return f"{getattr(getattr(law, 'dist', law), 'name', 'law')}(...)"
