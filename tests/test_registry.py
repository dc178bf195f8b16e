"""A setting is declared once, by the `__all__` of its package; files, specs, the service and the reference know it."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tools.site_hooks import with_other_settings

import allais
from allais import Bounded, Learner, Preference, TverskyKahneman, bands, policies, weights
from allais.bands import Holder
from allais.cli.specs import read_comparison
from allais.policies import WUCB
from allais.serve.api.schemas import ExperimentSettings
from allais.serve.core.errors import Refused
from allais.serve.core.parse_settings import policy_from
from allais.settings import FAMILIES, family, from_spec, kind_named, to_spec
from allais.simulation.warm import names_of_policies


@dataclass(frozen=True)
class Curious(WUCB):
    """A policy of somebody who works on this library."""


@dataclass(frozen=True)
class Square(TverskyKahneman):
    """A weight."""


@dataclass(frozen=True)
class Narrow(Holder):
    """A band."""


@pytest.fixture
def declared(monkeypatch):
    """Declare a type in its package, as an import and an entry of `__all__` do."""

    def declare(package, kind):
        monkeypatch.setattr(kind, "__module__", f"{package.__name__}.new")
        monkeypatch.setattr(package, kind.__name__, kind, raising=False)
        monkeypatch.setattr(package, "__all__", [*package.__all__, kind.__name__])

    return declare


SPEC = """
rounds = 10
runs = 1
policies = [{ type = "Curious", band = { type = "Narrow" } }]
problem = { lotteries = { a = "0:1", b = "1:1" } }
preference = { gains = { type = "Square" } }
rewards = { type = "Bounded", low = 0, high = 1 }
"""


def test_what_a_package_exports_is_known_everywhere(declared, tmp_path):
    declared(weights, Square)
    declared(bands, Narrow)
    declared(policies, Curious)
    policy = Curious(Preference(Square()), Bounded(0, 1), band=Narrow())
    # in files
    assert from_spec(to_spec(policy)) == policy
    assert to_spec(policy)["type"] == "Curious"
    policy.start(2, seed=1).save(tmp_path / "learner.json")
    assert Learner.load(tmp_path / "learner.json").policy == policy
    # in specs of commands
    (tmp_path / "spec.toml").write_text(SPEC, encoding="utf-8")
    assert list(read_comparison(tmp_path / "spec.toml").policies.values()) == [policy]
    # in the service
    asked = ExperimentSettings(
        policy={"type": "Curious", "band": {"type": "Narrow"}},
        arms=["a", "b"],
        preference={"gains": {"type": "Square"}},
        rewards={"type": "Bounded", "low": 0, "high": 1},
    )
    assert policy_from(asked) == policy
    # for those who compile ahead
    assert "Curious" in names_of_policies()
    # in the reference, and in the advice of an error
    for package, name in (("policies", "Curious"), ("bands", "Narrow"), ("weights", "Square")):
        assert f"::: allais.{package}.{name}" in with_other_settings(f"# Title\n\n::: allais.{package}.*\n")
        with pytest.raises(AttributeError, match=f"write allais.{package}.{name}"):
            getattr(allais, name)


def test_what_no_package_exports_is_known_nowhere(tmp_path):
    assert kind_named("Curious") is None
    assert to_spec(Square())["type"] == "tests.test_registry:Square"
    (tmp_path / "spec.toml").write_text(SPEC, encoding="utf-8")
    with pytest.raises(ValueError, match="'Curious' is no policy type"):
        read_comparison(tmp_path / "spec.toml")
    with pytest.raises(Refused):
        policy_from(ExperimentSettings(policy={"type": "Curious"}, arms=["a"]))


def test_a_file_names_settings_only():
    """Other types that a package exports could do more than describe something."""
    for name in (
        "Policy",
        "Choices",
        "Interview",
        "Fitted",
        "LinearBandit",
        "PathProblem",
        "Band",
        "Weight",
        "HolderPair",
    ):
        assert kind_named(name) is None
    assert len({kind for name in FAMILIES for kind in family(name).values()}) == sum(map(len, map(family, FAMILIES)))


@pytest.mark.parametrize("name", ["policies", "bands", "weights", "linear", "lotteries", "rewards"])
def test_the_reference_has_every_setting_of_a_package(name):
    page = with_other_settings((Path(__file__).parents[1] / f"docs/reference/{name}.md").read_text(encoding="utf-8"))
    for one, (home, _) in FAMILIES.items():
        if home == f"allais.{name}":
            assert all(f".{kind}\n" in page for kind in family(one)), one


def test_a_name_is_found_without_the_packages_above_it():
    """A preference in a file is read without the compiled code of policies."""
    code = "import sys, allais.settings as s; s.kind_named('Preference'); print('allais.bands' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"type": "Identiy"}, "unknown type 'Identiy'. Did you mean 'Identity'?"),
        ({"type": "Power", "alpa": 0.5}, "Power has no entry 'alpa'. Did you mean 'alpha'?"),
        ({"type": "Power"}, "Power needs the entry 'alpha'; it is missing. Add it."),
        ({"type": "Normal", "mean": 0, "sigma": 1}, "Normal has no entry 'sigma'"),
        ({"type": "Discrete", "chances": []}, "Discrete has no entry 'chances'. Known are 'odds'."),
    ],
)
def test_a_mistake_in_a_setting_is_named(spec, sentence):
    with pytest.raises((ValueError, TypeError), match=re.escape(sentence)):
        from_spec(spec)
