"""Reports: a search as it goes, and a page about its answer."""

from allais.report.live import LiveView
from allais.report.page import write_page

__all__ = ["LiveView", "write_page"]
