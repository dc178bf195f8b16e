"""Features by name: the rows that a linear policy sees, what is on disk of them, and what is refused."""

from __future__ import annotations

import csv
import io
import json

import pyarrow.parquet as pq
import pytest

from allais import Normal, expected_value
from allais.forests.encoding import flat
from allais.linear import AdditiveNoise, LinTS
from allais.serve.core.features import Encoding
from allais.serve.core.parse_settings import DRAWS
from allais.serve.store import tables
from tests.serve.events import rows_of

URL = "/v1/experiments/menu"
TERMS = ["arm=soup", "price", "spicy * weather=rain", "hour=8", "weather.wind"]
MENU = {
    "policy": {"type": "LinTS", "noise": {"type": "AdditiveNoise", "lottery": {"type": "Normal", "sd": 0.5}}},
    "preference": {"name": "expected_value"}, "rewards": None, "arms": ["pasta", "soup"],
    "features": {"pasta": {"price": 9}, "soup": {"price": 7}}, "terms": TERMS,
}  # fmt: skip
OFFERS = {"pasta": {"spicy": False}, "soup": {"spicy": True, "price": 5}}
RAIN = {"weather": "rain", "hour": 8}
SOUP = [1.0, 1.0, 5.0, 1.0, 1.0, 0.0]
PASTA = [1.0, 0.0, 9.0, 0.0, 1.0, 0.0]


def learner():
    rows = [[1.0, 0.0, 9.0, 0.0, 0.0, 0.0], [1.0, 1.0, 7.0, 0.0, 0.0, 0.0]]
    policy = LinTS(expected_value(), AdditiveNoise(Normal(0.0, 0.5)), draws=DRAWS)
    return policy.start(["pasta", "soup"], seed=1, features=rows)


@pytest.mark.parametrize(
    ("term", "given", "expected"),
    [
        ("price", {"price": 3}, 3.0),
        ("price", {"price": True}, 1.0),
        ("price", {"price": None}, 0.0),
        ("price", {}, 0.0),
        ("price * hour", {"price": 3, "hour": 0.5}, 1.5),
        ("weather=rain", {"weather": "rain"}, 1.0),
        ("weather=rain", {"weather": "Rain"}, 0.0),
        ("weather=rain", {"weather": ["wind", "rain"]}, 1.0),
        ("weather.rain", {"weather": {"rain": 2}}, 2.0),
        ("day.hour=8", {"day": [{"hour": 8.0}, {"mood": "good"}]}, 1.0),
        ("open=true", {"open": True}, 1.0),
        ("open=1", {"open": True}, 0.0),
        ("open=false", {"open": 0}, 0.0),
        ("arm=soup", {"arm": "pasta"}, 1.0),
    ],
)
def test_a_term_is_a_number_of_features(term, given, expected):
    assert Encoding([term]).row("soup", flat(given), {}) == [1.0, expected]


def test_what_is_no_term_and_what_is_no_feature_is_refused():
    for terms in (["=x"], ["price *"], ["weather="], ["arm"], ["a", "a"], ["1"]):
        with pytest.raises(ValueError, match="term"):
            Encoding(terms)
    for given in ({"price": "cheap"}, {"price": [1]}, {"price": float("nan")}, {"price": 10**400}, {"price": 1e7}):
        with pytest.raises(ValueError, match="'price'"):
            Encoding(["price"]).row("soup", flat(given), {})
    for given in ([1], {"a": [[1]]}):
        with pytest.raises(ValueError, match="feature"):
            flat(given)


def test_an_arm_is_chosen_by_its_features_and_those_of_the_moment(calling, database):
    twin = learner()
    with calling() as caller:
        caller.create("menu", **MENU)
        for step in range(12):
            expected = twin.ask(features=[PASTA, SOUP])
            answer = caller.ask("menu", features=OFFERS, context=RAIN)
            assert (answer["choice"], answer["arm"]) == (expected.id, ["pasta", "soup"][expected.arm])
            assert answer["unused"] == []
            twin.tell(expected, float(step % 3))
            caller.tell(answer["choice"], float(step % 3), "menu")
        counted = {arm["name"]: arm["outcomes"] for arm in caller.get(URL).json()["arms"]}
        assert sum(counted.values()) == 12
    with calling() as caller:  # after a restart, too
        assert {arm["name"]: arm["outcomes"] for arm in caller.get(URL).json()["arms"]} == counted
        for step in range(8):
            expected = twin.ask(features=[PASTA, SOUP])
            answer = caller.ask("menu", features=OFFERS, context=RAIN)
            assert answer["arm"] == ["pasta", "soup"][expected.arm]
            twin.tell(expected, float(step))
            caller.tell(answer["choice"], float(step), "menu")
        values = {arm["name"]: arm["value"] for arm in caller.get(f"{URL}/value").json()["arms"]}
        assert values == pytest.approx(twin.value())
    for row in rows_of(database, tables.decisions):
        assert json.loads(row.detail)["features"] == {"pasta": PASTA, "soup": SOUP}[row.arm]


