"""What was fitted, as files: a preference file that also holds the family, the draws and the people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from allais._checks import FloatArray
from allais.files.reading import DAMAGE, finite, finite_list, reason, require, whole
from allais.people.family import Family
from allais.people.fitted import Fitted
from allais.people.population import chains_content, chains_from
from allais.preferences.documents import read_document, write_preference
from allais.settings import checked_trust, from_spec, to_spec


def write_fitted(fitted: Fitted, path: Path) -> None:
    """Write it to one file."""
    write_preference(path, fitted.preference, {"family": to_spec(fitted.family), "fitted": fitted_content(fitted)})


def fitted_content(fitted: Fitted) -> dict[str, Any]:
    """What a file holds of it, beside the family."""
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


def read_fitted(path: Path, trust: Sequence[str]) -> Fitted:
    """What a file holds."""
    trusted = checked_trust(trust)
    document = read_document(path)
    if "fitted" not in document:
        raise ValueError(f"{path} holds a preference that was not fitted. Use Preference.load.")
    try:
        family = from_spec(document["family"], trusted)
        require(isinstance(family, Family), "its family is none")
        return _made(family, document["fitted"])
    except DAMAGE as error:
        raise ValueError(
            f"a preference file must be whole; {path} is damaged ({reason(error)}). Use a backup."
        ) from None


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
