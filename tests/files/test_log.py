"""Logs of anybody: what was appended is there, in every state that a crash or a stranger can leave a file in."""

import errno
import os
import stat
import zlib

import pytest

from allais.files.log import Log, SnapshotLog, event_of, line_of

HEADER = {"format": "visits", "version": 1}
EVENTS = [{"visitor": "A", "at": 1.5}, {"visitor": "B", "at": -0.0}, {"visitor": "Ü", "at": None}]


def written(path, **settings):
    with Log(path, form="visits", **settings) as log:
        log.append(HEADER, *EVENTS)
    return path


def read(path, **settings):
    with Log(path, form="visits", **settings) as log:
        events = log.events
        log.accept()
    return events


def test_events_come_back_in_order_and_a_log_goes_on(tmp_path):
    path = written(tmp_path / "visits.jsonl")
    with Log(path, form="visits") as log:
        assert log.events == [HEADER, *EVENTS]
        assert log.lines == 4
        log.append({"visitor": "D"})
        assert log.lines == 5
    assert read(path) == [HEADER, *EVENTS, {"visitor": "D"}]


def test_what_was_appended_is_synced_before_append_returns(tmp_path, monkeypatch):
    synced = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (sync(descriptor), synced.append(os.fstat(descriptor).st_size)))
    with Log(tmp_path / "visits.jsonl") as log:
        for event in EVENTS:
            log.append(event)
            assert synced[-1] == (tmp_path / "visits.jsonl").stat().st_size


@pytest.mark.parametrize("numbered", [False, True])
def test_a_line_that_was_cut_off_is_dropped_and_one_that_ended_is_refused(numbered, tmp_path):
    settings = {"form": "visits", "numbered": numbered}
    path = written(tmp_path / "visits.jsonl", numbered=numbered)
    whole = path.read_bytes()
    start = whole.rstrip(b"\n").rindex(b"\n") + 1
    for end in range(start + 1, len(whole)):
        path.write_bytes(whole[:end])
        with Log(path, **settings) as log:
            assert log.events == [HEADER, *EVENTS][:-1]
            assert path.read_bytes() == whole[:end]  # nothing is cut before the owner accepts
            with pytest.warns(UserWarning, match=r"visits.jsonl was cut off while it was written; it is dropped"):
                log.accept()
        assert path.read_bytes() == whole[:start]
    for at in range(start, len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << bit
            path.write_bytes(bytes(damaged))
            with pytest.raises(ValueError, match=r"must match its checksums; .* is damaged .*line 4\. Use a backup"):
                Log(path, **settings)


def test_a_missing_line_is_noticed_where_lines_are_numbered(tmp_path):
    for numbered in (False, True):
        path = tmp_path / f"{numbered}.jsonl"
        with Log(path, numbered=numbered) as log:
            log.append(*EVENTS)
        first, _, third = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(first + third)
        if numbered:
            with pytest.raises(ValueError, match="damaged in line 2"):
                Log(path, numbered=True)
        else:
            with Log(path) as log:
                assert log.events == [EVENTS[0], EVENTS[2]]


@pytest.mark.parametrize(
    "content", [b"name,price\nA,1\n", b"\n", b'{"format": "visit', b'{"format": "other"}\n', b"\0" * 40]
)
def test_a_file_that_is_not_ours_is_never_written_to(content, tmp_path):
    path = tmp_path / "visits.jsonl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a journal must begin with its format; .* does not. Check the path"):
        Log(path, form="visits")
    assert path.read_bytes() == content


def test_what_is_no_file_and_what_has_no_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"a journal is a file in a folder that exists"):
        Log(tmp_path / "none" / "visits.jsonl")
    with pytest.raises(ValueError, match=r"a journal is a file in a folder that exists; .* cannot be one"):
        Log(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match=r"a journal is a file; .* is not"):
        Log(tmp_path / "pipe")


def test_one_owner_at_a_time(tmp_path):
    with Log(tmp_path / "visits.jsonl"), pytest.raises(ValueError, match="is open in another"):
        Log(tmp_path / "visits.jsonl")
    Log(tmp_path / "visits.jsonl").close()
    log = SnapshotLog(tmp_path / "folder")
    with pytest.raises(ValueError, match="one process at a time may open a folder"):
        SnapshotLog(tmp_path / "folder")
    log.close()
    SnapshotLog(tmp_path / "folder").close()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_write_that_fails_closes_the_log_and_loses_nothing_before_it(kind, tmp_path, monkeypatch):
    log = Log(tmp_path / "visits.jsonl") if kind == "file" else SnapshotLog(tmp_path)
    if kind == "folder":
        log.renew({})
    log.append(EVENTS[0])

    def failing(descriptor):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        with pytest.raises(OSError, match="Input/output error"):
            log.append(EVENTS[1])
    assert log.closed
    assert log.lines == 1
    with pytest.raises(ValueError, match="a journal is closed between two calls"):
        log.append(EVENTS[2])
    again = Log(tmp_path / "visits.jsonl") if kind == "file" else SnapshotLog(tmp_path)
    assert again.events in (EVENTS[:1], EVENTS[:2])
    again.close()


def test_an_interrupt_in_the_middle_of_a_write_is_raised_after_it(tmp_path, monkeypatch):
    sync, calls = os.fsync, []

    def interrupted(descriptor):
        calls.append(descriptor)
        if len(calls) == 1:
            raise KeyboardInterrupt
        sync(descriptor)

    with Log(tmp_path / "visits.jsonl") as log:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                log.append(*EVENTS[:2])
        assert log.lines == 2
        log.append(EVENTS[2])
    with Log(tmp_path / "visits.jsonl") as log:
        assert log.events == EVENTS


def test_snapshots_begin_new_logs_with_the_mode_of_the_old_ones(tmp_path):
    log = SnapshotLog(tmp_path / "folder")
    assert log.is_new
    log.renew({"count": 0})
    for path in (tmp_path / "folder").glob("*.json*"):
        path.chmod(0o600)
    log.append(*EVENTS)
    log.renew({"count": 3})
    log.append(EVENTS[0])
    log.close()
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["journal-2.jsonl", "lock", "snapshot.json"]
    for path in (tmp_path / "folder").glob("*.json*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = SnapshotLog(tmp_path / "folder")
    assert (again.snapshot["count"], again.events, again.number) == (3, EVENTS[:1], 2)
    again.close()


def test_a_log_stays_where_it_was_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = Log("visits.jsonl")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    log.append(EVENTS[0])
    assert log.path == tmp_path / "visits.jsonl"
    log.close()


def test_lines_of_version_0_1_0_are_read_with_the_same_suspicion():
    text = b'{"n":1,"ask":[[1,"A21"]]}'
    old = b"%08x %s" % (zlib.crc32(text), text)
    assert event_of(old) == {"n": 1, "ask": [[1, "A21"]]}
    new = line_of({"n": 1, "ask": [[1, "A21"]]})[:-1]
    for line in (old, new):
        for at in range(len(line)):
            for bit in range(8):
                damaged = bytearray(line)
                damaged[at] ^= 1 << bit
                assert event_of(bytes(damaged)) is None
