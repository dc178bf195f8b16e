"""Names of arms as JSON has them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any


def require_plain_names(names: Iterable[Hashable]) -> None:
    """Refuse arm names that JSON would change."""
    for name in names:
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise ValueError(
                f"only arms with names that are strings or whole numbers can be saved; got {name!r}. Rename it."
            )


def listed(name: Any) -> Any:
    """A tuple, such as a route, as JSON has it."""
    return [listed(part) for part in name] if isinstance(name, tuple) else name


def unlisted(name: Any) -> Any:
    """The name that `listed` wrote."""
    return tuple(unlisted(part) for part in name) if isinstance(name, list) else name
