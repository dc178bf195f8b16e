"""Functions that are compiled: kernels, routines and loops."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.datamodel import register_default
from numba.core.datamodel.models import OpaqueModel

from allais._kernels.compiling import CACHE, found_on_disk, ready, undisturbed
from allais._kernels.late_calls import LateCall, announce, is_own
from allais._kernels.references import is_outside

Function = TypeVar("Function", bound=Callable[..., Any])


# Code that is only ever copied into other code. Numba optimises each function as a whole and makes machine code of it,
# also of one that is copied into each of its callers. Here both are left out, which halves LLVM's work.


class CopiedCode(JITCodeLibrary):
    """The code of a kernel, to be linked into other code."""

    def finalize(self) -> None:
        """Link what it calls; nothing more is done before it is copied."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """Numba's, but for the place that a function's own constants have in machine code."""
        return _WithoutPlaces(self._codegen)

    def serialize_using_object_code(self) -> Any:
        """What goes to disk: the code before it is compiled."""
        return self.serialize_using_bitcode()


class _WithoutPlaces:
    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to set."""


class CompilerOfCopied(CompilerBase):
    """Numba's compiler, but for the library that it writes to."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        name = self.state.func_id.func_qualname if self.state.func_id is not None else "kernel"
        self.state.library = CopiedCode(self.state.targetctx.codegen(), name)

    def define_pipelines(self) -> list[Any]:
        """As numba's own."""
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


# Kernels allocate nothing, so they run without numba's reference counts: counting the dozens of
# arrays of a rule and a state at every call cost ten times what the mathematics does.
BARE: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
INNER: dict[str, Any] = {**BARE, "no_cpython_wrapper": True}
COPIED: dict[str, Any] = {**INNER, "forceinline": True, "pipeline_class": CompilerOfCopied}
LOOP: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
LOOSE: dict[str, Any] = {"fastmath": {"reassoc", "contract"}}
RETURNED = {float: types.float64, int: types.int64, bool: types.boolean, None: types.none}
_numbers = itertools.count()


def is_kept(function: Callable[..., Any]) -> bool:
    """Whether a function's code goes to the folder.

    Without a folder, code is compiled in every process: numba's other folders do not see edits. So is a user's own
    kernel: the digest does not cover it, and one that was typed into a console has no file at all.
    """
    return CACHE is not None and function.__module__.startswith("allais.")


def compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Numba's dispatcher of a function, which reads code from the folder and writes it there."""
    made = _kept(function, options) if is_kept(function) else numba.njit(**options)(function)
    compile_for = made._compile_for_args  # what a call does whose arguments are of new types
    made._compile_for_args = lambda *arguments, **named: undisturbed(lambda: compile_for(*arguments, **named))
    return made


