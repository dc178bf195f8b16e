"""Tuples whose block for compiled code is written once and kept.

A call from Python writes each tuple into a block anew, which takes longer than most kernels do. A learner calls the
same kernels with the same arrays over and over: it holds the blocks, and passes where they lie.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.datamodel import register_default
from numba.core.imputils import lower_cast
from numba.core.pythonapi import NativeValue, unbox
from numba.extending import typeof_impl

from allais._kernels.references import Reference, ReferenceModel

NOTHING: Any = types.Tuple(())
NUMBERS: dict[Any, Any] = {types.float64: ctypes.c_double, types.int64: ctypes.c_int64, types.boolean: ctypes.c_bool}


class Held(int):
    """Where a tuple's block lies; it keeps block and tuple alive."""

    kind: Reference
    block: Any
    fields: tuple[Any, ...]


class Placed(Reference):
    """The type of a place where a tuple's block lies."""

    def __init__(self, inside: Reference) -> None:
        super().__init__(inside.instance_class, inside.types)
        self.inside = inside
        self.name = f"{inside.name} in place"

    @property
    def key(self) -> Any:
        """Not the same as the tuple's own type: it comes from Python in another way."""
        return "placed", self.inside.key


register_default(Placed)(ReferenceModel)


@typeof_impl.register(Held)
def _(value: Held, context: Any) -> Placed:
    return Placed(value.kind)


@unbox(Placed)
def _(kind: Any, obj: Any, c: Any) -> NativeValue:
    return NativeValue(c.pyapi.long_as_voidptr(obj))


@lower_cast(Placed, Reference)
def _(context: Any, builder: Any, placed: Any, kind: Any, pointer: Any) -> Any:
    return pointer


def held(value: Any) -> Any:
    """A tuple as its block, or itself where it holds what no block is made of, as a user's own may.

    The block has the addresses of the arrays: code that replaces an array must hold the tuple anew.
    """
    kind: Any = None if numba.config.DISABLE_JIT else numba.typeof(value)
    layout = _layout(kind) if isinstance(kind, Reference) else None
    if layout is None:
        return value
    block = layout(*_contents(kind, value))
    place = Held(ctypes.addressof(block))
    place.kind, place.block, place.fields = kind, block, value
    return place


@functools.lru_cache(maxsize=1024)
def _layout(kind: Any) -> Any:
    """The C structure of a type as numba lays it out, or None."""
    if isinstance(kind, types.Array):
        many = ctypes.c_ssize_t * kind.ndim
        parts = [*[ctypes.c_void_p] * 2, *[ctypes.c_ssize_t] * 2, ctypes.c_void_p, many, many]
    elif isinstance(kind, Reference):
        parts = [_layout(one) for one in kind.types]
    elif kind == NOTHING:
        parts = []
    else:
        return NUMBERS.get(kind)
    if None in parts:
        return None
    fields = [(f"part{at}", part) for at, part in enumerate(parts)]
    return type("Block", (ctypes.Structure,), {"_fields_": fields})


def _contents(kind: Any, value: Any) -> list[Any]:
    """What goes into the structure of a type."""
    if isinstance(kind, types.Array):
        array: np.ndarray[Any, Any] = value
        address = array.__array_interface__["data"][0]
        return [None, None, array.size, array.itemsize, address, array.shape, array.strides]
    parts = []
    for inside, part in zip(kind.types, value, strict=True):
        nested = isinstance(inside, (Reference, types.Array))
        parts.append(_layout(inside)(*_contents(inside, part)) if nested else _plain(inside, part))
    return parts


def _plain(kind: Any, value: Any) -> Any:
    return _layout(kind)() if kind == NOTHING else value
