"""The gallery: short pages, each with one picture that its own code makes. Their code runs with all other pages."""

import re

import pytest
from tools.gallery import PAGES
from tools.stranger import PAGE, ROOT, TABLE, Measured, measured, sections, table_of

JOBS = [page for page in sorted(PAGES.glob("*.md")) if page.stem != "index"]
INDEX = (PAGES / "index.md").read_text(encoding="utf-8")
NAVIGATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", JOBS, ids=lambda page: page.stem)
def test_a_page_is_short_and_makes_its_own_picture(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    assert re.findall(r"!\[.+\]\((.+?)\)", text) == [f"{page.stem}.png"]
    assert re.findall(r'savefig\("(.+?)"\)', text) == [f"{page.stem}.png"]
    assert page.with_suffix(".png").stat().st_size > 5_000
    assert f"({page.stem}.png)" in INDEX
    assert f"({page.stem}.md)" in INDEX
    assert f"gallery/{page.name}" in NAVIGATION


def test_the_gallery_is_on_the_first_pages():
    assert "docs/gallery/index.md" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "gallery/index.md" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def test_the_page_with_the_stopwatch_has_the_lines_of_the_other_pages():
    text = PAGE.read_text(encoding="utf-8")
    found = dict(sections(text))
    assert list(found) == ["Install", "A verdict on a CSV", "A search", "A decision over HTTP from JavaScript"]
    canary = (ROOT / "docs" / "canary.md").read_text(encoding="utf-8")
    assert all(line in canary for line in found["A verdict on a CSV"])
    assert found["A search"][0] in (ROOT / "README.md").read_text(encoding="utf-8")
    clients = (ROOT / "docs" / "how-to" / "clients.md").read_text(encoding="utf-8")
    assert found["A decision over HTTP from JavaScript"][2] in clients
    program = (ROOT / "examples" / "service" / "first.mjs").read_text(encoding="utf-8")
    assert re.search(r"^```js\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[1] == program.partition("\n")[2]
    rows = re.findall(r"^\| (.+?) \| (\d+) \| \d+ \| \d+ \|$", TABLE.search(text)[0], re.MULTILINE)
    assert [(name, int(many)) for name, many in rows[:-1]] == [(name, len(lines)) for name, lines in found.items()]


def test_the_table_has_a_row_for_all():
    rows = [Measured("Install", 1, 2.6, 1.0), Measured("Search", 2, 3.0, 9.0)]
    assert table_of(rows).splitlines()[-1] == "| in all | 3 | 6 | 10 |"


@pytest.mark.slow
def test_a_stranger_with_the_built_wheel_can_type_the_page():
    rows = measured()
    print(table_of(rows))  # pytest -s shows it
    typed = {name: len(lines) for name, lines in sections(PAGE.read_text("utf-8"))}
    assert {row.name: row.commands for row in rows} == typed
    assert not (ROOT / "log.csv").exists()  # all of it happened elsewhere
