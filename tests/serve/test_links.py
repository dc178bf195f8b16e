"""Somebody answers an interview by a link, without a key, and can go back."""

from __future__ import annotations

import logging
import re
import time

import httpx
import pytest
from sqlalchemy import update

from allais.serve.api.http import Requests
from allais.serve.store import tables
from tests.serve.events import rows_of

START = {"questions": 3, "checks": 0, "seed": 1, "stakes": [0, 60], "unit": "minutes", "costs": True}


@pytest.fixture
def talk(caller):
    answer = caller.post("/v1/people/joe/interview", json=START)
    assert answer.status_code == 201, answer.text
    return answer.json()


def linked(caller, talk, **body):
    made = caller.post(f"/v1/interviews/{talk['id']}/link", json=body)
    assert made.status_code == 201, made.text
    return made.json()


def browser(caller):
    """Somebody without a key."""
    return httpx.Client(base_url=caller.base_url, follow_redirects=True, timeout=60.0)


def answered(page, somebody, side="A"):
    """The page after an answer."""
    action = re.search(r'action="(/answer/[^"]+)"', page.text)[1]
    number = re.search(r'name="question" value="(\d+)"', page.text)[1]
    return somebody.post(action, data={"question": number, "answer": side})


def test_whoever_has_a_link_answers_one_interview_and_nothing_else(caller, talk, database, caplog):
    caller._app.requests = Requests(logged=True)
    link = linked(caller, talk)
    assert link["token"] not in str([tuple(row) for row in rows_of(database, tables.interview_links)])
    with browser(caller) as joe, caplog.at_level(logging.DEBUG):
        page = joe.get(link["path"])
        assert page.status_code == 200
        assert "Which would you rather wait?" in page.text
        assert page.headers["referrer-policy"] == "same-origin"  # so that the link's address goes nowhere else
        assert "/people" not in page.text
        for number in range(3):
            assert f"Question {number + 1} of 3" in page.text
            page = answered(page, joe)
        assert "Thank you, joe" in page.text
        for address in ("/", "/people", f"/interviews/{talk['id']}", f"/v1/interviews/{talk['id']}"):
            there = joe.get(address, headers={"Authorization": f"Bearer {link['token']}"})
            assert there.status_code == 401 or there.url.path == "/sign-in"
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert any("GET /answer/{token} 200" in line for line in ours)
    assert not any(link["token"] in line for line in ours)
    assert caller.get("/v1/people/joe").json()["source"] == f"interview {talk['id']}"
    last = caller.get("/v1/audit").json()[-1]
    assert (last["action"], last["target"]) == ("put person", "joe")


def test_back_shows_the_last_question_with_its_answer_which_another_replaces(caller, talk):
    link = linked(caller, talk)
    with browser(caller) as joe:
        first = joe.get(link["path"])
        assert ">Back<" not in first.text
        second = answered(first, joe, "A")
        back = re.search(r'href="([^"]+)">Back<', second.text)[1]
        again = joe.get(back)
        assert "Question 1 of 3" in again.text
        assert again.text.count("your answer") == 1
        assert ">Back<" not in again.text
        after = answered(again, joe, "B")
        assert "Question 2 of 3" in after.text
        shown = caller.get(f"/v1/interviews/{talk['id']}", params={"question": 1}).json()["question"]
        assert (shown["number"], shown["given"]) == (1, "B")
        assert caller.get(f"/v1/interviews/{talk['id']}", params={"question": 7}).status_code == 404
        last = answered(answered(after, joe), joe)
        assert "Thank you" in last.text
        changed = joe.get(re.search(r'href="([^"]+)">Back<', last.text)[1])
        assert "Question 3 of 3" in changed.text
        assert "Thank you" in answered(changed, joe, "B").text


def test_a_link_ends_at_its_time_when_revoked_and_with_its_key(caller, talk):
    with browser(caller) as joe:
        links = [linked(caller, talk, expires_after=60.0) for _ in range(2)]
        assert [joe.get(one["path"]).status_code for one in links] == [200, 200]
        for _ in range(2):
            assert caller.delete(f"/v1/interviews/{talk['id']}/link").status_code == 204
        assert [joe.get(one["path"]).status_code for one in links] == [404, 404]
        late = linked(caller, talk)
        over = update(tables.interview_links).values(expires_at=time.time() - 1.0)
        with caller.service.database.connect() as connection:
            connection.execute(over)
            connection.commit()
        assert joe.get(late["path"]).status_code == 404
        other = caller.post("/v1/keys", json={"name": "other", "scopes": ["manage", "decide"]}).json()
        made = caller.post(
            f"/v1/interviews/{talk['id']}/link", json={}, headers={"Authorization": f"Bearer {other['key']}"}
        ).json()
        assert joe.get(made["path"]).status_code == 200
        caller.delete(f"/v1/keys/{other['id']}").raise_for_status()
        assert joe.get(made["path"]).status_code == 404
        last = linked(caller, talk)
        caller.delete("/v1/people/joe").raise_for_status()
        assert joe.get(last["path"]).status_code == 404


def test_links_need_the_scope_manage_and_are_slow(calling):
    with calling(limits={"answers_per_minute": 5, "wrong_keys_per_minute": 3}) as caller:
        talk = caller.post("/v1/people/joe/interview", json=START).json()
        link = linked(caller, talk)
        weak = caller.post("/v1/keys", json={"name": "phone", "scopes": ["decide", "read"]}).json()["key"]
        headers = {"Authorization": f"Bearer {weak}"}
        assert caller.post(f"/v1/interviews/{talk['id']}/link", json={}, headers=headers).status_code == 403
        assert caller.post("/v1/interviews/none/link", json={}).status_code == 404
        with browser(caller) as joe:
            assert [joe.get(link["path"]).status_code for _ in range(7)] == [200] * 5 + [429] * 2
            wrong = [joe.get(f"/answer/{'x' * 43}").status_code for _ in range(5)]
            assert wrong == [404] * 3 + [429] * 2


def test_a_manager_makes_a_link_on_the_page_of_people(caller):
    with browser(caller) as manager:
        manager.post("/sign-in", data={"key": caller.key})
        page = manager.post("/interviews", data={"person": "joe", "low": "0", "high": "60", "by": "link"})
        address = re.search(r'value="(http://[^"]+/answer/[^"]+)"', page.text)[1]
    with browser(caller) as joe:
        assert "Question 1 of 20 for joe" in joe.get(address).text
