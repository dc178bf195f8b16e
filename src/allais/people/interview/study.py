"""The value of an interview to a bandit: simulated people are asked, fitted and served."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from allais._checks import FloatArray, Seed, generator
from allais.lotteries import Discrete
from allais.people.data.choices import Choices, dominates
from allais.people.interview.candidates import Question, lotteries_within
from allais.people.interview.interview import Interview
from allais.people.model.family import Family
from allais.people.model.likelihood import OptionValues
from allais.policies import NPTS
from allais.preferences import Preference, expected_value
from allais.preferences.showing import Rows, as_frame, as_html, as_intervals
from allais.problems import Bandit
from allais.report.markup import markdown_table
from allais.rewards import Bounded
from allais.simulation import simulate

STAKES = (-50.0, 200.0)
ARMS, CANDIDATES = 5, 200
SOURCES = ("the true preference", "fitted after the interview", "0.61 for all", "the mean")


@dataclass(frozen=True)
class Study:
    """Regret by the true preference, as a share of the regret of choosing at random, (people, sources).

    Attributes:
        learned: By a bandit that learns the arms.
        known: By the arm that is best if the arms are known.
        n_rounds: The number of rounds.
    """

    learned: FloatArray
    known: FloatArray
    n_rounds: int

    _repr_html_, to_frame, plot = as_html, as_frame, as_intervals

    @property
    def headline(self) -> str:
        """The sentence above its table in a notebook."""
        return f"Regret after {self.n_rounds:,} rounds, as a share of what choosing at random loses."

    def frame_rows(self) -> Rows:
        """One row per source, with numbers."""
        return [
            {"served by": source, "regret": learned, "standard error": error, "arms known": known}
            for source, learned, error, known in zip(
                SOURCES, self.learned.mean(axis=0).tolist(), _errors(self.learned).tolist(),
                self.known.mean(axis=0).tolist(), strict=True,
            )
        ]  # fmt: skip

    @property
    def header(self) -> tuple[str, ...]:
        """What the columns of `rows` are."""
        return "served by", f"regret after {self.n_rounds:,} rounds", "lost against the truth", "arms known"

    def rows(self) -> list[list[str]]:
        """One line per source, with standard errors over people."""
        return [
            [source, *map(_shown, (self.learned[:, k], self.learned[:, k] - self.learned[:, 0], self.known[:, k]))]
            for k, source in enumerate(SOURCES)
        ]  # fmt: skip

    def __str__(self) -> str:
        return markdown_table(self.header, self.rows())


def _shown(numbers: FloatArray) -> str:
    return f"{numbers.mean():.3f} ± {_errors(numbers):.3f}"


def _errors(numbers: FloatArray) -> FloatArray:
    """Standard errors of means over people."""
    return np.asarray(numbers.std(axis=0, ddof=1) / np.sqrt(len(numbers)))


def study(
    n_people: int = 100,
    n_questions: int = 20,
    *,
    n_rounds: int = 5000,
    n_runs: int = 2,
    seed: Seed = 1,
    done: Callable[[int], None] = lambda _: None,
) -> Study:
    """Ask simulated people, fit them, and let a bandit serve them: how much regret does the fit cost?

    People are drawn from the prior of cumulative prospect theory, answer by their own choice rule, and meet five
    lotteries of which none dominates another, and which have about the same value to some other person of the prior: a
    choice that is not obvious. NPTS learns the lotteries under the true preference, the fitted one,
    that of Tversky and Kahneman's median person, and the mean; all meet the same outcomes, and the true preference
    judges.

    Args:
        n_people: How many people.
        n_questions: How many questions each is asked.
        n_rounds: The rounds of each run.
        n_runs: The runs of each person.
        seed: The seed.
        done: Called with the number of people that are finished.

    >>> found = study(n_people=2, n_questions=3, n_rounds=50, n_runs=1)
    >>> found.learned.shape
    (2, 4)
    """
    rng = generator(seed)
    family = Family(stake=100.0)
    learned, known = np.empty((n_people, len(SOURCES))), np.empty((n_people, len(SOURCES)))
    for i, truth in enumerate(family.natural(family.prior.draw(n_people, rng))):
        interview = Interview(family, stakes=STAKES, questions=n_questions, seed=rng)
        while not interview.settled:
            question = interview.ask()
            interview.tell(question, answer_of(family, truth, question, rng))
        own = family.preference(truth)
        problem = Bandit(_arms(family, rng))
        values = problem.true_values(own)
        assert values is not None
        at_random = float(values.max() - values.mean())
        common = int(rng.integers(2**31))  # all sources meet the same outcomes
        for k, source in enumerate((own, interview.preference, Preference.tversky_kahneman(), expected_value())):
            policy = NPTS(source, Bounded(*STAKES))
            results = simulate(
                policy, problem, n_rounds, n_runs, common, judge=own, progress=False, checkpoints=[n_rounds]
            )
            learned[i, k] = results.mean_regret[-1] / (n_rounds * at_random)
            believed = problem.true_values(source)
            assert believed is not None
            known[i, k] = (values.max() - values[believed.argmax()]) / at_random
        done(i + 1)
    return Study(learned, known, n_rounds)


def answer_of(family: Family, truth: FloatArray, question: Question, rng: np.random.Generator) -> str:
    """What a person with these parameters answers, drawn at random."""
    choice = Choices.from_rows([("one", question.options, 0)])
    return "A" if rng.random() < np.exp(family.log_chances([truth], choice)[0, 0]) else "B"


def _arms(family: Family, rng: np.random.Generator) -> list[Discrete]:
    """Lotteries between which some person would be undecided."""
    offered = lotteries_within(family, STAKES, CANDIDATES, rng)
    values = OptionValues(family, offered)(family.natural(family.prior.draw(1, rng)))[0]
    found: list[Discrete] = []
    for place in np.argsort(np.abs(values - values[0])):  # the first one stands for all
        one = offered[place]
        if not any(dominates(one, other) or dominates(other, one) for other in found):
            found.append(one)
    return found[:ARMS]
