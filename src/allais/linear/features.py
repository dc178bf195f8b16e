"""Feature vectors of arms, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from allais._checks import FloatArray


def checked_features(features: ArrayLike) -> FloatArray:
    """Feature vectors as rows of finite numbers, none of them zero."""
    try:
        rows = np.array(features, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("features must be rows of numbers, all of one length; got others. Repair them.") from None
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"features must be one row of numbers per arm; got shape {rows.shape}. Give a list of rows.")
    if not np.isfinite(rows).all():
        arm = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise ValueError(f"features must be finite; those of arm {arm} are not. Repair them.")
    if not np.linalg.norm(rows, axis=1).all():
        arm = int(np.flatnonzero(np.linalg.norm(rows, axis=1) == 0.0)[0])
        raise ValueError(f"a feature vector must not be zero; that of arm {arm} is. Leave the arm out.")
    return rows
