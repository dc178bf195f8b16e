"""There is one way to install, and every page, message and example says that one."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
KINDS = ("*.md", "*.py", "*.toml", "*.html", "*.yaml", "*.yml")
TEXTS = [
    ROOT / "README.md",
    *(path for place in ("docs", "src", "examples", "deploy") for kind in KINDS for path in (ROOT / place).rglob(kind)),
]
EXTRAS = re.compile(r"""pip install ["']?\.\[([a-z,]+)\]""")


def test_nothing_says_to_install_allais_by_its_name_which_no_index_has():
    named = re.compile(r"""pip3? install (-\S+ )*["']?allais\b""")
    found = [str(path.relative_to(ROOT)) for path in TEXTS if named.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_every_extra_that_is_named_exists_and_every_one_is_on_the_first_page():
    known = set(PROJECT["project"]["optional-dependencies"])
    for path in TEXTS:
        for extras in EXTRAS.findall(path.read_text(encoding="utf-8")):
            assert set(extras.split(",")) <= known, path
    table = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(table) == known - {"docs", "dev"}


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_pages_name_the_service_the_fits_and_the_interviews_with_their_commands(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for command in ("allais serve", "allais people fit", "allais interview"):
        assert f"\n{command} " in text
    for target in ("serving.md", "people.md", "interviews.md"):
        assert target in text


@pytest.mark.parametrize("example", ["call_centre", "inventory"])
def test_an_example_that_a_page_quotes_has_its_unit_there(example):
    spec = (ROOT / "examples" / example / f"{example}.toml").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "expensive-simulators.md").read_text(encoding="utf-8")
    assert f"unit = {tomllib.loads(spec)['unit']!r}".replace("'", '"') in page
