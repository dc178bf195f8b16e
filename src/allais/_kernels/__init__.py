"""Compiled code: the only import of numba.

A function is compiled when it is first called, once per machine (`compiling.py`). There are three kinds: a `kernel` is
copied into each of its callers; a `routine` is compiled once and called (`late_calls.py`), and a `late` one no
sooner than it is reached; a `loop` over them may hold a generator. NamedTuples reach compiled code by reference
(`references.py`). A `verb` is a function whose implementation depends on the type of its first argument (`verbs.py`).
"""

from allais._kernels.compiling import CACHE, cache_folder
from allais._kernels.mode import bound, by_reference, compiled_for, held, kernel, late, loop, loose_kernel, routine
from allais._kernels.verbs import Kernels, verb

__all__ = [
    "CACHE",
    "Kernels",
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
