"""The picture of the packages shows the layers that imports are checked against."""

import tomllib
from pathlib import Path

from tools.layers import FLOORS

ROOT = Path(__file__).parents[2]


def test_the_picture_has_the_layers_of_the_import_contract():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [[name.strip().removeprefix("allais.") for name in layer.split("|")] for layer in contract["layers"]]
    drawn = [row for _, rows in FLOORS for row in rows]
    assert [sorted(row) for row in drawn] == [sorted(layer) for layer in layers]


def test_every_package_is_in_the_picture():
    drawn = {name for _, rows in FLOORS for row in rows for name in row}
    there = {path.stem for path in (ROOT / "src" / "allais").iterdir() if not path.name.startswith(("__", "py."))}
    assert drawn == there
