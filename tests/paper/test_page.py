"""The page of the paper: what a reader meets first, errata, and all of it in a real browser."""

import re
from html import unescape
from pathlib import Path

import pytest

from allais.paper.experiments import ExperimentResult, Finding, ResultTable
from allais.paper.page_words import ERRATA, found
from allais.paper.report import STYLE, coloured, drawing, html_report, markdown_report
from allais.paper.runner import Stored
from tests.browser import opened_without_complaint
from tests.paper.made_up import FINDINGS, made_up

ERRATA_PAGE = Path(__file__).parents[2] / "docs" / "paper" / "errata.md"
SCREENS = [(1280, 900), (390, 844)]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html_report(made_up()), encoding="utf-8")
    return path


# -- words ----------------------------------------------------------------------------------------


def test_the_closing_sentences_follow_from_the_results():
    results = made_up()
    assert found(results) == [
        "Of 42 claims of the paper 14 hold as printed, 14 once corrected, and 14 are misprints.",
        "W-UCB's regret on problem (a) is 1,234 after 50,000 rounds, UCB's 56,789; W-LUCB and W-SR end on the arm that "
        "people prefer in 799 of 800 runs, LUCB and SR in 3.",
        "On simulated traffic R1 is the fastest route on average and R2, 10 s longer, the one that people prefer: OFUL "
        "ends on R1, W-OFUL, which knows the noise, on R2.",
    ]


def test_the_closing_sentences_say_what_is_not_as_expected_and_nothing_about_what_has_not_run():
    (one,) = (
        result for result in made_up((*FINDINGS, Finding("no", "so", "not so", False))) if result.name == "weight"
    )
    assert found([one]) == [
        "Of 4 claims of the paper 1 hold as printed, 1 once corrected, and 1 is a misprint; 1 came out differently. "
        "1 finding NOT as expected."
    ]


def test_a_finding_is_of_one_of_three_kinds_or_not_as_expected():
    assert [finding.kind for finding in FINDINGS] == ["holds", "corrected", "misprint", "holds"]
    assert [finding.as_expected for finding in FINDINGS] == [True] * 4
    corrected = Finding("with 2 M", "at most 1", "0.3", True, 10, as_corrected=True)
    assert (corrected.kind, corrected.as_expected) == ("corrected", True)
    for strange in (
        Finding("so", "so", "not so", False),
        Finding("so", "so", "so", True, 10),
        Finding("with 2 M", "at most 1", "3", False, 10, as_corrected=True),
    ):
        assert (strange.kind, strange.as_expected) == ("differs", False)


def test_the_page_is_claim_pictures_summary_experiments_findings_and_errata_in_this_order():
    text = html_report(made_up())
    places = [
        text.index(part)
        for part in (
            "<h1>", "People overweight rare events", "<svg", 'id="summary"', "Claims that hold</h3>",
            "Claims that hold once corrected</h3>", "Misprints of the paper</h3>", 'id="introduction"',
            'id="vehicles"', 'id="findings"', 'id="errata"',
        )
    ]  # fmt: skip
    assert places == sorted(places)
    assert "refuted" not in text
    opening = text[: text.index('id="summary"')]
    assert opening.count("<figure") == 3
    assert "299 of 300 runs" in opening


def test_a_finding_that_is_not_as_expected_stands_first():
    text = html_report(made_up((*FINDINGS, Finding("it rains", "so", "not so", False))))
    assert text.index("Not as expected</h3>") < text.index("Claims that hold</h3>")
    assert "NOT as expected" in text
    assert "Not as expected</h3>" not in html_report(made_up())


def test_names_within_figures_are_there_once_though_the_opening_repeats_them():
    names = re.findall(r'\bid="([^"]*)"', html_report(made_up()))
    assert len(names) == len(set(names))


