"""Docstrings of public names: every parameter has a line in an `Args:` section, and every line is about a parameter."""

import dataclasses
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from allais._kernels import Verb

ROOT = Path(__file__).parents[2]
PACKAGES = [
    *("weights", "preferences", "lotteries", "rewards", "bands", "policies", "linear", "learner", "streams"),
    *("simulation", "searches", "people", "theory", "problems", "report", "traffic", "extend", "testing", "client"),
]
SECTION = re.compile(r"^(Args|Attributes):\n((?:    .*\n?)+)", re.MULTILINE)
ENTRY = re.compile(r"^    \*{0,2}(\w+): \S", re.MULTILINE)


def hidden() -> list[str]:
    """The patterns of names that the reference leaves out: those for developers, and private ones."""
    with (ROOT / "mkdocs.yml").open(encoding="utf-8") as file:
        plugins = yaml.safe_load(file)["plugins"]
    options = next(one["mkdocstrings"] for one in plugins if isinstance(one, dict) and "mkdocstrings" in one)
    return [one.removeprefix("!") for one in options["handlers"]["python"]["options"]["filters"]]


HIDDEN = re.compile("|".join(hidden()))


def names_of(module) -> list[str]:
    own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
    return [name for name in getattr(module, "__all__", own) if not name.startswith("_")]


def callables() -> dict[str, object]:
    """All public functions and classes, and the methods that the reference shows, by a name that says where."""
    found = {}
    for package in PACKAGES:
        module = import_module(f"allais.{package}".removesuffix("."))
        for name in names_of(module):
            thing = getattr(module, name)
            kind = thing if isinstance(thing, type) else object
            arrays = package == "extend" and issubclass(kind, tuple)  # of kernels: each field says its symbol and shape
            if not callable(thing) or isinstance(thing, Verb) or issubclass(kind, Exception) or arrays:
                continue
            found[f"{package}.{name}"] = thing
            for key, member in inspect.getmembers(thing, inspect.isroutine) if isinstance(thing, type) else ():
                ours = (getattr(member, "__module__", None) or "").startswith("allais")
                if ours and not HIDDEN.search(key):
                    found[f"{package}.{name}.{key}"] = member
    return found


def parameters_of(thing) -> list[str]:
    if getattr(thing, "_is_protocol", False):  # nobody makes one
        return []
    if dataclasses.is_dataclass(thing):  # their `__new__` may take anything, and check it
        thing = thing.__init__
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls") and name[0] != "_"]


CALLABLES = {where: thing for where, thing in callables().items() if parameters_of(thing)}


@pytest.mark.parametrize("where", CALLABLES)
def test_every_parameter_of_a_public_name_has_a_line(where):
    thing = CALLABLES[where]
    made_by = thing.__new__ if "__new__" in getattr(thing, "__dict__", {}) else None
    text = "\n\n".join(inspect.getdoc(one) or "" for one in (thing, made_by) if one is not None)
    described = {name for _, body in SECTION.findall(text) for name in ENTRY.findall(body)}
    expected = parameters_of(thing)
    missing = [name for name in expected if name not in described]
    assert missing == [], f"allais.{where} must describe each parameter; {missing} have no line. Add them to its Args."
    fields = vars(thing) if isinstance(thing, type) else {}
    unknown = [name for name in described if name not in expected and name not in fields]
    assert unknown == [], f"allais.{where} describes {unknown}, which it does not take. Repair its Args."
