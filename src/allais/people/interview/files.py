"""Interviews as files: a preference file that also holds the answers and all that is needed to go on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allais._random import generator
from allais.files.log import SnapshotLog
from allais.files.reading import DAMAGE, finite_list, generator_of, plain, reason, require, whole
from allais.learner.choices import NotNow
from allais.learner.journal import open_folder, whole_snapshot
from allais.people.data.jsonl import plain_option
from allais.people.inference.fitted import fitted_content
from allais.people.inference.posterior import Belief
from allais.people.interview.interview import Interview
from allais.people.interview.questions import SIDES, Question
from allais.people.model.family import Family
from allais.preferences.documents import read_document, write_preference
from allais.settings import checked_trust, from_spec, to_spec

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
    interview = Interview(
        family, None, stakes, seed=generator_of(content["began"]), for_decision=given, **settings
    )  # fmt: skip
    questions = [Question.from_json(one, interview.unit, family.costs) for one in content["asked"]]
    require([one.id for one in questions] == list(range(1, len(questions) + 1)), "questions must be numbered")
    interview._asked = {one.id: one for one in questions}
    for id_, side in content["told"]:
        require(id_ in interview._asked and id_ not in interview._told and side in SIDES, "an answer cannot be")
        interview._told[whole(id_, "the number of an answer")] = side
    out = content["out"]
    require(out is None or (out in interview._asked and out not in interview._told), "what is out was not asked")
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
        raise ValueError(f"{path} holds a preference that no interview left. Use Preference.load or Fitted.load.")
    try:
        return from_content(_family(document["family"], trusted), document["interview"])
    except DAMAGE as error:
        raise ValueError(f"an interview must be whole; {path} is damaged ({reason(error)}). Use a backup.") from None


def _family(spec: Any, trust: tuple[str, ...]) -> Family:
    family = from_spec(spec, trust)
    require(isinstance(family, Family), "its family is none")
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
    """Refuse what is not what the folder was made with."""
    if family is not None and to_spec(family.with_prior(interview.family.prior)) != to_spec(
        interview.family.with_prior(interview.family.prior)
    ):
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