def test_the_errata_are_those_of_the_page_of_errata():
    headings = re.findall(r"^### (\d+)\. (.*)$", ERRATA_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [(int(number), title) for number, title in headings] == [(one.number, one.title) for one in ERRATA.values()]


def test_every_erratum_of_the_page_is_a_link_that_leads_somewhere():
    text = html_report(made_up())
    for number in (10, 11, 21, 28):
        assert f'<a href="#erratum-{number}">erratum {number}</a>' in text
    targets = set(re.findall(r'href="#([^"]*)"', text))
    assert targets <= set(re.findall(r'\bid="([^"]*)"', text))


def test_errata_in_markdown_lead_to_headings_of_their_page():
    toc = pytest.importorskip("markdown.extensions.toc")
    links = set(re.findall(r"errata\.md#([^)]*)\)", markdown_report(made_up())))
    headings = re.findall(r"^### (.*)$", ERRATA_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(links) >= 3
    assert links <= {toc.slugify(heading, "-") for heading in headings}


def test_text_on_the_page_is_escaped():
    finding = Finding("<b>claim</b>", "a & b", '"measured"', True)
    result = ExperimentResult(
        (("<i>", "</i>"),), (finding,), (ResultTable("<t>", ("<h>",), (("<c>",),)),), notes=("<n>",)
    )
    text = html_report([Stored("weight", "quick", 1, 1.0, result)])
    for raw in ("<b>claim", "<t>", "<h>", "<c>", "<n>"):
        assert raw not in text
        assert raw in unescape(text)


def test_the_page_needs_no_other_file(page):
    text = page.read_text()
    links = [link for link in re.findall(r'(?:src|href)="([^"]*)"', text) if not link.startswith("#")]
    assert links == ["data:,"]
    assert "@import" not in text
    assert "url(http" not in text


# -- in a browser ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_the_first_picture_is_within_the_first_screen(chromium, page, width, height, scheme):
    view = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    view.goto(page.as_uri())
    boxes = view.evaluate(
        """[...document.querySelectorAll(".three svg")].map(svg => {
            const box = svg.getBoundingClientRect(); return [box.top, box.bottom, box.width];
        })"""
    )
    assert len(boxes) == 3
    within = [bottom <= height for _, bottom, _ in boxes]
    assert within[0]
    assert all(within) or width < 700  # side by side where there is room
    assert all(wide > 0.8 * min(width, 380) for *_, wide in boxes)
    claim = view.evaluate("document.querySelector('.opening p').getBoundingClientRect().bottom")
    assert claim < boxes[0][0]
    view.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_the_page_reads_well_in_a_browser(chromium, page, width, height, scheme):
    view = opened_without_complaint(chromium, page, width, height, scheme)
    sizes = view.evaluate(
        """[...document.querySelectorAll("figure svg")].map(svg => {
            const text = svg.querySelector("text");
            return [svg.getBoundingClientRect().width, text.getBoundingClientRect().height,
                    getComputedStyle(text).fill, getComputedStyle(document.body).backgroundColor];
        })"""
    )
    assert len(sizes) == 7
    for wide, high, ink, ground in sizes:
        assert 0.5 * min(width, 480) < wide <= width
        assert high >= 9.0  # pixels: readable
        assert ink != ground
    view.close()


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_links_lead_to_errata_and_experiments(chromium, page, width, height):
    view = chromium.new_page(viewport={"width": width, "height": height})
    for target in ("erratum-10", "route-table", "findings"):
        view.goto(page.as_uri())
        view.click(f'a[href="#{target}"] >> nth=0')
        top, bottom = view.evaluate(
            f"(box => [box.top, box.bottom])(document.getElementById('{target}').getBoundingClientRect())"
        )
        assert 0 <= top < bottom <= height, target
    view.close()


def test_a_figure_has_the_colours_of_the_page_that_shows_it():
    with drawing("line", "a line") as picture:
        picture.axes.plot([0.0, 1.0], [0.0, 1.0])
    shown = coloured(picture.figure.svg, "currentColor", "var(--card)")
    assert STYLE["text.color"] in picture.figure.svg
    assert STYLE["text.color"] not in shown
    assert "currentColor" in shown
