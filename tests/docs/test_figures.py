"""Figures on pages: each was measured once, by `make benchmark`, and stands in benchmarks/results.md.

A table of such figures has a comment above it, `<!-- figures: SECTION -->`, with the title of the section that its rows
come from; a figure in a sentence is followed by `<!-- figure: SECTION | ROW -->`.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MEASURED = [  # pages that rest on measurements
    ROOT / "docs" / "choosing.md",
    *(ROOT / "docs" / "theory" / f"{name}.md" for name in ("best-arm", "asymptotic")),
]
TABLE = re.compile(
    r"(?:^<!-- figures: (?P<section>[^\n]+?) -->\n+)?^(?P<table>\|.*\n\|[-| :]+\n(?:\|.*(?:\n|\Z))+)", re.MULTILINE
)
INLINE = re.compile(r"(?P<figure>[\d.,]*\d)<!-- figure: (?P<section>[^|\n]+?) \| (?P<row>[^\n]+?) -->")
BARE = re.compile(r"(?<![\w.])0\.[1-9]\d\d\b(?!<!-- figure: )")  # a measured share that does not say where it is from
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
MANY = 5  # numbers in a table's body that make it one of figures


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def rows_of(table: str) -> list[list[str]]:
    """The rows of a table without its heading."""
    return [cells_of(line) for line in table.strip().splitlines()[2:]]


def label(cell: str) -> str:
    return re.sub(r"(?<=\d),(?=\d{3})", "", cell.replace("`", "").strip().lower())


def measured() -> dict[str, dict[str, list[list[str]]]]:
    """For each section of the results, for each label the rows that begin with it."""
    found: dict[str, dict[str, list[list[str]]]] = {}
    for part in re.split(r"^(?=## )", RESULTS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title = part.partition("\n")[0].removeprefix("## ").strip()
        found[title] = {}
        for match in TABLE.finditer(part):
            for row in rows_of(match["table"]):
                found[title].setdefault(label(row[0]), []).append(row)
    return found


def agrees(printed: str, stored: str) -> bool:
    """Whether a figure is the stored one, rounded to the digits that are printed.

    >>> agrees("0.288", "0.2876"), agrees("0.278", "0.2876"), agrees("61,390", "6.139e+04"), agrees("61,400", "61391")
    (True, False, True, True)
    """
    shown, kept = printed.replace(",", ""), float(stored.replace(",", ""))
    mantissa, _, power = shown.partition("e")
    digits = len(mantissa.partition(".")[2])
    step = 10.0 ** (int(power or 0) - digits)
    if digits == 0 and not power:  # trailing zeros of a whole number may be rounding
        step = 10.0 ** (len(mantissa) - len(mantissa.rstrip("0"))) if mantissa.rstrip("0") else 1.0
    return abs(float(shown) - kept) <= 0.5 * step * (1.0 + 1e-9)


def follow(page: list[str], stored: list[str]) -> bool:
    """Whether the figures of a row are those of a stored one, in its order; some may be left out."""
    rest = iter(stored)
    return all(any(agrees(figure, one) for one in rest) for figure in page)


def numbers(cells: list[str]) -> list[str]:
    return [number for cell in cells for number in NUMBER.findall(cell)]


def comes_from(row: list[str], candidates: list[list[str]]) -> bool:
    return any(follow(numbers(row[1:]), numbers(stored[1:])) for stored in candidates)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_on_a_page_is_the_one_that_was_measured(page):
    text, results = page.read_text(encoding="utf-8"), measured()
    for match in TABLE.finditer(text):
        if match["section"] is None:
            continue
        assert match["section"] in results, f"{page.name} names the section {match['section']!r}, which is none."
        for row in rows_of(match["table"]):
            stored = results[match["section"]].get(label(row[0]), [])
            assert comes_from(row, stored), f"{page.name} prints {row}; benchmarks/results.md has {stored}."
    for match in INLINE.finditer(text):
        stored = results[match["section"]][label(match["row"])]
        found = [one for row in stored for one in numbers(row[1:])]
        assert any(agrees(match["figure"], one) for one in found), f"{page.name}: {match[0]}; measured were {found}."


@pytest.mark.parametrize("page", MEASURED, ids=lambda page: page.name)
def test_every_table_of_figures_says_where_they_come_from(page):
    for match in TABLE.finditer(page.read_text(encoding="utf-8")):
        many = sum(len(numbers(row[1:])) for row in rows_of(match["table"])) >= MANY
        first = match["table"].partition("\n")[0]
        assert not many or match["section"], f"{page.name}: the table {first} needs a comment that names its section."


@pytest.mark.parametrize("page", MEASURED, ids=lambda page: page.name)
def test_every_measured_share_in_a_sentence_says_where_it_comes_from(page):
    assert BARE.findall(TABLE.sub("", page.read_text(encoding="utf-8"))) == []


def test_shares_in_sentences_are_looked_at():
    text = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    assert len(INLINE.findall(text)) >= 3
    assert BARE.findall("errs in 0.430 of the runs, and in 0.430<!-- figure: A | b --> of these") == ["0.430"]


def test_how_far_policies_are_from_the_best_is_what_the_table_says():
    heading = "| wrong answers within a budget |"
    (table,) = [one["table"] for one in TABLE.finditer(RESULTS.read_text(encoding="utf-8")) if heading in one["table"]]
    columns = cells_of(table.partition("\n")[0])
    policies = ("patient rejects", "W-SR", "uniform sampling", "sequential halving")
    named = (*policies, "floor 1/2")
    errors = {name: [float(row[columns.index(name)]) for row in rows_of(table)] for name in named}
    best = [min(row) for row in zip(*(errors[name] for name in policies), strict=True)]
    patient, wsr, uniform, halving, half = (
        f"{max(error - least for error, least in zip(errors[name], best, strict=True)):.2f}" for name in named
    )
    text = " ".join((ROOT / "docs" / "choosing.md").read_text(encoding="utf-8").split())
    others = f"W-SR by {wsr}, uniform sampling by {uniform} and sequential halving by {halving}."
    assert f"errs by up to {patient} more, {others}" in text
    assert f"not a half, which errs by up to {half} more." in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_table_that_is_also_in_the_results_is_the_same_there(page):
    stored = {
        match["table"].partition("\n")[0]: match["table"]
        for match in TABLE.finditer(RESULTS.read_text(encoding="utf-8"))
    }
    for match in TABLE.finditer(page.read_text(encoding="utf-8")):
        heading = match["table"].partition("\n")[0]
        if heading in stored:
            assert set(match["table"].splitlines()) <= set(stored[heading].splitlines()), f"{page.name}: {heading}"


def test_a_figure_that_is_not_the_measured_one_is_noticed():
    stored = [["1000 samples", "0.2876", "0.2925", "0.0041", "not above", "yes"]]
    assert comes_from(["1,000 samples", "0.288", "0.293", "0.004"], stored)
    assert not comes_from(["1,000 samples", "0.278", "0.293", "0.004"], stored)
    assert not comes_from(["1,000 samples", "0.293", "0.288", "0.004"], stored)
    assert not comes_from(["1,000 samples", "0.288"], [])
