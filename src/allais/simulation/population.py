"""Many people on one memory: each round somebody comes, is served by her own preference, and all learn from it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allais._checks import FloatArray, IntArray, brief
from allais._system.extras import Progress
from allais.policies.core.base import Policy
from allais.preferences import Preference
from allais.preferences.showing import Rows, as_frame, as_html, curve_of, in_a_line
from allais.problems import Problem
from allais.simulation.results import standard_error
from allais.simulation.rollout import fitted, one_by_one, streams_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

People = Mapping[Any, Preference] | Sequence[Preference]
MOST_LINES = 10  # in a picture


@dataclass(frozen=True, eq=False)
class SharedResults:
    """Runs of one policy whose memory many people share, at checkpoints.

    Reference and direction are those of the policy's preference, for everybody (`Preference.in_frame_of`).

    Attributes:
        policy: The policy's name.
        label: The policy and its settings, in words.
        arms: The names of the arms.
        people: The names of the people.
        checkpoints: Rounds, of all people together; (checkpoints,).
        pulls: How often each person was given each arm, (runs, people, checkpoints, arms).
        values: What each arm is truly worth to each person, (people, arms).

    >>> problem = Bandit([Discrete({50: 0.15, 0: 0.85}), Discrete({9: 1.0})])
    >>> people = {"alice": Preference(TverskyKahneman(0.61)), "bob": expected_value()}
    >>> policy = NPTS(expected_value(), Bounded(0, 50))
    >>> results = simulate(policy, problem, n_rounds=10_000, n_runs=2, seed=1, people=people)
    >>> results.regret.shape, results.pulls[:, :, -1].argmax(axis=-1).tolist()
    ((2, 2, 154), [[0, 1], [0, 1]])
    """

    policy: str
    label: str
    arms: tuple[Hashable, ...]
    people: tuple[Hashable, ...]
    checkpoints: IntArray
    pulls: IntArray
    values: FloatArray

    _repr_html_, to_frame, headline = as_html, as_frame, property(in_a_line)

    def rows(self) -> Rows:
        """One row per person: the arm that is best for her, how often she got it, and what she lost by the end."""
        best = self.values.argmax(axis=1)
        came = self.rounds[:, :, -1].mean(axis=0)
        got = self.pulls[:, np.arange(best.size), -1, best].mean(axis=0)
        ends = self.mean_regret[:, -1].tolist(), self.regret_error[:, -1].tolist()
        return [
            {"person": name, "best arm": self.arms[best[k]], "rounds": float(came[k]), "got it": float(got[k]),
             "regret": ends[0][k], "standard error": ends[1][k]}
            for k, name in enumerate(self.people)
        ]  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean regret of each person, of the first ten. Needs `allais[plot]`.

        Args:
            ax: Where to draw; by default a new figure.
        """
        names = [str(name) for name in self.people[:MOST_LINES]]
        along = zip(self.checkpoints, self.mean_regret[: len(names)].T, strict=True)
        rows = [{"round": m, **dict(zip(names, lost, strict=True))} for m, lost in along]
        ax = curve_of(ax, rows, "round", names)
        ax.set(xscale="log", ylabel="regret")
        return ax

    def __repr__(self) -> str:
        return f"<SharedResults of {self.label}: {len(self.people)} people, {self.pulls.shape[0]} runs>"

    @property
    def rounds(self) -> IntArray:
        """How often each person came, (runs, people, checkpoints)."""
        return self.pulls.sum(axis=-1)

    @property
    def regret(self) -> FloatArray:
        """What each person has lost to the arm that is best for her, by her own value; (runs, people, checkpoints)."""
        gaps = self.values.max(axis=1, keepdims=True) - self.values
        return np.einsum("rpca,pa->rpc", self.pulls, gaps)

    @property
    def mean_regret(self) -> FloatArray:
        """The mean of `regret` over runs, (people, checkpoints)."""
        return self.regret.mean(axis=0)

    @property
    def regret_error(self) -> FloatArray:
        """The standard error of `mean_regret`; NaN for a single run."""
        return standard_error(self.regret)


def named_people(people: People) -> dict[Hashable, Preference]:
    """Who comes: preferences by name, or numbered from 0."""
    named: dict[Hashable, Preference] = dict(people if isinstance(people, Mapping) else enumerate(people))
    if not named or not all(isinstance(one, Preference) for one in named.values()):
        raise TypeError(
            f"people are one preference or more, in a list or by name; got {brief(people)}. "
            "Write people={'alice': Preference(...)}."
        )
    return named


def simulate_people(
    policy: Policy,
    problem: Problem,
    people: People,
    marks: IntArray,
    seeds: list[np.random.SeedSequence],
    progress: bool | None = None,
    exact: bool = False,
) -> SharedResults:
    """Run a policy on a problem, each round for somebody drawn at random from the people."""
    policy = fitted(policy, problem)
    named = {name: one.in_frame_of(policy.preference) for name, one in named_people(people).items()}
    values = [problem.true_values(preference) for preference in named.values()]
    if any(each is None for each in values):
        raise ValueError("each person's regret needs the true values of the arms; this problem has none. Give them.")
    with Progress(len(seeds), policy.name, progress) as bar:
        pulls = []
        for seed in seeds:
            pulls.append(_run(policy, problem, list(named.values()), marks, seed, exact))
            bar.advance(1)
    return SharedResults(
        policy=repr(policy),
        label=policy.name,
        arms=tuple(problem.arms),
        people=tuple(named),
        checkpoints=marks,
        pulls=np.array(pulls),
        values=np.array(values),
    )


def _run(
    policy: Policy,
    problem: Problem,
    preferences: list[Preference],
    marks: IntArray,
    seed: np.random.SeedSequence,
    exact: bool,
) -> IntArray:
    """One run: how often each person was given each arm, (people, checkpoints, arms)."""
    n_arms = problem.n_arms
    chooser, comers, *tellers = seed.spawn(n_arms + 2)
    learner = policy.on(problem).start(n_arms, np.random.default_rng(chooser), exact=exact)
    streams = one_by_one(streams_of(policy, problem, tellers))
    who = np.random.default_rng(comers).integers(len(preferences), size=int(marks[-1]))
    so_far = np.zeros((len(preferences), n_arms), dtype=np.int64)
    pulls = np.zeros((len(preferences), marks.size, n_arms), dtype=np.int64)
    done = 0
    for turn, person in enumerate(who.tolist(), start=1):
        choice = learner.ask(preference=preferences[person])
        arm: Any = choice.arm  # arms are numbered here
        learner.tell(choice, next(streams[arm]))
        so_far[person, arm] += 1
        if turn == marks[done]:
            pulls[:, done] = so_far
            done += 1
    return pulls
