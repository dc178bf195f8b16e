"""Compiled code: the only import of numba.

A function is compiled when it is first called, once per machine (`compiling.py`). There are three kinds: a `kernel` is
copied into each of its callers; a `routine` is compiled once and called (`late_calls.py`), and a `late` one no
sooner than it is reached; a `loop` over them may hold a generator. NamedTuples reach compiled code by reference
(`references.py`). With ALLAIS_KERNELS=plain all of it goes by numba's public interface alone (`plain.py`).

A `verb` is a function whose implementation depends on the type of its first argument, as those of a policy do.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from allais._kernels.compiling import CACHE, cache_folder

if os.environ.get("ALLAIS_KERNELS") == "plain":
    from allais._kernels.plain import (
        announce_verb,
        bound,
        by_reference,
        compiled_for,
        held,
        kernel,
        late,
        loop,
        loose_kernel,
        routine,
    )
else:
    from allais._kernels.compiling import compiled_for
    from allais._kernels.functions import announce_verb, bound, kernel, late, loop, loose_kernel, routine
    from allais._kernels.references import by_reference, held

__all__ = [
    "CACHE",
    "Kernels",
    "Verb",
    "bound",
    "by_reference",
    "cache_folder",
    "compiled_for",
    "held",
    "kernel",
    "late",
    "loop",
    "loose_kernel",
    "routine",
    "verb",
]

Function = TypeVar("Function", bound=Callable[..., Any])


class Kernels(dict[type, Any]):
    """The kernels of a verb by the type of their first argument, and one for all other types."""

    default: Any = None

    def __missing__(self, kind: type) -> Any:
        if self.default is None:
            raise TypeError(f"a kernel must be given for {kind.__name__}; got none. Write it with @verb.of(type).")
        return self.default


class Verb:
    """A function that looks its kernel up by the type of its first argument, alike in Python and in compiled code."""

    def __init__(self, stub: Callable[..., Any], default: Any, make: Callable[..., Any]) -> None:
        self.__doc__, self.__name__, self.__module__ = stub.__doc__, stub.__name__, stub.__module__
        self.kernels = Kernels()
        self.kernels.default = default
        self._make = make
        announce_verb(self, stub)

    def __call__(self, first: Any, *others: Any) -> Any:
        return self.kernels[type(first)](first, *others)

    def of(self, *kinds: type) -> Callable[[Function], Function]:
        """Write the kernel for a type; its parameters are those of the verb. The type is passed by reference."""

        def register(function: Function) -> Function:
            made = function if hasattr(function, "py_func") else self._make(function)
            for kind in kinds:
                by_reference(kind)
            self.kernels.update(dict.fromkeys(kinds, made))
            return made

        return register


def verb(stub: Callable[..., Any], default: Any = None, make: Callable[..., Any] = kernel) -> Any:
    """A verb: `@verb.of(type)` makes the kernel for a type; types without one have the default, if there is one."""
    return Verb(stub, default, make)
