"""What other policies would have brought, by an experiment's own decisions: calls, pages, and an apprentice's worth."""

from __future__ import annotations

import numpy as np
import pytest

from allais.client import Client, ServiceError

URL = "/v1/experiments/offers"
OFFERS = {
    "name": "offers", "arms": ["steady", "risky"], "seed": 1, "unit": "euros",
    "policy": {"type": "NPTS", "floor": 0.1}, "preference": {"name": "cvar:0.1"},
    "rewards": {"type": "Bounded", "low": 0.0, "high": 40.0},
}  # fmt: skip


def brought(arm, rng):
    """Nine euros for sure, or ten on average with nothing at all in one case of three."""
    return 9.0 if arm == "steady" else float(rng.choice([0.0, 15.0], p=[1 / 3, 2 / 3]))


def live(caller, n, *, name="offers", did=None, seed=1):
    rng = np.random.default_rng(seed)
    for first in range(0, n, 250):
        calls = [{} if did is None else {"did": did(rng)} for _ in range(min(250, n - first))]
        answers = caller.post(f"/v1/experiments/{name}/decide/batch", json={"calls": calls}).json()["answers"]
        told = [
            {"choice": one["answer"]["choice"], "outcome": brought(one["answer"]["arm"], rng)} for one in answers
        ]  # fmt: skip
        caller.post(f"/v1/experiments/{name}/reward/batch", json={"calls": told}).raise_for_status()


def by(found, target, preference):
    return next(one for one in found["targets"] if (one["target"], one["by"]) == (target, preference))


def test_other_preferences_and_a_floor_are_evaluated_by_the_decisions_of_an_experiment(calling):
    with calling() as caller:
        caller.post("/v1/experiments", json=OFFERS).raise_for_status()
        assert caller.get(f"{URL}/evaluation").json()["summary"] == "No outcomes yet."
        live(caller, 1_000)
        open_one = caller.ask("offers")
        client = Client(str(caller.base_url), caller.key)
        found = client.evaluation("offers", by=["p95"], floor=0.2)
        assert (found["decisions"], found["outcomes"]) == (1_001, 1_000)
        worst, mean = "the worst 10%", "the mean"
        safe, bold = (f"Always the best by {one}" for one in (worst, mean))
        # CVaR keeps to the steady arm, for 9 euros; the mean goes for the risky one, which has nothing in a bad case
        assert by(found, safe, worst)["value"] == pytest.approx(9.0, abs=1.5)
        assert by(found, bold, worst)["value"] < 2.0
        assert by(found, bold, mean)["interval"][0] < 10.0 < by(found, bold, mean)["interval"][1]  # 90 %, a fixed seed
        cautious = by(found, "The best, floor of 20%", mean)
        assert cautious["interval"][0] < 9.2 < cautious["interval"][1]
        for one in found["targets"]:
            assert one["proven"][0] <= one["value"] <= one["proven"][1]
        assert len(found["targets"]) == 5 * 3
        assert any("1 of 1001 outcomes is missing" in note for note in found["notes"])
        assert open_one["choice"] == 1_001
        with pytest.raises(ServiceError, match="a percentile lies above 0 and below 100"):
            client.evaluation("offers", by="p100")
        with pytest.raises(ServiceError, match="floors of all arms sum to 1 at most"):
            client.evaluation("offers", floor=0.7)
        with pytest.raises(ServiceError, match="a person must have a preference; 'bob' has none"):
            client.evaluation("offers", person="bob")
        caller.put("/v1/people/alice", json={"preference": {"name": "p50"}}).raise_for_status()
        hers = client.evaluation("offers", person="alice")
        assert "percentile 50" in {one["by"] for one in hers["targets"]}
        assert caller.get(f"{URL}/evaluation", params={"by": ["mean"] * 5}).status_code == 422
        client.close()


def test_decisions_without_propensity_are_refused(calling):
    with calling() as caller:
        caller.post("/v1/experiments", json={**OFFERS, "policy": {"type": "NPTS", "draws": 1}}).raise_for_status()
        live(caller, 4)
        refused = caller.get(f"{URL}/evaluation")
        assert (refused.status_code, "have a propensity" in refused.json()["error"]) == (409, True)


def test_an_apprentices_worth_has_an_interval_and_is_on_its_page(calling):
    with calling() as caller:
        caller.post("/v1/experiments", json={**OFFERS, "apprentice": True}).raise_for_status()
        live(caller, 500, did=lambda rng: "risky" if rng.random() < 0.8 else "steady")
        found = caller.get(f"{URL}/apprentice").json()
        done, would = found["brought"], found["would_have_brought"]
        assert done["low"] <= done["value"] <= done["high"] < would["low"] <= would["value"] <= would["high"]
        assert 4.0 < would["value"] < 9.0  # of the worst tenth: its floor takes the risky arm now and then
        assert any("Nobody logged how likely" in note for note in found["notes"])
        caller.post("/sign-in", data={"key": caller.key}, headers={"origin": str(caller.base_url).rstrip("/")})
        page = caller.get("/experiments/offers").text
        assert "The policy would have brought" in page
        assert "could not be worked out" not in page


def test_what_the_application_never_did_is_not_made_up(calling):
    with calling() as caller:
        caller.post("/v1/experiments", json={**OFFERS, "apprentice": True}).raise_for_status()
        live(caller, 100, did=lambda rng: "risky")
        found = caller.get(f"{URL}/apprentice").json()
        assert found["would_have_brought"]["low"] == pytest.approx(0.0, abs=0.1)
        assert any("that nobody tried" in note for note in found["notes"])


def test_the_page_of_an_evaluation_answers_and_says_what_is_wrong_with_a_question(calling):
    with calling() as caller:
        caller.post("/v1/experiments", json=OFFERS).raise_for_status()
        caller.post("/sign-in", data={"key": caller.key}, headers={"origin": str(caller.base_url).rstrip("/")})
        assert "No outcomes yet." in caller.get("/experiments/offers/evaluation").text
        live(caller, 300)
        page = caller.get("/experiments/offers/evaluation", params={"by": "p95", "floor": "20%"}).text
        assert "The best, floor of 20%" in page
        assert "What was assumed" in page
        assert '/experiments/offers/evaluation"' in caller.get("/experiments/offers").text
        mistakes = [("by", "p100", "above 0 and below 100"), ("floor", "lots", "number"),
                    ("floor", "300%", "A floor is a probability"), ("person", "bob", "bob")]  # fmt: skip
        for field, wrong, sentence in mistakes:
            refused = caller.get("/experiments/offers/evaluation", params={field: wrong})
            assert refused.status_code in (404, 422)
            assert sentence in refused.text
