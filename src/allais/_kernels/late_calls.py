"""Calls that find their code when they are first made.

Numba links the code of each function into those that call it, and optimises it there once more. A long routine is
compiled once instead: a caller has an empty place, and asks for the address that belongs there when it first comes
by. So code that is never reached is never compiled, and code on disk need not know where other code lies.
"""

from __future__ import annotations

import base64
import ctypes
import importlib
import os
import pickle
import sys
import threading
import time
import traceback
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import register_default
from numba.core.datamodel.models import OpaqueModel
from numba.core.imputils import impl_ret_untracked, lower_builtin
from numba.core.typing.templates import Signature, signature

ADDRESS = ir.IntType(8).as_pointer()
RESOLVER = "allais_address_of_routine"
ATTEMPTS = 100  # to find an address, while signals come in
PAUSE, QUIET = 0.001, 0.02  # seconds
routines: dict[str, Any] = {}  # by the names under which callers ask for them
_outside: dict[str, tuple[Any, ...]] = {}  # kinds of arguments that are not of this package, by their names here


class LateCall(types.Callable, types.Opaque):
    """The type of a routine that is called by its address."""

    def __init__(self, name: str) -> None:
        self.routine = name
        super().__init__(name)

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Signature:
        """The signature of a call, whose arguments stand in their order."""
        arguments = tuple(getattr(kind, "inside", types.unliteral(kind)) for kind in args)
        return signature(routines[self.routine].returned(arguments), *arguments)

    def get_call_signatures(self) -> tuple[tuple[()], bool]:
        """A new one for every kind of arguments."""
        return (), True

    def get_impl_key(self, sig: Signature) -> str:
        """Under which `lower` finds how it is called."""
        return self.routine


register_default(LateCall)(OpaqueModel)


def announce(name: str, routine: Any) -> None:
    """Let compiled code call a routine by its name."""
    routines[name] = routine

    @lower_builtin(name, types.VarArg(types.Any))
    def _(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _call(context, builder, name, sig, args)


def _call(context: Any, builder: Any, name: str, sig: Any, args: Any) -> Any:
    """Call what stands in the caller's place; where nothing does, ask for it first."""
    asked = f"{name}|{_spelled(tuple(sig.args))}"
    title = f"place of {asked}"
    module = builder.module
    if title in module.globals:
        place = module.globals[title]
    else:
        place = ir.GlobalVariable(module, ADDRESS, title)
        place.linkage, place.initializer = "internal", ir.Constant(ADDRESS, None)
    with builder.if_then(cgutils.is_null(builder, builder.load(place)), likely=False):
        ask = cgutils.get_or_insert_function(module, ir.FunctionType(ir.VoidType(), [ADDRESS, ADDRESS]), RESOLVER)
        asking, done = builder.append_basic_block("ask"), builder.append_basic_block("known")
        builder.branch(asking)
        builder.position_at_end(asking)
        builder.call(ask, [context.insert_const_string(module, asked), builder.bitcast(place, ADDRESS)])
        # nothing is there if a signal's handler raised before the search had begun: ask again
        builder.cbranch(cgutils.is_null(builder, builder.load(place)), asking, done)
        builder.position_at_end(done)
    kind = context.call_conv.get_function_type(sig.return_type, sig.args)
    code = builder.bitcast(builder.load(place), kind.as_pointer())
    # kernels raise nothing, so the status is not looked at
    _, result = context.call_conv.call_function(builder, code, sig.return_type, sig.args, args)
    return impl_ret_untracked(context, builder, sig.return_type, result)


def _spelled(kinds: tuple[Any, ...]) -> str:
    """A name of the kinds of arguments: for code on disk what they are, for code of this process only a number.

    A class that was typed into a console, or made by a function, has no name by which it could be found again.
    """
    if all(map(is_own, kinds)):
        return base64.b85encode(pickle.dumps(kinds)).decode()
    for name, known in _outside.items():
        if known == kinds:
            return name
    name = f"outside {len(_outside)}"
    _outside[name] = kinds
    return name


def is_own(kind: Any) -> bool:
    """Whether a type that numba has inferred is numba's or this package's, all the way down."""
    named = getattr(kind, "instance_class", None)
    own = named is None or named.__module__.startswith("allais.")
    return own and all(map(is_own, getattr(kind, "types", ())))


def _fill(asked: bytes, place: int) -> None:
    """Write the address of a routine's code to a caller's place; the code is compiled or read from disk if need be.

    Compiled code waits for it and cannot go on without: what a signal's handler raises meanwhile comes after the call.
    """
    late: type[BaseException] | None = None
    for _ in range(ATTEMPTS):
        try:
            ctypes.c_void_p.from_address(place).value = _find(asked.decode())
        except BaseException as error:
            late, last = type(error), error
            continue
        if late is not None:
            threading.Thread(target=_raise_later, args=(threading.get_ident(), late), daemon=True).start()
        return
    traceback.print_exception(last)
    os.abort()


def _raise_later(thread: int, error: type[BaseException]) -> None:
    """Raise an error in a thread that has left this module, and does not come back for another routine at once."""
    quiet = 0.0
    while quiet < QUIET:
        time.sleep(PAUSE)
        frame = sys._current_frames().get(thread)
        inside = frame is not None and frame.f_globals.get("__name__") in (__name__, "threading")
        quiet = 0.0 if inside else quiet + PAUSE
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _find(asked: str) -> int:
    name, _, kinds = asked.partition("|")
    if name not in routines:
        importlib.import_module(name.split(":")[0])
    return int(routines[name].address(_outside.get(kinds) or pickle.loads(base64.b85decode(kinds))))


_resolver = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)(_fill)
llvmlite.binding.add_symbol(RESOLVER, ctypes.cast(_resolver, ctypes.c_void_p).value)
