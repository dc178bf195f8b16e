"""Settings as plain JSON and back: weights, preferences, rewards, bands and policies."""

from __future__ import annotations

import importlib
from dataclasses import fields, is_dataclass
from typing import Any

from allais import bands, noise, policies, rewards, utilities, weights
from allais.lotteries import Discrete, FiniteLottery, Normal, Uniform
from allais.preferences import Preference
from allais.weights.base import Dual
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


def from_spec(spec: Any) -> Any:
    """The setting that a spec describes."""
    if isinstance(spec, list):
        return [from_spec(entry) for entry in spec]
    if not isinstance(spec, dict):
        return spec
    kind = str(spec.get("type"))
    if kind == "Dual":
        return from_spec(spec["of"]).dual()
    if kind == "FunctionWeight":
        pair = None if spec["holder"] is None else tuple(spec["holder"])
        return FunctionWeight(_found(spec["function"]), tuple(spec["kinks"]), pair, spec["name"])
    if kind in ("Normal", "Uniform"):
        return (Normal if kind == "Normal" else Uniform)(*(spec[name] for name in spec if name != "type"))
    if kind == "Discrete":
        return Discrete(dict(spec["odds"]))
    if kind == "function":
        return _found(spec["function"])
    found = _found(kind) if ":" in kind else KNOWN.get(kind)
    if not (isinstance(found, type) and is_dataclass(found)):
        raise ValueError(f"a saved setting must be one that this version knows; got {kind!r}. Update allais.")
    return found(**{name: from_spec(value) for name, value in spec.items() if name != "type"})


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
