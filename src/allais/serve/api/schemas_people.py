"""What is sent and got about people and keys, and calls in the shape of Azure Personalizer."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints

from allais.serve.api.schemas import LARGEST_INT, MOST_ARMS, Document, Named, Number, Scope, Strict, Text

Amount = Annotated[float, Field(ge=-1e9, le=1e9)]  # of what a person is asked about


class PutPerson(Strict):
    """The preference of a person: a document or a name, or the content of a preference file."""

    preference: Document | None = Field(default=None, examples=[{"name": "cvar", "level": 0.1}])
    file: Document | None = None
    unit: Annotated[str, StringConstraints(max_length=40)] | None = None  # of the choices that it was fitted to


class PersonShown(Strict):
    """A person, and what she maximises."""

    name: str
    preference: Document
    source: str
    changed_at: float
    unit: str | None = None  # of the choices that it was fitted to, where known
    stakes: list[float] | None = None
    note: str = ""  # what an experiment uses of it


class StartInterview(Strict):
    """How a person is asked. `stakes` are the least and the greatest outcome that questions are about."""

    family: Literal["cpt", "cpt-two-weights", "prelec", "utility"] = "cpt"
    stakes: Annotated[list[Amount], Field(min_length=2, max_length=2, default_factory=lambda: [-50.0, 200.0])]
    questions: Annotated[int, Field(ge=1, le=100)] = 20
    checks: Annotated[int, Field(ge=0, le=100)] = 8  # one in so many questions looks whether she pays attention
    reference: Amount = 0.0
    costs: bool = False  # a smaller outcome is better
    unit: Annotated[str, StringConstraints(max_length=40)] = ""
    seed: Annotated[int, Field(ge=0, le=LARGEST_INT)] | None = None


class QuestionShown(Strict):
    """Two options: each a list of outcomes with their probabilities."""

    id: int
    number: int  # the first is 1
    wording: str
    a: list[list[float]]
    b: list[list[float]]
    given: Literal["A", "B"] | None = None  # the answer that it has; another one replaces it


class InterviewShown(Strict):
    """An interview, its next question, and what the answers show so far."""

    id: str
    person: str
    answered: int
    questions: int
    settled: bool
    question: QuestionShown | None
    previous: int | None  # the id of the question before, to go back to
    preference: Document | None


class MakeLink(Strict):
    """A link to an interview, for someone without a key."""

    expires_after: Annotated[float, Field(ge=60, le=90 * 86_400)] = 7 * 86_400.0  # seconds


class LinkMade(Strict):
    """A new link; it is shown this once."""

    token: str
    path: str  # behind the address of the service
    expires_at: float


class AnswerQuestion(Strict):
    """The side that the person took."""

    question: Number
    answer: Literal["A", "B"]


class Lenient(BaseModel):
    """A schema of somebody else's: fields that are not used here are let through."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False, frozen=True)


class RankAction(Lenient):
    """An action of Personalizer."""

    id: Text
    features: list[Named] | Named | None = None


class Rank(Lenient):
    """A call of Personalizer's `rank`."""

    actions: Annotated[list[RankAction], Field(min_length=1, max_length=MOST_ARMS)]
    contextFeatures: list[Named] | Named | None = None  # noqa: N815
    excludedActions: list[Text] | None = None  # noqa: N815
    eventId: Text | None = None  # noqa: N815
    deferActivation: bool = False  # noqa: N815


class Ranked(Strict):
    """An action in its place; the probability of the first is known where the policy knows it."""

    id: str
    probability: float | None


class Ranking(Strict):
    """An answer of Personalizer's `rank`."""

    ranking: list[Ranked]
    eventId: str  # noqa: N815
    rewardActionId: str  # noqa: N815
    unusedFeatures: list[str] | None = None  # noqa: N815  # that no term of the experiment names


class RewardValue(Lenient):
    """A call of Personalizer's `reward`."""

    value: FiniteFloat


class AuditEntry(Strict):
    """Who changed what, and when."""

    id: int
    at: float
    key: str
    action: str
    target: str
    detail: Any


class KeyShown(Strict):
    """A key, without its secret."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    created_at: float
    revoked_at: float | None
    expires_at: float | None
    experiments: tuple[str, ...] | None


class KeyMade(KeyShown):
    """A new key; it is shown this once."""

    key: str
