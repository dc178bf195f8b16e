"""The dashboard in a real browser: create, watch, pause, a person's interview, phones, the dark, and strange names."""

from __future__ import annotations

import re
from contextlib import contextmanager

import httpx
import numpy as np
import pytest

from allais.serve.settings_file import ServerSettings
from tests.browser import chromium as opened_browser
from tests.serve.conftest import Caller

STRANGE = '<img src=x onerror="document.title=1">&amp;"\''
MINUTES = {
    "arms": ["over the crossing", "one block aside"],
    "preference": {"name": "tversky_kahneman", "reference": 4.0, "costs": True},
    "rewards": {"type": "Bounded", "low": 0.0, "high": 20.0},
    "unit": "minutes",
}
TASTES = {"ann": "expected_value", "bob": "tversky_kahneman"}


@pytest.fixture(scope="module")
def caller(tmp_path_factory):
    with Caller(ServerSettings(database=str(tmp_path_factory.mktemp("pages") / "advisor.db"))) as client:
        client.create("trips", **MINUTES)
        client.create("strange", arms=[STRANGE, "plain"])
        for person, taste in TASTES.items():
            preference = {"name": taste, "reference": 4.0, "costs": True}
            client.put(f"/v1/people/{person}", json={"preference": preference}).raise_for_status()
        client.put("/v1/people/%3Cscript%3E", json={"preference": {"name": "cvar", "level": 0.1}}).raise_for_status()
        # 2.5 on average against 2.7, but 1 in 40 takes 12
        told = {"arms": ["over the crossing"] * 400 + ["one block aside"] * 400, "outcomes": [12.0] * 10 + [2.26] * 390}
        told["outcomes"] += [2.7] * 400
        client.post("/v1/experiments/trips/import", json=told).raise_for_status()
        for k in range(60):
            choice = client.ask("trips", person=list(TASTES)[k % 2])
            client.tell(choice["choice"], 2.26 if choice["arm"] == "over the crossing" else 2.7, "trips")
        client.tell(client.ask("strange")["choice"], 7.0, "strange")
        yield client


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as one:
        yield one


@contextmanager
def signed_in(browser, caller, width=1280, scheme="light", key=None):
    view = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    view.set_default_timeout(300_000)  # milliseconds: a first interview compiles
    view.said, view.asked = [], []
    view.on("console", lambda message: view.said.append(message.text))
    view.on("pageerror", lambda error: view.said.append(str(error)))
    view.on("request", lambda request: view.asked.append(request.url))
    view.goto(f"{caller.base_url}/sign-in")
    view.fill("input[name=key]", key or caller.key)
    view.click("text=Sign in >> nth=-1")
    view.wait_for_url(f"{caller.base_url}/")
    yield view
    assert view.said == []
    assert all(url.startswith((str(caller.base_url), "data:")) for url in view.asked)
    view.close()


def outsider(caller):
    return httpx.Client(base_url=caller.base_url)


def test_without_a_key_there_is_only_the_way_in(caller):
    with outsider(caller) as client:
        for path in ("/", "/live", "/experiments/trips", "/experiments/trips/live", "/people", "/new"):
            answer = client.get(path)
            assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
        wrong = client.post("/sign-in", data={"key": "alk_wrong_key"})
        assert wrong.status_code == 401
        assert "opens nothing here" in wrong.text
        client.cookies.set("allais_session", "0.99999999999.0")
        assert client.get("/").status_code == 303


def test_a_page_that_is_not_there_is_a_page(caller):
    with outsider(caller) as client:
        answer = client.get("/nowhere/<b>", headers={"Accept": "text/html"})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "Page not found: /nowhere/&lt;b&gt;" in answer.text
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        for path, accept in (("/nowhere", "*/*"), ("/v1/nowhere", "text/html")):
            headers = {"Accept": accept, "Authorization": f"Bearer {caller.key}"}
            assert client.get(path, headers=headers).json()["error"].startswith("not found")


