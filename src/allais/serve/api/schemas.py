"""What callers send and get, as strict schemas: a field that is not listed is refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    FiniteFloat,
    StringConstraints,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from allais.serve.core.errors import DEEPEST, is_too_deep

LARGEST_INT = 2**63 - 1  # of a database
MOST_ARMS = 10_000
MOST_AT_ONCE = 500  # calls in one
MOST_GROUPS = 50  # of a test
WITHOUT_POLICY = {"type": "WUCB", "band": {"type": "Asymptotic", "rarest": 0.01}}  # it needs no bounds
MOST_TERMS = 500  # the cost of a decision grows with their square
LARGEST_FEATURE = 1e6
BOUNDS = {"type": "Bounded", "low": 0.0, "high": 90.0}


def shallow(given: Any) -> Any:
    """Refuse a document that a database would take and no start could read."""
    if is_too_deep(given):
        said = "a document has {deepest} levels at most; this one has more"
        raise PydanticCustomError("too_deep", said, {"deepest": DEEPEST})
    return given


Document = Annotated[dict[str, Any], AfterValidator(shallow)]  # of a setting: {"type": "Power", "alpha": 0.5}
Text = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
ExperimentName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
Number = Annotated[int, Field(ge=1, le=LARGEST_INT)]
Scope = Literal["read", "decide", "manage"]
Named = dict[str, Any]  # features by name: numbers, text, booleans, and objects of them
Row = Annotated[
    list[Annotated[float, Field(ge=-LARGEST_FEATURE, le=LARGEST_FEATURE)]], Field(min_length=1, max_length=MOST_TERMS)
]
Rows = Annotated[list[Row], Field(min_length=1, max_length=MOST_ARMS)]  # one per arm
OfArms = Annotated[dict[Text, Named], Field(min_length=1, max_length=MOST_ARMS)]
Features = Annotated[
    Annotated[Rows, Tag("rows")] | Annotated[OfArms, Tag("arms")],
    Discriminator(lambda given: "rows" if isinstance(given, list) else "arms"),
]


class Strict(BaseModel):
    """A schema without fields that nobody reads, and without guesses."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


Shares = Annotated[dict[Text, Annotated[float, Field(gt=0, le=1e9)]], Field(min_length=2, max_length=MOST_GROUPS)]


class EndOfTest(Strict):
    """How a test ended."""

    arm: str  # what callers get from then on
    why: str
    at: float
    last: int  # the last decision that belongs to the test


class PlannedTest(Strict):
    """Arms that are compared with a control: with fixed shares, or as the policy tries them."""

    shares: Shares | None = Field(default=None, examples=[{"control": 9, "canary": 1}])  # of decisions; of each person
    control: Text | None = None  # by default the arm of that name, or the first
    by: Text | Annotated[list[Text], Field(min_length=1, max_length=10)] | None = Field(
        default=None, examples=["p95"]
    )  # by default the experiment's own preference
    no_worse_than: Text | FiniteFloat | None = Field(default=None, examples=["5%"])
    delta: Annotated[float, Field(gt=0, lt=1)] = 0.05
    rarest: Annotated[float, Field(gt=0, lt=1)] | None = None
    stop: bool = False  # end by itself when every arm is decided
    salt: Text | None = None  # of the hash by which people come into groups; by default the experiment's name
    since: Number = 1  # the first decision that counts: shares that change begin a new test
    ended: EndOfTest | None = None


class ChangeTest(Strict):
    """What may change about a test."""

    shares: Shares | None = None
    stop: bool | None = None


