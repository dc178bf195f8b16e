"""Tables of choices: every kind is read alike, and a wrong row is refused with its number."""

import json
import re

import numpy as np
import pytest

from allais import Discrete
from allais.people import Choices

SURE = {
    "person": ["007", "007", "8"],
    "win": [13, 13, 20],
    "probability": [0.5, 0.0, 1.0],
    "sure": [5, 5, 5],
    "took_lottery": [1, 0, 1],
}
GAMBLES = {"person": ["a", "b"], "gain": [10, 20], "loss": [5, 0], "accepted": [1, 0]}


def changed(table, column, row, cell):
    return {name: [cell if (name, i) == (column, row) else one for i, one in enumerate(cells)]
            for name, cells in table.items()}  # fmt: skip


def same(first, second):
    assert first.people == second.people
    assert [first.options(i) for i in range(len(first))] == [second.options(i) for i in range(len(second))]
    np.testing.assert_array_equal(first.chosen, second.chosen)
    np.testing.assert_array_equal(first.amount, second.amount)


def test_a_lottery_or_a_sure_amount():
    choices = Choices.lottery_or_sure(SURE)
    assert choices.people == ("007", "8")
    assert choices.options(0) == (Discrete({13: 0.5, 0: 0.5}), Discrete({5: 1.0}))
    assert choices.options(1)[0] == Discrete({0: 1.0})
    assert choices.chosen.tolist() == [0, 1, 0]
    assert choices.rates().tolist() == [0.5, 1.0]


