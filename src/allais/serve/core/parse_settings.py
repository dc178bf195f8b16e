"""Settings from documents that callers send: of this library's own types, and nothing else is ever imported."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable
from typing import Any

from allais._checks import brief
from allais.learner import Learner
from allais.policies.core.base import Policy
from allais.preferences import Preference
from allais.preferences.named import preference_named
from allais.serve.api.schemas import ExperimentSettings
from allais.serve.core.errors import Refused
from allais.serve.core.features import Encoding, flat
from allais.settings import from_spec, kind_named

DRAWS = 16  # by which a choice is made, where the policy does not say otherwise (`python -m benchmarks logs`)


def preference_from(document: dict[str, Any]) -> Preference:
    """A preference by its document, or by a name: {"name": "p95"}, {"name": "cvar", "level": 0.1}."""
    if document.get("name") is not None:
        return _made("preference", lambda: preference_named(**document))
    found = setting_from("preference", {"type": "Preference", **document})
    if not isinstance(found, Preference):
        raise Refused(422, f"invalid preference; got {brief(document)}. Give gains, such as TverskyKahneman.")
    return found


def with_draws(policy: dict[str, Any]) -> dict[str, Any]:
    """A policy whose choices have a probability that can be logged, by so many draws unless it says how many."""
    kind = kind_named(policy["type"]) if isinstance(policy.get("type"), str) else None
    drawn = isinstance(kind, type) and "draws" in getattr(kind, "__dataclass_fields__", ())
    return {**policy, "draws": DRAWS} if drawn and "draws" not in policy else policy


def policy_from(settings: ExperimentSettings) -> Policy:
    """The policy of an experiment."""
    document = dict(settings.policy)
    name = document.get("type")
    kind = kind_named(name) if isinstance(name, str) else None
    if not (isinstance(kind, type) and issubclass(kind, Policy)):
        raise Refused(422, f"a policy needs a type, such as NPTS; got {brief(name)}. Check its name.")
    if kind.goal == "budget":
        raise Refused(422, f"a service runs on; {name} ends when its budget is spent. Choose NPTS, or WUCB.")
    if settings.preference is not None:
        document["preference"] = preference_from(settings.preference)
    elif isinstance(document.get("preference"), dict):
        document["preference"] = preference_from(document["preference"])
    if settings.rewards is not None:
        document["rewards"] = settings.rewards
    if isinstance(document.get("guardrails"), list):
        document["guardrails"] = [_guardrail(one) for one in document["guardrails"]]
    found: Policy = setting_from("policy", document)
    return found


def _guardrail(given: Any) -> Any:
    """The document of a guardrail: {"preference": "p99", "at_most": 300}."""
    if not isinstance(given, dict):
        return given
    liking = given.get("preference")
    if isinstance(liking, dict) and "name" in liking:
        given = {**given, "preference": preference_from(liking)}
    return setting_from("guardrail", {"type": "Guardrail", **given})


def learner_from_settings(settings: ExperimentSettings) -> Learner:
    """The learner that an experiment begins with."""
    policy = policy_from(settings.model_copy(update={"policy": with_draws(settings.policy)}))
    seed = secrets.randbits(63) if settings.seed is None else settings.seed
    rows = settings.features
    if settings.terms is not None:
        if not policy.open_to_contexts or getattr(policy, "estimates", False):
            kind = type(policy).__name__
            raise Refused(422, f"terms need LinTS or WOFUL, and noise that is declared; got {kind}. Change the policy.")
        rows = _made("term", lambda: rows_of_arms(settings))
    elif isinstance(rows, dict):
        raise Refused(422, "features by name need terms, which say what the policy sees of them. Declare terms.")
    return _made("experiment", lambda: policy.start(settings.arms, seed, rows))


def rows_of_arms(settings: ExperimentSettings) -> list[list[float]]:
    """What a policy sees of the listed arms where the moment has no features."""
    if isinstance(settings.features, list):
        raise Refused(422, "features are sent by name where there are terms; got rows. Leave one of both out.")
    encoding, own = Encoding(settings.terms or ()), settings.features or {}
    if strange := [name for name in own if name not in settings.arms]:
        raise Refused(422, f"features belong to arms of the experiment; {strange[0]!r} is not one. Check the name.")
    return [encoding.row(arm, {}, flat(own.get(arm, {}))) for arm in settings.arms]


def setting_from(what: str, document: Any) -> Any:
    """A setting of this library by its document."""
    return _made(what, lambda: from_spec(document))


def _made(what: str, make: Callable[[], Any]) -> Any:
    """What a call of the library makes; whatever it raises is about the document."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are for who writes the settings in Python
            return make()
    except Refused:
        raise
    except (ValueError, TypeError) as error:
        raise Refused(422, _sentence(what, error)) from None
    except (ArithmeticError, AttributeError, KeyError, LookupError) as error:
        raise Refused(422, f"invalid {what} ({error!r}). Check it.") from None


def _sentence(what: str, error: Exception) -> str:
    said = " ".join(str(error).split())
    if "__init__()" in said or "argument" in said:  # Python's own words about a missing or unknown entry
        said = said.replace("__init__()", "").replace("  ", " ")
        return f"a {what} has the entries of its type; {said}. Check its names."
    return said
