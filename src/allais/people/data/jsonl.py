"""Choices as JSON lines, {"person": "ann", "options": [[[50, 0.1], [0, 0.9]], 7], "chosen": 0}, or as one document.

An answer that was given several times may have a "count".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from allais._checks import brief
from allais.errors import MissingFile
from allais.files.atomic import write_atomically
from allais.lotteries import Discrete, FiniteLottery
from allais.people.data.arrays import CERTAINTY_EQUIVALENT
from allais.people.data.choices import Choices, Rows, refuse


def write_lines(choices: Choices, path: Path) -> None:
    """Write one line per answer."""
    lines = []
    for row in range(len(choices)):
        options = [plain_option(one) for one in choices.options(row)]
        told: dict[str, Any] = {"person": choices.people[choices.person[row]]}
        if choices.chosen[row] == CERTAINTY_EQUIVALENT:
            told |= {"lottery": options[0], "amount": float(choices.amount[row])}
        else:
            told |= {"options": options, "chosen": int(choices.chosen[row])}
        if choices.count[row] != 1:
            told["count"] = int(choices.count[row])
        lines.append(json.dumps(told))
    write_atomically(path, "\n".join(lines) + "\n")


def plain_option(lottery: FiniteLottery) -> Any:
    """An option as JSON has it: pairs of outcome and probability, or a sure amount."""
    pairs = [list(pair) for pair in zip(lottery.outcomes.tolist(), lottery.probabilities.tolist(), strict=True)]
    return pairs[0][0] if len(pairs) == 1 else pairs


def read_lines(path: Path) -> Choices:
    """The answers of a file: one per line, or a list called "answers". Other keys are passed over."""
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingFile(f"choices are read from a file; {path} does not exist. Check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"choices are read from JSON lines; {path} cannot be read ({error}). Check it.") from None
    built = Rows()
    listed = _listed(content)
    if listed is not None:
        for row, told in enumerate(listed, start=1):
            with built.row():
                _take(built, row, told)
        return built.done()
    for row, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            with built.row():
                _take(built, row, _parsed(row, line))
    return built.done()


def _parsed(row: int, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        refuse(row, f"a line must be JSON; got {brief(line)}. Repair it.")
    except RecursionError:
        refuse(row, "a line must be JSON that is not hundreds of lists deep. Repair it.")


def _listed(content: str) -> list[Any] | None:
    """The answers of one document, such as an interview or its page leaves; None for lines."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    answers = document.get("answers") if isinstance(document, dict) else None
    return answers if isinstance(answers, list) else None


def _take(built: Rows, row: int, told: Any) -> None:
    if not isinstance(told, dict):
        refuse(row, f"an answer is written in braces; got {brief(told)}. Repair it.")
    person, trial, count = told.get("person"), told.get("trial"), told.get("count", 1)
    if "amount" in told and "lottery" in told:
        built.equivalent(row, person, _option(row, told["lottery"]), told["amount"], trial, count)
    elif isinstance(told.get("options"), list) and "chosen" in told:
        built.choice(row, person, [_option(row, one) for one in told["options"]], told["chosen"], trial, count)
    else:
        refuse(row, "an answer has options and chosen, or a lottery and an amount; something is missing. Add it.")


def _option(row: int, given: Any) -> Any:
    if not isinstance(given, list):
        return given
    try:
        chances: dict[float, float] = {}
        for outcome, chance in given:
            chances[outcome] = chances.get(outcome, 0.0) + chance
        return Discrete(chances)
    except (ValueError, TypeError) as error:
        refuse(
            row,
            f"an option is an amount, or pairs of outcome and probability; got {brief(given)} ({error}). Repair it.",
        )