def test_a_policy_learns_what_features_are_worth(calling):
    # all draws follow from the seed, so that luck has no part in it
    with calling() as caller:
        caller.create("menu", **{**MENU, "seed": 1})
        offers, right = {"pasta": {"price": 1}, "soup": {"price": 1, "spicy": True}}, 0
        for step in range(150):
            rain = step % 2 == 0
            answer = caller.ask("menu", features=offers, context={"weather": "rain" if rain else "sun"})
            worth = {"pasta": 4.0, "soup": 10.0 if rain else 0.0}[answer["arm"]]
            caller.tell(answer["choice"], worth, "menu")
            right += step >= 130 and answer["arm"] == ("soup" if rain else "pasta")
        assert right >= 17  # of 20; now and then the other one is still tried


def test_a_client_of_personalizer_is_ranked_by_its_features(calling):
    rank, headers = f"{URL}/personalizer/v1.0/rank", {"Authorization": ""}
    twin = learner()
    with calling() as caller:
        headers["Ocp-Apim-Subscription-Key"] = caller.key
        caller.create("menu", **MENU)
        for step in range(5):
            body = {
                "eventId": f"e{step}",
                "contextFeatures": [{"weather": "rain"}, {"hour": 8, "device": {"mobile": True}}],
                "actions": [
                    {"id": "curry", "features": [{"price": 6.5, "spicy": 1}, {"chef": "Ann"}]},
                    {"id": "soup", "features": [{"spicy": True, "price": 5}]},
                ],
            }  # fmt: skip
            expected = twin.ask(features=[[1.0, 0.0, 6.5, 1.0, 1.0, 0.0], SOUP])
            answer = caller.post(rank, json=body, headers=headers)
            assert answer.status_code == 201, answer.text
            assert answer.json()["rewardActionId"] == ["curry", "soup"][expected.arm]
            assert answer.json()["unusedFeatures"] == ["chef", "device.mobile"]
            assert caller.post(rank, json=body, headers=headers).json() == answer.json()
            twin.tell(expected, 1.0)
            events = f"{URL}/personalizer/v1.0/events/e{step}/reward"
            assert caller.post(events, json={"value": 1.0}, headers=headers).status_code == 204
        assert caller.get(URL).json()["outcomes"] == 5


def test_features_that_nothing_uses_are_named_and_break_nobody(caller):
    answer = caller.ask(context={"weather": "rain"}, features={"A21": {"price": 3}})
    assert answer["unused"] == ["price", "weather"]
    assert "unused" not in caller.ask()
    assert caller.ask(context={"n" * 600: "x" * 600})["unused"] == ["n" * 200]  # what is not kept has no limit
    body = {"actions": [{"id": "A21", "features": [{"price": 1}]}], "contextFeatures": {"weather": "rain"}}
    ranked = caller.post("/v1/experiments/routes/personalizer/v1.0/rank", json=body).json()
    assert ranked["unusedFeatures"] == ["price", "weather"]
    del body["contextFeatures"], body["actions"][0]["features"]
    assert "unusedFeatures" not in caller.post("/v1/experiments/routes/personalizer/v1.0/rank", json=body).json()