class ExperimentSettings(Strict):
    """How an experiment begins. `policy` may leave out `preference` and `rewards`, which have their own fields."""

    policy: Document = Field(examples=[{"type": "NPTS"}])
    arms: list[Text] = Field(min_length=1, max_length=MOST_ARMS, examples=[["A21", "A28"]])
    preference: Document | None = Field(default=None, examples=[{"gains": {"type": "TverskyKahneman", "eta": 0.61}}])
    rewards: Document | list[Document] | None = Field(default=None, examples=[BOUNDS])
    terms: Annotated[list[Text], Field(min_length=1, max_length=MOST_TERMS)] | None = Field(
        default=None, examples=[["arm=A28", "price", "arm=A28 * weather=rain"]]
    )  # of a linear policy: what it sees of features that are sent by name
    # of a linear policy: by name where there are terms, else a row per arm
    features: Annotated[Features, AfterValidator(shallow)] | None = None
    expires_after: Annotated[float, Field(gt=0, le=1e9)] = 86_400.0  # seconds until a decision without reward expires
    outcome: Literal["told", "elapsed"] = "told"  # elapsed: the time until the reward comes, in the unit of outcomes
    expires_as: FiniteFloat | None = None  # what an expired decision counts as; null: for nothing
    apprentice: bool = False  # the application decides; the policy watches, and says what it would have done
    arms_by_rank: bool | None = None  # a key with the scope decide brings new arms by rank; null: as before version 0.3
    seed: Annotated[int, Field(ge=0, le=LARGEST_INT)] | None = None
    unit: Annotated[str, StringConstraints(max_length=40)] = ""  # of outcomes, such as "minutes"
    test: PlannedTest | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_an_earlier_version(cls, given: Any) -> Any:
        """Up to version 0.2, `propensity_draws` were further draws; now the policy itself chooses by its `draws`.

        A test with fixed shares needs no policy, but something must remember its outcomes.
        """
        if not isinstance(given, dict):
            return given
        if "policy" not in given and isinstance(given.get("test"), dict):
            if not given["test"].get("shares") and PlannedTest.model_fields.keys() >= given["test"].keys():
                raise ValueError("a test has fixed 'shares', or a policy decides; got neither. Declare one of them")
            return {**given, "policy": WITHOUT_POLICY}
        if "propensity_draws" not in given:
            return given
        draws, rest = given["propensity_draws"], {key: of for key, of in given.items() if key != "propensity_draws"}
        policy = rest.get("policy")
        if draws and isinstance(policy, dict) and policy.get("type") in ("NPTS", "LinTS"):
            rest["policy"] = {"draws": draws, **policy}
        return rest


class CreateExperiment(ExperimentSettings):
    """A new experiment."""

    name: ExperimentName


class ChangeExperiment(Strict):
    """What changes about an experiment; the rest stays. Bounds grow wider, never narrower."""

    rewards: Document | list[Document] | None = Field(default=None, examples=[BOUNDS])
    preference: Document | None = Field(default=None, examples=[{"name": "cvar", "level": 0.1}])
    terms: Annotated[list[Text], Field(min_length=1, max_length=MOST_TERMS)] | None = None  # old ones first, then new
    features: Annotated[OfArms, AfterValidator(shallow)] | None = None  # of listed arms, for the new terms
    expires_after: Annotated[float, Field(gt=0, le=1e9)] | None = None
    test: ChangeTest | None = None


class ArmShown(Strict):
    """An arm."""

    name: str
    in_play: bool
    outcomes: int


class ExperimentShown(Strict):
    """An experiment, and how it goes."""

    name: str
    state: str
    policy: Document
    arms: list[ArmShown]
    terms: list[str] | None
    expires_after: float
    outcome: str = "told"
    apprentice: bool
    unit: str
    created_at: float
    outcomes: int
    open_decisions: int
    test: PlannedTest | None = None
    broken: str | None = None  # why it could not be read, where its state is "broken"; the others go on


class Decide(Strict):
    """A question: which arm for this person, now?"""

    person: Text | None = None
    key: Text | None = None  # the caller's own name for the decision: a repeated call gets the same answer
    allowed: Annotated[list[Text], Field(min_length=1, max_length=MOST_ARMS)] | None = None
    features: Features | None = None  # by the names of arms, or as rows of numbers
    context: Named | None = None  # features of the moment, which all arms share
    did: Text | None = None  # of an apprentice: what the application does


class Decided(Strict):
    """A choice: what to do, and the number under which its outcome is told."""

    choice: int
    arm: str | int  # with features, the number of the row
    propensity: float | None  # how likely this arm was, where it is known
    why: str
    would: str | None = None  # of an apprentice: what the policy would have chosen
    unused: list[str] | None = None  # features that were sent and that no term names


