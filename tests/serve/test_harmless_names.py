"""Names and words that look like HTML, like a template or like the end of a script are text on every page."""

from html.parser import HTMLParser
from urllib.parse import quote

import httpx
import pytest

from allais import WSR, Bandit, Discrete, Preference, TverskyKahneman, best_arm
from allais.paper.experiments import ExperimentResult, Figure, Finding, ResultTable
from allais.paper.report import html_report
from allais.paper.runner import Stored
from allais.people import Family
from allais.people import write_page as write_interview
from allais.report import write_page
from allais.serve.settings_file import ServerSettings
from tests.serve.conftest import Caller

STRANGE = "</script></style><script>alert(1)</script>\"'><b onclick=alert(2)> {{ 7 * 19100191 }} {% raw %} &amp;"


class Reader(HTMLParser):
    """Reads a page as a browser does: its text, its elements, and whatever of them came from a name."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.scripts, self.suspicious = "", 0, []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.suspicious += [(tag, name) for name, _ in attrs if name.startswith("on") or '"' in name or "<" in name]
        self.text += "".join(f" {given}" for _, given in attrs if given)

    def handle_data(self, data):
        self.text += data


def looked_at(page, scripts, *, shown=True):
    """The page has as many scripts as it should, and shows the name as it is, if at all."""
    assert "133701337" not in page  # what the template in the name would come to
    reader = Reader(page)
    assert reader.suspicious == []
    assert reader.scripts == scripts
    assert (STRANGE in reader.text) == shown, reader.text[:2_000]


@pytest.fixture(scope="module")
def visitor(tmp_path_factory):
    with Caller(ServerSettings(database=str(tmp_path_factory.mktemp("names") / "advisor.db"))) as caller:
        caller.create("strange", arms=[STRANGE, "plain"], unit="<i>{{ 7 * 19100191 }}")
        named = f"/v1/people/{quote(STRANGE, safe='')}"
        caller.put(named, json={"preference": {"name": "cvar", "level": 0.1}}).raise_for_status()
        caller.put("/v1/people/ann", json={"preference": {"name": "expected_value"}}).raise_for_status()
        for arm, outcome in ((STRANGE, 9.0), ("plain", 7.0)) * 10:
            caller.tell(caller.ask("strange", person="ann", allowed=[arm])["choice"], outcome, "strange")
        with httpx.Client(base_url=caller.base_url, timeout=300.0) as client:  # a first interview compiles
            client.post("/sign-in", data={"key": caller.key}, headers={"Origin": str(caller.base_url)})
            yield client, caller


@pytest.mark.parametrize("path", ["/", "/live", "/experiments/strange", "/experiments/strange/live"])
def test_arms_are_text(visitor, path):
    client, _ = visitor
    page = client.get(path)
    assert page.status_code == 200
    looked_at(page.text, scripts=0 if path.endswith("live") else 1)


def test_an_experiment_that_cannot_be_named_is_shown_its_own_words_again(visitor):
    client, _ = visitor
    form = {
        "name": STRANGE,
        "arms": STRANGE,
        "low": "0",
        "high": "9",
        "unit": STRANGE,
        "preference": "cvar",
        "policy": "NPTS",
    }
    answer = client.post("/new", data=form)
    assert answer.status_code == 422
    looked_at(answer.text, scripts=1)


def test_people_are_text(visitor):
    client, caller = visitor
    made = client.post("/interviews", data={"person": STRANGE, "low": "0", "high": "9", "unit": "<i>", "by": "link"})
    if made.status_code == 503:  # this machine compiles what an interview needs
        pytest.skip(made.text)
    looked_at(made.text, scripts=1)
    looked_at(client.get("/people").text, scripts=1)
    looked_at(client.get("/changes").text, scripts=1)
    address = Reader(made.text).text.partition("/answer/")[2].split()[0]
    question = httpx.get(f"{caller.base_url}/answer/{address}", timeout=300.0)
    looked_at(question.text, scripts=1)
    assert "<i>" not in question.text


def test_refusals_and_the_way_in_are_text(visitor):
    client, _ = visitor
    nowhere = client.get("/nowhere/<script>{{ 7 * 19100191 }}", headers={"Accept": "text/html"})
    assert nowhere.status_code == 404
    looked_at(nowhere.text, scripts=1, shown=False)
    wrong = client.post("/sign-in", data={"key": STRANGE})
    looked_at(wrong.text, scripts=1, shown=False)
    looked_at(client.get("/docs").text, scripts=1, shown=False)


def test_a_report_shows_options_titles_and_units_as_text(tmp_path):
    problem = Bandit([Discrete({18: 0.9, 60: 0.1}), Discrete({25: 1.0})], arms=[STRANGE, "train"])
    answer = best_arm(WSR(Preference(TverskyKahneman(0.61)), budget=60), problem, seed=1)
    write_page(answer, tmp_path / "page.html", STRANGE, name=STRANGE, unit=STRANGE)
    looked_at((tmp_path / "page.html").read_text(), scripts=0)


def test_an_interview_keeps_its_title_and_its_unit_out_of_its_script(tmp_path):
    write_interview(Family(stake=100), tmp_path / "page.html", (0, 200), seed=1, unit=STRANGE, title=STRANGE)
    looked_at((tmp_path / "page.html").read_text(), scripts=2)


def test_the_page_of_the_paper_shows_findings_as_text():
    finding = Finding(STRANGE, STRANGE, STRANGE, True, why=f"{STRANGE} erratum 10")
    result = ExperimentResult(
        ((STRANGE, STRANGE),), (finding,), (ResultTable(STRANGE, (STRANGE,), ((STRANGE,),)),),
        (Figure("map", STRANGE, "<svg></svg>"),), (STRANGE,),
    )  # fmt: skip
    looked_at(html_report([Stored("weight", "quick", 1, 1.0, result)]), scripts=0)
