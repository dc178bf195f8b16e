"""A real browser for tests that look at pages; without chromium they are skipped, unless it is required."""

import os
import shutil
from contextlib import contextmanager

import pytest

OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
           "--disable-sync"]  # fmt: skip


@contextmanager
def chromium():
    """A browser that is closed afterwards."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        if os.environ.get("ALLAIS_BROWSER") == "required":
            pytest.fail("these tests need chromium, and it was not found: install it, or leave ALLAIS_BROWSER out")
        pytest.skip("no chromium was found: the page is not looked at in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        yield opened
        opened.close()


def opened_without_complaint(browser, page, width, height, scheme):
    """A page in a window: nothing goes to the console, nothing is fetched, nothing scrolls sideways."""
    view = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    said, asked = [], []
    view.on("console", lambda message: said.append(message.text))
    view.on("pageerror", lambda error: said.append(str(error)))
    view.on("request", lambda request: asked.append(request.url))
    view.goto(page.as_uri())
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    return view