class Reward(Strict):
    """What a choice brought."""

    choice: Number | None = None  # the number that decide answered,
    decision_key: Text | None = None  # or the caller's own key of the decision
    outcome: FiniteFloat | None = None  # of an experiment whose outcome is elapsed time: left out
    at_least: FiniteFloat | None = None  # of an outcome that is not finished, in its place; so is the next
    at_most: FiniteFloat | None = None
    final: bool = False  # no more will ever be known of it
    key: Text | None = None  # a repeated call with the same key gets the same answer


class Rewarded(Strict):
    """What is known about a choice now."""

    choice: int
    arm: str
    state: str
    outcome: float | None


class Decides(Strict):
    """Several questions at once."""

    calls: Annotated[list[Decide], Field(min_length=1, max_length=MOST_AT_ONCE)]


class Rewards(Strict):
    """What several choices brought."""

    calls: Annotated[list[Reward], Field(min_length=1, max_length=MOST_AT_ONCE)]


class OneDecided(Strict):
    """The answer to one call of several: as if it had come alone."""

    status: int
    answer: Decided | None = None
    error: str | None = None


class OneRewarded(Strict):
    """The answer to one call of several: as if it had come alone."""

    status: int
    answer: Rewarded | None = None
    error: str | None = None


class DecidedEach(Strict):
    """The answers, in the order of the calls."""

    answers: list[OneDecided]


class RewardedEach(Strict):
    """The answers, in the order of the calls."""

    answers: list[OneRewarded]


class Cancel(Strict):
    """A choice whose outcome will never be known."""

    choice: Number | None = None
    decision_key: Text | None = None


class AddArm(Strict):
    """An arm that comes into play, or comes back."""

    name: Text
    rewards: Document | None = None


class Recommended(Strict):
    """The best arm so far, for a person or for the experiment's own preference."""

    arm: str | None  # none where every arm was shown to break a guardrail
    value: float | None  # a utility; none before the first outcome
    low: float | None  # the ends of its interval, where the policy has one
    high: float | None
    settled: bool
    person: str | None
    feels_like: float | None  # what would be worth as much for sure, in the experiment's unit
    guardrails: str | None = None  # what was shown about the guardrails, in a sentence
    unfinished: str | None = None  # how many outcomes are not finished, and what that leaves open


class ArmValue(Strict):
    """What an arm is worth to somebody, by what was seen."""

    name: str
    in_play: bool
    outcomes: int
    unfinished: int = 0  # outcomes of which only a part is known
    value: float | None  # a utility: higher is better
    feels_like: float | None  # what would be worth as much for sure, in the experiment's unit
    mean: float | None  # of its outcomes, in the experiment's unit
    low: float | None
    high: float | None
    alarms: int  # how often its outcomes were found to have changed
    last_alarm: int | None  # how many outcomes ago
    guardrails: str | None = None  # "keeps" all of them, "breaks" one, or "open"


class Values(Strict):
    """All arms, as somebody values them."""

    person: str | None
    arms: list[ArmValue]
    best: str  # by these values
    best_mean: str  # what the mean would choose


class Import(Strict):
    """Outcomes that were seen before or elsewhere: `arms` and `outcomes` side by side.

    An outcome that is not finished is null, and in its place is what is known of it.
    """

    # of a hundred thousand mistakes the first is enough
    arms: Annotated[list[Text], Field(min_length=1, max_length=100_000, fail_fast=True)]
    outcomes: Annotated[list[FiniteFloat | None], Field(min_length=1, max_length=100_000, fail_fast=True)]
    at_least: Annotated[list[FiniteFloat | None], Field(max_length=100_000, fail_fast=True)] | None = None
    at_most: Annotated[list[FiniteFloat | None], Field(max_length=100_000, fail_fast=True)] | None = None
    features: Annotated[list[Named], Field(max_length=100_000, fail_fast=True)] | None = None  # where there are terms
    key: Text | None = None  # a repeated call with the same key counts once


class Imported(Strict):
    """How many outcomes were taken in."""

    imported: int


class NewKey(Strict):
    """A key to make."""

    name: Text
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)]
    expires_in: Annotated[float, Field(gt=0, le=1e9)] | None = None  # seconds; never, if it is left out
    experiments: Annotated[list[ExperimentName], Field(min_length=1, max_length=1_000)] | None = None  # the only ones


class Refusal(BaseModel):
    """Why a call was not done."""

    error: str
