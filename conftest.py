"""Examples in docstrings and pages may use the public names and numpy without importing them."""

from pathlib import Path

import numpy as np
import pytest

import allais


@pytest.fixture(autouse=True)
def _names_of_examples(
    request: pytest.FixtureRequest,
    doctest_namespace: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    doctest_namespace.update({name: getattr(allais, name) for name in allais.__all__})
    doctest_namespace["np"] = np
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)  # examples may write files
