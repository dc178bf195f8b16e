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
from allais.lotteries import Discrete
from allais.people.data.choices import Choices
from allais.people.data.choices_builder import Rows, lottery_of_pairs
from allais.people.data.design import CERTAINTY_EQUIVALENT


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


def plain_option(lottery: Discrete) -> Any:
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
    for row, told in enumerate(content.splitlines() if listed is None else listed, start=1):
        if listed is not None or told.strip():
            with built.row(row):
                _take(built, _parsed(told) if listed is None else told)
    return Choices(**built.columns())


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        raise ValueError(f"a line must be JSON; got {brief(line)}. Repair it.") from None
    except RecursionError:
        raise ValueError("a line must be JSON that is not hundreds of lists deep. Repair it.") from None


def _listed(content: str) -> list[Any] | None:
    """The answers of one document, such as an interview or its page leaves; None for lines."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    answers = document.get("answers") if isinstance(document, dict) else None
    return answers if isinstance(answers, list) else None


def _take(built: Rows, told: Any) -> None:
    if not isinstance(told, dict):
        raise ValueError(f"an answer is written in braces; got {brief(told)}. Repair it.")
    person, trial, count = told.get("person"), told.get("trial"), told.get("count", 1)
    if "amount" in told and "lottery" in told:
        built.equivalent(person, _option(told["lottery"]), told["amount"], trial, count)
    elif isinstance(told.get("options"), list) and "chosen" in told:
        built.choice(person, [_option(one) for one in told["options"]], told["chosen"], trial, count)
    else:
        raise ValueError("an answer has options and chosen, or a lottery and an amount; something is missing. Add it.")


def _option(given: Any) -> Any:
    if not isinstance(given, list):
        return given
    try:
        return lottery_of_pairs(given)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"an option is an amount, or pairs of outcome and probability; got {brief(given)} ({error}). Repair it."
        ) from None
