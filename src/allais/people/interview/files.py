"""Interviews as files: to continue later, and as a page that a person opens on any device.

The first is a preference file that also holds the answers and everything that is needed to continue.

The page is one HTML file that needs nothing else. Its questions depend on the answers, and still its script knows no
preference: the page holds, for people drawn from the prior, how likely each of them takes A in each candidate question.
The script weighs these people by the answers and asks the question with the greatest expected information, as
`Interview` does, but over a table. So no formula is written twice, any family can be asked about, and the numbers are
fitted afterwards by the library, exactly, from the answers.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allais._checks import Seed, generator
from allais._checks import whole as whole_number
from allais.files import finite_list, generator_of, plain, require, undamaged, whole, write_atomically
from allais.files.log import SnapshotLog
from allais.learner.choices import NotNow
from allais.learner.journal import open_folder, whole_snapshot
from allais.people.data.choices import Choices
from allais.people.data.choices_builder import plain_option
from allais.people.inference.fitted import fitted_content
from allais.people.inference.posterior import Belief
from allais.people.interview.candidates import SIDES, Question, asked_about, checked_stakes, pool
from allais.people.interview.interview import Interview
from allais.people.model.family import Family
from allais.people.model.parameters import Prior
from allais.report.markup import render, static, style
from allais.settings import checked_trust, from_spec, read_document, to_spec, write_preference

SETTINGS = ("stakes", "questions", "sure", "checks", "person", "unit", "n_candidates", "n_particles")


def settings_of(interview: Interview) -> dict[str, Any]:
    """How an interview was set up, beside its family."""
    found = {name: getattr(interview, name) for name in SETTINGS}
    arms = [[name, plain_option(one)] for name, one in interview.arms.items()]
    return {**found, "stakes": list(interview.stakes), "for_decision": arms or None}


def content_of(interview: Interview) -> dict[str, Any]:
    """All that an interview is, as JSON has it."""
    return {
        "settings": settings_of(interview),
        "began": plain(interview._began_at),
        "generator": plain(interview._rng.bit_generator.state),
        "asked": [one.as_json() for one in interview._asked.values()],
        "told": [[id_, side] for id_, side in interview._told.items()],
        "out": interview._out,
        "particles": interview._belief.z.tolist(),
        "log_weights": interview._belief.log_weights.tolist(),
    }


def from_content(family: Family, content: dict[str, Any]) -> Interview:
    """The interview that a file describes; raises what damage raises."""
    settings = dict(content["settings"])
    arms = settings.pop("for_decision")
    given = None if arms is None else {name: dict(one) if isinstance(one, list) else one for name, one in arms}
    stakes = tuple(finite_list(settings.pop("stakes"), "the stakes").tolist())
    interview = Interview(family, None, stakes, seed=generator_of(content["began"]), for_decision=given, **settings)
    questions = [Question.from_json(one, interview.unit, family.costs) for one in content["asked"]]
    require([one.id for one in questions] == list(range(1, len(questions) + 1)), "questions must be numbered")
    interview._asked = {one.id: one for one in questions}
    for id_, side in content["told"]:
        require(id_ in interview._asked and id_ not in interview._told and side in SIDES, "an answer is invalid")
        interview._told[whole(id_, "the number of an answer")] = side
    out = content["out"]
    require(
        out is None or (out in interview._asked and out not in interview._told), "the current question was not asked"
    )
    interview._out = out
    rows = [finite_list(row, "a particle") for row in content["particles"]]
    log_weights = finite_list(content["log_weights"], "a weight")
    require(len(rows) == log_weights.size == interview.n_particles, "particles and weights must be complete")
    require(all(row.size == len(family.names) for row in rows), "a particle must have all parameters")
    interview._belief = Belief(np.array(rows), log_weights)
    interview._rng = generator_of(content["generator"])
    return interview


def write_interview(interview: Interview, path: Path) -> None:
    """Write it to one file."""
    with interview._journal.lock:
        answers = [
            {"person": interview.person, "trial": one.id, "options": one.as_json()["options"],
             "chosen": SIDES.index(side), "check": one.is_check}
            for one, side in interview.answers
        ]  # fmt: skip
        more = {
            "family": to_spec(interview.family),
            "fitted": fitted_content(interview.fitted),
            "answers": answers,
            "interview": content_of(interview),
        }
        write_preference(path, interview.preference, more)


def read_interview(path: Path, trust: Sequence[str]) -> Interview:
    """The interview that a file holds."""
    trusted = checked_trust(trust)
    document = read_document(path)
    if "interview" not in document:
        raise ValueError(f"{path} holds a preference without an interview. Use Preference.load or Fitted.load.")
    with undamaged("an interview", path):
        return from_content(_family(document["family"], trusted), document["interview"])


def _family(spec: Any, trust: tuple[str, ...]) -> Family:
    family = from_spec(spec, trust)
    require(isinstance(family, Family), "its family is missing")
    return family


# -- folders ------------------------------------------------------------------------------------------


def open_interview(folder: Path, family: Family | None, trust: Sequence[str], settings: dict[str, Any]) -> Interview:
    """The interview of a folder, made on the first call."""
    trusted = checked_trust(trust)

    def make(where: Path) -> tuple[Interview, dict[str, Any]]:
        if family is None or "seed" not in settings:
            raise ValueError(f"a new folder needs a family and a seed; {where} holds no interview yet. Give both.")
        interview = Interview(family, **settings)
        return interview, {"family": to_spec(interview.family), "settings": settings_of(interview)}

    def read(log: SnapshotLog) -> tuple[Interview, dict[str, Any]]:
        with whole_snapshot(log):
            snapshot = log.snapshot or {}
            began = snapshot["began"]
            return from_content(_family(began["family"], trusted), snapshot["interview"]), began

    def agree(where: Path, interview: Interview, _: dict[str, Any]) -> None:
        _require_agreement(where, interview, family, settings)

    return open_folder(folder, make, read, Interview.apply, agree, (NotNow, ValueError))


def _require_agreement(folder: Path, interview: Interview, family: Family | None, settings: dict[str, Any]) -> None:
    """Refuse a family, a seed or settings other than those of the folder."""
    prior = interview.family.prior
    if family is not None and to_spec(family.with_prior(prior)) != to_spec(interview.family.with_prior(prior)):
        raise ValueError(f"a folder keeps the family it began with; {folder} has another. Leave it out.")
    seed = settings.get("seed")
    if seed is not None and plain(generator(seed).bit_generator.state) != plain(interview._began_at):
        raise ValueError(f"a folder keeps the seed it began with; {folder} has another. Leave seed out.")
    kept = settings_of(interview)
    for name, value in settings.items():
        if name in SETTINGS and (list(value) if name == "stakes" else value) != kept[name]:
            raise ValueError(
                f"a folder keeps the settings it began with; {folder} has {name}={kept[name]!r}, got {value!r}. "
                f"Leave {name} out, or use another folder."
            )


PLACE = "people/interview"  # of templates and static files
PAIRS, PEOPLE = 300, 500  # a table of 150 kB; more of either moved the error after 20 questions by less than its own
CHECK_EVERY = 8
INTRO = (
    "You will see pairs of options. Say which one you would rather {verb}; nothing is right or wrong. "
    "A bar shows how likely each outcome is."
)
OUTRO = "Your answers are on this device only. Download them, and give the file to the person who asked you."


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
    questions = whole_number("questions", questions, most=PAIRS)
    asking = asked_about(family.costs, unit)
    rng = generator(seed)
    made = pool(family, stakes, PAIRS, rng)
    turned = rng.random(PAIRS + len(made.checks)) < 0.5
    pairs = [pair[::-1] if turn else pair for pair, turn in zip(made.pairs, turned, strict=False)]
    checks = [pair[::-1] if turn else pair for pair, turn in zip(made.checks, turned[PAIRS:], strict=True)]
    people = family.natural(family.prior.draw(PEOPLE, rng))
    chance = np.exp(family.log_chances(people, Choices.from_rows([("any", pair, 0) for pair in pairs])))
    table = np.clip(np.floor(chance.T * 256.0), 0, 255).astype(np.uint8)
    # a check at a random place of each stretch, and never the first question
    places = [int(rng.integers(max(start, 1), start + CHECK_EVERY)) for start in range(0, questions, CHECK_EVERY)]
    plan = {
        "questions": questions,
        "unit": unit,
        "reference": family.reference,
        "costs": family.costs,
        "asking": asking,
        "intro": INTRO.format(verb=asking.split()[-1].rstrip("?")) + (" Less is better." if family.costs else ""),
        "outro": OUTRO,
        "people": PEOPLE,
        "pairs": [[plain_option(one) for one in pair] for pair in pairs],
        "checks": [[plain_option(one) for one in pair] for pair in checks[: len(places)]],
        "check_places": places,
        "chances": base64.b64encode(table.tobytes()).decode(),
    }
    return {"id": hashlib.sha256(json.dumps(plan).encode()).hexdigest()[:12], **plan}
