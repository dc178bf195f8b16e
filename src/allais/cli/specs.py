"""What the TOML files of `allais best-arm` and `allais simulate` describe."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from allais._checks import MOST, nearest
from allais.cli.reader import Reader
from allais.policies.choosing import AUTO
from allais.policies.core.base import Policy
from allais.policies.core.guardrails import USUAL
from allais.preferences import Preference
from allais.problems import Bandit, Option, Problem, Program, Simulator, grid, table
from allais.searches import Failures, with_indifference
from allais.settings import family
from allais.simulation.rollout import fitted
from allais.simulation.simulate import MOST_RUNS


@dataclass(frozen=True)
class SearchSpec:
    """A search for the best option: a problem, and a policy that stops."""

    problem: Problem
    policy: Policy
    seed: int
    failures: Failures
    name: str  # of the file
    unit: str  # of outcomes, such as "minutes"; may be empty
    common_random_numbers: bool = False
    why: str = ""  # the policy is the recommended one
    has_grid: bool = False  # its options can be refined


@dataclass(frozen=True)
class ComparisonSpec:
    """A comparison of policies on lotteries."""

    problem: Bandit
    policies: dict[str, Policy]
    judge: Preference | None  # whose loss regret is; None: each policy's own
    rounds: int
    runs: int
    seed: int
    unit: str  # of outcomes; may be empty


def read_search(path: Path) -> SearchSpec:
    """The search that a file describes, or a ValueError that says in which line it is wrong."""
    return _SearchReader(path).search()


def read_comparison(path: Path) -> ComparisonSpec:
    """The comparison that a file describes, or a ValueError that says in which line it is wrong."""
    return _ComparisonReader(path).comparison()


class _SearchReader(Reader):
    def search(self) -> SearchSpec:
        if self._whole.get("policy") == AUTO:
            self._whole["policy"] = {"type": AUTO, "delta": USUAL}
        self.require_tables(
            ("problem", "policy"),
            ("problem", "preference", "rewards", "policy", "failures"),
            ("seed", "unit", "common_random_numbers", "indifference"),
        )
        seed = self.whole_number("seed", default=0, least=0)
        failures = self._call(Failures, self._whole.get("failures", {}), ("failures",))
        common = self._whole.get("common_random_numbers", False)
        if not isinstance(common, bool):
            self._refuse(
                ("common_random_numbers",),
                f"common_random_numbers is true or false; got {common!r}. Write one of them.",
            )
        problem, policy = self._problem(), self._stopping_policy()
        why = policy.why
        if "indifference" in self._whole:
            with self._refusing("indifference"):
                policy = with_indifference(policy, self._whole["indifference"])
        return SearchSpec(
            problem, policy, seed, failures, self._path.name, self.unit(), common, why, "grid" in self._whole["problem"]
        )

    def _problem(self) -> Problem:
        given = dict(self._whole["problem"])
        if len({"function", "command", "lotteries"} & given.keys()) != 1:
            self._refuse(
                ("problem",),
                'a problem is one of function = "module:name", command = "./sim {arm} {seed}" and lotteries = { ... }. '
                "Give one.",
            )
        if "lotteries" in given:
            return self.bandit()
        if "grid" in given and "arms" in given:
            self._refuse(("problem", "grid"), "options are a grid or a list of arms; got both. Leave one out.")
        if "grid" in given:
            given["arms"] = self._grid(given.pop("grid"))
        elif isinstance(given.get("arms"), str):
            given["arms"] = self._listed(given["arms"])
        if "command" in given:
            return self._call(Program, {"folder": str(self._path.resolve().parent), **given}, ("problem",))
        self._require_known(given, ("function", "arms", "grid"), ("problem",))
        given["f"] = self._function(given.pop("function"))
        return self._call(Simulator, given, ("problem",))

    def _grid(self, given: Any) -> list[Option]:
        """Every combination of the lists of a table."""
        if not isinstance(given, dict):
            self._refuse(("problem", "grid"), f"grid must be a table of lists; got {given!r}. Write [problem.grid].")
        try:
            return grid(**given)
        except (ValueError, TypeError) as error:
            culprit = next((key for key in given if str(error).startswith(f"{key} ")), None)
            self._refuse(("problem", "grid", *([culprit] if culprit else [])), str(error))

    def _listed(self, address: str) -> Any:
        """The options of a CSV file beside the spec, or of a list in a module."""
        place = ("problem", "arms")
        if ":" not in address or address.lower().endswith(".csv"):
            with self._refusing(*place):
                return table(self._path.parent / address)
        module, name = self._module("arms", address)
        if not hasattr(module, name):
            there = [
                key
                for key, thing in vars(module).items()
                if not key.startswith("_") and isinstance(thing, list | tuple)
            ]
            self._refuse(place, f"{module.__name__} has no list {name!r}.{nearest(name, there)}")
        return getattr(module, name)

    def _module(self, key: str, address: str) -> tuple[ModuleType, str]:
        """The module of "module:name", and the name."""
        module_name, _, name = address.partition(":")
        self._beside()
        try:
            return importlib.import_module(module_name), name
        except Exception as error:  # whatever the user's module raises when it is loaded
            self._refuse(
                ("problem", key), f'{key} must be "module:name"; {module_name!r} cannot be imported ({error}).'
            )

    def _function(self, address: Any) -> Callable[..., Any]:
        module, name = self._module("function", str(address))
        if not callable(getattr(module, name, None)):
            there = [key for key, thing in vars(module).items() if inspect.isfunction(thing)]
            self._refuse(("problem", "function"), f"{module.__name__} has no function {name!r}.{nearest(name, there)}")
        return getattr(module, name)

    def _stopping_policy(self) -> Policy:
        policies = family("policy")
        kind = policies.get(str(self._whole["policy"].get("type")))
        if kind is not None and kind.goal == "regret":  # before its settings, whose repair would be in vain
            self._refuse(
                ("policy", "type"),
                f"best-arm needs a policy that stops; {kind.__name__} never stops. "
                "Use WLUCB or TopTwo (a confidence), or PatientTopTwo (a budget).",
            )
        first = {"WLUCB": policies["WLUCB"]}  # which an error proposes
        given = self._whole["policy"]
        if given.get("type") == AUTO and {"delta", "budget"}.isdisjoint(given):
            self._refuse(("policy",), "best-arm needs a policy that stops. Give delta = 0.05, or budget = 1000.")
        return self.policy(given, ("policy",), {**first, **policies})


class _ComparisonReader(Reader):
    def comparison(self) -> ComparisonSpec:
        tables = ("problem", "preference", "rewards")
        self.require_tables(("problem", "policies"), tables, ("seed", "unit", "rounds", "runs", "policies"))
        if "lotteries" not in self._whole["problem"]:
            self._refuse(
                ("problem",), 'simulate needs lotteries, such as bus = "50:0.1,0:0.9"; there are none. Add them.'
            )
        listed = self._whole["policies"]
        if not isinstance(listed, list) or not listed:
            self._refuse(("policies",), "policies are tables in a list; got none. Write [[policies]].")
        problem, found = self.bandit(), {}
        for number, given in enumerate(listed):
            place = ("policies", str(number))
            policy = self.policy(given, place, family("policy"))
            if Path(policy.name).name != policy.name:  # results are kept under it
                self._refuse(
                    (*place, "name"), f"a policy's name must do for a file; got {policy.name!r}. Choose another."
                )
            name = policy.name if policy.name not in found else f"{policy.name} ({number + 1})"
            with self._refusing(*place):
                fitted(policy, problem)  # refuses what does not fit, before anything runs
            found[name] = policy
        return ComparisonSpec(
            problem,
            found,
            self._preference() if "preference" in self._whole else None,
            self.whole_number("rounds", default=10_000, most=MOST),
            self.whole_number("runs", default=100, most=MOST_RUNS),
            self.whole_number("seed", default=0, least=0),
            self.unit(),
        )
