"""Kernels by numba's public interface alone: ALLAIS_KERNELS=plain.

Every kernel is an `njit` function, every NamedTuple goes by value, and a verb is an `overload`. Compiling takes many
times as long and nothing is kept on disk; results are the same. So a new version of numba can be tried on the
mathematics first, and only then on the interfaces that numba does not document (the other modules of this package).
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numba
from numba.extending import overload

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function."""
    made: Function = numba.njit(nogil=True, error_model="numpy")(function)
    return made


def loose_kernel(function: Function) -> Function:
    """Compile a function whose sums may be taken in any order."""
    made: Function = numba.njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})(function)
    return made


routine = loop = kernel


def late(returns: Any) -> Callable[[Function], Function]:
    """Compile a function; numba finds by itself what it returns."""
    return kernel


def bound(made: Any, *arguments: Any) -> Callable[..., Any]:
    """The function itself, which looks its argument types up at every call."""
    found: Callable[..., Any] = made
    return found


def held(value: Any) -> Any:
    """The tuple itself."""
    return value


def by_reference(kind: type) -> type:
    """The class itself: numba knows NamedTuples, by value."""
    return kind


@contextlib.contextmanager
def compiled_for(name: str) -> Iterator[None]:
    """Nothing is said while code is compiled."""
    yield


def announce_verb(verb: Any, stub: Callable[..., Any]) -> None:
    """Let compiled code call a verb."""
    listed = ", ".join(inspect.signature(stub).parameters)
    first = listed.partition(",")[0]
    # numba matches the parameters of an overload by their names, so both functions are spelled out
    source = (
        f"def typed({listed}):\n inner = verb.kernels[{first}.instance_class]\n return lambda {listed}: inner({listed})"
    )
    scope: dict[str, Any] = {"verb": verb}
    exec(source, scope)
    overload(verb)(scope["typed"])
