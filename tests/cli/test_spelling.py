"""Every setting can be written in TOML and JSON, and commands and the service read it back as the same object."""

import inspect
import json
import math
import tomllib

import pytest

from allais import (
    Bernoulli,
    Bounded,
    Discrete,
    Empirical,
    Finite,
    Mixture,
    Normal,
    Preference,
    SubGaussian,
    Uniform,
    bands,
    expected_value,
    linear,
    policies,
    weights,
)
from allais.cli.specs import read_comparison, read_search
from allais.linear.policy import LinearPolicy
from allais.policies import WLUCB, WUCB, Fading, Policy, Recent
from allais.preferences import PowerUtility
from allais.serve.api.schemas import ExperimentSettings
from allais.serve.core.errors import Refused
from allais.serve.core.parse_settings import policy_from, preference_from, setting_from
from allais.settings import FAMILIES, family, from_spec, to_spec
from allais.weights import Weight

NUMBERS = {
    "GonzalezWu": (0.44, 0.77), "Identity": (), "Power": (0.5,), "Prelec": (0.65, 1.1), "SteepMiddle": (0.5,),
    "Step": (0.05,), "TailAverage": (0.1,), "TverskyKahneman": (0.61,), "Wang": (0.3,),
}  # fmt: skip
ALL_WEIGHTS = [getattr(weights, name)(*given) for name, given in NUMBERS.items()]
ALL_WEIGHTS += [weights.Mixed([0.7, 0.3], [ALL_WEIGHTS[1], weights.Step(0.3, inclusive=True)])]
ALL_WEIGHTS += [ALL_WEIGHTS[4].dual(), weights.Power(0.3).dual()]
ALL_REWARDS = [Bounded(-1, 2.5), Finite([0, 7, 50]), SubGaussian(2.0, mean_bound=5.0), [Bounded(0, 1), Finite([0, 9])]]
ALL_LOTTERIES = [
    Normal(3, 2), Uniform(-1, 1), Bernoulli(0.3), Discrete({50: 0.1, 0: 0.9}), Empirical([1.0, 2.0, 2.0]),
    Mixture([Normal(20, 2), Discrete({60: 1})], [0.95, 0.05]),
]  # fmt: skip
ALL_BANDS = [bands.Asymptotic(0.05), *(kind() for name, kind in family("band").items() if name != "Asymptotic")]
ALL_BANDS.append(bands.Holder(undistorted=True))
ALL_MEMORIES = [Recent(5_000), Fading(half_life=2_000)]
ALL_PREFERENCES = [
    *(Preference(gains) for gains in ALL_WEIGHTS),
    Preference(ALL_WEIGHTS[2], ALL_WEIGHTS[6], PowerUtility(0.88, 2.25), reference=5, costs=True),
]
NOISE = [
    linear.AdditiveNoise(), linear.AdditiveNoise(Uniform(-1, 1), scale=2.0), linear.ParameterNoise(0.5),
    linear.EstimatedNoise(3.0), linear.FeatureNoise([Normal(0, 1), Bernoulli(0.5)]),
    linear.ArmNoise([Normal(0, 2)] * 2),
]  # fmt: skip
GUARDRAIL = policies.Guardrail("p99", at_most=0.5, tolerance=0.1)
SETTINGS = [*ALL_WEIGHTS, *ALL_REWARDS, *ALL_LOTTERIES, *ALL_BANDS, *ALL_MEMORIES, *ALL_PREFERENCES, *NOISE, GUARDRAIL]

GIVEN = {"delta": 0.05, "budget": 300, "rarest": 0.1, "beta": 2.0, "noise": linear.ParameterNoise(), "name": "mine"}


def of_kind(kind):
    """A policy with what it needs, and its name."""
    takes = inspect.signature(kind).parameters
    given = {key: entry for key, entry in GIVEN.items() if key in takes}
    if "preference" in takes and kind is not policies.EXP3:
        given["preference"] = Preference(weights.TverskyKahneman(0.61))
    if "rewards" in takes:
        given["rewards"] = Finite([0, 1])
    return kind(**given)


