import pytest
from typer.testing import CliRunner

from allais.traffic import sumo
from allais.traffic.cli import app
from allais.traffic.grid import grid_network
from tests.traffic.needs import needs_sumo
from tests.traffic.test_analysis import made_up

run = CliRunner().invoke


@pytest.mark.parametrize(
    "words", [["run"], ["record", "x.npz"], ["watch"], ["routes", "n", "--from", "a", "--to", "b"]]
)
def test_without_sumo_every_command_says_in_one_sentence_what_to_install(words, monkeypatch):
    monkeypatch.setattr(sumo, "is_installed", lambda: False)
    answer = run(app, words)
    assert answer.exit_code == 2
    assert answer.output.strip().splitlines() == [
        "traffic needs Eclipse SUMO, which is not installed; run: pip install 'allais[traffic]'"
    ]
    with pytest.raises(sumo.SumoMissingError, match="pip install"):
        sumo.program("sumo")


@needs_sumo
def test_routes_of_a_network_of_ones_own_are_listed(tmp_path):
    path = tmp_path / "own.net.xml"
    path.write_text(grid_network().content, encoding="utf-8")
    answer = run(app, ["routes", str(path), "--from", "12", "--to", "4", "--k", "3"])
    assert answer.exit_code == 0
    assert [line.split()[0] for line in answer.output.splitlines()] == ["R1", "R2", "R3"]
    nowhere = run(app, ["routes", str(path), "--from", "12", "--to", "99"])
    assert nowhere.exit_code == 1
    assert "'99' is none" in nowhere.output


@needs_sumo
def test_a_learner_can_be_watched(tmp_path):
    made_up().save(tmp_path / "delays.npz")
    answer = run(app, ["watch", "--days", "5", "--recording", str(tmp_path / "delays.npz")])
    assert answer.exit_code == 0, answer.output
    assert "day 5: advised R" in answer.output
