"""`allais interview` and `allais people study`, and what else reads the file that an interview leaves."""

import json
import re

import pytest
from typer.testing import CliRunner

from allais import Discrete, Preference
from allais.cli.app import app
from allais.people import Choices, Interview

RUN = CliRunner()
SHORT = ["--questions", "3", "--unit", "euros", "--seed", "1"]


@pytest.fixture(scope="module")
def alice(tmp_path_factory):
    """A file that an interview left, and what was shown."""
    path = tmp_path_factory.mktemp("alice") / "alice.json"
    done = RUN.invoke(app, ["interview", *SHORT, "--out", str(path)], input="A\nB\nA\n")
    assert done.exit_code == 0, done.output
    return path, done.output


def test_questions_are_drawn_with_bars_and_the_answer_is_a_preference(alice):
    path, shown = alice
    assert shown.count("A or B?") == 3
    assert "euros" in shown
    assert "█" in shown
    assert "A or B? b\n" in shown  # what came from a file is shown, as what is typed
    assert "interview of 3 answers" in shown
    assert isinstance(Preference.load(path), Preference)
    assert Choices.read(path).chosen.tolist() == [0, 1, 0]


def test_the_file_is_a_preference_on_the_command_line_and_in_a_spec(alice, tmp_path):
    path, _ = alice
    valued = RUN.invoke(app, ["value", "50:0.1,0:0.9", "7:1", "--preference", str(path)])
    assert valued.exit_code == 0, valued.output
    worth = Preference.load(path).certainty_equivalent(Discrete({50: 0.1, 0: 0.9}))
    assert f"feels like {worth:.6g} euros for sure" in valued.output  # the unit of the interview
    other = RUN.invoke(app, ["value", "7:1", "--preference", str(path), "--unit", "francs"])
    assert "feels like 7 francs for sure" in other.output
    spec = tmp_path / "spec.toml"
    spec.write_text(
        f'preference = "{path}"\nrounds = 20\nruns = 2\n'
        '[problem]\nlotteries = { bet = "50:0.1,0:0.9", sure = "7:1" }\n'
        '[rewards]\ntype = "Bounded"\nlow = 0\nhigh = 50\n[[policies]]\ntype = "NPTS"\n'
    )
    played = RUN.invoke(app, ["simulate", str(spec), "--workers", "1"])
    assert played.exit_code == 0, played.output
    assert "NPTS" in played.output


def test_an_answer_is_changed_skipped_and_kept_when_the_person_leaves(tmp_path):
    keep = tmp_path / "bob"
    first = RUN.invoke(app, ["interview", *SHORT, "--keep", str(keep)], input="A\nback\nB\nhm\nskip\nquit\n")
    assert first.exit_code == 0, first.output
    assert "Your answer is B now, and was A." in first.output
    assert 'Type A or B, or "back", "skip" or "quit".' in first.output
    with Interview.open(keep) as interview:
        assert [side for _, side in interview.answers] == ["B"]
    second = RUN.invoke(app, ["interview", *SHORT, "--keep", str(keep)], input="A\nA\n")
    assert second.exit_code == 0, second.output
    assert "interview of 3 answers" in second.output


def shown_in(output):
    """The questions of a conversation: the title of each with what was drawn below it."""
    parts = re.split(r"^─+ (Question .*?) ─+$", output, flags=re.MULTILINE)
    return [(title, drawn.partition("A or B?")[0]) for title, drawn in zip(parts[1::2], parts[2::2], strict=True)]


