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


@pytest.mark.parametrize("empty", [None, "", "n/a", "NA", " na ", float("nan")])
@pytest.mark.parametrize("column", ["took_lottery", "win"])
def test_rows_with_an_empty_cell_are_dropped_if_that_is_wanted(column, empty):
    choices = Choices.lottery_or_sure(changed(SURE, column, 1, empty), missing="drop")
    assert len(choices) == 2
    assert choices.n_dropped == 1


def test_an_option_may_be_called_none():
    table = {"person": ["a", "a"], "x": [5, 6], "chosen": ["none", "x"]}
    assert Choices.from_table(table, options={"x": "x", "none": [(0, 1)]}).chosen.tolist() == [1, 0]


def test_blanks_around_a_name_make_nobody_else():
    choices = Choices.lottery_or_sure({**SURE, "person": ["ann", " ann ", "ann\t"]})
    assert choices.people == ("ann",)
    assert Choices.from_rows([("ann ", [1, 2], 0), ("ann", [1, 2], 1)]).people == ("ann",)


def test_all_rows_that_cannot_be_read_are_named_in_one_message(tmp_path):
    lines = ["person,win,probability,sure,took_lottery"]
    lines += [f"a,13,{0.5 if i % 4 else 1.5},5,{i % 2}" for i in range(60)]
    lines[3:5] = ["a,13,0.5,5", ",13,0.5,5,1"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match="cannot be read") as caught:
        Choices.lottery_or_sure(tmp_path / "t.csv")
    first, *listed = str(caught.value).splitlines()
    assert first == "17 of 60 rows cannot be read. Repair them, or leave them out:"
    assert [line.partition(":")[0].strip() for line in listed[:4]] == ["line 2", "line 4", "line 5", "line 6"]
    assert "this one has 4" in listed[1]
    assert "person is empty" in listed[2]
    assert listed[-1] == "  and 7 more"
    assert len(listed) == 11


def test_two_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("person,gain,loss,loss,accepted\na,1,2,3,1\n")
    with pytest.raises(ValueError, match="two called 'loss'"):
        Choices.mixed_gambles(tmp_path / "t.csv")


COUNTED = {"person": ["x", "x"], "gain": [10, 20], "loss": [5, 15], "accepted": [12, 7], "n": [30, 30]}


def test_counts_are_as_many_answers():
    choices = Choices.mixed_gambles(COUNTED, of="n")
    assert repr(choices) == "<Choices: 60 answers of 1 person>"
    assert choices.rates() == pytest.approx([19 / 60])
    each = choices.one_by_one()
    assert len(each) == each.n_answers == 60
    shares = Choices.mixed_gambles({**COUNTED, "accepted": [0.4, 0.23]}, rate_of="n")
    same(shares, choices)
    np.testing.assert_array_equal(shares.count, choices.count)
    left = Choices.from_table(
        {"k": [12], "n": [30], "x": [5], "y": [7], "person": ["a"]}, options={"L": "x", "R": "y"}, chosen="k", of="n"
    )
    assert left.count.tolist() == [12, 18]


def test_counts_come_back_from_lines_and_from_a_part_and_a_sum(tmp_path):
    choices = Choices.mixed_gambles(COUNTED, of="n") + Choices.mixed_gambles(GAMBLES)
    choices.write(tmp_path / "c.jsonl")
    again = Choices.read(tmp_path / "c.jsonl")
    same(again, choices)
    assert again.count.tolist() == choices.count.tolist() == [12, 18, 7, 23, 1, 1]
    assert choices.of("x").n_answers == 60


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Choices.lottery_or_sure(changed(SURE, "took_lottery", 1, None)), "row 2: took_lottery must not be"),
        (lambda: Choices.lottery_or_sure(changed(SURE, "took_lottery", 2, 7)), "row 3: took_lottery must be 1 or 0"),
        (lambda: Choices.lottery_or_sure(changed(SURE, "probability", 0, 1.2)), "row 1: probability must lie in"),
        (lambda: Choices.lottery_or_sure(changed(SURE, "win", 2, "much")), "row 3: win must be a number; got 'much'"),
        (lambda: Choices.lottery_or_sure(changed(SURE, "person", 2, "")), "row 3: a choice needs a person"),
        (lambda: Choices.lottery_or_sure(SURE, win="wins"), "'wins' is not. Did you mean 'win'?"),
        (lambda: Choices.lottery_or_sure({**SURE, "trial": [1, 1, 1]}, trial="trial"),
         "row 2: a person answers a trial once; 007 has answered trial 1 in row 1 already"),
        (lambda: Choices.lottery_or_sure(changed(SURE, "took_lottery", 1, " n/a ")), "row 2: took_lottery must not be"),
        (lambda: Choices.lottery_or_sure(changed(SURE, "win", 1, "NA")), "row 2: win must not be empty; got 'NA'"),
        (lambda: Choices.lottery_or_sure(changed(SURE, "person", 1, "n/a"), missing="drop"), "person is empty"),
        (lambda: Choices.mixed_gambles({**GAMBLES, "n": [30, 30]}, of="n", rate_of="n"), "counts or rates; got"),
        (lambda: Choices.mixed_gambles({**GAMBLES, "n": [30, 0]}, of="n"), "row 2: n is how many were asked"),
        (lambda: Choices.mixed_gambles(changed({**GAMBLES, "n": [9, 9]}, "accepted", 0, 10), of="n"),
         "row 1: accepted is how many of 9 took it; got 10"),
        (lambda: Choices.mixed_gambles(changed({**GAMBLES, "n": [7, 7]}, "accepted", 0, 0.5), rate_of="n"),
         "row 1: accepted is the share of 7 who took it, to two digits; got 0.5"),
        (lambda: Choices.from_table({"person": ["a"], "x": [5], "k": [3], "n": [4]}, chosen="k", of="n",
                                    options={"L": "x", "M": "x", "R": "x"}), "counts and rates are those of two"),
        (lambda: Choices.from_rows([("a", [1, 2], 0, 0)]), "row 1: count must be a whole number"),
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
        (lambda: Choices.lottery_or_sure({**SURE, "win": [1]}), "columns of a table must be equally long"),
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
        ("{", "line 2: a line must be JSON"),
        ("3", "line 2: an answer is written in braces"),
        ('{"person": "a", "options": [1, 2]}', "line 2: an answer has options and chosen"),
        ('{"person": "a", "options": [[[1, 0.5]], 2], "chosen": 0}', "line 2: an option is an amount, or pairs"),
        ('{"person": "a", "options": [1, 2], "chosen": true}', "line 2: chosen is the position"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(line, sentence, tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"person": "a", "options": [1, 2], "chosen": 0}) + "\n" + line + "\n")
    with pytest.raises(ValueError, match=sentence):
        Choices.read(path)


def test_a_name_may_hold_a_separator_that_is_no_end_of_a_line(tmp_path):
    path = tmp_path / "answers.jsonl"  # as JSON.stringify writes U+2028
    answers = [{"person": "Ann\u2028Lee", "options": [1, 2], "chosen": k} for k in (0, 1)]
    path.write_text("\r\n".join(json.dumps(one, ensure_ascii=False) for one in answers), encoding="utf-8")
    assert Choices.read(path).people == ("Ann\u2028Lee",)
