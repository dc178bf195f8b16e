"""What `allais traffic` says, above all when something is wrong: one sentence, no traceback."""

import stat

import pytest
from typer.testing import CliRunner

from allais.cli.traffic import app
from allais.traffic import Recording, sumo
from allais.traffic.problem import grid_network
from tests.traffic.needs import needs_sumo
from tests.traffic.test_analysis import made_up


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def refused(*words):
    """The one sentence with which a command ends."""
    answer = run(*words)
    assert answer.exit_code == 2, answer.output
    assert isinstance(answer.exception, SystemExit)  # no traceback
    (line,) = answer.output.strip().splitlines()
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


@pytest.fixture
def network(tmp_path):
    path = tmp_path / "own.net.xml"
    path.write_text(grid_network().content, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "words", [["run"], ["record", "x.npz"], ["watch"], ["prefer", "x.npz"], ["routes", "n", "--from", "a", "--to", "b"]]
)
def test_without_sumo_every_command_says_in_one_sentence_what_to_install(words, monkeypatch):
    monkeypatch.setattr(sumo, "is_installed", lambda: False)
    sentence = refused(*words)
    assert (
        sentence
        == "traffic needs Eclipse SUMO, which is not installed. Run in the folder of allais: pip install '.[traffic]'."
    )
    with pytest.raises(sumo.SumoMissingError, match="pip install"):
        sumo.program("sumo")


@needs_sumo
def test_routes_of_a_network_of_ones_own_are_listed(network):
    answer = run("routes", network, "--from", "12", "--to", "4", "--k", "3")
    assert answer.exit_code == 0
    assert [line.split()[0] for line in answer.output.splitlines()] == ["R1", "R2", "R3"]


@needs_sumo
def test_nodes_without_a_route_are_refused(network):
    assert "'99' is not one. Try" in refused("routes", network, "--from", "12", "--to", "99")
    assert "got '12' twice" in refused("routes", network, "--from", "12", "--to", "12")
    assert "k must be 1 or more; got 0" in refused("routes", network, "--from", "12", "--to", "4", "--k", "0")
    network.write_text(network.read_text().replace('from="12" to="J20"', 'from="12" to="12"'))
    message = "there must be a route from '12' to '4'; there is none for cars. Choose other places."
    assert refused("routes", network, "--from", "12", "--to", "4") == message


@needs_sumo
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read (No such file or directory). Check the path."),
        (b"hello", "must be whole XML; own.net.xml is damaged"),
        (b"<routes/>", "holds <routes>. Give a .net.xml."),
        (b'<net><edge id="a" from="x" to="y"><lane speed="3"/></edge></net>', "has a part without 'length'"),
        (b"\xff\xfe\xff", "cannot be read (it is not text)"),
    ],
)
def test_a_file_that_is_no_network_is_refused(tmp_path, content, message):
    path = tmp_path / "own.net.xml"
    if content is not None:
        path.write_bytes(content)
    assert message in refused("routes", path, "--from", "a", "--to", "b")


@needs_sumo
@pytest.mark.parametrize("command", ["run", "watch"])
def test_a_recording_that_cannot_be_read_is_refused(tmp_path, command):
    path = tmp_path / "delays.npz"
    assert f"{path} does not exist. Check the path." in refused(command, "--recording", path)
    path.write_text("no recording")
    assert f"{path} is not an allais traffic recording, or is damaged." in refused(command, "--recording", path)
    made_up().save(path)
    path.write_bytes(path.read_bytes()[:-200])
    assert f"{path} is not an allais traffic recording, or is damaged." in refused(command, "--recording", path)
    assert "cannot be read (Is a directory)" in refused(command, "--recording", tmp_path)


@needs_sumo
def test_a_recording_that_does_not_fit_the_experiment_is_refused(tmp_path):
    path = tmp_path / "delays.npz"
    made_up().save(path)
    assert "the recording's R1 leaves it" in refused("run", "--recording", path)
    assert "got 1. Record 2 or more." in refused("run", "--blocks", "1")


@needs_sumo
def test_a_place_that_cannot_be_written_to_is_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("allais.traffic.recording.record", None)  # would fail if it came so far
    monkeypatch.setattr("allais.traffic.study.record", None)
    nowhere = tmp_path / "none" / "delays.npz"
    assert f"{nowhere} cannot be written: its folder does not exist." in refused("record", nowhere)
    assert f"{tmp_path} is a folder, not a file. Name a file in it." in refused("record", tmp_path)
    (tmp_path / "file").write_text("")
    assert "cannot be made a folder" in refused("run", "--out", tmp_path / "file")


@needs_sumo
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--blocks", "0"], "got 0 blocks of 6 h. Give more."),
        (["--hours", "3"], "must be a whole number; 3 h have 0.5."),
        (["--hours", "-6"], "got 15 blocks of -6 h. Give more."),
        (["--workers", "0"], "--workers must be 1 or more, or -1 for every core; got 0."),
    ],
)
def test_a_recording_that_cannot_be_made_is_refused(tmp_path, words, message):
    assert message in refused("record", tmp_path / "delays.npz", *words)


@needs_sumo
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'Error: out of memory' >&2; exit 1", "Error: out of memory"),
        ("echo 'Warning: a yellow phase is missing' >&2; kill -9 $$", "signal 9"),
    ],
)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_crash_of_sumo_is_a_sentence_and_leaves_no_file(tmp_path, monkeypatch, script, reason, jobs):
    real, broken = sumo.program, tmp_path / "sumo"
    broken.write_text(f"#!/bin/sh\n{script}\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sumo, "program", lambda name: str(broken) if name == "sumo" else real(name))
    path = tmp_path / "delays.npz"
    sentence = refused("record", path, "--blocks", "2", "--hours", "0.1", "--poisson", "--workers", jobs)
    assert sentence == f"sumo must end well; it failed ({reason}). Check the network, the demand and the memory."
    assert not path.exists()
    assert reason in refused("watch", "--days", "1")


@needs_sumo
def test_a_recording_is_written_and_read_again(tmp_path):
    path = tmp_path / "delays.npz"
    answer = run("record", path, "--blocks", "2", "--hours", "0.1", "--poisson", "--workers", "1")
    assert answer.exit_code == 0, answer.output
    assert Recording.load(path).about["closures"] == "Poisson"


@needs_sumo
def test_a_learner_can_be_watched_on_a_recording_and_on_the_simulator(tmp_path):
    made_up().save(tmp_path / "delays.npz")
    answer = run("watch", "--days", "5", "--recording", tmp_path / "delays.npz")
    assert answer.exit_code == 0, answer.output
    assert "day 5: advised R" in answer.output
    live = run("watch", "--days", "3")
    assert live.exit_code == 0, live.output
    assert "day 3: advised R3" in live.output
