"""Settings as plain JSON and back: weights, preferences, rewards, bands and policies."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from allais import bands, noise, policies, rewards, utilities, weights
from allais.lotteries import Discrete, FiniteLottery, Normal, Uniform
from allais.preferences import Preference
from allais.weights.base import Dual, Weight
from allais.weights.function import FunctionWeight

KNOWN: dict[str, Any] = {
    kind.__name__: kind  # type: ignore[union-attr]
    for kind in (
        *(getattr(weights, name) for name in weights.__all__),
        *(getattr(policies, name) for name in policies.__all__),
        *(getattr(bands, name) for name in bands.__all__),
        rewards.Bounded,
        rewards.Finite,
        rewards.SubGaussian,
        noise.ParameterNoise,
        noise.AdditiveNoise,
        noise.ArmNoise,
        noise.EstimatedNoise,
        noise.FeatureNoise,
        utilities.PowerUtility,
        Preference,
    )
    if is_dataclass(kind)
}


def to_spec(thing: Any) -> Any:
    """A setting as numbers, strings, lists and mappings."""
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, list | tuple):
        return [to_spec(entry) for entry in thing]
    if isinstance(thing, Dual):
        return {"type": "Dual", "of": to_spec(thing.of)}
    if isinstance(thing, FunctionWeight):
        pair = None if thing.holder is None else list(thing.holder)
        kinks = [point for point in thing.singularities if 0.0 < point < 1.0]
        return {
            "type": "FunctionWeight",
            "function": _address(thing.function),
            "kinks": kinks,
            "holder": pair,
            "name": thing.name,
        }
    if isinstance(thing, Normal):
        return {"type": "Normal", "mean": thing.mean, "sd": thing.sd}
    if isinstance(thing, Uniform):
        return {"type": "Uniform", "low": thing.support[0], "high": thing.support[1]}
    if isinstance(thing, FiniteLottery):
        odds = zip(thing.outcomes.tolist(), thing.probabilities.tolist(), strict=True)
        return {"type": "Discrete", "odds": [list(pair) for pair in odds]}
    if is_dataclass(thing) and not isinstance(thing, type):
        kind = type(thing)
        known = KNOWN.get(kind.__name__) is kind
        own = {field.name: to_spec(getattr(thing, field.name)) for field in fields(thing) if field.init}
        return {"type": kind.__name__ if known else _address(kind), **own}
    if callable(thing):
        return {"type": "function", "function": _address(thing)}
    raise ValueError(
        f"only settings that are dataclasses, and named functions, can be saved; got {thing!r}. "
        "Make it a dataclass in a module, so that it can be found again."
    )


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
    if kind == "Dual":
        weight = _made(spec["of"], trust)
        if not isinstance(weight, Weight):
            raise ValueError(f"a dual is of a weight; got {weight!r}. Use a backup.")
        return weight.dual()
    if kind == "FunctionWeight":
        pair = None if spec["holder"] is None else tuple(spec["holder"])
        return FunctionWeight(_trusted(spec["function"], trust), tuple(spec["kinks"]), pair, spec["name"])
    if kind == "Normal":
        return Normal(spec["mean"], spec["sd"])
    if kind == "Uniform":
        return Uniform(spec["low"], spec["high"])
    if kind == "Discrete":
        return Discrete(dict(spec["odds"]))
    if kind == "function":
        return _trusted(spec["function"], trust)
    found = _trusted(kind, trust) if ":" in kind else KNOWN.get(kind)
    if not (isinstance(found, type) and is_dataclass(found)):
        raise ValueError(f"a saved setting must be one that this version knows; got {kind!r}. Update allais.")
    return found(**{name: _made(value, trust) for name, value in spec.items() if name != "type"})


def modules_of(spec: Any) -> list[str]:
    """The modules beside this library whose types or functions a spec names."""
    if isinstance(spec, dict):
        addresses = [spec.get("type"), spec.get("function")]
        here = [str(one).partition(":")[0] for one in addresses if isinstance(one, str) and ":" in one]
        return here + [name for value in spec.values() for name in modules_of(value)]
    return [name for entry in spec for name in modules_of(entry)] if isinstance(spec, list) else []


def _address(function: Any) -> str:
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


def _trusted(address: Any, trust: tuple[str, ...]) -> Any:
    """What a file names, from a module that the caller trusts; nothing else is imported."""
    module, _, name = str(address).partition(":")
    if not any(module == trusted or module.startswith(f"{trusted}.") for trusted in trust):
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
