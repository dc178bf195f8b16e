"""How kernels are compiled: the fast way, or with ALLAIS_KERNELS=plain by numba's public interface alone."""

import os

PLAIN = os.environ.get("ALLAIS_KERNELS") == "plain"

if PLAIN:
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
    from allais._kernels.pinned import held
    from allais._kernels.references import by_reference

__all__ = [
    "PLAIN",
    "announce_verb",
    "bound",
    "by_reference",
    "compiled_for",
    "held",
    "kernel",
    "late",
    "loop",
    "loose_kernel",
    "routine",
]
