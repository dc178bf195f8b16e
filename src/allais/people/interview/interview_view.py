"""What can be read of an interview: answers, a preference, its uncertainty, and how attentive the person was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from allais._system.locks import Guard, one_at_a_time
from allais.learner.journal import Journal
from allais.lotteries import Discrete
from allais.people.data.choices import Attention, Choices
from allais.people.inference.fitted import MOST_DRAWS, Fitted
from allais.people.inference.posterior import Belief
from allais.people.interview.candidates import SIDES, Question, in_words
from allais.people.model.family import Family
from allais.people.model.likelihood import Likelihood, OptionValues
from allais.people.model.parameters import ByName
from allais.preferences import Preference
from allais.preferences.showing import Rows, as_frame, as_html, in_a_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class InterviewView:
    """What can be read of an interview; nothing here changes it."""

    family: Family
    person: str
    questions: int
    sure: float
    n_particles: int
    arms: dict[Any, Discrete]  # of the decision, if there is one
    _journal: Journal
    _guard: Guard  # the same journal: it has the lock
    _asked: dict[int, Question]
    _told: dict[int, str]  # answers, in their order
    _belief: Belief
    _arm_values: OptionValues | None

    _repr_html_, to_frame, headline = as_html, as_frame, property(in_a_line)

    def rows(self) -> Rows:
        """One row per answer, in their order."""
        return [
            {"question": one.id, "A": in_words(one.a, one.unit), "B": in_words(one.b, one.unit), "answer": side,
             "check": one.is_check}
            for one, side in self.answers
        ]  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the decision weights of probabilities by the preference so far. Needs `allais[plot]`.

        Args:
            ax: Where to draw; by default a new figure.
        """
        return self.preference.plot(ax)

    def _choices(self, told: Mapping[int, str]) -> Choices:
        return Choices.from_rows(
            [(self.person, self._asked[id_].options, SIDES.index(side)) for id_, side in told.items()]
        )

    @property
    @one_at_a_time
    def choices(self) -> Choices:
        """The answers so far, for `fit`, `posterior` and `hierarchical`."""
        return self._choices(self._told)

    @property
    @one_at_a_time
    def answers(self) -> list[tuple[Question, str]]:
        """Each question that was told, with its answer."""
        return [(self._asked[id_], side) for id_, side in self._told.items()]

    @property
    @one_at_a_time
    def fitted(self) -> Fitted:
        """What is known, with draws, a summary and a file of its own."""
        place = self._belief.middle
        at_point = 0.0
        if self._told:
            at_point = float(Likelihood(self.family, self._choices(self._told)).at(place[None])[0])
        checks = self.attention
        notes = (f"{checks} Read the answers with care.",) if checks.passed < checks.asked else ()
        places = self._belief.sample(min(MOST_DRAWS, self.n_particles))
        return Fitted(self.family, "interview", place, places, len(self._told), at_point, notes=notes)

    @property
    def preference(self) -> Preference:
        """The preference at the posterior mean."""
        return self.fitted.preference

    @property
    def uncertainty(self) -> dict[str, tuple[float, float]]:
        """For each parameter, the ends of its 90 % interval."""
        return ByName({row.name: (row.low, row.high) for row in self.fitted.summary().rows})

    @property
    @one_at_a_time
    def decision(self) -> dict[Any, float]:
        """For each arm, how likely it is that the person prefers it; empty without `for_decision`."""
        if self._arm_values is None:
            return {}
        best = self._arm_values(self.family.natural(self._belief.z)).argmax(axis=1)
        shares = np.bincount(best, self._belief.weights, len(self.arms))
        return dict(zip(self.arms, shares.tolist(), strict=True))

    @property
    @one_at_a_time
    def settled(self) -> bool:
        """Whether all questions were answered, or the decision is certain enough."""
        return len(self._told) >= self.questions or max(self.decision.values(), default=0.0) >= self.sure

    @property
    @one_at_a_time
    def attention(self) -> Attention:
        """How the attention checks went."""
        checks = [(self._asked[id_].better, side) for id_, side in self._told.items() if self._asked[id_].is_check]
        return Attention(len(checks), sum(better == side for better, side in checks))

    def __repr__(self) -> str:
        return f"<Interview of {self.person}: {len(self._told)} of {self.questions} questions answered>"
