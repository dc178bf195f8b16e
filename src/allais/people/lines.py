"""Choices as JSON lines: {"person": "ann", "options": [[[50, 0.1], [0, 0.9]], 7], "chosen": 0}."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from allais._checks import brief
from allais.errors import MissingFile
from allais.files.atomic import write_atomically
from allais.lotteries import Discrete, FiniteLottery
from allais.people.arrays import CERTAINTY_EQUIVALENT
from allais.people.building import Rows, refuse
from allais.people.choices import Choices


def write_lines(choices: Choices, path: Path) -> None:
    """Write one line per answer."""
    lines = []
    for row in range(len(choices)):
        options = [_plain(one) for one in choices.options(row)]
        told: dict[str, Any] = {"person": choices.people[choices.person[row]]}
        if choices.chosen[row] == CERTAINTY_EQUIVALENT:
            told |= {"lottery": options[0], "amount": float(choices.amount[row])}
        else:
            told |= {"options": options, "chosen": int(choices.chosen[row])}
        lines.append(json.dumps(told))
    write_atomically(path, "\n".join(lines) + "\n")


def _plain(lottery: FiniteLottery) -> Any:
    pairs = [list(pair) for pair in zip(lottery.outcomes.tolist(), lottery.probabilities.tolist(), strict=True)]
    return pairs[0][0] if len(pairs) == 1 else pairs


def read_lines(path: Path) -> Choices:
    """The answers of a file, one line each; other keys than those of an answer are passed over."""
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingFile(f"choices are read from a file; {path} does not exist. Check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"choices are read from JSON lines; {path} cannot be read ({error}). Check it.") from None
    built = Rows()
    for row, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            _take(built, row, line)
    return built.done()


def _take(built: Rows, row: int, line: str) -> None:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        refuse(row, f"a line must be JSON; got {brief(line)}.")
    if not isinstance(told, dict):
        refuse(row, f"a line must be an answer in braces; got {brief(line)}.")
    person, trial = told.get("person"), told.get("trial")
    if "amount" in told and "lottery" in told:
        built.equivalent(row, person, _option(row, told["lottery"]), told["amount"], trial)
    elif isinstance(told.get("options"), list) and "chosen" in told:
        built.choice(row, person, [_option(row, one) for one in told["options"]], told["chosen"], trial)
    else:
        refuse(row, "an answer has options and chosen, or a lottery and an amount; something is missing.")


def _option(row: int, given: Any) -> Any:
    if not isinstance(given, list):
        return given
    try:
        chances: dict[float, float] = {}
        for outcome, chance in given:
            chances[outcome] = chances.get(outcome, 0.0) + chance
        return Discrete(chances)
    except (ValueError, TypeError) as error:
        refuse(row, f"an option is an amount, or pairs of outcome and probability; got {brief(given)} ({error}).")
