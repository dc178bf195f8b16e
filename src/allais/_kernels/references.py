"""NamedTuples that compiled code gets by reference.

Numba passes a tuple by value: a state of forty arrays is three hundred arguments of every kernel, each of which is
spelled out, optimised and copied. Here it is one pointer. A call from Python writes the tuple into a block on its
stack, and kernels read from it what they need. No kernel changes a tuple, so what was read once need not be
read again, whatever is written to arrays in between: `invariant.load` tells LLVM so.

To write a tuple into a block takes longer than most kernels do. A learner calls the same kernels with the same arrays
over and over: it holds the blocks (`held`), and passes where they lie.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
from typing import Any

import llvmlite.ir as ir
import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.datamodel import PrimitiveModel, register_default
from numba.core.imputils import impl_ret_borrowed, lower_cast, lower_getattr_generic
from numba.core.pythonapi import NativeValue, unbox
from numba.core.typing.templates import AttributeTemplate
from numba.core.typing.typeof import typeof
from numba.extending import infer_getattr, typeof_impl

POINTER = ir.IntType(8).as_pointer()
NOTHING: Any = types.Tuple(())
NUMBERS: dict[Any, Any] = {types.float64: ctypes.c_double, types.int64: ctypes.c_int64, types.boolean: ctypes.c_bool}
_numbers: dict[type, int] = {}  # of classes from outside this package


class Reference(types.Type):
    """The type of a pointer to the fields of a NamedTuple."""

    def __init__(self, kind: type, fields: tuple[types.Type, ...]) -> None:
        self.instance_class: Any = kind  # of a NamedTuple, which has `_fields`
        self.types = fields
        # names of types become names of symbols: a digest keeps them short, and a number tells classes of one name
        # apart, as a notebook makes them whose cell is run twice
        named = (kind.__module__, kind.__qualname__, _numbers.get(kind, 0), [str(one) for one in fields])
        inside = hashlib.sha256(repr(named).encode())
        super().__init__(name=f"{kind.__qualname__}.{inside.hexdigest()[:16]}")

    @property
    def key(self) -> Any:
        return self.instance_class, self.types

    def field(self, name: str) -> int:
        """Where a field stands, or -1."""
        names: tuple[str, ...] = self.instance_class._fields
        return names.index(name) if name in names else -1


def is_outside(kind: type) -> bool:
    """Whether a class that compiled code gets by reference is not of this package."""
    return kind in _numbers


def by_reference(kind: type) -> type:
    """Let compiled code get a NamedTuple by reference."""

    def typeof_fields(value: Any, context: Any) -> Reference:
        return Reference(kind, tuple(typeof(part, context.purpose) for part in value))

    typeof_impl.register(kind)(typeof_fields)
    if not kind.__module__.startswith("allais."):
        _numbers.setdefault(kind, len(_numbers))
    return kind


@register_default(Reference)
class ReferenceModel(PrimitiveModel):
    """In compiled code: a pointer."""

    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, POINTER)


def _block(context: Any, kind: Any) -> Any:
    """What lies in memory: fields side by side, those of a tuple within in place."""
    if isinstance(kind, Reference):
        return ir.LiteralStructType([_block(context, one) for one in kind.types])
    return context.get_data_type(kind)


def _place(builder: Any, block: Any, pointer: Any, at: int) -> Any:
    whole = builder.bitcast(pointer, block.as_pointer())
    return cgutils.gep_inbounds(builder, whole, 0, at)


def _read(builder: Any, kind: Any, pointer: Any) -> Any:
    """Load what never changes, number by number, so that LLVM sees of each that it never does."""
    inside = kind.elements if isinstance(kind, ir.LiteralStructType) else ()
    if isinstance(kind, ir.ArrayType):
        inside = [kind.element] * kind.count
    if inside or isinstance(kind, (ir.LiteralStructType, ir.ArrayType)):
        value = ir.Constant(kind, ir.Undefined)
        for at, one in enumerate(inside):
            part = _read(builder, one, cgutils.gep_inbounds(builder, pointer, 0, at))
            value = builder.insert_value(value, part, at)
        return value
    number = builder.load(pointer)
    number.set_metadata("invariant.load", builder.module.add_metadata([]))
    return number


@infer_getattr
class ReferenceAttribute(AttributeTemplate):
    """The type of a field."""

    key = Reference

    def generic_resolve(self, kind: Any, name: str) -> Any:
        at = kind.field(name)
        return kind.types[at] if at >= 0 else None


@lower_getattr_generic(Reference)
def _field(context: Any, builder: Any, kind: Any, pointer: Any, name: str) -> Any:
    at = kind.field(name)
    inside = kind.types[at]
    place = _place(builder, _block(context, kind), pointer, at)
    if isinstance(inside, Reference):
        return builder.bitcast(place, POINTER)
    value = context.data_model_manager[inside].from_data(builder, _read(builder, _block(context, inside), place))
    return impl_ret_borrowed(context, builder, inside, value)


@unbox(Reference)
def _unbox(kind: Any, obj: Any, c: Any) -> NativeValue:
    block = _block(c.context, kind)
    memory = cgutils.alloca_once(c.builder, block)
    failed = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    cleanups: list[Any] = []
    _write(kind, obj, c, memory, failed, cleanups)
    with c.builder.if_then(c.builder.load(failed), likely=False):
        c.pyapi.err_set_string("PyExc_TypeError", f"a kernel needs a {kind.instance_class.__name__} of its own types")
    pointer = c.builder.bitcast(memory, POINTER)
    # the block is written before it is read: an empty instruction hides from LLVM that both are one place
    hidden = c.builder.asm(ir.FunctionType(POINTER, [POINTER]), "", "=r,0,~{memory}", [pointer], side_effect=True)

    def cleanup() -> None:
        for one in reversed(cleanups):
            one()

    return NativeValue(hidden, is_error=c.builder.load(failed), cleanup=cleanup if cleanups else None)


def _write(kind: Any, obj: Any, c: Any, memory: Any, failed: Any, cleanups: list[Any]) -> None:
    for at, inside in enumerate(kind.types):
        part = c.pyapi.tuple_getitem(obj, at)
        place = cgutils.gep_inbounds(c.builder, memory, 0, at)
        if isinstance(inside, Reference):
            _write(inside, part, c, place, failed, cleanups)
            continue
        if isinstance(inside, types.Array):
            # borrowed, as the caller holds the tuple: no counts, and one call per array keeps the code short
            signature = ir.FunctionType(ir.IntType(32), [c.pyapi.pyobj, POINTER])
            describe = c.pyapi._get_function(signature, "numba_adapt_ndarray")
            wrong = cgutils.is_not_null(c.builder, c.builder.call(describe, [part, c.builder.bitcast(place, POINTER)]))
            c.builder.store(c.builder.or_(c.builder.load(failed), wrong), failed)
            continue
        native = c.unbox(inside, part)
        with c.builder.if_then(native.is_error, likely=False):
            c.builder.store(cgutils.true_bit, failed)
        c.builder.store(c.context.data_model_manager[inside].as_data(c.builder, native.value), place)
        if native.cleanup is not None:
            cleanups.append(native.cleanup)
        if c.context.enable_nrt:
            cleanups.append(lambda inside=inside, value=native.value: c.context.nrt.decref(c.builder, inside, value))


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
