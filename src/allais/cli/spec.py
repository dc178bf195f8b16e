"""An experiment described in a TOML file; what is wrong in it is refused with its line and the nearest right name."""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from allais import bands, policies, rewards, utilities, weights
from allais.experiment import Failures
from allais.policies.base import Policy
from allais.preferences import Preference
from allais.problems import Problem, Program, Simulator

WEIGHTS = {name: getattr(weights, name) for name in weights.__all__ if name not in ("Weight", "HolderPair")}
REWARDS = {kind.__name__: kind for kind in (rewards.Bounded, rewards.Finite, rewards.SubGaussian)}
UTILITIES = {"PowerUtility": utilities.PowerUtility}
BANDS = {name: getattr(bands, name) for name in bands.__all__ if name not in ("Band", "Interval")}
POLICIES = {name: getattr(policies, name) for name in ("WLUCB", "WSR", *policies.__all__) if name != "Policy"}
TABLES = ("problem", "preference", "rewards", "policy", "failures")

# The keys of these are themselves settings, each of a family of its own.
FAMILIES: dict[str, dict[str, Any]] = {"gains": WEIGHTS, "losses": WEIGHTS, "utility": UTILITIES, "band": BANDS}


@dataclass(frozen=True)
class Experiment:
    """What a spec describes."""

    problem: Problem
    policy: Policy
    seed: int
    failures: Failures


def read_spec(path: Path) -> Experiment:
    """The experiment that a file describes, or a ValueError that says in which line it is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"a spec is a TOML file; {path} cannot be read ({error}). Check the path.") from None
    return _Reader(path, text).experiment()


class _Reader:
    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text
        try:
            self._whole: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path}: a spec must be TOML; {error}. Repair that line.") from None

    def experiment(self) -> Experiment:
        self._require_known(self._whole, ("seed", *TABLES), ())
        for name in ("problem", "policy"):
            if name not in self._whole:
                self._refuse((), f"a spec needs a table [{name}]; there is none. Add it.")
        for name in TABLES:
            if not isinstance(self._whole.get(name, {}), dict):
                self._refuse((name,), f"{name} must be a table; got {self._whole[name]!r}. Write [{name}].")
        seed = self._whole.get("seed", 0)
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            self._refuse(("seed",), f"seed must be a whole number, 0 or more; got {seed!r}.")
        failures = self._call(Failures, self._whole.get("failures", {}), ("failures",))
        return Experiment(self._problem(), self._policy(), seed, failures)

    def _problem(self) -> Problem:
        table = dict(self._whole["problem"])
        if ("function" in table) == ("command" in table):
            self._refuse(
                ("problem",),
                'a problem is either function = "module:name" or command = "./sim {arm} {seed}". Give one.',
            )
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
            self._refuse(place, f"{module_name} has no function {name!r}.{_nearest(name, there)}")
        found: Callable[..., Any] = getattr(module, name)
        return found

    def _policy(self) -> Policy:
        make, settings = self._chosen(self._whole["policy"], POLICIES, ("policy",))
        takes = inspect.signature(make).parameters
        for name, build in (("preference", self._preference), ("rewards", self._rewards)):
            given = name in self._whole
            if given and name not in takes:
                self._refuse((name,), f"{make.__name__} takes no {name}. Leave the table out, or use another policy.")
            if not given and name in takes and takes[name].default is inspect.Parameter.empty:
                self._refuse(("policy",), f"{make.__name__} needs a table [{name}]; there is none. Add it.")
            if given:
                settings[name] = build()
        policy: Policy = self._call(make, settings, ("policy",))
        if policy.goal == "regret":
            self._refuse(
                ("policy", "type"),
                f"best-arm needs a policy that stops; {make.__name__} keeps regret low for ever. Use WLUCB or WSR.",
            )
        return policy

    def _preference(self) -> Preference:
        preference: Preference = self._call(Preference, self._whole["preference"], ("preference",))
        return preference

    def _rewards(self) -> Any:
        make, settings = self._chosen(self._whole["rewards"], REWARDS, ("rewards",))
        return self._call(make, settings, ("rewards",))

    def _chosen(
        self, table: Any, family: dict[str, Any], place: tuple[str, ...]
    ) -> tuple[Callable[..., Any], dict[str, Any]]:
        """What a table's type names, and its other keys."""
        if not isinstance(table, dict) or "type" not in table:
            some = next(iter(family))
            self._refuse(place, f'{".".join(place)} needs a type, such as type = "{some}"; got {table!r}.')
        kind = table["type"]
        if kind not in family:
            self._refuse((*place, "type"), f"{kind!r} is no {place[-1]} type.{_nearest(str(kind), family)}")
        return family[kind], {key: entry for key, entry in table.items() if key != "type"}

    def _call(self, make: Callable[..., Any], settings: dict[str, Any], place: tuple[str, ...]) -> Any:
        """Make a setting from a table's keys, which are its parameters."""
        parameters = inspect.signature(make).parameters
        hidden = ("preference", "rewards", "name", "of_mean") if place == ("policy",) else ()
        shown = [key for key in parameters if key not in hidden]
        self._require_known({key: None for key in settings if key not in hidden}, shown, place)
        built = {}
        for key, entry in settings.items():
            family = FAMILIES.get(key)
            if family is not None and isinstance(entry, dict):
                kind, inner = self._chosen(entry, family, (*place, key))
                entry = self._call(kind, inner, (*place, key))
            built[key] = entry
        missing = [key for key in shown if parameters[key].default is inspect.Parameter.empty and key not in built]
        if missing:
            self._refuse(place, f"{'.'.join(place)} needs {missing[0]!r}; it is missing. Add it.")
        try:
            return make(**built)
        except (ValueError, TypeError) as error:
            culprit = next((key for key in settings if str(error).startswith(key)), None)
            self._refuse((*place, culprit) if culprit else place, str(error))

    def _require_known(self, table: dict[str, Any], known: Iterable[str], place: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                where = f"[{'.'.join(place)}]" if place else "a spec"
                self._refuse((*place, key), f"{where} has no key {key!r}.{_nearest(key, known)}")

    def _refuse(self, place: tuple[str, ...], sentence: str) -> NoReturn:
        raise ValueError(f"{self._path}, line {line_of(self._text, place)}: {sentence}") from None


def line_of(text: str, place: tuple[str, ...]) -> int:
    """The line of a key: the one that shares the longest beginning with it.

    >>> line_of('seed = 1\\n[policy]\\ntype = "WSR"\\n', ("policy", "type"))
    3
    """
    table: tuple[str, ...] = ()
    best, line = 0, 1
    for number, content in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[([^\[\]]+)\]", content)
        key = re.match(r"\s*([\w.\-\"]+)\s*=", content)
        if header is not None:
            table = _parts(header[1])
        elif key is None:
            continue
        here = table if header is not None else (*table, *_parts(key[1]))  # type: ignore[index]
        shared = len(here) if here == place[: len(here)] else 0
        if shared > best:
            best, line = shared, number
    return line


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip('"') for part in dotted.split("."))


def _nearest(name: str, known: Iterable[str]) -> str:
    candidates = list(known)
    lowered = {candidate.lower(): candidate for candidate in candidates}
    near = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    if near:
        return f" Did you mean {lowered[near[0]]!r}?"
    return f" Known are {', '.join(map(repr, candidates[:12]))}."
