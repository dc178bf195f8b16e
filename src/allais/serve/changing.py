"""What may change about an experiment that runs: wider bounds, its preference, further terms, when decisions expire.

Each change of the learner is an event, so that it is done again after a restart; the new settings are written beside.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from allais.learner import Learner, LinearLearner
from allais.preferences import Preference
from allais.serve import loading
from allais.serve.building import preference_from, rows_of_arms, setting_from
from allais.serve.experiment import Experiment, sentences
from allais.serve.keys import Key
from allais.serve.managing import audited
from allais.serve.refusals import Refused
from allais.serve.rows import Row
from allais.serve.schemas import ChangeExperiment, Document, ExperimentSettings
from allais.serve.service import Service
from allais.settings import to_spec


async def change(service: Service, name: str, call: ChangeExperiment, key: Key) -> Experiment:
    """Change an experiment: all that the call names, or nothing if one part is refused."""

    def changing(experiment: Experiment) -> tuple[Experiment, list[Row]]:
        experiment.require_open()
        learner, settings, events = changed(experiment, call)
        if not events and settings == experiment.settings:
            return experiment, []  # a repeated call
        with sentences():
            loading.settings_of(settings.model_dump_json())  # what is stored must be readable again
        rows = experiment.adopt(learner, settings, events, time.time())
        return experiment, [
            *rows, audited(key, "change", name, call.model_dump(mode="json", exclude_unset=True))
        ]  # fmt: skip

    return await service.at_length(name, changing)


def changed(experiment: Experiment, call: ChangeExperiment) -> tuple[Learner, ExperimentSettings, list[dict[str, Any]]]:
    """A copy of the learner and the settings with what a call changes, and the events that do it again."""
    learner, settings = experiment.learner.copy(), experiment.settings
    events: list[dict[str, Any]] = []
    updates: dict[str, Any] = {}
    with sentences():
        if call.rewards is not None:
            rewards = [setting_from("reward", one) for one in _listed(call.rewards)]
            given = rewards if isinstance(call.rewards, list) else rewards[0]
            if given != getattr(learner.policy, "rewards", None):
                learner.widen(given)
                events.append({"widen": to_spec(given)})
                updates["rewards"] = to_spec(given)
        if call.preference is not None:
            preference = on_its_scale(call.preference, learner.policy.preference)
            if preference != learner.policy.preference:
                learner.change_preference(preference)
                events.append({"prefer": to_spec(preference)})
                updates["preference"] = to_spec(preference)
        if call.terms is not None or call.features is not None:
            further = _with_terms(settings, call)
            if further != settings:
                rows = rows_of_arms(further)
                assert isinstance(learner, LinearLearner)
                learner.add_features(rows)
                events.append({"more features": rows})
                updates |= {"terms": further.terms, "features": further.features}
    if call.expires_after is not None:
        updates["expires_after"] = call.expires_after
    return learner, settings.model_copy(update=updates), events


def _listed(rewards: Document | list[Document]) -> list[Document]:
    return rewards if isinstance(rewards, list) else [rewards]


def on_its_scale(document: Document, old: Preference) -> Preference:
    """Another preference for an experiment, whose direction and reference stay."""
    new = preference_from(document)
    for name in ("costs", "reference"):
        if name in document and getattr(new, name) != getattr(old, name):
            raise Refused(
                422,
                f"{name} belongs to the experiment and stays {getattr(old, name)}; got {document[name]}. Leave it out, "
                "or create another experiment.",
            )
    return dataclasses.replace(new, costs=old.costs, reference=old.reference)


def _with_terms(settings: ExperimentSettings, call: ChangeExperiment) -> ExperimentSettings:
    """The settings with further terms, and with what is known of the listed arms for them."""
    if settings.terms is None:
        raise Refused(422, "terms are added where there are some; this experiment began without. Create another.")
    terms = settings.terms if call.terms is None else call.terms
    if terms[: len(settings.terms)] != settings.terms:
        raise Refused(
            422, f"terms are added behind those that are there, {settings.terms}; got {terms}. Begin with the old ones."
        )
    old = settings.features if isinstance(settings.features, dict) else {}
    named = {**old, **{arm: {**old.get(arm, {}), **own} for arm, own in (call.features or {}).items()}}
    further = settings.model_copy(update={"terms": terms, "features": named or None})
    if len(terms) == len(settings.terms) and further != settings:
        raise Refused(
            422, "what is known of arms changes with further terms only; got none. Add the terms that use it."
        )
    return further
