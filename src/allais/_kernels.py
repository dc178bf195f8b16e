"""Compiled code: the only import of numba.

`kernel` compiles a function once a machine: the result is kept in the user's cache folder, under a
digest of the package's sources, because numba's own check does not see an edit in a function that
is called from another file. `verb` makes a function whose implementation depends on the type of
its first argument, alike in Python and in compiled code.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.extending import overload

Function = TypeVar("Function", bound=Callable[..., Any])
# Kernels allocate nothing, so they run without numba's reference counts: counting the dozens of
# arrays of a rule and a state at every call cost ten times what the mathematics does.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "forceinline": True}
ROUTINE_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
LOOP_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def cache_folder() -> Path:
    """Where compiled code is kept: ALLAIS_CACHE_DIR, or the user's cache folder."""
    chosen = os.environ.get("ALLAIS_CACHE_DIR")
    if chosen:
        root = Path(chosen)
    elif sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "allais" / "Cache"
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches" / "allais"
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "allais"
    return root.absolute() / f"kernels-{_digest()}"  # wherever the process goes later


def _digest() -> str:
    package = Path(__file__).parent
    sources = hashlib.sha256(numba.__version__.encode())
    for path in sorted(package.rglob("*.py")):
        sources.update(path.read_bytes())
    return sources.hexdigest()[:16]


def _usable(folder: Path) -> str | None:
    """The folder, made if need be, or None where it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except OSError:
        return None


CACHE = _usable(cache_folder())


def kernel(function: Function) -> Function:
    """Compile a function that allocates nothing, when it is first called, and keep it on disk."""
    return _cached(function, OPTIONS)


def loose_kernel(function: Function) -> Function:
    """Compile a kernel whose sums may be taken in any order, so that they run on whole vectors."""
    return _cached(function, {**OPTIONS, "fastmath": {"reassoc", "contract"}})


def routine(function: Function) -> Function:
    """Compile a kernel that is too long to be copied into each of its callers."""
    return _cached(function, ROUTINE_OPTIONS)


def loop(function: Function) -> Function:
    """Compile a loop over kernels; it may hold a generator."""
    return _cached(function, LOOP_OPTIONS)


def _cached(function: Function, options: dict[str, Any]) -> Function:
    if settings().DISABLE_JIT:
        return _interpreted(function)
    # Without a folder, code is compiled in every process: numba's other folders do not see edits. So is a user's own
    # kernel: the digest does not cover it, and one that was typed into a console has no file at all.
    if CACHE is None or not function.__module__.startswith("allais."):
        return numba.njit(**options)(function)
    # the setting is numba's own and global: put back what the user had
    before = settings().CACHE_DIR
    settings().CACHE_DIR = CACHE
    try:
        compiled: Any = numba.njit(cache=True, **options)(function)
    finally:
        settings().CACHE_DIR = before
    # code for types from outside the package stays out of the cache: the digest does not cover them, and a
    # process that cannot import them could not even read the cache's index
    save = compiled._cache.save_overload

    def save_own(types: Any, code: Any) -> None:
        if all(map(_is_own, types)):
            with contextlib.suppress(OSError):  # a full disk costs the next process its compiled code, and no more
                save(types, code)

    compiled._cache.save_overload = save_own
    return compiled


def settings() -> Any:
    """Numba's settings; NUMBA_DISABLE_JIT=1 runs every kernel in Python, for those who debug one."""
    return numba.config


def _interpreted(function: Function) -> Function:
    """A kernel that is not compiled: numbers divide and overflow silently, as compiled ones do."""

    @functools.wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return run  # type: ignore[return-value]


def _is_own(kind: Any) -> bool:
    """Whether a type that numba has inferred is numba's or this package's, all the way down."""
    named = getattr(kind, "instance_class", None)
    own = named is None or named.__module__.startswith("allais.")
    return own and all(map(_is_own, getattr(kind, "types", ())))


def bound(compiled: Any, *arguments: Any) -> Callable[..., Any]:
    """A kernel's machine code for arguments of these types, without numba's look-up of types.

    The look-up takes 9 microseconds for a rule and a state, the call half of one. The caller binds
    anew whenever it makes new arrays; their types never change, as all are made by this package.
    """
    if settings().DISABLE_JIT:
        return compiled
    signature = tuple(numba.typeof(argument) for argument in arguments)
    if signature not in compiled.overloads:
        # numba's lock is of the whole process: an interrupt in here would leave it taken, and other threads waiting
        compiled.compile(signature)
    return compiled.get_overload(signature)


class Kernels(dict[type, Any]):
    """The kernels of a verb by the type of their first argument, and one for all other types."""

    default: Any = None

    def __missing__(self, kind: type) -> Any:
        if self.default is None:
            raise TypeError(f"a kernel must be given for {kind.__name__}; got none. Write it with @verb.of(type).")
        return self.default


def verb(stub: Function, default: Any = None) -> Any:
    """A function that looks its kernel up by the type of its first argument, alike in Python and in compiled code.

    `@verb.of(type)` makes the kernel for a type; its parameters have the names of the stub's. Types without one of
    their own have the default, if there is one.
    """
    kernels = Kernels()
    kernels.default = default

    def compiled(*arguments: Any) -> Any:
        return kernels[arguments[0].instance_class].py_func

    names = stub.__code__.co_varnames[: stub.__code__.co_argcount]
    # numba reads the parameter names of what it overloads, so they are spelled out
    scope = {"compiled": compiled, "kernels": kernels}
    listed = ", ".join(names)
    exec(f"def typed({listed}): return compiled({listed})", scope)
    exec(f"def plain({listed}): return kernels[type({names[0]})]({listed})", scope)
    plain: Any = scope["plain"]
    plain.__name__, plain.__doc__, plain.__module__ = stub.__name__, stub.__doc__, stub.__module__
    plain.kernels = kernels

    def of(*kinds: type) -> Callable[[Function], Function]:
        def register(function: Function) -> Function:
            made = function if hasattr(function, "py_func") else kernel(function)
            kernels.update(dict.fromkeys(kinds, made))
            return made

        return register

    plain.of = of
    extend: Any = overload
    extend(plain, jit_options=OPTIONS)(scope["typed"])
    return plain
