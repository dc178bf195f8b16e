"""Settings from documents that callers send: of this library's own types, and nothing else is ever imported."""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

from allais._checks import brief, nearest
from allais.evidence.ratio import margin_of, metrics_of, planned_shares
from allais.forests.encoding import flat
from allais.learner import Learner
from allais.policies.choosing import AUTO, from_auto
from allais.policies.core.base import Policy
from allais.policies.core.knowledge import as_list
from allais.preferences import Preference
from allais.preferences.named import preference_named
from allais.rewards import Bounded
from allais.serve.api.schemas import MOST_GROUPS, ExperimentSettings, PlannedTest
from allais.serve.core.errors import Refused
from allais.serve.core.features import Encoding
from allais.settings import from_spec, kind_named, to_spec

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


def with_policy(settings: ExperimentSettings) -> ExperimentSettings:
    """The settings with the recommended policy in the place of "auto"; the choice is made once and stored."""
    document = settings.policy
    if document.get("type") != AUTO:
        return settings
    liking = document.get("preference") if settings.preference is None else settings.preference
    if not isinstance(liking, dict):
        raise Refused(422, "a policy needs a preference; there is none. Give one, such as {'name': 'mean'}.")
    given = document.get("rewards") if settings.rewards is None else settings.rewards
    rest = {key: entry for key, entry in document.items() if key not in ("preference", "rewards")}
    if isinstance(rest.get("guardrails"), list):
        rest["guardrails"] = [_guardrail(one) for one in rest["guardrails"]]
    known = {"preference": preference_from(liking), "rewards": setting_from("reward", given), "arms": settings.arms}
    found = to_spec(_made("policy", lambda: from_auto(rest, **known)))
    if "draws" not in rest:
        found.pop("draws", None)  # a service has more of them (`with_draws`)
    return settings.model_copy(update={"policy": found})


def policy_from(settings: ExperimentSettings) -> Policy:
    """The policy of an experiment."""
    document = dict(settings.policy)
    name = document.get("type")
    kind = kind_named(name) if isinstance(name, str) else None
    if not (isinstance(kind, type) and issubclass(kind, Policy)):
        raise Refused(422, f"a policy needs a type, such as NPTS; got {brief(name)}. Check its name.")
    if kind.goal == "budget":
        raise Refused(422, f"a service never ends; {name} ends when its budget is spent. Choose NPTS, or WUCB.")
    missing = settings.preference is None and document.get("preference") is None
    needed = [one.name for one in fields(kind) if one.default is one.default_factory is MISSING]
    if missing and "preference" in needed:
        raise Refused(422, 'a policy needs a preference; got none. Give one, such as {"name": "p95", "costs": true}.')
    if settings.preference is not None:
        document["preference"] = preference_from(settings.preference)
    elif isinstance(document.get("preference"), dict):
        document["preference"] = preference_from(document["preference"])
    if settings.rewards is not None:
        document["rewards"] = settings.rewards
    if isinstance(document.get("floor"), dict):
        document["floor"] = _floors(document["floor"], settings.arms)
    if isinstance(document.get("guardrails"), list):
        document["guardrails"] = [_guardrail(one) for one in document["guardrails"]]
    return setting_from("policy", document)


def _floors(given: dict[str, Any], arms: list[str]) -> list[Any]:
    """The least probability of each arm, from {"control": 0.1}: a control share of the policy's decisions."""
    if strange := [name for name in given if name not in arms]:
        raise Refused(422, f"a floor names arms of the experiment, not {strange[0]!r}.{nearest(strange[0], arms)}")
    return [given.get(arm, 0.0) for arm in arms]


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
    if settings.test is not None:
        _made("test", lambda: _check_test(settings, policy))
    if settings.terms is not None:
        if not policy.open_to_contexts or getattr(policy, "estimates", False):
            kind = type(policy).__name__
            raise Refused(422, f"terms need LinTS or WOFUL, and noise that is declared; got {kind}. Change the policy.")
        rows = _made("term", lambda: rows_of_arms(settings))
    elif isinstance(rows, dict):
        raise Refused(422, "features by name need terms, which say what the policy sees of them. Declare terms.")
    return _made("experiment", lambda: policy.start(settings.arms, seed, rows))


def _check_test(settings: ExperimentSettings, policy: Policy) -> None:
    """Refuse a test that could never have a verdict."""
    test, arms = settings.test, settings.arms
    assert test is not None
    if settings.apprentice or not policy.keeps_outcomes:
        raise Refused(422, "a test compares arms that it chooses itself, without features. Leave 'test' out, or these.")
    if not 2 <= len(arms) <= MOST_GROUPS:
        raise Refused(422, f"a test compares 2 to {MOST_GROUPS} arms; got {len(arms)}. Name as many.")
    if test.since != 1 or test.ended is not None:
        raise Refused(422, "a new test begins with its first decision; got 'since' or 'ended'. Leave them out.")
    if test.control is not None and test.control not in arms:
        raise Refused(422, f"the control is one of the arms; {test.control!r} is not.{nearest(test.control, arms)}")
    planned_shares("any" if test.shares is None else test.shares, arms)
    margin_of(test.no_worse_than)
    metrics_of_test(test, policy, arms)


def bounds_of(policy: Policy) -> tuple[float, float] | None:
    """The least and the greatest outcome that are possible, if both are known."""
    ends = [one.support for one in as_list(policy.rewards)] if policy.rewards is not None else [(-math.inf, math.inf)]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def metrics_of_test(test: PlannedTest, policy: Policy, arms: list[str]) -> tuple[Any, ...]:
    """What `verdict_of` takes about a test: metrics, their direction, bounds, and the rarest event that matters."""
    known = bounds_of(policy)
    bounds = Bounded(*known) if known is not None and test.rarest is None else None
    by = policy.preference if test.by is None else test.by
    costs = policy.preference.costs
    metrics_of(by, costs, bounds, test.rarest, test.delta, None, arms)
    return by, costs, bounds, test.rarest


def rows_of_arms(settings: ExperimentSettings) -> list[list[float]]:
    """What a policy sees of the listed arms where the moment has no features."""
    if isinstance(settings.features, list):
        raise Refused(422, "features are sent by name where there are terms; got rows. Leave out one of them.")
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
        raise Refused(422, " ".join(str(error).split())) from None
    except (ArithmeticError, AttributeError, KeyError, LookupError) as error:
        raise Refused(422, f"invalid {what} ({error!r}). Check it.") from None
