"""Fits: preferences, their uncertainty, and the file that keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from allais._checks import FloatArray, Seed, generator
from allais.files import finite, finite_list, require, undamaged, whole
from allais.people.data.choices import Choices
from allais.people.inference.summary import (
    PopulationTable,
    Summary,
    chains_content,
    chains_from,
    inference_of,
    population_table,
    summarise,
)
from allais.people.model.family import Family
from allais.people.model.parameters import ByName, Prior
from allais.preferences import Preference
from allais.preferences.showing import Rows, as_frame, as_html
from allais.settings import checked_trust, from_spec, read_document, to_spec, write_preference

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST_DRAWS = 1000  # that are kept of one person
POINTS = ("maximum likelihood", "posterior mode")  # methods that predict from one point, and not from draws


@dataclass(frozen=True, eq=False)
class Fitted:
    """A family with numbers: a source of preferences, with what is uncertain about them.

    `fit`, `posterior`, `hierarchical` and interviews make it. What is fitted to many people at once has one for each
    in `people`, and its own draws are those of a random one of them.

    Attributes:
        family: What was fitted.
        method: How it was fitted.
        place: The point estimate, unconstrained, (parameters,).
        places: Draws, unconstrained, (draws, parameters).
        n_choices: How many answers were fitted.
        log_likelihood: The log likelihood at the point.
        log_evidence: The log evidence of the choices under this family, where it is known.
        people: The fit of each person.
        notes: Diagnostics, in words.
        chains: Of a hierarchical fit, the draws of middle, spread and people, unconstrained.

    >>> from allais.people import fit
    >>> table = {"person": ["a"] * 6, "win": [10] * 6, "probability": [0.2, 0.4, 0.4, 0.5, 0.6, 0.9], "sure": [4] * 6,
    ...          "took_lottery": [0, 0, 1, 0, 1, 1]}
    >>> fitted = fit(Choices.lottery_or_sure(table), Family(alpha=0.88, loss_aversion=1.0), prior=True)
    >>> fitted.preference.gains
    TverskyKahneman(eta=0.675...)
    >>> len(fitted.draws(5, seed=1))
    5
    """

    family: Family
    method: str
    place: FloatArray
    places: FloatArray
    n_choices: int
    log_likelihood: float
    log_evidence: float | None = None
    people: Mapping[str, Fitted] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    chains: Mapping[str, FloatArray] | None = None

    _repr_html_, to_frame = as_html, as_frame

    @property
    def headline(self) -> str:
        """The sentences above its table in a notebook."""
        summary = self.summary()
        return "\n".join([summary.title, *summary.warnings])

    def rows(self) -> Rows:
        """One row per parameter: its estimate, where nine tenths of the draws lie, and what the data told about it."""
        return [
            {"parameter": one.name, "estimate": one.estimate, "estimate low": one.low, "estimate high": one.high,
             "told": one.told}
            for one in self.summary().rows
        ]  # fmt: skip

    @property
    def parameters(self) -> dict[str, float]:
        """The point estimate: the mode of a fit, or the mean of the draws."""
        if not self.family.names:
            return ByName()
        return ByName(zip(self.family.names, self.family.natural(self.place[None])[0].tolist(), strict=True))

    @property
    def preference(self) -> Preference:
        """The preference at the point estimate."""
        return self.family.preference(list(self.parameters.values()))

    def sample(self, n: int, seed: Seed) -> FloatArray:
        """Parameters of draws, (n, parameters); with replacement if n is more than there are.

        Args:
            n: How many draws.
            seed: The seed.
        """
        rng = generator(seed)
        kept = self.places.shape[0]
        which = rng.permutation(kept)[:n] if n <= kept else rng.integers(kept, size=n)
        return self.family.natural(self.places[which])

    def draws(self, n: int = 200, *, seed: Seed) -> list[Preference]:
        """Preferences drawn from the distribution of the fit.

        Args:
            n: How many preferences.
            seed: The seed.
        """
        return [self.family.preference(one) for one in self.sample(n, seed)]

    @property
    def population(self) -> Prior:
        """A prior for the next person: normal, with the mean and the covariance of the draws."""
        return Prior(self.places.mean(axis=0), np.atleast_2d(np.cov(self.places.T)))

    def population_table(self) -> PopulationTable:
        """Of a hierarchical fit: the mean and the spread of each parameter among people, with their intervals."""
        return population_table(self)

    @cached_property
    def inference(self) -> Any:
        """ArviZ's object of a hierarchical fit, also after `load`; None for other fits."""
        return None if self.chains is None else inference_of(self.family, list(self.people), self.chains)

    def log_score(self, choices: Choices) -> float:
        """The log likelihood of choices that were not fitted: each by its own person's draws, or by those of all.

        A point estimate predicts by its own probabilities; draws predict by their mean probability.

        Args:
            choices: The choices.
        """
        total = 0.0
        for name in choices.people:
            who, theirs = self.people.get(name, self), choices.of(name)
            point = who.method in POINTS and not who.people
            places = who.place[None] if point else who.places
            chances = who.family.log_chances(who.family.natural(places), theirs)
            total += float((special.logsumexp(chances, axis=0) - np.log(len(places))) @ theirs.count)
        return total

    def summary(self) -> Summary:
        """Each parameter with its interval, and what the data do not identify."""
        return summarise(self)

    def plot(self, choices: Choices | None = None) -> Figure:
        """Weights with bands, the utility, trade-offs and, given choices, observed against predicted rates.

        With choices, curves are drawn only where there are data.

        Args:
            choices: The choices that were fitted; curves then end where these do.
        """
        from allais.people.inference.plots import draw

        return draw(self, choices)

    def save(self, path: str | Path) -> None:
        """Write it to a file, which `Preference.load` and the commands read, too.

        Args:
            path: The file.
        """
        write_preference(Path(path), self.preference, {"family": to_spec(self.family), "fitted": fitted_content(self)})

    @classmethod
    def load(cls, path: str | Path, trust: Sequence[str] = ()) -> Fitted:
        """The fit in a file.

        Args:
            path: The file.
            trust: Modules outside of this library whose types and functions the file may name.
        """
        trusted = checked_trust(trust)
        document = read_document(Path(path))
        if "fitted" not in document:
            raise ValueError(f"{path} holds a preference that was not fitted. Use Preference.load.")
        with undamaged("a preference file", path):
            family = from_spec(document["family"], trusted)
            require(isinstance(family, Family), "its family is missing")
            return _made(family, document["fitted"])


