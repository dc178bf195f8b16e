"""Contexts, as JSON brings them, in rows of numbers: columns come as features do.

A feature that is a number, or true or false (1 or 0), has a column of numbers; one that is text has a column of codes,
by the order in which categories came. A feature that is a number here and text there has one of each. A list has a
column for each text in it. A feature within an object has a name with a dot: `weather.rain`. What is missing, null or
not a number is missing, which is something that can be learned from, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from allais._checks import FloatArray, brief
from allais.files import require

MOST_COLUMNS = 256  # features that are learned from; those that come later are left out
MOST_CATEGORIES = 1_000  # of one feature; those that come later are one more
MOST_FEATURES = 1_000  # of one context
MOST_TEXT = 500  # characters of a category, or of a feature's whole name
MOST_WHOLE = 2**53  # whole numbers below are numbers without a further look

Flat = dict[str, Any]  # a feature's whole name: text, a number, true or false, or a list of them


def flat(given: Any) -> Flat:
    """Features by their whole names: of an object, or of a list of objects.

    >>> flat({"hour": 8, "weather": {"rain": True}})
    {'hour': 8, 'weather.rain': True}
    """
    found: Flat = {}
    for one in given if isinstance(given, list) else [given]:
        if not isinstance(one, Mapping):
            raise ValueError(f"features are an object of names; got {brief(one)}. Give each a name.")
        _add("", one, found)
    return found


def _add(before: str, given: Mapping[str, Any], to: Flat) -> None:
    for name, entry in given.items():
        if not isinstance(name, str):
            raise ValueError(f"a feature's name is text; got {brief(name)}. Write it as text.")
        inner = entry if isinstance(entry, list) else [entry]
        if any(isinstance(one, list) for one in inner):
            raise ValueError(f"a feature is text, a number, or a list of them; {before + name!r} is not. Flatten it.")
        plain = [one for one in inner if one is not None and not isinstance(one, Mapping)]
        for one in inner:
            if isinstance(one, Mapping):
                _add(f"{before}{name}.", one, to)
        if plain:
            to[before + name] = plain if isinstance(entry, list) else plain[0]


def require_short(what: str, text: str) -> None:
    """Refuse a text that is too long for a category, since categories are kept for good."""
    if len(text) > MOST_TEXT:
        raise ValueError(
            f"a feature's {what} has {MOST_TEXT} characters at most; got {len(text):,}: {brief(text)}. Shorten it, or "
            "give what matters of it."
        )


def checked_context(given: Any) -> Flat:
    """A context whose entries JSON can hold: text, numbers, truths, and lists of text; what is missing is left out.

    >>> checked_context({"hour": np.int64(8), "rain": float("nan"), "tags": ["new", "vip"], "price": None})
    {'hour': 8.0, 'tags': ['new', 'vip']}
    """
    if (plain := _plain(given)) is not None:
        return plain
    if not isinstance(given, Mapping):
        raise TypeError(f"a context is features by name; got {brief(given)}. Write {{'hour': 8, 'weather': 'rain'}}.")
    features = flat(given)
    if len(features) > MOST_FEATURES:
        raise ValueError(f"a context has {MOST_FEATURES:,} features at most; got {len(features):,}. Leave some out.")
    found: Flat = {}
    for name, entry in features.items():
        require_short("name", name)
        if isinstance(entry, list):
            found[name] = [str(one).lower() if isinstance(one, bool) else str(one) for one in entry]
            for one in found[name]:
                require_short("text", one)
        elif isinstance(entry, str):
            require_short("text", entry)
            found[name] = entry
        elif isinstance(entry, bool | np.bool_):
            found[name] = bool(entry)
        elif isinstance(entry, int | float | np.number):
            number = _number(name, entry)
            if not math.isnan(number):
                found[name] = number
        else:
            raise TypeError(f"a feature is text, a number, true or false; {name!r} is {brief(entry)}. Convert it.")
    return found


def _plain(given: Any) -> Flat | None:
    """The checked context of text and finite numbers, which most are; None where there is more to it."""
    if type(given) is not dict or len(given) > MOST_FEATURES:
        return None
    found: Flat = {}
    for name, entry in given.items():
        if type(name) is not str or len(name) > MOST_TEXT:
            return None
        kind = type(entry)
        if kind is bool or (kind is str and len(entry) <= MOST_TEXT) or (kind is float and math.isfinite(entry)):
            found[name] = entry
        elif kind is int and -MOST_WHOLE < entry < MOST_WHOLE:
            found[name] = float(entry)
        else:
            return None
    return found


def _number(name: str, entry: Any) -> float:
    try:
        number = float(entry)
    except OverflowError:  # of a whole number
        number = math.inf
    if math.isinf(number):
        raise ValueError(f"a number in a context must be finite; {name!r} is {brief(entry)}. Leave it out if unknown.")
    return number


class Encoding:
    """Which column a feature has, and which code a category."""

    def __init__(self) -> None:
        self.columns: dict[tuple[str, str], int] = {}  # by "number" or "text" and the feature's name
        self.codes: dict[str, dict[str, int]] = {}  # of categories, by the feature's name
        self.truths: set[str] = set()  # features whose numbers were all true or false, so that they are shown as such

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def categorical(self) -> Any:
        """Whether each column holds codes."""
        return np.array([kind == "text" for kind, _ in self.columns], dtype=np.bool_)

    def knows(self, context: Flat) -> bool:
        """Whether everything in a checked context has its column and its code already."""
        return all(
            (kind, name) in self.columns
            and (entry in self.codes[name] if kind == "text" else name not in self.truths or type(entry) is bool)
            for kind, name, entry in _entries(context)
        )

    def learn(self, context: Flat) -> None:
        """Make columns and codes for what is new in a checked context."""
        for kind, name, entry in _entries(context):
            key = kind, name
            if key not in self.columns:
                if len(self.columns) >= MOST_COLUMNS:
                    continue
                self.columns[key] = len(self.columns)
                if type(entry) is bool:
                    self.truths.add(name)
            if kind == "text":
                codes = self.codes.setdefault(name, {})
                if entry not in codes and len(codes) < MOST_CATEGORIES:
                    codes[entry] = len(codes)
            elif type(entry) is not bool:
                self.truths.discard(name)

    def row(self, context: Flat, to: FloatArray) -> None:
        """Write a checked context as numbers, one for each column or more; what has no column yet is left out."""
        found, columns = [math.nan] * to.size, self.columns
        for kind, name, entry in _entries(context):
            column = columns.get((kind, name))
            if column is not None:
                found[column] = self.codes[name].get(entry, -1.0) if kind == "text" else entry
        to[:] = found

    def context(self, row: Sequence[float]) -> Flat:
        """The context that a row stands for, without what is missing and categories that have no code."""
        found: Flat = {}
        for (kind, name), x in zip(self.columns, row, strict=False):
            if x == x and not (kind == "text" and x < 0.0):
                truth = kind == "number" and name in self.truths
                found[name] = list(self.codes[name])[int(x)] if kind == "text" else bool(x) if truth else x
        return found

    def unused(self, context: Flat) -> list[str]:
        """The features that nothing is learned from, since there are too many."""
        if len(self.columns) < MOST_COLUMNS:
            return []
        return sorted({name for kind, name, _ in _entries(context) if (kind, name) not in self.columns})

    def of_both_kinds(self, context: Flat) -> list[str]:
        """The features of a context that are numbers in some contexts and text in others."""
        other = {"text": "number", "number": "text"}
        return [name for kind, name, _ in _entries(context) if (other[kind], name) in self.columns]

    def document(self) -> dict[str, Any]:
        """The encoding as JSON."""
        return {
            "columns": [list(key) for key in self.columns],
            "codes": {k: list(v) for k, v in self.codes.items()},
            "truths": sorted(self.truths),
        }

    @classmethod
    def of(cls, document: Any) -> Encoding:
        """The encoding that a document describes."""
        found = cls()
        columns, codes = document["columns"], document["codes"]
        require(isinstance(columns, list) and len(columns) <= MOST_COLUMNS, "it has too many columns")
        for kind, name in columns:
            require(kind in ("number", "text") and isinstance(name, str), "a column has no name")
            require(kind == "number" or isinstance(codes.get(name), list), "a column has no codes")
            found.columns[kind, name] = len(found.columns)
        require(len(found.columns) == len(columns), "a column is there twice")
        found.truths = {name for name in document.get("truths", ()) if ("number", name) in found.columns}
        found.codes = {name: {entry: code for code, entry in enumerate(entries)} for name, entries in codes.items()}
        return found


def _entries(context: Flat) -> list[tuple[str, str, Any]]:
    found: list[tuple[str, str, Any]] = []
    for name, entry in context.items():
        if isinstance(entry, list):
            found += [("number", f"{name}={one}", 1.0) for one in entry]
        else:
            found.append(("text" if isinstance(entry, str) else "number", name, entry))
    return found
