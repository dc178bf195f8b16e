"""The demonstration: delays on which preferences differ, travellers who call the service, and files to deploy it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import yaml

from allais import Empirical
from allais.serve.core.parse_settings import preference_from
from allais.serve.demo import EACH, GROUPS, NAME, Travellers, delays, settings
from allais.serve.settings_file import ServerSettings, read_settings
from tests.serve.conftest import Caller

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_on_the_recorded_delays_the_mean_takes_the_crossing_and_the_others_go_around():
    recorded = delays()
    best = {}
    for group, document in GROUPS.items():
        values = {route: preference_from(document).value(Empirical(np.array(seen))) for route, seen in recorded.items()}
        best[group] = max(values, key=values.__getitem__)
    assert best["courier"] == "R1, over the crossing"
    assert best["commuter"] == best["on-call nurse"] == "R2, one block aside"


def test_travellers_decide_and_reward_until_they_are_stopped(tmp_path):
    with Caller(ServerSettings(database=str(tmp_path / "demo.db"), experiments={})) as caller:
        body = settings().model_dump(mode="json")
        caller.post("/v1/experiments", json={"name": NAME, **body}).raise_for_status()
        travellers = Travellers(str(caller.base_url), caller.key)
        travellers.start()
        while travellers.trips < 100:
            time.sleep(0.05)
        travellers.stop()
        travellers.join()
        shown = caller.get(f"/v1/experiments/{NAME}").json()
        assert shown["outcomes"] >= 50
        assert shown["open_decisions"] >= 39
        assert len(caller.get("/v1/people").json()) == EACH * len(GROUPS)


def test_the_demonstration_leaves_nothing_behind(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "allais.cli", "serve", "--demo", "--port", "0"],
        cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert any("Serving 1 experiment from" in line for line in process.stdout)
    assert list(tmp_path.iterdir())
    process.terminate()
    process.communicate()
    assert process.returncode == 0
    assert not list(tmp_path.iterdir())


def test_the_files_to_deploy_fit_the_service():
    assert read_settings(DEPLOY / "advisor.toml").database == "postgresql://allais@database/advisor"
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
    assert services["allais"]["ports"] == ["127.0.0.1:8420:8420"]  # and no other address
    assert (DEPLOY / services["allais"]["build"]["context"] / services["allais"]["build"]["dockerfile"]).is_file()
    docker = (DEPLOY / "Dockerfile").read_text("utf-8")
    assert re.search(r"^USER \d+$", docker, re.MULTILINE)  # not root
    assert f"EXPOSE {ServerSettings().port}" in docker
    bases = [*re.findall(r"^FROM (\S+)", docker, re.MULTILINE), services["database"]["image"]]
    assert all(re.search(r":\d+\.\d+", base) for base in bases)  # exact versions
    assert "-c constraints.txt" in docker
    unit = (DEPLOY / "allais.service").read_text("utf-8")
    for limit in ("NoNewPrivileges=yes", "SystemCallFilter=@system-service", "LimitNOFILE=65536", "MemoryMax=4G"):
        assert limit in unit