def test_the_page_of_changes_says_who_changed_what_and_is_for_managers(caller):
    made = caller.post("/v1/keys", json={"name": "reader", "scopes": ["read"]}).json()
    with outsider(caller) as client:
        assert client.get("/changes").headers["location"] == "/sign-in"
        client.post("/sign-in", data={"key": made["key"]})
        assert client.get("/changes").status_code == 403
        assert "/changes" not in client.get("/").text
        client.post("/sign-in", data={"key": caller.key})
        page = client.get("/changes").text
        assert "create <b>strange</b>" in page
        assert STRANGE[:10] not in page
        assert page.index("make key") < page.index("create <b>trips</b>")  # the latest on top
        assert "Nothing was changed yet" in client.get("/changes?before=1").text


def test_the_cookie_is_for_this_site_only_and_is_not_the_key(caller):
    with outsider(caller) as client:
        answer = client.post("/sign-in", data={"key": caller.key})
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert caller.key.split("_", 2)[2] not in cookie
        behind = client.post("/sign-in", data={"key": caller.key}, headers={"X-Forwarded-Proto": "https"})
        assert "Secure" in behind.headers["set-cookie"]
        page = client.get("/experiments/trips", headers={"Cookie": cookie.split(";")[0]})
        assert page.headers["content-security-policy"].startswith("default-src 'none'")
        assert page.headers["cache-control"] == "no-store"
        assert not re.search(r"<script>|style=|onclick", page.text)


def test_forms_of_other_sites_are_refused_and_a_revoked_key_sees_no_more(caller):
    made = caller.post("/v1/keys", json={"name": "viewer", "scopes": ["read", "manage"]}).json()
    with outsider(caller) as client:
        client.post("/sign-in", data={"key": made["key"]})
        for headers in ({"Origin": "http://elsewhere.test"}, {"Sec-Fetch-Site": "cross-site"}):
            answer = client.post("/experiments/trips/pause", headers=headers)
            assert (answer.status_code, "another site" in answer.text) == (403, True)
        assert client.get("/experiments/trips").status_code == 200
        caller.delete(f"/v1/keys/{made['id']}").raise_for_status()
        assert client.get("/experiments/trips").headers["location"] == "/sign-in"


def test_who_may_only_read_cannot_pause(caller):
    made = caller.post("/v1/keys", json={"name": "reader", "scopes": ["read"]}).json()
    with outsider(caller) as client:
        client.post("/sign-in", data={"key": made["key"]})
        assert "Pause" not in client.get("/experiments/trips").text
        assert client.post("/experiments/trips/pause").status_code == 403
        assert client.get("/new").status_code == 403
    assert caller.get("/v1/experiments/trips").json()["state"] == "running"


def test_create_watch_and_pause(browser, caller):
    with signed_in(browser, caller) as view:
        view.click("text=New experiment")
        view.fill("[name=name]", "lunch")
        view.fill("[name=arms]", "soup\nsalad\n")
        view.fill("[name=low]", "10")
        view.fill("[name=high]", "0")
        view.click("text=Begin")
        assert "low" in view.inner_text(".wrong")  # the greatest outcome lies below the least
        view.said.clear()  # the browser's own word about the refusal
        view.fill("[name=low]", "0")
        view.fill("[name=high]", "10")
        view.click("text=Begin")
        view.wait_for_url("**/experiments/lunch")
        assert "No outcomes yet" in view.inner_text(".answer")
        for _ in range(8):
            choice = caller.ask("lunch")
            caller.tell(choice["choice"], 8.0 if choice["arm"] == "soup" else 2.0, "lunch")
        view.wait_for_selector("text=/soup.* is best so far/")  # without reloading
        assert view.inner_text("#status") == "live"
        view.click("text=Pause")
        view.wait_for_selector(".pill.paused")
        assert caller.post("/v1/experiments/lunch/decide", json={}).status_code == 409
        view.click("text=Resume")
        view.wait_for_selector(".pill.running")
        caller.ask("lunch")
    actions = [one["action"] for one in caller.get("/v1/audit").json() if one["target"] == "lunch"]
    assert {"create", "pause", "resume"} <= set(actions)