def test_features_are_exported_with_what_they_brought(calling):
    with calling() as caller:
        caller.create("menu", **MENU)
        caller.tell(caller.ask("menu", allowed=["soup"], features=OFFERS, context=RAIN)["choice"], 3.0, "menu")
        history = {"arms": ["soup", "curry"], "outcomes": [1.0, 2.0], "features": [{"spicy": 1, "weather": "rain"}, {}]}
        for _ in range(2):
            assert caller.post(f"{URL}/import", json={**history, "key": "2025"}).json() == {"imported": 2}
        assert caller.get(URL).json()["outcomes"] == 3
        lines = [json.loads(line) for line in caller.get(f"{URL}/export").text.splitlines()]
        assert [(line["arm"], line["state"], line["outcome"], line["key"]) for line in lines] == [
            ("soup", "told", 3.0, None), ("soup", "imported", 1.0, "2025"), ("curry", "imported", 2.0, "2025"),
        ]  # fmt: skip
        assert lines[0]["features"] == {
            "1": 1.0,
            "arm=soup": 1.0,
            "price": 5.0,
            "spicy * weather=rain": 1.0,
            "hour=8": 1.0,
        }
        assert lines[2]["features"] == {"1": 1.0}
        rows = list(csv.DictReader(io.StringIO(caller.get(f"{URL}/export", params={"format": "csv"}).text)))
        table = pq.read_table(io.BytesIO(caller.get(f"{URL}/export", params={"format": "parquet"}).content)).to_pylist()
        for line, row, entry in zip(lines, rows, table, strict=True):
            assert json.loads(row["features"]) == json.loads(entry["features"]) == line["features"]
    with calling() as caller:
        counted = {arm["name"]: arm["outcomes"] for arm in caller.get(URL).json()["arms"]}
        assert counted == {"pasta": 0, "soup": 2}


def test_an_apprentice_with_features_learns_from_what_was_done(calling):
    twin = learner()
    with calling() as caller:
        caller.create("menu", **MENU, apprentice=True)
        answer = caller.ask("menu", features=OFFERS, context=RAIN, did="pasta")
        assert (answer["arm"], answer["would"]) == ("pasta", ["pasta", "soup"][twin.ask(features=[PASTA, SOUP]).arm])
    twin.observe_features(PASTA, [4.0])
    with calling() as caller:
        caller.tell(answer["choice"], 4.0, "menu")
        body = {"actions": [{"id": "soup", "features": [{"price": 5}]}, {"id": "pasta"}]}
        found = caller.get(f"{URL}/apprentice").json()
        refused = caller.get(f"{URL}/evaluation")
        assert (refused.status_code, "arms without features" in refused.json()["error"]) == (409, True)
        theta, would = twin.theta, {"pasta": PASTA, "soup": SOUP}[answer["would"]]
        assert (found["decisions"], found["agreed"]) == (1, int(answer["would"] == "pasta"))
        assert found["worth"] == pytest.approx(float(theta @ PASTA))
        assert found["would_be_worth"] == pytest.approx(float(theta @ would))
        body["actions"].append({"id": "curry", "features": {"price": 8}})
        ranked = caller.post(f"{URL}/personalizer/v1.0/rank", json=body).json()
        assert ranked["rewardActionId"] == "soup"  # the first is what the application did
        assert caller.get(f"{URL}/apprentice").json()["decisions"] == 2
        values = {arm["name"]: arm["value"] for arm in caller.get(f"{URL}/value").json()["arms"]}
        assert values == pytest.approx(twin.value())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"features": {"soup": {"price": "cheap"}}}, "'price' needs a finite number"),
        ({"features": {"soup": {"price": 1e300}}}, "within 1e+06"),
        ({"features": [[1.0] * 6]}, "by name where there are terms"),
        ({"allowed": ["curry"]}, "come with features"),
        ({"allowed": ["soup", "soup"]}, "distinct"),
        ({"context": [1]}, "context: "),
        ({"features": {"soup": 7}}, "features.arms.soup: "),
        ({"features": {}}, "features.arms: "),
    ],
)
def test_features_that_do_not_fit_are_refused(calling, body, words):
    with calling() as caller:
        caller.create("menu", **MENU)
        answer = caller.post(f"{URL}/decide", json=body)
        assert (answer.status_code, words in answer.json()["error"]) == (422, True), answer.text
        assert caller.ask("menu")["choice"] == 1  # nothing has changed


def test_terms_that_do_not_fit_are_refused(caller):
    for change, words in (
        (
            {"policy": {"type": "NPTS"}, "rewards": {"type": "Bounded", "low": 0, "high": 1}},
            "terms need LinTS or WOFUL",
        ),
        ({"terms": None}, "Declare terms"),
        ({"features": [[1.0] * 6] * 2}, "by name where there are terms"),
        ({"terms": ["arm"]}, "a term is features"),
        ({"features": {"curry": {"price": 1}}}, "'curry' is not one"),
        ({"terms": []}, "terms: "),
    ):
        answer = caller.post("/v1/experiments", json={"name": "menu", **MENU, **change})
        assert (answer.status_code, words in answer.json()["error"]) == (422, True), answer.text
    assert caller.post("/v1/experiments/routes/decide", json={"features": [[1e7]]}).status_code == 422
