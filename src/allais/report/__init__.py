"""Reports: what a search knows, what it will still take, and a page about its answer."""

from allais.report.chances import chances_of_best
from allais.report.forecast import Forecast, forecast
from allais.report.limit import fewest_runs
from allais.report.live import LiveView
from allais.report.page import write_page

__all__ = ["Forecast", "LiveView", "chances_of_best", "fewest_runs", "forecast", "write_page"]
