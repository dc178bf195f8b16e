"""Folders of a learner go on where they were left."""

import numpy as np
import pytest

from allais import WLUCB, WSR, Bounded, Learner
from allais.learner import NotNow, journal
from allais.policies import EXP3
from tests.learner.test_journal import (
    ARMS,
    OUTCOMES,
    PEOPLE,
    document_in,
    mixed,
    opened,
    perform,
)

# -- going on -----------------------------------------------------------------------------------------


def test_a_folder_goes_on_where_it_was_left(tmp_path):
    operations, documents = mixed(60, seed=3)
    for operation, before, after in zip(operations, documents, documents[1:], strict=False):
        with opened(tmp_path / "new" / "folder") as learner:
            assert learner.snapshot() == before
            perform(learner, operation)
            assert learner.snapshot() == after


@pytest.mark.parametrize(
    "policy",
    [EXP3(Bounded(0, 50)), WLUCB(PEOPLE, Bounded(0, 50), delta=0.1), WSR(PEOPLE, budget=40)],
    ids=["EXP3", "W-LUCB", "W-SR"],
)
def test_every_kind_of_policy_goes_on_with_the_same_choices(policy, tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "FEWEST_LINES", 6)
    twin = policy.start(ARMS, seed=1)
    for day in range(6):
        with opened(tmp_path, policy) as learner:
            assert learner.outstanding == twin.outstanding
            for turn in range(9):
                try:
                    expected = twin.ask(2)
                except NotNow:
                    with pytest.raises(NotNow):
                        learner.ask(2)
                else:
                    assert learner.ask(2) == expected
                for choice in twin.outstanding[: 1 + turn % 3]:
                    for one in (learner, twin):
                        one.tell(choice, OUTCOMES[(choice.id + day) % 5])
            assert learner.recommend() == twin.recommend()


def test_snapshots_keep_everything_and_remove_the_journals_before_them(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "FEWEST_LINES", 5)
    operations, documents = mixed(200, seed=4)
    with opened(tmp_path) as learner:
        for operation in operations:
            perform(learner, operation)
            assert len(list(tmp_path.glob("journal-*.jsonl"))) == 1
    (last,) = tmp_path.glob("journal-*.jsonl")
    assert int(last.stem.removeprefix("journal-")) > 3
    assert len(last.read_text().splitlines()) < 60
    assert not list(tmp_path.glob("*.tmp"))
    assert document_in(tmp_path) == documents[-1]


def test_a_folder_of_many_distinct_outcomes_goes_on_exactly(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "FEWEST_LINES", 30)
    rng = np.random.default_rng(6)
    for _ in range(3):
        with opened(tmp_path) as learner:
            learner.observe("A28", rng.uniform(0, 50, 100))
            for _ in range(200):
                learner.tell(learner.ask(), rng.uniform(0, 50))
            live = learner.snapshot()
        assert document_in(tmp_path) == live


def test_the_more_there_is_to_write_the_rarer_are_snapshots(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "FEWEST_LINES", 4)
    with opened(tmp_path) as learner:
        learner.observe("A21", np.linspace(0, 50, 1000))
        for _ in range(50):
            learner.observe("A21", [7.0])
    (last,) = tmp_path.glob("journal-*.jsonl")
    assert last.name in ("journal-1.jsonl", "journal-2.jsonl")


def test_a_refused_call_writes_nothing(tmp_path):
    with opened(tmp_path) as learner:
        choice = learner.ask()
        before, written = learner.snapshot(), (tmp_path / "journal-1.jsonl").read_bytes()
        for bad in (
            lambda: learner.tell(choice, float("nan")),
            lambda: learner.tell(choice, 51.0),
            lambda: learner.tell(99, 1.0),
            lambda: learner.cancel(99),
            lambda: learner.observe("A21", [1.0, -1.0]),
            lambda: learner.observe("A21", ["seven"]),
            lambda: learner.observe("A21", 7.0),
            lambda: learner.forget("A21", 1.0),
            lambda: learner.add("A21"),
            lambda: learner.retire("A99"),
            lambda: learner.ask(0),
        ):
            with pytest.raises(ValueError, match=r"must|only|an arm"):
                bad()
        assert (tmp_path / "journal-1.jsonl").read_bytes() == written
        assert learner.snapshot() == before


def test_a_copy_lives_in_memory_and_a_saved_one_in_its_file(tmp_path):
    with opened(tmp_path / "folder") as learner:
        learner.observe("A21", [7.0])
        twin = learner.copy()
        learner.save(tmp_path / "learner.json")
        twin.observe("A21", [50.0])
        assert learner.samples == 1
    assert twin.ask().id == 1  # the folder is closed, and the copy does not mind
    assert document_in(tmp_path / "folder") == Learner.load(tmp_path / "learner.json").snapshot()