def test_a_mixed_gamble_is_taken_or_left():
    choices = Choices.mixed_gambles(GAMBLES)
    assert choices.options(0) == (Discrete({10: 0.5, -5: 0.5}), Discrete({0: 1.0}))
    assert choices.options(1)[0] == Discrete({20: 0.5, 0: 0.5})


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "csv"])
def test_tables_of_every_kind_are_read_alike(kind, tmp_path):
    if kind == "csv":
        names = list(SURE)
        lines = [",".join(map(str, row)) for row in zip(*SURE.values(), strict=True)]
        (tmp_path / "t.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
        table = tmp_path / "t.csv"
    else:
        module = pytest.importorskip(kind)
        table = module.table(SURE) if kind == "pyarrow" else module.DataFrame(SURE)
    same(Choices.lottery_or_sure(table), Choices.lottery_or_sure(SURE))


def test_any_table_by_its_columns():
    table = {"who": [1.0, 2.0], "x": [50, 40], "p": [0.1, 0.2], "text": ["7:1", "30:0.5,-5:0.5"], "took": ["L", "R"]}
    options = {"L": [("x", "p"), (0, None)], "R": "text"}
    choices = Choices.from_table(table, options=options, person="who", chosen="took")
    assert choices.people == ("1", "2")
    assert choices.options(1) == (Discrete({40: 0.2, 0: 0.8}), Discrete({30: 0.5, -5: 0.5}))
    assert choices.chosen.tolist() == [0, 1]


def test_who_takes_what_is_worse_in_everything_is_known():
    half, less, sure = {50: 0.5, 0: 0.5}, {50: 0.4, 0: 0.6}, 20
    rows = [("ann", [half, less], 0), ("ann", [less, half], 0), ("ann", [half, sure], 0), ("ann", [half, half], 0),
            ("bob", [half, sure], 1), ("bob", [half, less, sure], 1)]  # fmt: skip
    choices = Choices.from_rows(rows)
    assert choices.attention() == {"ann": (2, 1), "bob": (0, 0)}
    assert choices.attention(costs=True) == {"ann": (2, 1), "bob": (0, 0)}
    assert Choices.from_rows(rows[:1]).attention(costs=True)["ann"] == (1, 0)
    assert Choices.from_rows([("ann", [0, 5], 1), ("ann", [{13: 1.0}, 5], 0)]).attention()["ann"] == (2, 2)


def test_lines_come_back_as_they_were_written(tmp_path):
    amounts = {"person": ["z"], "x": [50], "p": [0.1], "amount": [8]}
    choices = Choices.lottery_or_sure(SURE) + Choices.certainty_equivalents(amounts, lottery=[("x", "p"), (0, None)])
    choices.write(tmp_path / "choices.jsonl")
    same(Choices.read(tmp_path / "choices.jsonl"), choices)


def test_two_tables_are_one_and_a_part_is_a_table():
    both = Choices.lottery_or_sure(SURE) + Choices.from_rows([("8", [1, 2, 3], 2), ("new", [Discrete({5: 1.0}), 0], 0)])
    assert both.people == ("007", "8", "new")
    assert [len(both.options(i)) for i in range(5)] == [2, 2, 2, 3, 2]
    part = both.of("8")
    assert part.options(1) == (Discrete({1: 1.0}), Discrete({2: 1.0}), Discrete({3: 1.0}))
    assert part.options(0) == both.options(2)


def test_rows_without_an_answer_are_dropped_if_that_is_wanted():
    table = changed(SURE, "took_lottery", 1, None)
    assert len(Choices.lottery_or_sure(table, missing="drop")) == 2


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Choices.lottery_or_sure(changed(SURE, "took_lottery", 1, None)), "row 2: a row must have an answer"),
        (lambda: Choices.lottery_or_sure(changed(SURE, "took_lottery", 2, 7)), "row 3: took_lottery must be 1 or 0"),
        (lambda: Choices.lottery_or_sure(changed(SURE, "probability", 0, 1.2)), "row 1: probability must lie in"),
        (lambda: Choices.lottery_or_sure(changed(SURE, "win", 2, "much")), "row 3: win must be a number; got 'much'"),
        (lambda: Choices.lottery_or_sure(changed(SURE, "person", 2, "")), "row 3: a choice is that of a person"),
        (lambda: Choices.lottery_or_sure(SURE, win="wins"), "'wins' is not. Did you mean 'win'?"),
        (lambda: Choices.lottery_or_sure({**SURE, "trial": [1, 1, 1]}, trial="trial"),
         "row 2: a person answers a trial once; 007 has answered trial 1 in row 1 already"),
        (lambda: Choices.mixed_gambles(changed(GAMBLES, "loss", 1, -3)), "row 2: loss is a positive amount"),
        (lambda: Choices.from_table({"person": ["a"], "x": [5], "p": [0.4], "y": [1], "q": [0.5], "chosen": ["L"]},
                                    options={"L": [("x", "p"), ("y", "q")], "R": [(0, 1.0)]}),
         "row 1: probabilities must sum to 1; got a sum of 0.9"),
        (lambda: Choices.from_table({"person": ["a"], "x": [5], "chosen": ["M"]}, options={"L": "x", "R": "x"}),
         "row 1: chosen must be one of L, R; got 'M'"),
        (lambda: Choices.from_table({"person": ["a"], "x": ["5:0.5,1:0.4"], "chosen": ["L"]},
                                    options={"L": "x", "R": "x"}), "row 1: probabilities must sum to 1"),
        (lambda: Choices.from_rows([("a", [1, 2], 0), ("a", [1, 2], 2)]), "row 2: chosen is the position"),
        (lambda: Choices.from_rows([("a", [1], 0)]), "row 1: a choice is between two options or more"),
        (lambda: Choices.from_rows([]), "at least one row"),
        (lambda: Choices.certainty_equivalents({"person": ["a"], "x": [5], "amount": [3]}, lottery="x"),
         "row 1: a certainty equivalent is that of a lottery"),
        (lambda: Choices.lottery_or_sure({**SURE, "win": [1]}), "columns of a table are equally long"),
        (lambda: Choices.lottery_or_sure(3.5), "a table is a DataFrame"),
        (lambda: Choices.lottery_or_sure("nowhere.csv"), "nowhere.csv does not exist"),
        (lambda: Choices.lottery_or_sure(SURE, missing="skip"), "missing is 'refuse' or 'drop'"),
        (lambda: Choices.lottery_or_sure(SURE).of("nobody"), "a person must have answers"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_refused_in_a_sentence_with_its_row(make, sentence):
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert sentence in str(caught.value)
    assert re.search(r"[.;] [A-Z][^;]*[.?]$", str(caught.value))  # what to do comes last


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "row 2: a line must be JSON"),
        ("3", "row 2: an answer is written in braces"),
        ('{"person": "a", "options": [1, 2]}', "row 2: an answer has options and chosen"),
        ('{"person": "a", "options": [[[1, 0.5]], 2], "chosen": 0}', "row 2: an option is an amount, or pairs"),
        ('{"person": "a", "options": [1, 2], "chosen": true}', "row 2: chosen is the position"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(line, sentence, tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"person": "a", "options": [1, 2], "chosen": 0}) + "\n" + line + "\n")
    with pytest.raises(ValueError, match=sentence):
        Choices.read(path)