def test_going_back_shows_the_question_again_and_then_goes_on_where_it_was(tmp_path):
    keep = tmp_path / "bob"
    said = "back\nA\nB\nback\nback\nB\nback\nskip\nquit\n"
    done = RUN.invoke(app, ["interview", *SHORT, "--keep", str(keep)], input=said)
    assert done.exit_code == 0, done.output
    assert "This is the first question" in done.output
    shown = shown_in(done.output)
    titles = [title.partition(",")[0] for title, _ in shown]
    assert titles == [
        "Question 1", "Question 1", "Question 2", "Question 3", "Question 2 again", "Question 1 again", "Question 3",
        "Question 2 again", "Question 3",
    ]  # fmt: skip
    drawn = [text.partition("You answered")[0].strip() for _, text in shown]
    assert drawn[4] == drawn[7] == drawn[2]
    assert drawn[5] == drawn[0]
    assert drawn[3] == drawn[6] == drawn[8]
    assert "You answered B." in shown[4][1]
    with Interview.open(keep) as interview:
        assert [side for _, side in interview.answers] == ["B", "B"]


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ([], "Which would you rather have?"),
        (["--costs", "--unit", "minutes"], "Which would you rather wait?"),
        (["--costs", "--unit", "euros"], "Which cost would you rather bear?"),
    ],
)
def test_costs_are_not_offered_as_gains(words, asked, tmp_path):
    given = ["interview", "--questions", "1", "--stakes", "0,60", *words]
    done = RUN.invoke(app, [*given, "--out", str(tmp_path / "ann.json")], input="A\n")
    assert done.exit_code == 0, done.output
    assert asked in done.output
    assert Preference.load(tmp_path / "ann.json").costs == ("--costs" in words)
    assert Interview.load(tmp_path / "ann.json").answers[0][0].wording.startswith(asked)


def test_a_decision_ends_an_interview(tmp_path):
    arms = ["--decide", "200:0.9,0:0.1", "--decide", "0:1"]
    done = RUN.invoke(app, ["interview", *SHORT, *arms], input="")
    assert done.exit_code == 0, done.output
    assert "A or B?" not in done.output  # nobody would take nothing


def test_a_page_is_written(tmp_path):
    page = tmp_path / "interview.html"
    done = RUN.invoke(app, ["interview", "--page", str(page), "--family", "prelec"])
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    plan = json.loads(text.partition('id="plan">')[2].partition("</script>")[0])
    assert plan["questions"] == 20


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--family", "ctp"], "there is no family 'ctp'. Did you mean 'cpt'?"),
        (["--stakes", "5"], "stakes are two numbers"),
        (["--decide", "7:1"], "a decision is between two arms or more; got 1"),
        (["--out", "/nowhere/a.json"], "cannot be written: its folder does not exist"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(words, sentence):
    done = RUN.invoke(app, ["interview", *words])
    assert done.exit_code == 2
    assert sentence in done.output


@pytest.mark.parametrize("family", ["cpt", "cpt-two-weights", "prelec", "utility"])
def test_every_family_can_be_asked_about(family, tmp_path):
    done = RUN.invoke(app, ["interview", "--family", family, "--questions", "1"], input="A\n")
    assert done.exit_code == 0, done.output
    assert "interview of 1 answer\n" in done.output


def test_the_study_prints_and_writes_its_table(tmp_path):
    out = tmp_path / "study.md"
    sizes = ["--people", "2", "--questions", "2", "--rounds", "50", "--runs", "1"]
    done = RUN.invoke(app, ["people", "study", *sizes, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "|" not in done.output  # a table for people; that for files is Markdown
    for text in (done.output, out.read_text(encoding="utf-8")):
        assert "fitted after the interview" in text
        assert "2 people drawn from the prior of cumulative prospect theory, 2 questions each, seed 1" in text


def test_the_study_says_at_once_what_it_does_and_how_long_it_takes():
    """By default it takes minutes: without a word, a pipe looks as if it waited for something."""
    done = RUN.invoke(app, ["people", "study", "--people", "2", "--questions", "1", "--rounds", "20", "--runs", "1"])
    first, second = done.stderr.splitlines()[:2]
    assert first.startswith("2 simulated people are asked 1 questions each, then served for 20 rounds; nothing is read")
    assert re.match(r"1 of 2 people; about .* to go", second)