ALL_POLICIES = [of_kind(kind) for name in ("policy", "linear policy") for kind in family(name).values()]
VARIED = [
    *(WUCB(expected_value(), Bounded(0, 1), memory=memory) for memory in ALL_MEMORIES),
    *(policies.NPTS(expected_value(), Bounded(0, 1), memory=memory) for memory in ALL_MEMORIES),
    *(policies.IMED(expected_value(), Finite([0, 1]), memory=memory) for memory in ALL_MEMORIES),
    *(WUCB(expected_value(), Bounded(0, 1), band=band) for band in ALL_BANDS[1:] if band != bands.Betting()),
    policies.TopTwo(expected_value(), Bounded(0, 1), delta=0.1, evidence=bands.Betting()),
    policies.TopTwo(expected_value(), Bounded(0, 1), delta=0.1, guardrails=[GUARDRAIL]),
    *(WLUCB(one, Bounded(0, 1), delta=0.1) for one in ALL_PREFERENCES if one.utility is None),
    *(WLUCB(expected_value(), one, delta=0.1) for one in ALL_REWARDS),
    WLUCB(expected_value(), delta=0.1, band=bands.Asymptotic(0.05), tolerance=0.5),
]


def toml(thing):
    """A document as TOML, which has no null: what is None is left out."""
    if isinstance(thing, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in thing.items() if v is not None) + "}"
    if isinstance(thing, list):
        return "[" + ", ".join(map(toml, thing)) + "]"
    return json.dumps(thing)


def from_toml(spec):
    return from_spec(tomllib.loads(f"it = {toml(spec)}")["it"])


def same(one, other):
    if isinstance(one, Policy | Weight):
        return to_spec(one) == to_spec(other) and type(one) is type(other)
    return one == other or to_spec(one) == to_spec(other)


def test_every_setting_of_the_library_is_among_those_tried():
    tried = {type(one) for one in (*SETTINGS, *ALL_POLICIES, PowerUtility()) if not isinstance(one, list)}
    there = {kind for name in FAMILIES if name != "people" for kind in family(name).values()}
    assert there - tried == {weights.FunctionWeight}  # which is tried below


@pytest.mark.parametrize("setting", [*SETTINGS, *ALL_POLICIES, *VARIED], ids=repr)
def test_a_setting_is_read_back_from_json_and_from_toml(setting):
    spec = to_spec(setting)
    assert same(from_spec(json.loads(json.dumps(spec))), setting)
    if not isinstance(setting, linear.ArmNoise | linear.FeatureNoise):  # their scales may be null in a list
        assert same(from_toml(spec), setting)
    assert same(setting_from("setting", json.loads(json.dumps(spec))), setting)


def text_of(policy):
    """A policy as a comparison that `allais simulate` reads, with tables of its own for preference and rewards."""
    spec = to_spec(policy)
    lines = ["rounds = 10", "runs = 1"]
    for name in ("preference", "rewards"):
        part = spec.pop(name, None)
        if isinstance(part, dict):
            part = {key: entry for key, entry in part.items() if not (name == "preference" and key == "type")}
        if part is not None and not (name == "preference" and isinstance(policy, policies.EXP3)):
            lines.append(f"{name} = {toml(part)}")
    spec.pop("of_mean", None)
    lines += [f"policies = [{toml(spec)}]", 'problem = { lotteries = { a = "0:1", b = "0:1" } }']
    return "\n".join(lines)


K_ARMED = [one for one in (*ALL_POLICIES, *VARIED) if not isinstance(one, LinearPolicy)]  # a spec has no features


