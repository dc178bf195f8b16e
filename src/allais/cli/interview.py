"""`allais interview`: a few questions in the terminal, or a page that asks them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from allais._checks import nearest
from allais.cli.options import Costs, Reference, Seed, console, require_writable, two_numbers, writing
from allais.cli.value import bar
from allais.lotteries.finite import lottery_of

if TYPE_CHECKING:
    from rich.console import Console

    from allais.people import Family, Interview, Question

FAMILIES = ("cpt", "cpt-two-weights", "prelec", "utility")  # as people/model/family.py has them: it is slow to load
COLOURS = {True: "blue", False: "yellow"}


def interview_command(
    family: Annotated[str, typer.Option(help=f"The family of preferences: {', '.join(FAMILIES)}.")] = "cpt",
    questions: Annotated[int, typer.Option(min=1, help="How many questions.")] = 20,
    stakes: Annotated[str, typer.Option(help="The least and the greatest outcome.")] = "-50,200",
    unit: Annotated[str, typer.Option(help='Of outcomes, such as "euros".')] = "",
    costs: Costs = False,
    reference: Reference = 0.0,
    decide: Annotated[list[str] | None, typer.Option(help='A lottery to decide about, such as "50:0.1,0:0.9"; several '
                      "times. It then stops as soon as the preferred one is sure.")] = None,
    sure: Annotated[float, typer.Option(help="How sure a decision must be.")] = 0.95,
    person: Annotated[str, typer.Option(help="Who is asked.")] = "one",
    out: Annotated[Path | None, typer.Option(help="Write the preference and the answers into this file.")] = None,
    keep: Annotated[Path | None, typer.Option(help="A folder that keeps every answer, to continue later.")] = None,
    page: Annotated[Path | None, typer.Option(help="Ask nobody; write an HTML page that asks (no server).")] = None,
    seed: Seed = 1,
) -> None:  # fmt: skip
    """Ask one person a few questions, and find the preference that the answers show.

    Answer with A or B; "back" shows the question before again, "skip" leaves one out, "quit" ends early. Examples:

    - `allais interview --family cpt --questions 20 --out alice.json`
    - `allais interview --decide "50:0.1,0:0.9" --decide "7:1" --keep alice`
    - `allais interview --page interview.html --stakes=-50,200 --unit euros`
    - `allais interview --costs --stakes 0,60 --unit minutes --family utility`
    """
    from allais.people import Interview, write_page

    ends = two_numbers("--stakes", stakes, "-50,200")
    model = _family(family, ends, reference, costs)
    if page is not None:
        require_writable(page)
        with writing(page):
            write_page(model, page, ends, seed=seed, questions=questions, unit=unit)
        typer.echo(f"The page is in {page}. What people download from it is read by Choices.read.")
        return
    require_writable(out)
    settings = {"stakes": ends, "questions": questions, "sure": sure, "person": person, "unit": unit, "seed": seed,
                "for_decision": {text: lottery_of(text) for text in decide} if decide else None}  # fmt: skip
    interview = Interview(model, **settings) if keep is None else Interview.open(keep, model, **settings)  # type: ignore[arg-type]
    with interview:
        screen = console()
        _converse(interview, screen)
        if out is not None:
            with writing(out):
                interview.save(out)
        _conclude(interview, screen, out)


def _family(name: str, stakes: tuple[float, float], reference: float, costs: bool) -> Family:
    from allais.people.model.family import family_named

    if name not in FAMILIES:
        raise ValueError(f"there is no family {name!r}.{nearest(name, FAMILIES)}")
    return family_named(name, stakes, reference=reference, costs=costs)


def _converse(interview: Interview, screen: Console) -> None:
    """Ask until it is settled, or the person has had enough."""
    while not interview.settled:
        question = interview.ask()
        _show(question, interview, screen, f"Question {len(interview.answers) + 1}, at most {interview.questions}")
        said = _said(screen)
        if said == "back":
            said = _go_back(interview, screen)
        elif said == "skip":
            interview.cancel(question)
        elif said != "quit":
            interview.tell(question, said)
        if said == "quit":
            return


def _said(screen: Console) -> str:
    words = {"a": "a", "b": "b", "back": "back", "skip": "skip", "quit": "quit", "q": "quit", "s": "skip"}
    while True:
        try:
            said = screen.input("A or B? ").strip().lower()
        except EOFError:
            screen.print()
            return "quit"
        if not sys.stdin.isatty():  # answers from a file are not on the screen yet
            screen.print(said, markup=False)
        if said in words:
            return words[said]
        screen.print('Type A or B, or "back", "skip" or "quit".')


def _go_back(interview: Interview, screen: Console) -> str:
    """Show the last question again, or an earlier one, and take a new answer; returns the word that ended it."""
    answers = interview.answers
    if not answers:
        screen.print("This is the first question: there is no answer to change yet.")
        return "back"
    place, said = len(answers), "back"
    while said == "back":
        place = max(place - 1, 0)
        question, side = answers[place]
        _show(question, interview, screen, f"Question {place + 1} again")
        screen.print(f'You answered {side}. Type A or B, "skip" to leave it so, or "back" for the one before.')
        said = _said(screen)
    if said in ("a", "b") and said.upper() != side:
        interview.revise(question, said)
        screen.print(f"Your answer is {said.upper()} now, and was {side}.")
    return said


def _show(question: Question, interview: Interview, screen: Console, title: str) -> None:
    screen.rule(title)
    screen.print(question.asking)
    screen.print(_drawn(question, interview))


def _drawn(question: Question, interview: Interview) -> Table:
    """Both options, each probability as a bar."""
    from allais.people.interview.candidates import SIDES, amount, percent

    table = Table(box=None, padding=(0, 1), show_header=False)
    table.add_column(justify="left")
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column()
    family = interview.family
    for side, lottery in zip(SIDES, question.options, strict=True):
        rows = list(zip(lottery.outcomes.tolist(), lottery.probabilities.tolist(), strict=True))[::-1]
        for k, (outcome, chance) in enumerate(rows):
            good = outcome <= family.reference if family.costs else outcome >= family.reference
            shown = "for sure" if len(rows) == 1 else percent(chance)
            filled = Text(bar(chance), COLOURS[good])
            table.add_row(Text(side if k == 0 else "", "bold"), Text(amount(outcome, question.unit)), shown, filled)
        table.add_row()
    return table


def _conclude(interview: Interview, screen: Console, out: Path | None) -> None:
    if not interview.answers:
        screen.print("No question was answered, so there is no preference to show.")
        return
    screen.rule("What the answers show")
    screen.print(Text(str(interview.fitted.summary())))
    checks = interview.attention
    if checks.passed == checks.asked > 0:  # if not, the summary says so
        screen.print(Text(str(checks)))
    for arm, chance in interview.decision.items():
        screen.print(Text(f"{arm} is preferred with a chance of {chance:.2f}"))
    if out is not None:
        screen.print(Text(f"The preference is in {out}: allais value --preference {out} ..."))
