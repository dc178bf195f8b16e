"""Contexts in the service: JSON without terms, Personalizer's features, what restarts keep, and the page."""

import numpy as np
import pytest

from allais.evidence import read_decisions

URL = "/v1/experiments/providers"
PROVIDERS = {
    "policy": {"type": "ContextualNPTS"},
    "preference": {"name": "mean", "costs": True},
    "rewards": {"type": "Bounded", "low": 0, "high": 60},
    "arms": ["A", "B"],
    "unit": "seconds",
    "seed": 1,
}


def latency(rng, arm, tokens):
    """A is fast for short prompts, B for long ones."""
    return (2.0 if (arm == "A") == (tokens < 4_000) else 12.0) + float(rng.random())


def play(caller, rounds, seed):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        tokens = int(rng.integers(100, 8_000))
        answer = caller.ask("providers", context={"prompt": {"tokens": tokens}, "language": "en"})
        caller.tell(answer["choice"], latency(rng, answer["arm"], tokens), "providers")
    return answer


def test_contexts_are_learned_from_without_terms_and_a_restart_goes_on(calling, tmp_path):
    with calling() as caller:
        caller.create("providers", **PROVIDERS)
        answer = play(caller, 160, 1)
        assert answer["propensity"] is not None
        assert answer["unused"] == []
        assert "in this context" in answer["why"]
        waiting = caller.ask("providers", context={"prompt": {"tokens": 100}})
        (lines := tmp_path / "export.jsonl").write_text(caller.get(f"{URL}/export").text, encoding="utf-8")
        log = read_decisions(lines, context=["prompt.tokens", "language"])
        assert (log.n, log.told.n, log.context["language"]) == (161, 160, ["en"] * 160 + [None])
        assert log.context["prompt.tokens"][-1] == 100.0
    with calling() as caller:
        caller.tell(waiting["choice"], 2.0, "providers")
        fast = {
            tokens: sum(
                caller.ask("providers", context={"prompt": {"tokens": tokens}})["arm"] == "A" for _ in range(20)
            )
            for tokens in (200, 7_900)
        }
        assert fast[200] > fast[7_900]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"context": {"x": [[1]]}}, "feature"),
        ({"context": {f"x{k}": k for k in range(1_001)}}, "1,000 features at most"),
        ({"features": [[1.0], [2.0]]}, "features by name"),
        ({"features": {"A": {"price": 1}, "C": {"price": 2}}}, "got some of 'C'. Add it first"),
    ],
)
def test_a_wrong_context_is_refused_in_a_sentence(calling, body, said):
    with calling() as caller:
        caller.create("providers", **PROVIDERS)
        refused = caller.post(f"{URL}/decide", json=body)
        assert refused.status_code == 422
        assert said in refused.text


def test_a_client_of_personalizer_is_ranked_by_its_features(calling):
    with calling() as caller:
        caller.create("providers", **PROVIDERS)
        body = {
            "contextFeatures": [{"hour": 8, "weather": "rain"}],
            "actions": [{"id": "A", "features": [{"price": 1}]}, {"id": "B", "features": [{"price": 2}]}],
            "eventId": "one",
        }
        ranked = caller.post(f"{URL}/personalizer/v1.0/rank", json=body)
        assert ranked.status_code == 201
        assert "unusedFeatures" not in ranked.json()
        told = caller.post(f"{URL}/personalizer/v1.0/events/one/reward", json={"value": 3.0})
        assert told.status_code == 204
        # an action that is new becomes an arm, unless it is excluded: then nothing is learned about it
        more = [{"id": "C", "features": [{"price": 3}]}, {"id": "D", "features": [{"price": 4}]}]
        body = {**body, "actions": [*body["actions"], *more], "excludedActions": ["D"], "eventId": "two"}
        assert caller.post(f"{URL}/personalizer/v1.0/rank", json=body).status_code == 201
        learner = caller.service.experiments["providers"].learner
        assert list(learner.pulls) == ["A", "B", "C"]
        number = caller.service.experiments["providers"].numbers["two"]
        assert set(learner.context_of(number)) == {"hour", "weather", "A.price", "B.price", "C.price"}


def test_auto_takes_the_contextual_policy_where_contexts_are_the_goal(calling):
    with calling() as caller:
        caller.create("providers", **{**PROVIDERS, "policy": {"type": "auto", "goal": "contexts"}})
        assert "ContextualNPTS" in caller.get(URL).text


def test_the_page_does_not_hold_one_arm_for_the_best_where_that_goes_by_the_context(calling):
    with calling() as caller:
        caller.create("providers", **PROVIDERS)
        play(caller, 30, 2)
        caller.post("/sign-in", data={"key": caller.key})
        page = caller.get("/experiments/providers").text
        assert "What is chosen goes by" in page
        assert "feels like" not in page  # these people go by the mean, which is said as the mean
        assert "Against always the best mean" not in page  # whoever changes arms by the context would have lost more


def test_the_page_says_no_and_yes_of_a_feature_that_is_true_or_false_and_a_number_stays_one(calling):
    with calling() as caller:
        caller.create("providers", **PROVIDERS)
        features = [{"urgent": k % 4 < 2} for k in range(400)]
        outcomes = [2.0 if (arm == "A") == (k % 4 < 2) else 12.0 for k, arm in enumerate("AB" * 200)]
        body = {"arms": ["A", "B"] * 200, "outcomes": outcomes, "features": features}
        assert caller.post(f"{URL}/import", json=body).status_code == 200
    with calling() as caller:
        caller.post("/sign-in", data={"key": caller.key})
        page = caller.get("/experiments/providers").text
        assert "With urgent no: <b>B</b>; with urgent yes: <b>A</b>." in page
        assert "The mean of each arm, by the feature that matters most" in page
        assert "<th>the mean</th><th>interval</th><th>traffic now</th>" in page
        body = {"arms": ["A"], "outcomes": [2.0], "features": [{"urgent": 1}]}
        assert caller.post(f"{URL}/import", json=body).status_code == 200
    with calling() as caller:
        caller.post("/sign-in", data={"key": caller.key})
        assert "With urgent 0: <b>B</b>; with urgent 1: <b>A</b>." in caller.get("/experiments/providers").text
