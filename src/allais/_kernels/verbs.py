"""Verbs: functions whose implementation depends on the type of their first argument, as those of a policy do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.datamodel import register_default
from numba.core.datamodel.models import OpaqueModel

from allais._kernels.functions import Function, kernel
from allais._kernels.references import by_reference


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

    def __call__(self, first: Any, *others: Any) -> Any:
        return self.kernels[type(first)](first, *others)

    @property
    def _numba_type_(self) -> VerbType:
        return VerbType(self)

    def of(self, *kinds: type) -> Callable[[Function], Function]:
        """Write the kernel for a type; its parameters are those of the verb. The type is passed by reference."""

        def register(function: Function) -> Function:
            made = function if hasattr(function, "py_func") else self._make(function)
            for kind in kinds:
                by_reference(kind)
            self.kernels.update(dict.fromkeys(kinds, made))
            return made

        return register


class VerbType(types.Callable, types.Opaque):
    """The type of a verb in compiled code: what it does is what the kernel does that it finds."""

    def __init__(self, verb: Verb) -> None:
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


def verb(stub: Callable[..., Any], default: Any = None, make: Callable[..., Any] = kernel) -> Any:
    """A verb: `@verb.of(type)` makes the kernel for a type; types without one have the default, if there is one."""
    return Verb(stub, default, make)
