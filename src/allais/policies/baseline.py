"""A baseline: another policy under settings of its own, shown and saved by the name that people know it by."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from allais.policies.base import Policy


class Baseline(Policy):
    """A policy whose `__init__` takes fewer settings than the policy that it is made from."""

    def given(self) -> dict[str, Any]:
        """The settings that it was made with; those of its preference by their own names."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self if hasattr(self, name) else self.preference, name) for name in names}

    def __repr__(self) -> str:
        usual = inspect.signature(type(self).__init__).parameters
        shown = [f"{name}={value!r}" for name, value in self.given().items() if value != usual[name].default]
        return f"{type(self).__name__}({', '.join(shown)})"

    def as_setting(self) -> dict[str, Any]:
        """What a file holds about it."""
        return {"type": type(self).__name__, **self.given()}

    @classmethod
    def from_setting(cls, content: dict[str, Any], trust: tuple[str, ...]) -> Policy:
        """The policy that a file describes."""
        return cls(**content)

    def but(self, **changes: Any) -> Policy:
        """The same policy with other settings; where some are not its own, the policy that it is made from."""
        given = self.given()
        return type(self)(**{**given, **changes}) if changes.keys() <= given.keys() else self.plain().but(**changes)

    def plain(self) -> Policy:
        """The policy that it is made from, with all settings."""
        maker: Any = next(kind for kind in type(self).__mro__ if not issubclass(kind, Baseline))
        return maker(**{one.name: getattr(self, one.name) for one in dataclasses.fields(maker)})
