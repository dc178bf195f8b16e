"""A database that version 0.2.0 wrote: joe's preference had a direction of its own there, and sent him the slow way."""

import json
import sqlite3
from pathlib import Path

import pytest

from allais import expected_value
from allais.serve.api.schemas import Decide
from allais.serve.core.restore import load, rows_of_experiments
from allais.serve.store.database import Database

DATA = Path(__file__).parents[1] / "data" / "0.2.0"


def test_what_was_chosen_stays_and_what_is_chosen_next_goes_by_the_experiments_direction(tmp_path):
    known = json.loads((DATA / "advisor.json").read_text())
    with sqlite3.connect(tmp_path / "advisor.db") as connection:
        connection.executescript((DATA / "advisor.sql").read_text())
    connection.close()
    database = Database(str(tmp_path / "advisor.db"))
    database.migrate()
    with database.connect() as connection:
        (row,) = rows_of_experiments(connection)
        experiment = load(connection, row)
    database.dispose()
    learner = experiment.learner
    assert learner.pulls == known["pulls"]
    assert learner.state.asked.tolist() == known["asked"]
    assert [list(choice) for choice in learner.outstanding] == known["outstanding"]
    assert learner.value() == pytest.approx(known["value"], rel=1e-12)
    assert (learner._engine.next, learner._engine.draw) == (known["next"], known["draw"])
    assert learner._engine.rng.bit_generator.state == known["generator"]  # every choice took its draw
    assert set(known["arms"]["joe"]) == {"slow"}
    answers = [experiment.decide(Decide(person="joe"), (1, expected_value()), 0.0)[0] for _ in range(20)]
    assert {answer["arm"] for answer in answers} == {"fast"}
