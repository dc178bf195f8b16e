"""Saving over what is there: links, modes and things that are no file."""

import os
import shutil
import stat

import pytest

from allais import (
    NPTS,
    Bounded,
    Learner,
    ValueStream,
)
from allais.files import write_atomically
from tests.learner.test_trust import PEOPLE

# -- saving over what is there -------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="modes and links are those of POSIX systems")
def test_saving_writes_through_a_link_and_keeps_the_mode(tmp_path):
    learner = NPTS(PEOPLE, Bounded(0, 1)).start(2, seed=1)
    real, link = tmp_path / "data" / "real.json", tmp_path / "learner.json"
    real.parent.mkdir()
    learner.save(real)
    real.chmod(0o600)
    link.symlink_to(real)
    learner.ask()
    learner.save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert Learner.load(real).snapshot() == learner.snapshot()
    assert sorted(path.name for path in tmp_path.rglob("*.tmp")) == []
    stream = ValueStream(PEOPLE)
    stream.add(1.0)
    for save in (stream.save, lambda path: write_atomically(path, "text")):
        save(link)
        assert link.is_symlink()
        assert stat.S_IMODE(real.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="modes and links are those of POSIX systems")
def test_a_new_file_has_the_users_mask_and_a_link_to_nothing_makes_its_target(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "new", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_atomically(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "text"


@pytest.mark.skipif(os.name != "posix", reason="modes and links are those of POSIX systems")
def test_what_is_no_file_is_not_written_over(tmp_path):
    (tmp_path / "round").symlink_to(tmp_path / "round")
    os.mkfifo(tmp_path / "pipe")
    for name in ("round", "pipe", "."):
        with pytest.raises(ValueError, match=r"file"):
            write_atomically(tmp_path / name, "text")
    assert sorted(os.listdir(tmp_path)) == ["pipe", "round"]


@pytest.mark.skipif(os.name != "posix", reason="modes and links are those of POSIX systems")
def test_a_private_folder_stays_private(tmp_path, monkeypatch):
    monkeypatch.setattr("allais.learner.journal.FEWEST_LINES", 4)
    with Learner.open(tmp_path / "advisor", NPTS(PEOPLE, Bounded(0, 1)), arms=2, seed=1) as learner:
        for path in (tmp_path / "advisor").iterdir():
            path.chmod(0o600)
        for _ in range(10):
            learner.tell(learner.ask(), 1.0)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "advisor").iterdir()}
    assert modes == {0o600}
    shutil.rmtree(tmp_path / "advisor")
