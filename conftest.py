"""Examples in docstrings and pages may use the public names and numpy without importing them."""

import numpy as np
import pytest

import allais


@pytest.fixture(autouse=True)
def _names_of_examples(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace.update({name: getattr(allais, name) for name in allais.__all__})
    doctest_namespace["np"] = np
