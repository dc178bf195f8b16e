"""Choice rules: how often the better option is taken."""

from __future__ import annotations

from dataclasses import dataclass

SCALES = ("values", "certainty equivalents")


@dataclass(frozen=True)
class _Rule:
    on: str = "values"

    def __post_init__(self) -> None:
        if self.on not in SCALES:
            raise ValueError(
                f"a choice rule compares values or certainty equivalents; got {self.on!r}. "
                'Write on="values" or on="certainty equivalents".'
            )


@dataclass(frozen=True)
class Logit(_Rule):
    """An option's chance goes with the exponential of its value over the `temperature`; any number of options.

    On `"values"`, a temperature is in units of utility: what one unit means changes with the power of the utility, so
    the two trade off. On `"certainty equivalents"` it is in units of outcomes, whatever the utility: take these to
    compare people or families, or stakes of many sizes; values are the rule of most of the literature.

    >>> Logit(on="certainty equivalents")
    Logit(on='certainty equivalents')
    """


@dataclass(frozen=True)
class Probit(_Rule):
    """The better of two options is taken with a normal chance of the difference over the `temperature`.

    >>> Probit()
    Probit(on='values')
    """
