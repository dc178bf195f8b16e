"""What several tests of the report need: a folder of results, and a browser."""

import os
import shutil

import pytest

from allais.paper.experiments import BY_NAME
from allais.paper.report import write_report
from allais.paper.runner import run_experiments

FAST = ("introduction", "weight", "route-table")


@pytest.fixture(autouse=True)
def _own_memory(tmp_path, monkeypatch):
    """What tests take is nothing to remember."""
    monkeypatch.setattr("allais.paper.costs.cache_folder", lambda: tmp_path / "cache" / "kernels")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("paper")
    list(run_experiments([BY_NAME[name] for name in FAST], "quick", 1, place))
    write_report(place, "quick", 1)
    return place


@pytest.fixture(scope="module")
def chromium():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        if os.environ.get("ALLAIS_BROWSER") == "required":
            pytest.fail("these tests need chromium, and it was not found: install it, or leave ALLAIS_BROWSER out")
        pytest.skip("no chromium was found: the page is not looked at in a browser")
    from playwright.sync_api import sync_playwright

    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
               "--disable-sync"]  # fmt: skip
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=options)
        yield opened
        opened.close()
