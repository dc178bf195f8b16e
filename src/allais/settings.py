"""Settings (weights, preferences, rewards, bands, noise, policies) as plain JSON and back; and files of preferences.

A setting is a dataclass, or has `as_setting()`, and `from_setting(trust, ...)` where its entries are not its
parameters. It is declared once, by the `__all__` of its package: files, specs, the service and the reference know it
from there. The package is imported when a file names one of its types, and nothing else ever is.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from allais._checks import nearest
from allais.files import DAMAGE, Damaged, checksum, reason, text_of, write_atomically

Kind = TypeVar("Kind")

# The families of settings: the package that exports them, and their bases; of a protocol, its methods count.
# Lower packages come first, so that a search for a name imports no package that its type does not need itself.
FAMILIES = {
    "weight": ("allais.weights", "Weight"),
    "rewards": ("allais.rewards", "Rewards"),
    "lottery": ("allais.lotteries", "Lottery"),
    "utility": ("allais.preferences", "Utility"),
    "preference": ("allais.preferences", "Preference"),
    "band": ("allais.bands", "Band"),
    "policy": ("allais.policies", "Policy"),
    "memory": ("allais.policies", "Fading Recent"),
    "guardrail": ("allais.policies", "Guardrail"),
    "linear policy": ("allais.linear", "LinearPolicy"),
    "noise": ("allais.linear", "Noise"),
    "people": ("allais.people", "Family Free Logit Prior Probit"),
}


def family(name: str) -> dict[str, Any]:
    """The types of this library that belong to a family, by their names.

    >>> list(family("memory")), list(family("utility"))
    (['Fading', 'Recent'], ['PowerUtility'])
    """
    home = importlib.import_module(FAMILIES[name][0])
    return {one: getattr(home, one) for one in home.__all__ if _is_setting(home, one, name)}


def kind_named(name: str) -> Any:
    """The type of this library that a file calls by this name, or None."""
    for one, (home, _) in FAMILIES.items():
        module = importlib.import_module(home)
        if name in module.__all__ and _is_setting(module, name, one):
            return getattr(module, name)
    return None


def _is_setting(home: Any, name: str, family: str) -> bool:
    """Whether a name of a package is a setting of a family, and not the base of one."""
    kind = getattr(home, name)
    if not isinstance(kind, type) or inspect.isabstract(kind) or getattr(kind, "_is_protocol", False):
        return False
    if not is_dataclass(kind) and not hasattr(kind, "as_setting"):
        return False
    return any(_derives(kind, getattr(home, base)) for base in FAMILIES[family][1].split())


def _derives(kind: type, base: type) -> bool:
    if not getattr(base, "_is_protocol", False):
        return issubclass(kind, base)
    needed = [method for method in vars(base) if method == "__call__" or not method.startswith("_")]
    return all(any(method in vars(one) for one in kind.__mro__) for method in needed)


def to_spec(thing: Any) -> Any:
    """A setting as numbers, strings, lists and mappings."""
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, list | tuple):
        return [to_spec(entry) for entry in thing]
    if isinstance(thing, dict):
        return {key: to_spec(entry) for key, entry in thing.items()}
    if hasattr(thing, "as_setting") and not isinstance(thing, type):
        return to_spec(thing.as_setting())
    if is_dataclass(thing) and not isinstance(thing, type):
        kind = type(thing)
        known = kind.__module__.startswith("allais.") and kind_named(kind.__name__) is kind
        own = {field.name: getattr(thing, field.name) for field in fields(thing) if field.init}
        given = thing.given() if hasattr(thing, "given") else own  # a baseline takes fewer settings than it has
        return {"type": kind.__name__ if known else address_of(kind), **to_spec(given)}
    if callable(thing):
        return {"type": "function", "function": address_of(thing)}
    raise ValueError(
        f"only settings that are dataclasses, and named functions, can be saved; got {thing!r}. "
        "Make it a dataclass in a module, so that it can be found again."
    )


# Settings that files of earlier versions lack, as they were then: 0.2.0 judged by likelihood ratios only
THEN: dict[Any, dict[str, Any]] = {"TopTwo": {"evidence": "ratios"}}


def as_then(spec: Any) -> Any:
    """The policy that a file describes, with the settings that it lacks as they were when it was written.

    >>> as_then({"type": "TopTwo", "delta": 0.1})
    {'evidence': 'ratios', 'type': 'TopTwo', 'delta': 0.1}
    """
    return {**THEN.get(spec.get("type"), {}), **spec} if isinstance(spec, dict) else spec


def from_spec(spec: Any, trust: Sequence[str] = ()) -> Any:
    """The setting that a spec describes: of this library's types, and of those in the modules that are trusted.

    >>> from_spec({"type": "Power", "alpha": 0.5})
    Power(alpha=0.5)
    >>> from_spec({"type": "os:system"})
    Traceback (most recent call last):
        ...
    ValueError: a file may name only modules that you trust; this one names os:system. Add trust=['os'] if you do.
    """
    return _made(spec, checked_trust(trust))


def checked_trust(trust: Sequence[str]) -> tuple[str, ...]:
    """The names of the modules that are trusted, or an error that says what came."""
    if not isinstance(trust, list | tuple) or not all(isinstance(name, str) for name in trust):
        raise TypeError(f'trust is a list of the names of modules; got {trust!r}. Write trust=["mymodule"].')
    return tuple(trust)


def _made(spec: Any, trust: tuple[str, ...]) -> Any:
    if isinstance(spec, list):
        return [_made(entry, trust) for entry in spec]
    if not isinstance(spec, dict):
        return spec
    kind = str(spec.get("type"))
    if kind == "function":
        return trusted(spec["function"], trust)
    content = {name: _made(value, trust) for name, value in spec.items() if name != "type"}
    found = trusted(kind, trust) if ":" in kind else kind_named(kind)
    if not isinstance(found, type) or not (is_dataclass(found) or hasattr(found, "as_setting")):
        known = [name for one in FAMILIES for name in family(one)]
        raise ValueError(f"unknown type {kind!r}.{nearest(kind, known)} If a newer version wrote it, update allais.")
    try:
        return found.from_setting(trust, **content) if hasattr(found, "from_setting") else found(**content)
    except TypeError:
        needed, others = entries_of(found)
        for name in content:  # in better words than Python's
            if name not in (*needed, *others):
                raise TypeError(f"{kind} has no entry {name!r}.{nearest(name, (*needed, *others))}") from None
        for name in needed:
            if name not in content:
                raise TypeError(f"{kind} needs the entry {name!r}; it is missing. Add it.") from None
        raise


def entries_of(make: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The entries that a setting must have in a file, and the others: its parameters, or those of `from_setting`.

    >>> entries_of(kind_named("Discrete")), entries_of(kind_named("Bounded"))
    ((('odds',), ()), (('low', 'high'), ()))
    """
    found = inspect.signature(getattr(make, "from_setting", make)).parameters.values()
    named = [one for one in found if one.name != "trust" and one.kind is not one.VAR_KEYWORD]
    needed = tuple(one.name for one in named if one.default is inspect.Parameter.empty)
    return needed, tuple(one.name for one in named if one.name not in needed)


