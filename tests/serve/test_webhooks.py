"""Webhooks are told what changed, signed, once it is on disk, until they take it; and `allais serve check`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from allais.cli.app import app
from allais.serve import webhooks
from allais.serve.settings_file import ServerSettings
from allais.serve.store import tables
from tests.serve.conftest import Caller
from tests.serve.events import rows_of
from tests.serve.postgres import binaries, free_port
from tests.serve.processes import Served

SECRET = "a secret that only two know"
GUARDED = {
    "policy": {"type": "NPTS", "guardrails": [{"type": "Guardrail", "preference": {"name": "p90"}, "at_least": 3.0}]},
}


PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "operating.md"


def from_the_page():
    """What the page tells receivers to do."""
    names = {}
    exec(
        re.search(r"^```python\n(import base64\n.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)[1], names
    )
    return names["is_genuine"]


is_genuine = from_the_page()


@contextmanager
def receiving(port=0, status=lambda number: 204):
    """A receiver: the messages that came, verified as its documentation says."""
    got = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert is_genuine(self.headers, body, SECRET.encode())
            assert not is_genuine(self.headers, body + b" ", SECRET.encode())
            got.append((self.headers["webhook-id"], json.loads(body)))
            self.send_response(status(len(got)))
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Taking) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/alerts?team=1", got
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """The settings of a hook; the service looks often."""
    monkeypatch.setattr(webhooks, "TICK", 0.05)
    monkeypatch.setattr(webhooks, "AT_LATEST", 0.0)
    (tmp_path / "hook.secret").write_text(f"{SECRET}\n")
    return lambda url, **more: {"url": url, "secret_file": str(tmp_path / "hook.secret"), "retry_seconds": 0.05, **more}


def until(holds, seconds=300.0):
    """Wait for what another thread does."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def drifting(caller, name="routes"):
    outcomes = [20.0, 21.0] * 300 + [30.0] * 300
    body = {"arms": ["A21"] * len(outcomes), "outcomes": outcomes}
    caller.post(f"/v1/experiments/{name}/import", json=body).raise_for_status()


def test_drift_is_told_until_a_receiver_takes_it_and_then_no_more(calling, quick, database):
    with (
        receiving(status=lambda number: 204 if number > 2 else 302 if number == 2 else 500) as (url, got),
        calling(webhooks={"ops": quick(url), "others": quick(url, events=["verdict"])}) as caller,
    ):
        caller.create()
        drifting(caller)
        until(lambda: len(got) >= 3)
        caller.tell(caller.ask()["choice"], 20.0)
        time.sleep(0.5)
    assert len(got) == 3  # refused, redirected, taken; a look later brought nothing new
    assert len({message for message, _ in got}) == 1
    told = got[0][1]
    assert told["type"] == "drift"
    assert told["data"] == {
        "experiment": "routes", "subject": "A21", "word": "1", "before": "0",
        "sentence": "Outcomes of 'A21' no longer look like earlier ones: they have changed once so far.",
    }  # fmt: skip
    (row,) = rows_of(database, tables.notices)
    assert (row.attempts, row.due_at, row.error) == (3, None, None)


def test_a_verdict_and_the_end_of_a_test_are_told(calling, quick, database):
    with receiving() as (url, got), calling(webhooks={"ops": quick(url, events=["verdict"])}) as caller:
        test = {"shares": {"A21": 1, "A28": 1}, "stop": True, "by": ["mean"]}
        caller.create(test=test)
        calls = [{"person": f"p{number}"} for number in range(400)]
        for answer in caller.post("/v1/experiments/routes/decide/batch", json={"calls": calls}).json()["answers"]:
            choice, arm = answer["answer"]["choice"], answer["answer"]["arm"]
            caller.tell(choice, (20.0 if arm == "A28" else 5.0) + choice % 3)
        until(lambda: any(body["data"]["subject"] == "end of test" for _, body in got))
        caller.post("/v1/experiments/routes/archive").raise_for_status()
        caller.delete("/v1/experiments/routes").raise_for_status()
        until(lambda: not rows_of(database, tables.notices))
    told = {body["data"]["subject"]: body["data"] for _, body in got}
    (compared,) = [data for subject, data in told.items() if subject.startswith("A28, ")]
    assert (compared["before"], compared["word"]) == ("not yet", "better")
    assert told["end of test"]["word"] == "A28"


def test_a_guardrail_that_is_broken_is_told_once_and_one_that_says_gone_is_told_no_more(calling, quick, database):
    with (
        receiving(status=lambda number: 410) as (url, got),
        calling(webhooks={"ops": quick(url, events=["guardrail"])}) as caller,
    ):
        caller.create(**GUARDED)
        caller.create("other", **GUARDED)
        body = {"arms": ["A21"] * 400 + ["A28"] * 400, "outcomes": [1.0] * 400 + [9.0] * 400}
        caller.post("/v1/experiments/routes/import", json=body).raise_for_status()
        until(lambda: got and rows_of(database, tables.notices)[0].attempts)
        time.sleep(0.3)
    assert [one["data"]["subject"] for _, one in got] == ["A21"]
    assert got[0][1]["data"]["word"] == "breaks"
    assert rows_of(database, tables.notices)[0].error == "it answered 410"