def test_the_page_says_where_people_part_and_why(browser, caller):
    with signed_in(browser, caller) as view:
        view.goto(f"{caller.base_url}/experiments/trips")
        answer = view.inner_text(".answer")
        assert 'The mean would choose "over the crossing"' in answer
        assert "People part ways" in answer
        assert view.locator(".panel").count() == 2
        assert view.locator("details").count() == 2
        rare = view.inner_text("details[open] >> text=/^12/ >> xpath=..").split()
        assert float(rare[-1].rstrip("%")) > 2 * float(rare[-2].rstrip("%"))  # a rare delay counts for more


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["", "experiments/trips", "experiments/strange", "people", "new", "changes"])
def test_nothing_scrolls_sideways_on_a_phone(browser, caller, path, scheme):
    with signed_in(browser, caller, 390, scheme) as view:
        view.goto(f"{caller.base_url}/{path}")
        assert view.evaluate("document.documentElement.scrollWidth") <= 390
        light = view.evaluate("getComputedStyle(document.body).backgroundColor").strip("rgb()").split(",")
        assert (int(light[0]) > 200) == (scheme == "light")


def test_names_are_text_and_nothing_else(browser, caller):
    with signed_in(browser, caller) as view:
        view.goto(f"{caller.base_url}/experiments/strange")
        assert view.locator("img").count() == 0
        assert view.title() == "strange"
        assert STRANGE[:20] in view.inner_text(".answer")
        view.goto(f"{caller.base_url}/people")
        assert "<script>" in view.inner_text("main")
        view.goto(f"{caller.base_url}/")
        assert view.locator("img").count() == 0


def test_an_alarm_of_change_is_shown(browser, caller):
    rng = np.random.default_rng(1)
    caller.create("drifting")
    outcomes = [*rng.uniform(0, 10, 1_000), *rng.uniform(30, 50, 300)]
    body = {"arms": ["A21"] * len(outcomes), "outcomes": outcomes}
    caller.post("/v1/experiments/drifting/import", json=body).raise_for_status()
    with signed_in(browser, caller) as view:
        view.goto(f"{caller.base_url}/experiments/drifting")
        assert '"A21" no longer looks as it did' in view.inner_text("[role=alert]")


def test_an_interview_gives_a_person_her_preference(browser, caller):
    with signed_in(browser, caller, 390) as view:
        view.goto(f"{caller.base_url}/people")
        view.fill("[name=person]", "Zoë <b>")
        view.click("text=Ask a few questions")
        for number in range(1, 21):
            view.wait_for_selector(f"text=Question {number} of 20")
            assert view.evaluate("document.documentElement.scrollWidth") <= 390
            view.click(f"button[value={'AB'[number % 2]}]")
        view.wait_for_selector("text=Thank you, Zoë <b>")
    people = {one["name"]: one["source"] for one in caller.get("/v1/people").json()}
    assert people["Zoë <b>"].startswith("interview")


def test_somebody_with_a_link_answers_in_a_browser_and_goes_back(browser, caller):
    talk = caller.post("/v1/people/Joe/interview", json={"stakes": [0.0, 200.0], "unit": "euros"}).json()
    link = caller.post(f"/v1/interviews/{talk['id']}/link", json={}).json()
    view = browser.new_page(viewport={"width": 390, "height": 900})
    view.set_default_timeout(300_000)  # milliseconds: a first interview compiles
    view.goto(f"{caller.base_url}{link['path']}")
    view.wait_for_selector("text=Question 1 of")
    first = view.inner_text("section")
    view.click("button[value=A]")
    view.wait_for_selector("text=Question 2 of")
    view.click("text=Back")
    view.wait_for_selector("text=Question 1 of")
    assert [line for line in first.splitlines() if "%" in line] == [
        line for line in view.inner_text("section").splitlines() if "%" in line
    ]
    view.click("button[value=B]")
    view.wait_for_selector("text=Question 2 of")
    view.close()
