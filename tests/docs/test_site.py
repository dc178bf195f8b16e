"""The documentation: every page is reachable, every link leads somewhere, every public name is explained once."""

import ast
import builtins
import inspect
import re
from collections import Counter
from functools import cache
from pathlib import Path

import markdown
import pytest
import yaml

import allais
from tests.sources import ROOT, parsed

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
NOT_FOR_EXAMPLES = (Warning, Exception)  # nobody makes these


def navigation() -> list[str]:
    def pages(entry):
        if isinstance(entry, str):
            return [entry]
        children = entry.values() if isinstance(entry, dict) else entry
        return [page for child in children for page in pages(child)]

    with (ROOT / "mkdocs.yml").open(encoding="utf-8") as file:
        return pages(yaml.safe_load(file)["nav"])


def links_of(page: Path) -> list[str]:
    return [link for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))) if "://" not in link]


def anchors_of(page: Path) -> set[str]:
    """The ids of a page's headings, as the site makes them: letters, digits and hyphens."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def test_every_page_is_in_the_navigation_once():
    listed = navigation()
    assert Counter(listed) == Counter(str(page.relative_to(DOCS)) for page in PAGES)


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.name)
def test_every_relative_link_and_image_leads_to_something(page):
    for link in links_of(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), f"a link must lead to a file; {link} in {page.name} does not. Repair it."
        if anchor and target.suffix == ".md":
            assert anchor in anchors_of(target), f"{link} in {page.name} names no heading of {target.name}."


def test_a_page_linked_from_a_page_is_reached_by_a_relative_path():
    for page in PAGES:
        assert not [link for link in links_of(page) if link.startswith("/")], page.name


def entries() -> list[str]:
    return [
        name
        for page in sorted((DOCS / "reference").glob("*.md"))
        for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]


def test_every_public_name_is_on_exactly_one_reference_page():
    listed = Counter(entries())
    assert {f"allais.{name}" for name in allais.__all__} <= set(listed)
    assert [name for name, times in listed.items() if times > 1] == []


@pytest.mark.parametrize("name", sorted(allais.__all__))
def test_every_public_name_says_what_it_is(name):
    thing = getattr(allais, name)
    own = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    assert own, f"a public name needs a docstring; {name} has none."
    assert not own.startswith(f"{name}("), f"the docstring of {name} is the one that Python makes. Write one."


@pytest.mark.parametrize("name", sorted(allais.__all__))
def test_every_public_name_has_an_example(name):
    thing = getattr(allais, name)
    if inspect.isclass(thing) and issubclass(thing, NOT_FOR_EXAMPLES):
        return
    members = vars(thing).values() if inspect.isclass(thing) or inspect.ismodule(thing) else ()
    texts = [inspect.getdoc(thing), *(inspect.getdoc(getattr(one, "__func__", one)) for one in members)]
    assert any(">>>" in (text or "") for text in texts), f"a public name needs an example that runs; {name} has none."


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_list_is_a_list_on_the_site(page):
    """Python-Markdown wants a blank line before a list, unlike GitHub; without it the list is one paragraph."""
    with (ROOT / "mkdocs.yml").open(encoding="utf-8") as file:
        named = [
            one if isinstance(one, str) else next(iter(one)) for one in yaml.safe_load(file)["markdown_extensions"]
        ]
    html = markdown.markdown(page.read_text(encoding="utf-8"), extensions=named)
    for paragraph in re.findall(r"<(?:p|li)>(.*?)</(?:p|li)>", html, re.DOTALL):
        collapsed = re.findall(r"^\s*(?:[-*+]|\d+[.)])\s.*", paragraph, re.MULTILINE)
        assert collapsed == [], (
            f"a list needs a blank line before it; {page.name} has none before {collapsed[0][:60]!r}."
        )


DEVELOPERS = [ROOT / "CONTRIBUTING.md", *sorted((DOCS / "developer").glob("*.md"))]
FILE = re.compile(r"[\w.-]+/[\w./-]*|[\w-]+\.(?:py|md|toml|yml)")
NAME = re.compile(r"([A-Za-z_][\w.]*)(?:\(.*\))?")


def quoted(page: Path) -> list[str]:
    return re.findall(r"`([^`\n]+)`", FENCE.sub("", page.read_text(encoding="utf-8")))


def is_there(path: str) -> bool:
    """Whether a path leads to something, from the repository, its package or the documentation; or is made there."""
    package = ROOT / "src" / "allais"
    places = (ROOT, ROOT / "src", package, package / "serve", DOCS, DOCS / "developer")
    made = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    somewhere = "/" not in path and any(one for part in ("src", "tests", "docs") for one in (ROOT / part).rglob(path))
    return somewhere or path in made or any((place / path).exists() for place in places)


@cache
def names_in_use() -> set[str]:
    """Every name that the code defines, imports or uses, and the words of its settings."""
    names = set(dir(builtins)) | {"allais"}
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        for node in ast.walk(parsed(path) if "src" in path.parts else ast.parse(path.read_text(encoding="utf-8"))):
            for field in ("id", "attr", "name", "arg"):
                names.add(str(getattr(node, field, "")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.update(re.findall(r"[A-Za-z_]\w*", node.value) if len(node.value) < 200 else ())
        names.update(path.with_suffix("").parts)
    names.update(re.findall(r"[\w-]+", (ROOT / "pyproject.toml").read_text() + (ROOT / "mkdocs.yml").read_text()))
    return names


@pytest.mark.parametrize("page", DEVELOPERS, ids=lambda page: page.name)
def test_every_file_and_name_on_a_page_for_developers_exists(page):
    assert quoted(page)
    used = names_in_use()
    for text in quoted(page):
        if FILE.fullmatch(text):
            assert is_there(text), f"a page must name files that exist; {page.name} names {text}. Repair it."
        elif found := NAME.fullmatch(text):
            missing = [part for part in found[1].split(".") if part and part not in used]
            assert missing == [], f"a page must use names that exist; {page.name} has {text}. Repair it."