def test_a_kill_loses_no_notice(tmp_path):
    (tmp_path / "hook.secret").write_text(SECRET)
    port, database = free_port(), str(tmp_path / "advisor.db")

    class Hooked(Served):
        def start(self):
            file = self._folder / "advisor.toml"
            if "webhooks" not in file.read_text():
                hook = f'url = "http://127.0.0.1:{port}/"\nsecret_file = "hook.secret"\nretry_seconds = 0.1'
                file.write_text(f"{file.read_text()}\n[webhooks.ops]\n{hook}\n")
            super().start()

    settings = {"policy": {"type": "NPTS"}, "arms": ["A21", "A28"], "preference": {"name": "expected_value"},
                "rewards": {"type": "Bounded", "low": 0.0, "high": 50.0}, "seed": 1}  # fmt: skip
    served = Hooked(tmp_path, database, settings)
    with served.client() as client:
        drifting(client)
    until(lambda: rows_of(database, tables.notices))  # nobody takes it
    served.kill()
    with receiving(port) as (_, got):
        served.start()
        until(lambda: got)
        served.kill()
    assert [body["type"] for _, body in got] == ["drift"]
    assert got[0][0] == rows_of(database, tables.notices)[0].message


def test_a_dump_of_postgresql_is_restored_and_goes_on_alike(postgres, tmp_path):
    """By the commands of the page; the choices after the dump are those that the service itself makes."""
    here, there = postgres.make("dumped"), postgres.make("restored")
    text = PAGE.read_text("utf-8")
    dump, restore = (re.search(f"^.*?({word} --.*?)`?$", text, re.MULTILINE)[1].rstrip(".`") for word in
                     ("pg_dump", "pg_restore"))  # fmt: skip
    with Caller(ServerSettings(database=here)) as caller:
        caller.create()
        for step in range(30):
            caller.tell(caller.ask()["choice"], float(step))
        waiting = caller.ask(key="late")["choice"]
        run_sql(dump.replace("postgresql://me@localhost/advisor", here), tmp_path)
        expected = [caller.ask()["arm"] for _ in range(20)]
        key = caller.key
    run_sql(restore.replace("postgresql://me@localhost/restored", there), tmp_path)
    with Caller(ServerSettings(database=there)) as caller:
        caller.headers["Authorization"] = f"Bearer {key}"  # callers keep their keys
        assert [caller.ask()["arm"] for _ in range(20)] == expected
        caller.tell(waiting, 3.0)


def run_sql(line, folder):
    program, _, rest = line.partition(" ")
    found = binaries() / program
    path = found if found.exists() else shutil.which(program)
    subprocess.run(f"{path} {rest}", shell=True, cwd=folder, check=True)


def checked(*words):
    answer = CliRunner().invoke(app, ["serve", "check", *words])
    return answer.exit_code, answer.output


def test_check_says_what_a_start_would_meet_and_changes_nothing(tmp_path):
    file = tmp_path / "advisor.toml"
    (tmp_path / "short").write_text("short")
    file.write_text(f"""
database = {json.dumps(str(tmp_path / "advisor.db"))}
host = "0.0.0.0"

[experiments.good]
arms = ["a", "b"]
policy = {{ type = "NPTS" }}
preference = {{ name = "p95" }}
rewards = {{ type = "Bounded", low = 0, high = 1 }}

[experiments.bad]
arms = ["a", "b"]
policy = {{ type = "NPTZ" }}
preference = {{ name = "p95" }}
rewards = {{ type = "Bounded", low = 0, high = 1 }}

[webhooks.ops]
url = "https://hooks.example.org/allais"
secret_file = {json.dumps(str(tmp_path / "short"))}
""")
    code, said = checked(str(file))
    assert code == 2
    lines = said.splitlines()
    assert lines[0] == "ok    experiments.good: 2 arms"
    assert lines[1].startswith("WRONG experiments.bad: ")
    assert "NPTZ" in lines[1]
    assert "WRONG webhooks.ops: a secret has 16 bytes or more" in said
    assert "advisor.db will be made" in said
    assert "proxy that does TLS" in said
    assert "2 are wrong" in said.replace("\n", " ")
    assert not (tmp_path / "advisor.db").exists()
    file.write_text("port = 70000\nhots = 1\n")
    code, said = checked(str(file))
    assert code == 2
    assert "There is one more mistake." in said.replace("\n", " ")


def test_check_knows_the_state_of_a_database(tmp_path, database, calling):
    file = tmp_path / "advisor.toml"
    file.write_text("port = 8421\n")
    with calling() as caller:
        caller.create()
        code, said = checked(str(file), "--database", database)
    assert (code, "is of this version" in said) == (0, True), said
    code, said = checked(str(file), "--database", "postgresql://nobody@127.0.0.1:1/none")
    assert (code, "does not answer" in said) == (2, True), said


@pytest.mark.parametrize(
    "url", ["ftp://hooks.example.org", "https://user:word@hooks.example.org/", "hooks.example.org"]
)
def test_a_webhook_goes_to_an_address_of_http(url, tmp_path):
    file = tmp_path / "advisor.toml"
    file.write_text(f'[webhooks.ops]\nurl = "{url}"\nsecret_file = "x"\n')
    code, said = checked(str(file))
    assert (code, "webhooks.ops.url" in said) == (2, True)
