"""Pages fail in parts, not as a whole; and every answer has strict headers, whatever went wrong."""

import httpx
import pytest

from allais.serve.api.http import HEADERS
from allais.serve.dashboard import dashboard_state, experiment_page, routes, view_model
from tests.serve.conftest import Caller

UNDRAWN = '<p class="quiet" role="alert">This part could not be worked out'
pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


def raising(*_, **__):
    raise ArithmeticError("math domain error")


@pytest.fixture
def reader(caller: Caller):
    """Somebody who looks at pages."""
    caller.post(
        "/v1/experiments/routes/import", json={"arms": ["A21", "A28"] * 10, "outcomes": [5.0, 7.0] * 10}
    ).raise_for_status()
    with httpx.Client(base_url=caller.base_url) as client:
        client.post("/sign-in", data={"key": caller.key}, headers={"Origin": str(caller.base_url)})
        yield client


@pytest.mark.parametrize(
    ("module", "name", "title"),
    [(experiment_page, "lost_picture", "Against always the best mean"), (view_model, "_groups", "People"),
     (view_model, "certainty_equivalents", "Values"), (view_model, "_by_mean", "The mean")],
)  # fmt: skip
def test_a_part_that_fails_leaves_the_others(reader, monkeypatch, module, name, title):
    monkeypatch.setattr(module, name, raising)
    page = reader.get("/experiments/routes")
    assert page.status_code == 200
    assert f"<h2>{title}</h2>\n{UNDRAWN}" in page.text
    assert "<h2>The arms</h2>" in page.text
    assert "The log of the service" not in reader.get("/").text


def test_an_experiment_that_fails_leaves_the_list_of_the_others(caller, reader, monkeypatch):
    caller.create("second")
    caller.dashboard._tracked.clear()
    seen = dashboard_state.summarised
    monkeypatch.setattr(dashboard_state, "summarised", lambda one: raising() if one.name == "second" else seen(one))
    listed = reader.get("/")
    assert listed.status_code == 200
    assert 'href="/experiments/second"' in listed.text
    assert "A28" in listed.text


def test_arms_that_retired_as_the_best_cost_nobody_less_than_nothing(caller, reader):
    for _ in range(30):
        answer = caller.ask()
        caller.tell(answer["choice"], {"A21": 5.0, "A28": 7.0}[answer["arm"]])
    caller.delete("/v1/experiments/routes/arms/A28").raise_for_status()
    page = reader.get("/experiments/routes")
    assert page.status_code == 200
    lost = page.text.partition("Lost so far:")[2].partition("</p>")[0]
    assert lost
    assert "-" not in lost
    assert UNDRAWN not in page.text


def test_every_answer_has_strict_headers(caller, reader, monkeypatch):
    monkeypatch.setattr(routes.known_people, "listed", raising)
    monkeypatch.setattr("allais.serve.core.people.listed", raising)
    monkeypatch.setattr("allais.serve.core.decisions.decide", raising)
    with httpx.Client(base_url=caller.base_url) as stranger:
        answers = {
            "a page": (reader.get("/experiments/routes"), 200),
            "a mistake of ours in a page": (reader.get("/people"), 500),
            "a mistake of ours in a call": (caller.get("/v1/people"), 500),
            "a mistake of ours in a decision": (caller.post("/v1/experiments/routes/decide", json={}), 500),
            "a call": (caller.get("/v1/experiments/routes"), 200),
            "no such experiment": (caller.get("/v1/experiments/none"), 404),
            "no such page": (reader.get("/none", headers={"Accept": "text/html"}), 404),
            "no key": (stranger.get("/v1/experiments"), 401),
            "a body that does not fit": (caller.post("/v1/experiments/routes/reward", json={"a": 1}), 422),
            "the way in": (stranger.get("/"), 303),
            "a style": (stranger.get("/static/dashboard.css"), 200),
        }
    for what, (answer, status) in answers.items():
        assert answer.status_code == status, what
        assert set(HEADERS) <= set(answer.headers), what
    assert answers["a style"][0].headers["cache-control"] == "no-cache"  # its own
    assert "internal error in the service" in answers["a mistake of ours in a page"][0].text.lower()
    assert answers["a mistake of ours in a page"][0].headers["content-type"].startswith("text/html")