def modules_of(spec: Any) -> list[str]:
    """The modules outside this library whose types or functions a spec names."""
    if isinstance(spec, dict):
        addresses = [spec.get("type"), spec.get("function")]
        here = [str(one).partition(":")[0] for one in addresses if isinstance(one, str) and ":" in one]
        return here + [name for value in spec.values() for name in modules_of(value)]
    return [name for entry in spec for name in modules_of(entry)] if isinstance(spec, list) else []


def address_of(function: Any) -> str:
    """The module and the name under which a function or a type is found again."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<unnamed>")
    if module is None or "<" in name or module == "__main__" or hasattr(function, "__self__"):
        raise ValueError(
            f"a function can be saved by its name in a module only; got {name} of {module}. "
            "Define it at the top of a module that can be imported."
        )
    address = f"{module}:{name}"
    try:
        same = _found(address) == function
    except ValueError:
        same = False
    if not same:
        raise ValueError(
            f"a function can be saved by its name in a module only; {address} stands for something else. "
            "Define it at the top of a module that can be imported."
        )
    return address


def trusted(address: Any, trust: tuple[str, ...]) -> Any:
    """What a file names, from a module that the caller trusts; nothing else is imported."""
    module, _, name = str(address).partition(":")
    if not any(module == name_ or module.startswith(f"{name_}.") for name_ in trust):
        raise ValueError(
            f"a file may name only modules that you trust; this one names {address}. Add trust=[{module!r}] if you do."
        )
    thing = _found(address)
    # what a module merely imports is not its own: without this, trust in one would be trust in all
    if getattr(thing, "__module__", None) != module or getattr(thing, "__qualname__", None) != name:
        raise ValueError(f"a saved function must be its module's own; got {address}, which is not. Use a backup.")
    return thing


def _found(address: str) -> Any:
    module, _, name = address.partition(":")
    try:
        thing = importlib.import_module(module)
        for part in name.split("."):
            thing = getattr(thing, part)
    except (ImportError, AttributeError):
        raise ValueError(
            f"a saved function must be importable; got {address}, which is not found. Put its module on the path."
        ) from None
    return thing


FORMAT, VERSION = "allais preference", 1  # of the file of a preference


def write_preference(path: Path, preference: Any, more: dict[str, Any]) -> None:
    """Write a preference to a file, and what else is known about where it comes from."""
    document = {"format": FORMAT, "version": VERSION, "preference": to_spec(preference), **more}
    document["checksum"] = checksum(document)
    write_atomically(path, json.dumps(document, allow_nan=False) + "\n")


def read_document(path: Path) -> dict[str, Any]:
    """What a preference file holds, whole and as it was written."""
    content = text_of(path, "a preference is")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"not a preference file: {path}. Check the path.")
    if document.get("version") != VERSION:
        raise ValueError(f"a preference file must be of version {VERSION}; {path} is not. Update allais.")
    if document.get("checksum") != checksum(document):
        raise ValueError(f"a preference file must match its checksum; {path} is damaged. Use a backup.")
    return document


def read_preference(kind: type[Kind], path: Path, trust: Sequence[str]) -> Kind:
    """The preference that a file holds."""
    trusted = checked_trust(trust)
    document = read_document(path)
    try:
        found = from_spec(document["preference"], trusted)
        if not isinstance(found, kind):
            raise Damaged("it holds no preference")
    except DAMAGE as error:
        raise ValueError(
            f"a preference file must be whole; {path} is damaged ({reason(error)}). Use a backup."
        ) from None
    return found
