"""`allais best-arm SPEC.toml`: a problem, a preference and a policy that stops, described in a TOML file."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allais import policies
from allais.cli.reader import Reader
from allais.cli.words import nearest
from allais.policies.base import Policy
from allais.problems import Problem, Program, Simulator
from allais.searches import Failures

POLICIES = {name: getattr(policies, name) for name in ("WLUCB", "WSR", *policies.__all__) if name != "Policy"}
TABLES = ("problem", "preference", "rewards", "policy", "failures")


@dataclass(frozen=True)
class Experiment:
    """What a spec describes."""

    problem: Problem
    policy: Policy
    seed: int
    failures: Failures


def read_spec(path: Path) -> Experiment:
    """The experiment that a file describes, or a ValueError that says in which line it is wrong."""
    return _SearchReader(path).experiment()


class _SearchReader(Reader):
    def experiment(self) -> Experiment:
        self.require_tables(("problem", "policy"), TABLES, ("seed",))
        seed = self.whole_number("seed", default=0, least=0)
        failures = self._call(Failures, self._whole.get("failures", {}), ("failures",))
        return Experiment(self._problem(), self._stopping_policy(), seed, failures)

    def _problem(self) -> Problem:
        table = dict(self._whole["problem"])
        if len({"function", "command", "lotteries"} & table.keys()) != 1:
            self._refuse(
                ("problem",),
                'a problem is one of function = "module:name", command = "./sim {arm} {seed}" and lotteries = { ... }. '
                "Give one.",
            )
        if "lotteries" in table:
            return self.bandit()
        if "command" in table:
            command: Problem = self._call(Program, {"folder": str(self._path.resolve().parent), **table}, ("problem",))
            return command
        self._require_known(table, ("function", "arms"), ("problem",))
        table["f"] = self._function(table.pop("function"))
        found: Problem = self._call(Simulator, table, ("problem",))
        return found

    def _function(self, address: Any) -> Callable[..., Any]:
        place = ("problem", "function")
        module_name, _, name = str(address).partition(":")
        folder = str(self._path.resolve().parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)  # a spec's module lies beside it; workers are told, too
        try:
            module = importlib.import_module(module_name)
        except Exception as error:  # whatever the user's module raises when it is loaded
            self._refuse(place, f'function must be "module:name"; {module_name!r} cannot be imported ({error}).')
        if not callable(getattr(module, name, None)):
            there = [key for key, thing in vars(module).items() if inspect.isfunction(thing)]
            self._refuse(place, f"{module_name} has no function {name!r}.{nearest(name, there)}")
        found: Callable[..., Any] = getattr(module, name)
        return found

    def _stopping_policy(self) -> Policy:
        policy = self.policy(self._whole["policy"], ("policy",), POLICIES)
        if policy.goal == "regret":
            self._refuse(
                ("policy", "type"),
                f"best-arm needs a policy that stops; {type(policy).__name__} keeps regret low for ever. "
                "Use WLUCB or WSR.",
            )
        return policy
