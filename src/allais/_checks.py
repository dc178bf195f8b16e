"""The checks at the border: each raises one sentence that gives the rule, what came, and what to do.

`generator` is the only place where a random generator is made, one seed in, one generator out; `root_of` makes the root
of the seeds of many.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
TEXT_OR_TRUTH = (str, bytes, bytearray, bool, np.bool_)  # what Python would take for a number
LONGEST = 80  # characters of what a sentence quotes


def brief(thing: Any) -> str:
    """What came, short enough for a sentence.

    >>> brief("x" * 300)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    try:
        text = repr(thing)
    except ValueError:  # Python writes no number of more than 4,300 digits
        text = f"a {type(thing).__name__} too long to write"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


MOST = 10**15  # of anything that is counted: exact as a float, and at a nanosecond each eleven days


def whole(name: str, given: Any, what: str = "", most: int = MOST, least: int = 1) -> int:
    """A number of things from `least` to `most` as an int, or an error that says what came.

    >>> whole("budget", 2**63)
    Traceback (most recent call last):
        ...
    ValueError: budget must be at most 1,000,000,000,000,000; got 9223372036854775808. Give a smaller number.
    """
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        what = what or f"a whole number, {least} or more"
        raise ValueError(f"{name} must be {what}; got {brief(given)}. Give an int.")
    if given > most:
        raise ValueError(f"{name} must be at most {most:,}; got {brief(int(given))}. Give a smaller number.")
    return int(given)


def number(name: str, thing: Any, advice: str = "Give a number.", what: str = "a number") -> float:
    """`thing` as a float; text and truth values are refused, though Python would convert them.

    >>> number("a reward", 7)
    7.0
    """
    kind = getattr(getattr(thing, "dtype", None), "kind", "f")  # of numpy's scalars and arrays
    if isinstance(thing, TEXT_OR_TRUTH) or kind not in "iuf":
        raise ValueError(f"{name} must be {what}; got {brief(thing)}. {advice}")
    try:
        return float(thing)
    except OverflowError:
        raise ValueError(f"{name} must be finite; got one larger than any double. {advice}") from None
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be {what}; got {brief(thing)}. {advice}") from None


def real(name: str, thing: Any, advice: str = "Give a finite number.") -> float:
    """`thing` as a finite float, or an error that says what came.

    >>> real("reference", 80)
    80.0
    """
    result = number(name, thing, advice, "a finite number")
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite; got {result}. {advice}")
    return result


def positive(name: str, number: Any) -> float:
    """`number` as a finite float above zero.

    Args:
        name: What the message calls it.
        number: What was given.
    """
    result = real(name, number)
    if result <= 0.0:
        raise ValueError(f"{name} must be above 0; got {result:g}. Give a positive number.")
    return result


def not_negative(name: str, number: Any, advice: str = "Give 0 or more.") -> float:
    """`number` as a finite float, zero or above.

    Args:
        name: What the message calls it.
        number: What was given.
        advice: What the message says to do.
    """
    result = real(name, number)
    if result < 0.0:
        raise ValueError(f"{name} must not be negative; got {result:g}. {advice}")
    return result


def share(name: str, number: Any, *, one: bool = False, advice: str = "Give a share of 1, such as 0.05.") -> float:
    """A number as a float in (0, 1).

    Args:
        name: What the message calls it.
        number: What was given.
        one: Whether 1 is allowed, too.
        advice: What the message says to do.
    """
    result = real(name, number, advice)
    if not (0.0 < result < 1.0 or (one and result == 1.0)):
        raise ValueError(f"{name} must lie in {'(0, 1]' if one else '(0, 1)'}; got {result:g}. {advice}")
    return result


def truth(name: str, given: Any) -> bool:
    """`given` as True or False, or an error that says what came."""
    if not isinstance(given, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {brief(given)}. Give one of the two.")
    return bool(given)


def finite_array(name: str, numbers: ArrayLike) -> FloatArray:
    """`numbers` as a new one-dimensional array of finite floats, at least one."""
    try:
        found = np.asarray(numbers)
        if found.dtype.kind in "bc":  # NumPy would count truth values, and drop imaginary parts
            raise TypeError
        if found.dtype.kind in "USO" and any(isinstance(one, str | bytes) for one in found.flat):  # NumPy would read it
            raise TypeError
        array = np.array(found, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers; got {brief(numbers)}. Give a sequence of floats.") from None
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one sequence of numbers; got an array of shape {array.shape}. "
            "Flatten it, or value its rows one at a time."
        )
    if array.size == 0:
        raise ValueError(f"{name} must not be empty; got no number. Give at least one.")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise ValueError(
            f"{name} must be finite; got {array[bad[0]]} at position {bad[0]} "
            f"({bad.size} of {array.size} are not finite). Remove or repair them."
        )
    return array


def same_length(rule: str, got: int, wanted: int, of: str, advice: str = "Give as many.") -> None:
    """Refuse a list that is too short or too long.

    >>> same_length("true_values must be one per arm", 2, 3, "arms")
    Traceback (most recent call last):
        ...
    ValueError: true_values must be one per arm; got 2 for 3 arms. Give as many.
    """
    if got != wanted:
        raise ValueError(f"{rule}; got {got} for {wanted} {of}. {advice}")


def nearest(name: str, known: Iterable[str]) -> str:
    """What was probably meant, as the end of a refusal.

    >>> nearest("cvarr", ["mean", "cvar"])
    " Did you mean 'cvar'?"
    """
    candidates = list(known)
    lowered = {candidate.lower(): candidate for candidate in candidates}
    near = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    if near:
        return f" Did you mean {lowered[near[0]]!r}?"
    if not candidates:
        return " There are none: leave it out."
    return f" Known are {', '.join(map(repr, candidates[:20]))}."


Seed = int | np.random.SeedSequence | np.random.Generator


def generator(seed: Seed) -> np.random.Generator:
    """The generator that a seed stands for; a generator is returned as it is.

    >>> generator(1).integers(100) == generator(1).integers(100)
    np.True_
    """
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(seed if isinstance(seed, np.random.SeedSequence) else root_of(seed))


def root_of(seed: Seed) -> np.random.SeedSequence:
    """The root that all seeds of a run grow from."""
    if isinstance(seed, np.random.SeedSequence):
        # a copy: spawning from the caller's own would change what it spawns next
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(seed.integers(2**63, size=4).tolist())
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(
            f"a seed must be a non-negative int, a SeedSequence or a Generator; got {seed!r}. "
            "Give a number, such as seed=1, so that the run can be repeated."
        )
    return np.random.SeedSequence(int(seed))