def _kept(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    before = numba.config.CACHE_DIR  # the setting is numba's own and global: put back what the user had
    numba.config.CACHE_DIR = CACHE
    try:
        made: Any = numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before
    # code for types from outside the package stays out of the cache: the digest does not cover them, and a
    # process that cannot import them could not even read the cache's index
    save = made._cache.save_overload

    def save_own(types: Any, code: Any) -> None:
        if all(map(is_own, getattr(types, "args", types))):
            with contextlib.suppress(OSError):  # a full disk costs the next process its compiled code, and no more
                save(types, code)

    made._cache.save_overload = save_own
    read = made._cache.load_overload
    made._cache.load_overload = lambda types, context: found_on_disk(
        lambda: read(types, context), Path(str(CACHE)), function.__module__, function.__qualname__, types
    )
    return made


class Kernel:
    """A function that is copied into the compiled code that calls it; it can be called from Python too."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.inner = compiled(function, options)

    @property
    def _numba_type_(self) -> Any:
        return self.inner._numba_type_

    @functools.cached_property
    def entry(self) -> Any:
        """The entry point from Python, which is made for kernels that are called from there only."""
        return compiled(_calling(self), BARE)

    def __call__(self, *arguments: Any) -> Any:
        return _call(self.entry, arguments)


class Routine(Kernel):
    """A function that is compiled once for all its callers."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], returns: Any = None) -> None:
        super().__init__(function, options)
        # a console may define a function again under the same name and on the same line
        again = "" if is_kept(function) else f":{next(_numbers)}"
        self.name = f"{function.__module__}:{function.__qualname__}:{function.__code__.co_firstlineno}{again}"
        self.declared = returns
        announce(self.name, self)

    @property
    def _numba_type_(self) -> LateCall:
        return LateCall(self.name)

    def returned(self, arguments: tuple[Any, ...]) -> Any:
        """The type of what it returns: declared, or found by compiling it."""
        if self.declared is not None:
            return self.declared
        return self._code(arguments).signature.return_type

    def address(self, arguments: tuple[Any, ...]) -> int:
        """Where its code lies."""
        code = self._code(arguments)
        return int(code.library.get_pointer_to_function(code.fndesc.llvm_func_name))

    def _code(self, arguments: tuple[Any, ...]) -> Any:
        return ready(self.inner, arguments, self.declared)


class Loop:
    """A function over kernels that is called from Python only."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.entry = compiled(function, LOOP)

    def __call__(self, *arguments: Any) -> Any:
        return _call(self.entry, arguments)


def _call(made: Any, arguments: tuple[Any, ...]) -> Any:
    """Numba takes two classes for one if they share a name and fields, as a notebook makes them: look closer there."""
    if arguments and is_outside(type(arguments[0])):
        return bound_to(made, arguments)(*arguments)
    return made(*arguments)


def bound_to(made: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The machine code of a dispatcher for arguments of these types."""
    found: Callable[..., Any] = ready(made, tuple(map(numba.typeof, arguments))).entry_point
    return found


def _calling(inner: Kernel) -> Callable[..., Any]:
    """A function that calls another one, under a name and a line of its own for numba's cache."""
    function = inner.py_func
    code = function.__code__
    listed = ", ".join(code.co_varnames[: code.co_argcount])
    name = f"{function.__name__}_from_python"
    source = "\n" * (code.co_firstlineno - 1) + f"def {name}({listed}): return inner({listed})"
    scope: dict[str, Any] = {"inner": inner, "__name__": function.__module__}
    exec(compile(source, code.co_filename, "exec"), scope)
    made: Callable[..., Any] = scope[name]
    return made


def kernel(function: Function) -> Function:
    """Compile a function that allocates nothing; it is copied into its callers.

    Args:
        function: The function.
    """
    return _made(function, Kernel, COPIED)


def loose_kernel(function: Function) -> Function:
    """Compile a kernel whose sums may be taken in any order, so that they run on whole vectors."""
    return _made(function, Kernel, {**COPIED, **LOOSE})


def routine(function: Function) -> Function:
    """Compile a kernel once for all its callers: it is long, or called from many places.

    Args:
        function: The function.
    """
    return _made(function, Routine, INNER)


def late(returns: Any) -> Callable[[Function], Function]:
    """Compile a routine no sooner than a call reaches it; the types of the numbers that it returns are declared."""
    several = isinstance(returns, tuple)
    kinds = types.Tuple([RETURNED[one] for one in returns]) if several else RETURNED[returns]
    return lambda function: _made(function, functools.partial(Routine, returns=kinds), INNER)


def loop(function: Function) -> Function:
    """Compile a loop over kernels; it may hold a generator."""
    if numba.config.DISABLE_JIT:
        return _interpreted(function)
    return cast(Function, Loop(function))  # it is called as the function is


def _made(function: Function, kind: Any, options: dict[str, Any]) -> Function:
    # NUMBA_DISABLE_JIT=1 runs every kernel in Python, for those who debug one
    if numba.config.DISABLE_JIT:
        return _interpreted(function)
    made: Function = kind(function, options)
    return made


def _interpreted(function: Function) -> Function:
    """A kernel that is not compiled: numbers divide and overflow silently, as compiled ones do."""

    @functools.wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return cast(Function, run)


def bound(made: Any, *arguments: Any) -> Callable[..., Any]:
    """A kernel's machine code for arguments of these types, without numba's look-up of types.

    The look-up takes 9 microseconds for a rule and a state, the call half of one. The caller binds
    anew whenever it makes new arrays; their types never change, as all are made by this package.
    """
    if numba.config.DISABLE_JIT:
        return made
    return bound_to(made.entry, arguments)


class VerbType(types.Callable, types.Opaque):
    """The type of a verb in compiled code: what it does is what the kernel does that it finds."""

    def __init__(self, verb: Any) -> None:
        self.verb = verb
        super().__init__(f"verb {verb.__module__}.{verb.__name__}")

    def found(self, first: Any) -> Any:
        """The numba type of the kernel for a first argument."""
        return self.verb.kernels[first.instance_class]._numba_type_

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """The signature of the kernel's call."""
        return self.found(args[0]).get_call_type(context, args, kws)

    def get_call_signatures(self) -> tuple[tuple[()], bool]:
        """One for each kernel."""
        return (), True

    def get_impl_key(self, sig: Any) -> Any:
        """How the kernel is called."""
        return self.found(sig.args[0]).get_impl_key(sig)


register_default(VerbType)(OpaqueModel)


def announce_verb(verb: Any, stub: Callable[..., Any]) -> None:
    """Let compiled code call a verb."""
    verb._numba_type_ = VerbType(verb)