@pytest.mark.parametrize("policy", K_ARMED, ids=repr)
def test_a_spec_of_the_command_line_says_all_that_a_policy_can_be_told(policy, tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(text_of(policy), encoding="utf-8")
    (found,) = read_comparison(path).policies.values()
    assert same(found, policy)


@pytest.mark.parametrize("lottery", ALL_LOTTERIES, ids=repr)
def test_a_spec_of_the_command_line_takes_every_lottery(lottery, tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(
        f'problem = {{ lotteries = {{ a = {toml(to_spec(lottery))}, b = "0:1" }} }}\n'
        'policies = [{ type = "UCB1" }]\nrewards = { type = "SubGaussian", scale = 9.0, mean_bound = 99.0 }\n',
        encoding="utf-8",
    )
    assert read_comparison(path).problem.lotteries[0] == from_spec(to_spec(lottery))


def test_a_weight_by_a_function_beside_the_spec_can_be_written(tmp_path):
    (tmp_path / "my_curves_of_a_spec.py").write_text("def square(p):\n    return p**2\n", encoding="utf-8")
    path = tmp_path / "spec.toml"
    path.write_text(
        'problem = { lotteries = { a = "1:0.5,0:0.5", b = "0:1" } }\n'
        'policies = [{ type = "WUCB", memory = { type = "Recent", n = 50 } }]\n'
        'rewards = { type = "Bounded", low = 0, high = 1 }\n'
        '[preference.gains]\ntype = "FunctionWeight"\nfunction = "my_curves_of_a_spec:square"\nholder = [2.0, 1.0]\n',
        encoding="utf-8",
    )
    (found,) = read_comparison(path).policies.values()
    assert float(found.preference.gains(0.5)) == 0.25
    assert found.memory == Recent(50)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('memory = { type = "Recnt", n = 5 }', r"line 2: 'Recnt' is no memory type\. Did you mean 'Recent'\?"),
        ('memory = "Recent"', r'policies\.0\.memory needs a type, such as type = "Recent"'),
        ('memory = { type = "Recent" }', r"policies\.0\.memory needs 'n'; it is missing"),
        ('memory = { type = "Recent", n = 5, m = 6 }', "has no key 'm'"),
        ('memory = { type = ["Recent"], n = 5 }', r"\['Recent'\] is no memory type"),
        (
            'memory = { type = "Recent", n = 10000000000000000000000000 }',
            "the n of Recent must be at most",
        ),
    ],
)
def test_a_slip_in_a_nested_setting_is_named_with_its_line(change, said, tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(
        'problem = { lotteries = { a = "1:0.5,0:0.5", b = "0:1" } }\n'
        f'policies = [{{ type = "NPTS", {change} }}]\n'
        'rewards = { type = "Bounded", low = 0, high = 1 }\npreference = { gains = { type = "Identity" } }\n',
        encoding="utf-8",
    )
    with pytest.raises(ValueError, match=said):
        read_comparison(path)


@pytest.mark.parametrize("huge", [2**63, 10**25, 10**4000])
def test_numbers_beyond_reach_are_refused_in_a_sentence(huge, tmp_path):
    path = tmp_path / "spec.toml"
    rest = 'problem = { lotteries = { a = "1:1", b = "0:1" } }\nrewards = { type = "Bounded", low = 0, high = 1 }\n'
    for key in ("rounds", "runs"):
        path.write_text(f'{key} = {huge}\npolicies = [{{ type = "UCB1" }}]\n{rest}', encoding="utf-8")
        with pytest.raises(ValueError, match=f"line 1: {key} must be at most"):
            read_comparison(path)
    path.write_text(f'policy = {{ type = "SR", budget = {huge} }}\n{rest}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 1: budget must be at most 1,000,000,000,000,000; got .*smaller number"):
        read_search(path)
    for name in ("WSR", "SequentialHalving", "PatientTopTwo", "PatientRejects", "WOCBA", "ExploreFirstGreedy"):
        with pytest.raises(ValueError, match="budget must be at most"):
            from_spec({**to_spec(of_kind(getattr(policies, name))), "budget": huge})


@pytest.mark.parametrize("strange", [["cvar"], {"a": 1}, 7, True, [[]]])
def test_a_list_or_a_table_where_a_name_belongs_is_refused_by_the_service(strange):
    with pytest.raises(Refused, match="a named preference is"):
        preference_from({"name": strange})
    for document in ({"type": strange}, {"type": "NPTS", "preference": {"name": strange}}):
        with pytest.raises(Refused):
            policy_from(ExperimentSettings(policy=document, arms=["a", "b"]))
    for key in ("gains", "utility"):
        with pytest.raises(Refused):
            preference_from({"gains": {"type": "Identity"}, key: {"type": strange}})
    assert math.isclose(preference_from({"name": "cvar", "level": 0.1}).gains(0.05), 0.0, abs_tol=1.0)
