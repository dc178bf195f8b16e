"""Interviews: ask one person a few questions, each with the greatest expected information."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allais._checks import FloatArray, Seed, brief, generator, share, whole
from allais._system.locks import one_at_a_time, one_change_at_a_time
from allais.files import DAMAGE, reason
from allais.learner.choices import NotNow
from allais.learner.journal import Journal
from allais.lotteries import Discrete
from allais.people.data.choices import Choices
from allais.people.data.choices_builder import as_option
from allais.people.inference.posterior import Belief, recomputed, updated
from allais.people.interview.candidates import (
    SIDES,
    Question,
    checked_answer,
    checked_stakes,
    decision_information,
    parameter_information,
    pool,
)
from allais.people.interview.interview_view import InterviewView
from allais.people.model.family import Family, family_named
from allais.people.model.likelihood import Likelihood, OptionValues
from allais.people.model.parameters import Prior

ASKED = 400  # particles over which information is computed: its error is then below the gaps that matter
TIES = 1e-3  # how much the information about parameters counts beside that about the decision
DRAWS = 3  # uniform numbers that a question takes: whether it is a check, which one, and which side is A


class Interview(InterviewView):
    """Questions to one person: `ask`, `tell`, and the preference that the answers show.

    The next question has the greatest expected information about the parameters, or with `for_decision` about which of
    these arms the person prefers. It is `settled` after the last question, or as soon as one arm is preferred with the
    given probability. No question comes twice.

    Args:
        family: The form of the preference.
        prior: What is known about the parameters; by default the family's own prior.
        stakes: The least and the greatest outcome of a question.
        seed: The seed of the questions.
        questions: How many questions are asked at most.
        for_decision: Lotteries to decide among, in a list or by name.
        sure: The probability at which a decision is settled.
        checks: One in so many questions is an attention check; 0 for none.
        person: The person's name.
        unit: What outcomes are measured in.
        n_candidates: How many questions are considered.
        n_particles: How many draws represent what is known.

    >>> from allais.people import Family, Interview
    >>> interview = Interview(Family(alpha=0.88, loss_aversion=2.25, stake=100), stakes=(-50, 200), seed=1, questions=6)
    >>> alice = Preference.tversky_kahneman()
    >>> while not interview.settled:
    ...     question = interview.ask()
    ...     interview.tell(question, "A" if alice.value(question.a) > alice.value(question.b) else "B")
    >>> 0.4 < interview.preference.gains.eta < 0.9, len(interview.choices)
    (True, 6)
    """

    def __init__(
        self,
        family: Family,
        prior: Prior | None = None,
        stakes: tuple[float, float] = (-50.0, 200.0),
        *,
        seed: Seed,
        questions: int = 20,
        for_decision: Mapping[Any, Any] | Sequence[Any] | None = None,
        sure: float = 0.95,
        checks: int = 8,
        person: str = "one",
        unit: str = "",
        n_candidates: int = 1000,
        n_particles: int = 1000,
    ) -> None:
        self.family = family if prior is None else family.with_prior(prior)
        if not family.names:
            raise ValueError("an interview is about free parameters; this family has none. Free some.")
        self.stakes, self.sure = checked_stakes(stakes), share("sure", sure)
        self.questions, self.checks = whole("questions", questions), whole("checks", checks, least=0)
        self.n_candidates = whole("n_candidates", n_candidates)
        self.n_particles = whole("n_particles", n_particles, least=100)
        self.person, self.unit = str(person), str(unit)
        self.arms = _arms(for_decision)
        self._rng = generator(seed)
        self._began_at = copy.deepcopy(self._rng.bit_generator.state)
        self._asked, self._told = {}, {}
        self._out: int | None = None
        self._prepare()
        self._belief = Belief(self.family.prior.draw(self.n_particles, self._rng), np.zeros(self.n_particles))
        self._guard = self._journal = Journal(type(self).__name__, "interview")

    def _prepare(self) -> None:
        """Make the candidates, and what is computed from them again and again."""
        self._pool = pool(self.family, self.stakes, self.n_candidates, self._rng)
        offered = Choices.from_rows([("any", pair, 0) for pair in self._pool.pairs])
        self._place = {frozenset(pair): place for place, pair in enumerate(self._pool.pairs)}
        self._candidates = Likelihood(self.family, offered)
        self._arm_values = OptionValues(self.family, list(self.arms.values())) if self.arms else None

    # -- asking and telling -----------------------------------------------------------------------

    @one_change_at_a_time
    def ask(self) -> Question:
        """The next question; the same one until it is told or cancelled."""
        if self._out is not None:
            return self._asked[self._out]
        if self.settled:
            raise NotNow(f"the interview is settled after {len(self._told)} answers. Read its preference.")
        rng = copy.deepcopy(self._rng)  # an interrupted call changes nothing
        question = self._next(rng.random(DRAWS).tolist())
        self._put_out(question, rng)
        return question

    @one_change_at_a_time
    def tell(self, question: Question | int, answer: str) -> None:
        """Tell which option the person took. A question is told once; `revise` changes an answer.

        Args:
            question: The question, or its number.
            answer: "A" or "B".
        """
        id_, side = self._id_of(question), checked_answer(answer)
        if id_ in self._told:
            raise ValueError(f"a question is told once; {id_} was answered {self._told[id_]}. Use revise to change it.")
        if id_ != self._out:
            raise ValueError(f"only the current question can be answered; {id_} was cancelled. Ask another.")
        told, rng = {**self._told, id_: side}, copy.deepcopy(self._rng)
        belief = updated(self._belief, self.family, self._choices({id_: side}), self._choices(told), rng)
        self._journal.midway = True
        self._told, self._out, self._belief, self._rng = told, None, belief, rng
        self._noted({"tell": id_, "answer": side})

    @one_change_at_a_time
    def revise(self, question: Question | int, answer: str) -> None:
        """Change the answer to a question that was told; the old one is forgotten.

        Args:
            question: The question, or its number.
            answer: "A" or "B".
        """
        id_, side = self._id_of(question), checked_answer(answer)
        if id_ not in self._told:
            raise ValueError(f"only an answer can be revised; question {id_} has none. Tell it.")
        told, rng = {**self._told, id_: side}, copy.deepcopy(self._rng)
        belief = recomputed(self.family, self._choices(told), self.n_particles, rng)
        self._journal.midway = True
        self._told, self._belief, self._rng = told, belief, rng
        self._noted({"revise": id_, "answer": side})

    @one_change_at_a_time
    def cancel(self, question: Question | int) -> None:
        """Skip the current question: it has no answer, and is not asked again.

        Args:
            question: The question, or its number.
        """
        id_ = self._id_of(question)
        if id_ != self._out:
            raise ValueError(f"only an outstanding question can be cancelled; {id_} is not. Use revise for answers.")
        self._journal.midway = True
        self._out = None
        self._noted({"cancel": id_})

    def _noted(self, event: dict[str, Any]) -> None:
        self._journal.midway = self._journal.durable
        if self._journal.durable:
            self._journal.write(event, self)

    def _id_of(self, question: Question | int) -> int:
        id_ = question.id if isinstance(question, Question) else question
        if isinstance(id_, bool) or id_ not in self._asked:
            raise ValueError(f"a question must be one of this interview's; got {brief(question)}. Ask for one.")
        if isinstance(question, Question) and question != self._asked[id_]:
            raise ValueError(f"a question must be one of this interview's; number {id_} is another. Ask for one.")
        return id_

    def _put_out(self, question: Question, rng: np.random.Generator) -> None:
        self._journal.midway = True
        self._asked, self._out, self._rng = {**self._asked, question.id: question}, question.id, rng
        self._noted({"ask": question.as_json()})

    def _next(self, draws: list[float]) -> Question:
        """The question with the greatest expected information, or a check."""
        check, which, side = draws
        asked = {frozenset(one.options) for one in self._asked.values()}
        id_ = len(self._asked) + 1
        if self._checks_now(check):
            checks = [pair for pair in self._pool.checks if frozenset(pair) not in asked]
            if checks:
                better, worse = checks[int(which * len(checks))]
                first = side < 0.5
                options = (better, worse) if first else (worse, better)
                return Question(id_, *options, SIDES[0] if first else SIDES[1], self.unit, self.family.costs)
        gain = self._information()
        gain[[self._place[pair] for pair in asked if pair in self._place]] = -np.inf
        if not np.isfinite(gain.max()):
            raise NotNow("every candidate was asked. Give more candidates, or other stakes.")
        a, b = self._pool.pairs[int(gain.argmax())]
        return Question(id_, *((a, b) if side < 0.5 else (b, a)), None, self.unit, self.family.costs)

    def _checks_now(self, draw: float) -> bool:
        """One check at a random place of each stretch of `checks` questions, and never the first question."""
        done = len(self._asked)
        if not self.checks or not done:
            return False
        place = done % self.checks
        if any(self._asked[id_].is_check for id_ in range(done - place + 1, done + 1)):
            return False
        return draw < 1.0 / (self.checks - place)

    def _information(self) -> FloatArray:
        parameters = self.family.natural(self._belief.sample(ASKED))
        log_chance = self._candidates.each(parameters)
        gain = parameter_information(log_chance)
        if self._arm_values is None:
            return gain
        return decision_information(log_chance, self._arm_values(parameters).argmax(axis=1)) + TIES * gain

    # -- events and files -------------------------------------------------------------------------

    def apply(self, event: dict[str, Any]) -> None:
        """Apply an event: a call that changed an interview, as its folder recorded it.

        Args:
            event: The event.
        """
        try:
            match event:
                case {"ask": content}:
                    self._repeat(Question.from_json(content, self.unit, self.family.costs))
                case {"tell": id_, "answer": answer}:
                    self.tell(id_, answer)
                case {"revise": id_, "answer": answer}:
                    self.revise(id_, answer)
                case {"cancel": id_}:
                    self.cancel(id_)
                case _:
                    raise ValueError(f"invalid event: {brief(event)}. Check the file, or update allais.")
        except DAMAGE as error:
            raise ValueError(f"invalid event: {brief(event)} ({reason(error)}).") from None

    @one_change_at_a_time
    def _repeat(self, question: Question) -> None:
        """Ask again what was asked, and use up the draws that it took."""
        if self._out is not None or question.id != len(self._asked) + 1:
            raise ValueError(f"events must replay to the same questions; number {question.id} does not. Use a backup.")
        rng = copy.deepcopy(self._rng)
        rng.random(DRAWS)
        self._put_out(question, rng)

    @one_at_a_time
    def copy(self) -> Interview:
        """An independent interview with the same answers, which will ask the same questions."""
        return _files().from_content(self.family, self._document())

    def _document(self) -> dict[str, Any]:
        return _files().content_of(self)

    def _lines_worth_a_snapshot(self) -> int:
        return self.n_particles

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        return {"family": self.family, "document": self._document()}

    def __setstate__(self, contents: dict[str, Any]) -> None:
        self.__dict__.update(_files().from_content(contents["family"], contents["document"]).__dict__)

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._journal.require_in_memory()
        return super().__reduce_ex__(protocol)

    def close(self) -> None:
        """Let go of the folder, if there is one, so that another process can open it."""
        self._journal.close()

    def __enter__(self) -> Interview:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def save(self, path: str | Path) -> None:
        """Write everything to one file; `Preference.load`, `Fitted.load` and `Choices.read` read it, too.

        Args:
            path: The file.
        """
        _files().write_interview(self, Path(path))

    @staticmethod
    def load(path: str | Path, trust: Sequence[str] = ()) -> Interview:
        """Read an interview that was saved; it continues exactly where it was.

        Args:
            path: The file.
            trust: Modules outside of this library whose types and functions the file may name.
        """
        return _files().read_interview(Path(path), trust)

    @staticmethod
    def open(
        path: str | Path, family: Family | None = None, *, trust: Sequence[str] = (), **settings: Any
    ) -> Interview:
        """Open an interview that lives in a folder: every answer is on disk when `tell` returns.

        Args:
            path: The folder.
            family: The form of the preference; needed the first time only.
            trust: Modules outside of this library whose types and functions the folder may name.
            **settings: What else an `Interview` takes, such as `seed`; needed the first time only.
        """
        return _files().open_interview(Path(path), family, trust, settings)


def _files() -> Any:
    from allais.people.interview import files

    return files


def _arms(given: Mapping[Any, Any] | Sequence[Any] | None) -> dict[Any, Discrete]:
    if given is None:
        return {}
    named = dict(given) if isinstance(given, Mapping) else dict(enumerate(given))
    if len(named) < 2:
        raise ValueError(f"a decision is between two arms or more; got {len(named)}. Give their lotteries.")
    strange = [name for name in named if not isinstance(name, str | int)]
    if strange:
        raise ValueError(f"arms are named by text or whole numbers, so that files can; got {strange[0]!r}. Rename it.")
    return {name: as_option(one) for name, one in named.items()}


STAKES = (-50.0, 200.0)


def warm_interview() -> None:
    """Ask a question and another, and read what the answers show: that compiles all that an interview needs.

    >>> warm_interview()
    """
    talk = Interview(family_named("cpt", STAKES), stakes=STAKES, questions=3, checks=0, seed=1)
    for answer in "AB":
        talk.tell(talk.ask(), answer)
    assert talk.preference
