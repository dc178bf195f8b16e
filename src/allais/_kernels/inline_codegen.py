"""Code that is only ever copied into other code.

Numba optimises each function as a whole and makes machine code of it, also of one that is copied into each of its
callers. Here both are left out, which halves LLVM's work: the callers do it.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder


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
