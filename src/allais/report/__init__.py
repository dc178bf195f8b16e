"""Reports: a search as it goes, and a page about its answer; loaded at first use, as both need compiled code."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from allais.report.live import LiveView
    from allais.report.page import write_page

__all__ = ["LiveView", "write_page"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'allais.report' has no attribute {name!r}")
    return getattr(import_module(f"allais.report.{'live' if name == 'LiveView' else 'page'}"), name)
