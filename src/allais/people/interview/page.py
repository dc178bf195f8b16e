"""An interview as one HTML page that needs nothing else: to send round, and to open from disk on any device.

Its questions depend on the answers, and still its script knows no preference. The page holds, for people drawn from the
prior, how likely each of them takes A in each candidate question. The script weighs these people by the answers and
asks what tells most: what `Interview` does, over a table. So no formula is written twice, any family can be asked
about, and the numbers are fitted afterwards by the library, exactly, from the answers.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from allais._random import Seed, generator
from allais.files.atomic import write_atomically
from allais.people.data.choices import Choices
from allais.people.data.jsonl import plain_option
from allais.people.interview.candidates import checked_stakes, pool
from allais.people.interview.questions import asked_about
from allais.people.model.family import Family
from allais.people.model.parameters import Prior
from allais.report.markup import render, static, style

PLACE = "people/interview"  # of templates and static files
PAIRS, PEOPLE = 300, 500  # a table of 150 kB; more of either moved the error after 20 questions by less than its own
CHECK_EVERY = 8
INTRO = (
    "You will see pairs of options. Say which one you would rather {verb}; nothing is right or wrong. "
    "A bar shows how likely each outcome is."
)
OUTRO = "Your answers are on this device only. Download them, and give the file to whoever asked you."


def write_page(
    family: Family,
    path: str | Path,
    stakes: tuple[float, float] = (-50.0, 200.0),
    *,
    seed: Seed,
    prior: Prior | None = None,
    questions: int = 20,
    unit: str = "",
    title: str = "A few questions",
) -> None:
    """Write the page of an interview; what people download from it, `Choices.read` reads.

    Args:
        family: The form of the preference.
        path: The HTML file.
        stakes: The least and the greatest outcome of a question.
        seed: The seed of the questions.
        prior: What is known about the parameters; by default the family's own prior.
        questions: How many questions are asked.
        unit: What outcomes are measured in.
        title: The heading of the page.

    >>> from allais.people import Family, write_page
    >>> write_page(Family(stake=100), "interview.html", (-50, 200), seed=1, unit="euros")
    >>> round(Path("interview.html").stat().st_size / 1e6, 1)
    0.2
    """
    asked = family if prior is None else family.with_prior(prior)
    plan = planned(asked, checked_stakes(stakes), seed, questions, unit)
    page = render(
        f"{PLACE}/templates/page.html.j2", title=title, plan=plan, script=static(f"{PLACE}/static/interview.js"),
        style=style(f"{PLACE}/static/interview.css"),
    )  # fmt: skip
    write_atomically(Path(path), page)


def planned(family: Family, stakes: tuple[float, float], seed: Seed, questions: int, unit: str) -> dict[str, Any]:
    """What the page's script reads."""
    if isinstance(questions, bool) or not isinstance(questions, int) or not 1 <= questions <= PAIRS:
        raise ValueError(f"a page asks 1 to {PAIRS} questions; got {questions!r}. Give a whole number.")
    asking = asked_about(family.costs, unit)
    rng = generator(seed)
    made = pool(family, stakes, PAIRS, rng)
    turned = rng.random(PAIRS + len(made.checks)) < 0.5
    pairs = [pair[::-1] if turned[k] else pair for k, pair in enumerate(made.pairs)]
    checks = [pair[::-1] if turned[PAIRS + k] else pair for k, pair in enumerate(made.checks)]
    people = family.natural(family.prior.draw(PEOPLE, rng))
    chance = np.exp(family.log_chances(people, Choices.from_rows([("any", pair, 0) for pair in pairs])))
    table = np.clip(np.floor(chance.T * 256.0), 0, 255).astype(np.uint8)
    places = [
        int(rng.integers(max(start, 1), start + CHECK_EVERY)) for start in range(0, questions, CHECK_EVERY)
    ]  # never the first question
    plan = {
        "questions": questions,
        "unit": unit,
        "reference": family.reference,
        "costs": family.costs,
        "asking": asking,
        "intro": INTRO.format(verb=asking.rpartition(" ")[2].rstrip("?"))
        + (" Less is better." if family.costs else ""),
        "outro": OUTRO,
        "people": PEOPLE,
        "pairs": [[plain_option(one) for one in pair] for pair in pairs],
        "checks": [[plain_option(one) for one in pair] for pair in checks[: len(places)]],
        "check_places": places,
        "chances": base64.b64encode(table.tobytes()).decode(),
    }
    return {"id": hashlib.sha256(json.dumps(plan).encode()).hexdigest()[:12], **plan}
