"""Reports: a search as it goes, and pages about its answer, about verdicts and about logs; loaded at first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from allais.report.evidence_pages import write_evaluation, write_verdicts
    from allais.report.live import LiveView
    from allais.report.page import write_page

_HOMES = {
    "LiveView": "live", "write_evaluation": "evidence_pages", "write_page": "page", "write_verdicts": "evidence_pages",
}  # fmt: skip
__all__ = ["LiveView", "write_evaluation", "write_page", "write_verdicts"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'allais.report' has no attribute {name!r}")
    return getattr(import_module(f"allais.report.{_HOMES[name]}"), name)
