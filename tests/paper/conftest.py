"""What several tests of the report need: a folder of results, and a browser."""

import pytest

from allais.paper.experiments import BY_NAME
from allais.paper.report import write_report
from allais.paper.runner import run_experiments
from tests.browser import chromium as opened_browser

FAST = ("introduction", "weight", "route-table")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("paper")
    list(run_experiments([BY_NAME[name] for name in FAST], "quick", 1, place))
    write_report(place, "quick", 1)
    return place


@pytest.fixture(scope="module")
def chromium():
    with opened_browser() as browser:
        yield browser
