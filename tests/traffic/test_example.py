"""The road network as an expensive simulator, by the command line."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from allais.cli.app import app
from allais.traffic import grid_problem
from tests.traffic.needs import needs_sumo

pytestmark = needs_sumo
EXAMPLE = Path(__file__).parents[2] / "examples" / "routing"


def answered(tmp_path, budget):
    folder = shutil.copytree(EXAMPLE, tmp_path / "routing")
    spec = folder / "routing.toml"
    spec.write_text(spec.read_text().replace("budget = 400", f"budget = {budget}"))
    result = CliRunner().invoke(app, ["best-arm", str(spec), "--workers", "2", "--report", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    assert "Choose &#34;R" in (tmp_path / "page.html").read_text()
    return result.output


def test_the_routing_example_runs(tmp_path):
    assert "The search used its budget as planned" in answered(tmp_path, 16)


@pytest.mark.slow
def test_the_routing_example_finds_the_route_that_people_prefer(tmp_path):
    output = answered(tmp_path, 400)
    assert 'Choose "R2".' in output
    assert '"R1" has the best mean, ' in output
    assert "seconds each time." in output


def test_an_unknown_route_is_refused_with_those_that_are_known():
    with pytest.raises(ValueError, match=r"one of R1, R2, .*; got 'R99'. Choose one of them."):
        grid_problem("fresh").delay("R99", None)
