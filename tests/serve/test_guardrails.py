"""Guardrails in the service: an arm that breaks one goes out of play, with an entry in the audit trail and an alarm."""

from __future__ import annotations

import numpy as np
import pytest

URL = "/v1/experiments/latency"


def settings(**more):
    limit = {"preference": "p90", "at_most": 300.0, **more}
    return {
        "name": "latency", "arms": ["fast", "steady"], "seed": 1, "unit": "ms per request",
        "policy": {"type": "NPTS", "guardrails": [limit]},
        "preference": {"name": "mean", "costs": True}, "rewards": {"type": "Bounded", "low": 0.0, "high": 1000.0},
    }  # fmt: skip


def outcomes(rng, many):
    return np.where(rng.random(many) < 0.7, 50.0, 600.0).tolist()


def test_an_arm_that_breaks_a_guardrail_goes_out_of_play_and_stays_out_after_a_restart(calling):
    rng = np.random.default_rng(1)
    with calling() as caller:
        caller.post("/v1/experiments", json=settings()).raise_for_status()
        for _ in range(150):
            answer = caller.post(f"{URL}/decide", json={}).json()
            outcome = outcomes(rng, 1)[0] if answer["arm"] == "fast" else 150.0
            caller.post(f"{URL}/reward", json={"choice": answer["choice"], "outcome": outcome}).raise_for_status()
        caller.post(f"{URL}/import", json={"arms": ["fast"] * 200, "outcomes": outcomes(rng, 200)}).raise_for_status()
        told = [one for one in caller.get("/v1/audit").json() if one["action"] == "guardrail"]
        assert [(one["target"], one["detail"]) for one in told] == [("latency", {"out of play": "fast"})]
    with calling() as caller:
        shown = {arm["name"]: arm for arm in caller.get(f"{URL}/value").json()["arms"]}
        assert (shown["fast"]["in_play"], shown["fast"]["guardrails"]) == (False, "breaks")
        assert (shown["steady"]["in_play"], shown["steady"]["guardrails"]) == (True, "keeps")
        assert {caller.post(f"{URL}/decide", json={}).json()["arm"] for _ in range(5)} == {"steady"}
        best = caller.get(f"{URL}/recommend").json()
        assert best["arm"] == "steady"
        assert "percentile 90 at most 300" in best["guardrails"]
        page = caller.service.experiments["latency"].learner.recommend()
        assert page.arm == "steady"


def test_an_experiment_may_only_raise_an_alarm(calling):
    rng = np.random.default_rng(2)
    with calling() as caller:
        caller.post("/v1/experiments", json=settings(drop=False)).raise_for_status()
        caller.post(f"{URL}/import", json={"arms": ["fast"] * 300, "outcomes": outcomes(rng, 300)}).raise_for_status()
        shown = {arm["name"]: arm for arm in caller.get(f"{URL}/value").json()["arms"]}
        assert (shown["fast"]["in_play"], shown["fast"]["guardrails"]) == (True, "breaks")
        assert not [one for one in caller.get("/v1/audit").json() if one["action"] == "guardrail"]


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ({"at_most": None}, "a guardrail has one limit"),
        ({"preference": "p100"}, "a percentile lies above 0 and below 100"),
        ({"at_mst": 3}, "a guardrail has the entries of its type"),
    ],
)
def test_what_is_no_guardrail_is_refused(calling, limit, sentence):
    with calling() as caller:
        refused = caller.post("/v1/experiments", json=settings(**limit))
    assert refused.status_code == 422
    assert sentence in refused.json()["error"]
