"""Examples in docstrings may use the public names and numpy without importing them; those of pages run as pasted."""

import gc
import os
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# numba colours messages that nobody sees, which takes a twentieth of all compiling; read when it is imported
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")

# the same examples in every run, and no limit on time: a first call may compile
settings.register_profile("allais", deadline=None, derandomize=True)
settings.load_profile("allais")

collect_ignore_glob = ["src/allais/serve/migrations/*"]  # scripts that only Alembic can run


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: the collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


# examples of the reference may use what stands on the same page
DOORS = (
    *("allais.weights", "allais.preferences", "allais.bands", "allais.policies", "allais.linear", "allais.learner"),
    *("allais.streams", "allais.simulation", "allais.searches", "allais.problems", "allais"),
)


@pytest.fixture(autouse=True)
def _names_of_examples(request: pytest.FixtureRequest) -> None:
    if not isinstance(request.node, pytest.DoctestItem):
        return
    names: dict[str, object] = request.getfixturevalue("doctest_namespace")
    names.clear()
    if request.node.path.suffix == ".py":
        own = request.node.dtest.globs  # a module's own names come first
        for module in DOORS:
            door = import_module(module)
            names.update({name: getattr(door, name) for name in door.__all__ if name not in own})
        names["np"] = np
    folder: Path = request.getfixturevalue("tmp_path")
    request.getfixturevalue("monkeypatch").chdir(folder)  # examples may write files
