"""The site as a reader sees it: formulas are drawn, lists are lists, nothing scrolls sideways, pictures can be read."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import chromium as opened_browser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NAMES = [str(page.relative_to(DOCS).with_suffix("")) for page in sorted(DOCS.rglob("*.md"))]
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)
WITH_FORMULAS = [name for name in NAMES if FORMULA.search(CODE.sub("", (DOCS / f"{name}.md").read_text("utf-8")))]
IN_DOCSTRINGS = {"reference/weights": 8, "reference/theory": 9}  # pages, and how many formulas they have at least
INTERNALS = ("setting(", "field(", "default_factory", "repr=", "roomier", "sized_as")
READABLE = 0.5  # of a picture's own size


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_builds_without_a_warning_and_fetches_nothing(site):
    for page in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img|link|iframe)\b[^>]*?(?:src|href)="(https?://[^"]+)"', page.read_text())
        assert loaded == [], f"a page must load nothing from elsewhere; {page.name} loads {loaded[0]}."


def test_the_reference_shows_plain_defaults_and_no_internals(site):
    for page in (site / "reference").glob("*.html"):
        text = re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))
        told = [word for word in INTERNALS if word in text]
        assert told == [], f"the reference is about what people use; {page.name} has {told}. Hide it in mkdocs.yml."
        shown = re.findall(r'doc-module-name">(\w+)', page.read_text(encoding="utf-8"))
        assert set(shown) <= {"testing", "theory"}, f"{page.name} shows a module in place of what it defines"


@pytest.fixture(scope="module")
def chromium():
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def view(chromium):
    """One page of a browser for all tests: a new one costs more than what it shows."""
    return chromium.new_page(viewport={"width": 390, "height": 900}, color_scheme="dark")


# The prose of a page: without its code, and without its formulas, which are drawn.
PROSE = """() => {
    const article = document.querySelector("article").cloneNode(true);
    article.querySelectorAll("pre, code, math").forEach(one => one.remove());
    return article.textContent;
}"""


def assert_formulas_are_drawn(view, name):
    written = len(FORMULA.findall(CODE.sub("", (DOCS / f"{name}.md").read_text("utf-8"))))
    assert view.locator("article math").count() >= written
    assert view.locator("article .formula math").count() >= IN_DOCSTRINGS.get(name, 0)
    prose = view.evaluate(PROSE)
    assert "$" not in prose
    assert re.findall(r"\\[A-Za-z]+", prose) == []
    sizes = view.evaluate(
        "[...document.querySelectorAll('article math')].map(one => one.getBoundingClientRect().height)"
    )
    assert all(height > 4 for height in sizes)
    assert view.evaluate("document.fonts.check('16px Formulas')")  # what draws them is there, too


def test_a_fraction_is_built_and_a_maximum_has_its_range_below(site, view):
    view.goto((site / "theory" / "bands.html").as_uri())
    above, below = view.evaluate(
        "[...document.querySelector('.formula mfrac').children].map(one => one.getBoundingClientRect().top)"
    )
    assert above < below
    assert view.locator(".formula munder").count() >= 2


@pytest.mark.parametrize("name", NAMES)
def test_a_page_reads_well_on_a_phone_and_its_formulas_are_drawn(site, view, name):
    asked = []
    noted = lambda request: asked.append(request.url)  # noqa: E731
    view.on("request", noted)
    view.goto((site / f"{name}.html").as_uri())
    view.remove_listener("request", noted)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert view.evaluate("document.documentElement.scrollWidth") <= 390
    shown = view.evaluate(
        """[...document.querySelectorAll("article img")]
            .filter(one => one.src.endsWith(".png") && !one.closest("a"))
            .map(one => one.getBoundingClientRect().width / one.naturalWidth)"""
    )
    assert all(share >= READABLE for share in shown), "a picture is too small to read on a phone"
    collapsed = re.findall(r"^\s*(?:[-*+]|\d+[.)]) \S.*", visible_paragraphs(view), re.MULTILINE)
    assert collapsed == [], "a list is shown as text"
    if name in {*WITH_FORMULAS, *IN_DOCSTRINGS}:
        assert_formulas_are_drawn(view, name)


def visible_paragraphs(view) -> str:
    return view.evaluate("[...document.querySelectorAll('article p')].map(one => one.innerText).join('\\n')")


@pytest.mark.parametrize("name", NAMES)
def test_a_list_in_a_list_is_indented_by_four(name):
    """GitHub takes two blanks, the site needs four; with less, the inner list joins the outer one."""
    text = CODE.sub("", (DOCS / f"{name}.md").read_text("utf-8"))
    assert re.findall(r"^ {1,3}[-*+] .*", text, re.MULTILINE) == []