def pooled(family: Family, method: str, people: dict[str, Fitted]) -> Fitted:
    """The fits of single people as one: its draws are those of a random person."""
    each = max(1, MOST_DRAWS // len(people))
    places = np.concatenate([one.places[:: max(1, len(one.places) // each)][:each] for one in people.values()])
    evidences = [one.log_evidence for one in people.values()]
    return Fitted(
        family,
        method,
        np.mean([one.place for one in people.values()], axis=0),
        places,
        sum(one.n_choices for one in people.values()),
        sum(one.log_likelihood for one in people.values()),
        None if None in evidences else float(sum(e for e in evidences if e is not None)),
        MappingProxyType(people),
    )


def fitted_content(fitted: Fitted) -> dict[str, Any]:
    """The fit as JSON, without its family."""
    return {
        "method": fitted.method,
        "place": fitted.place.tolist(),
        "places": fitted.places.tolist(),
        "choices": fitted.n_choices,
        "log_likelihood": fitted.log_likelihood,
        "log_evidence": fitted.log_evidence,
        "notes": list(fitted.notes),
        "people": {name: fitted_content(one) for name, one in fitted.people.items()},
        **({} if fitted.chains is None else {"chains": chains_content(fitted.chains)}),
    }


def _made(family: Family, content: dict[str, Any]) -> Fitted:
    d = len(family.names)
    place = finite_list(content["place"], "the point")
    require(place.size == d, f"the point must have {d} numbers")
    require(isinstance(content["places"], list) and content["places"], "there must be draws")
    rows: list[FloatArray] = [finite_list(row, "a draw") for row in content["places"]]
    require(all(row.size == d for row in rows), f"a draw must have {d} numbers")
    evidence, chains = content["log_evidence"], content.get("chains")
    return Fitted(
        family,
        str(content["method"]),
        place,
        np.array(rows).reshape(len(rows), d),
        whole(content["choices"], "the number of choices"),
        finite(content["log_likelihood"], "the log likelihood"),
        None if evidence is None else finite(evidence, "the log evidence"),
        MappingProxyType({name: _made(family, one) for name, one in content["people"].items()}),
        tuple(map(str, content["notes"])),
        None if chains is None else chains_from(chains, len(content["people"]), d),
    )
