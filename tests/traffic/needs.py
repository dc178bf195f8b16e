import pytest

from allais.traffic import sumo

needs_sumo = pytest.mark.skipif(
    not sumo.is_installed(), reason="Eclipse SUMO is not installed: pip install '.[traffic]'"
)
