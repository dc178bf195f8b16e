"""What can be read of a learner; nothing here changes it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from allais._system.locks import Guard, one_at_a_time
from allais.bands.base import Interval
from allais.learner import reading
from allais.learner._engine import Engine
from allais.learner.bounds import BoundsView
from allais.learner.changes import among
from allais.learner.choices import Choice, Drift, Recommendation, number_of
from allais.learner.document import document_of
from allais.learner.journal import Journal
from allais.learner.unfinished import check_cut, unfinished_outcomes, values_left_open
from allais.learner.views import PreferenceView
from allais.policies.core.base import Policy
from allais.preferences import Preference
from allais.preferences.showing import as_frame, as_html, as_intervals, in_a_line
from allais.samples.drift import evidence
from allais.samples.layout import outcomes_of_arm


class View:
    """A learner as a reader sees it."""

    _engine_type: ClassVar[type[Engine]] = Engine
    _engine: Engine
    _journal: Journal
    _guard: Guard  # the same journal: it has the lock

    _repr_html_, to_frame, plot = as_html, as_frame, as_intervals
    headline = property(in_a_line)
    rows = reading.rows
    unfinished, left_open, check_cut = property(unfinished_outcomes), values_left_open, check_cut

    def __repr__(self) -> str:
        what, size = type(self).__name__, len(self._engine.names)
        return f"<{what} of {type(self.policy).__name__}: {size} arms, {self._samples()} samples>"

    def _samples(self) -> int:
        return int(self._engine.state.memory.pulls.sum())

    @property
    def policy(self) -> Policy:
        """The policy that it runs, with the settings of now."""
        return self._engine.policy

    @property
    def rule(self) -> Any:
        """The settings as kernels read them, for tests of a policy of your own."""
        return self._engine.rule

    @property
    def state(self) -> Any:
        """The arrays that kernels write, for tests of a policy of your own; they are not to be changed."""
        return self._engine.state

    @property
    @one_at_a_time
    def arms(self) -> tuple[Hashable, ...]:
        """The arms in play, in the order they came."""
        return tuple(name for name, active in zip(self._engine.names, self.state.active, strict=True) if active)

    @property
    def n_arms(self) -> int:
        """How many arms there are, retired arms included."""
        return len(self._engine.names)

    @property
    def asked(self) -> int:
        """How many choices it has made."""
        return self._engine.next - 1

    @property
    @one_at_a_time
    def samples(self) -> int:
        """How many outcomes it was told."""
        return self._samples()

    @property
    @one_at_a_time
    def pulls(self) -> dict[Hashable, int]:
        """How many outcomes of each arm it was told, retired arms included."""
        return self._by_name(self.state.memory.pulls)

    @property
    @one_at_a_time
    def waiting(self) -> dict[Hashable, int]:
        """How many choices of each arm wait for their outcome, retired arms included.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> asked = learner.ask(3)
        >>> sum(learner.waiting.values())
        3
        """
        gone = self._engine.cuts.counts(self.n_arms, closed=True)  # what will never be known is not waited for
        return self._by_name(self.state.asked - self.state.memory.pulls - gone)

    def _by_name(self, numbers: Any) -> dict[Hashable, Any]:
        return dict(zip(self._engine.names, numbers.tolist(), strict=True))

    @property
    @one_at_a_time
    def outstanding(self) -> tuple[Choice, ...]:
        """The choices that were asked and neither told nor cancelled."""
        return tuple(self._engine.outstanding())

    @property
    def exact(self) -> bool:
        """Whether every outcome is kept, however many there are."""
        return self._engine.exact

    @property
    @one_at_a_time
    def memory_size(self) -> int:
        """How many distinct outcomes are kept of all arms, which is how long a snapshot is."""
        return self._lines_worth_a_snapshot()

    def _lines_worth_a_snapshot(self) -> int:
        memory = self._engine.state.memory
        return int(memory.sizes.sum() + memory.trees.heads[:, 1].sum())

    @one_at_a_time
    def outcomes(self, arm: Hashable) -> tuple[np.ndarray, np.ndarray]:
        """An arm's distinct outcomes, in the user's units, and how often each was seen.

        Of an arm with more than 16,384, neighbours share cells and are listed as one, unless the learner is `exact`.

        Args:
            arm: The name of the arm.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0, 0.0])
        >>> learner.outcomes("A21")
        (array([ 0., 50.]), array([2, 1]))
        """
        _, raw, counts = outcomes_of_arm(self.state.memory, self._engine.arm_of(arm))
        return raw, counts

    def check_reward(self, arm: Hashable | None, reward: float) -> float:
        """See whether `tell` would take a reward.

        Args:
            arm: The name of the arm; None for one that is not listed, which a linear policy knows by its features.
            reward: What happened, in the user's units.

        Returns:
            The reward as a float.

        Raises:
            ValueError: The reward is not finite, or the declared rewards do not admit it.
        """
        return self._engine.checked(0 if arm is None else self._engine.arm_of(arm), reward)

    @reading.without_context
    def value(self, preference: Preference | None = None) -> dict[Hashable, float]:
        """What each arm is worth by what was seen, to this preference or to another one's.

        An arm of n distinct outcomes costs O(n), or O(log n) where there are very many and the utility is the policy's.

        Args:
            preference: Whose weights and utility count; the policy's own if left out. Direction and reference are those
                of the policy's own preference (`Preference.in_frame_of`).

        Returns:
            The value of each arm by its name; NaN where nothing is known about it.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0])
        >>> learner.value(), round(learner.value(Preference(Power(0.5)))["A21"], 4)
        ({'A21': 25.0, 'A28': nan}, 35.3553)
        """
        return self._by_name(self._values(reading.someone(self.policy, preference)))

    def _values(self, preference: Preference) -> Any:
        return reading.values_of(self._engine, preference)

    @one_at_a_time
    def memory_error(self, preference: Preference | None = None) -> dict[Hashable, float]:
        """The most that each arm's `value` may be off because outcomes share cells; 0 while every one is kept.

        Intervals are widened for it already.

        Args:
            preference: Whose value it is about, as in `value`.

        >>> learner = WUCB.as_printed(expected_value(), Bounded(0, 1)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", np.random.default_rng(1).random(20_000))
        >>> error = learner.memory_error()
        >>> 0.0 < error["A21"] < 1e-3, error["A28"]
        (True, 0.0)
        """
        other, memory = reading.someone(self.policy, preference), self.state.memory
        return {
            name: reading.hidden_by_cells(self.policy, memory, k, other) for k, name in enumerate(self._engine.names)
        }

    @one_at_a_time
    def intervals(self) -> dict[Hashable, Interval]:
        """The interval of every arm's value at the policy's present confidence.

        It ends where the declared rewards do; it is infinite for an arm that was never told, or where there is none.

        >>> learner = WUCB.as_printed(Preference(TverskyKahneman(0.61)), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0])
        >>> learner.intervals()["A21"]
        Interval(low=0.0, value=21.03..., high=50.0)
        """
        return reading.intervals_of(self.policy, self._engine.names, *reading.shown(self._engine))

    @one_at_a_time
    def interval(self, arm: Hashable) -> Interval:
        """The interval of one arm's value; by bets (`WLUCB(..., band=Betting())`) it holds whenever one looks.

        Args:
            arm: The name of the arm.

        >>> WLUCB(expected_value(), Bounded(0, 50), delta=0.05, band=Betting()).start(["A21", "A28"], 1).interval("A21")
        Interval(low=-inf, value=-inf, high=inf)
        """
        return self.intervals()[self._engine.names[self._engine.arm_of(arm)]]

    @one_at_a_time
    def is_settled(self) -> bool:
        """Whether the policy has stopped and its recommendation is final."""
        return reading.is_settled(self.policy, *reading.shown(self._engine))

    @one_at_a_time
    def reached_delta(self) -> float | None:
        """The smallest delta at which the policy would have settled on what it has seen; None if no delta would do.

        It may be read at any time, even at one that was chosen by looking at it. Intervals widen as delta falls, so a
        wrong arm reaches a delta of at most x only if some interval at level x is wrong: with probability below x.
        """
        return reading.reached_delta(self._engine)

    @reading.without_context
    def recommend(self, preference: Preference | None = None) -> Recommendation:
        """The best arm so far, its value and interval, and whether the policy is done.

        Args:
            preference: For whom the arm is the best, by the outcomes that all share; the policy's own preference if
                left out. Direction and reference are those of the policy's own (`Preference.in_frame_of`). There is an
                interval for somebody else from a policy that also chooses for her (`ask(preference=...)`), and a value
                from every other.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0] + [0.0] * 9)
        >>> learner.observe("A28", [7.0] * 10)
        >>> learner.recommend().arm, learner.recommend(Preference(TverskyKahneman(0.61))).arm
        ('A28', 'A21')
        """
        engine = self._engine
        other = reading.someone(engine.policy, preference)
        if other == engine.policy.preference:
            return reading.recommended(engine, engine.policy, *reading.shown(engine))
        view = engine.others.see(engine, other) if engine.policy.open_to_people else None
        if isinstance(view, PreferenceView | BoundsView):
            view.complete()
            return reading.recommended(engine, view.policy, view.rule, view.state)
        return reading.best_guess(self.arms, self._by_name(self._values(other)), self.pulls)

    @reading.without_context
    def chances(
        self, preference: Preference | None = None, draws: int = 200, *, allowed: Sequence[Hashable] | None = None
    ) -> dict[Hashable, float]:
        """How likely each arm in play is to be the next choice: its share of some choices that nobody is told.

        The learner stays as it was. A policy in which chance decides between ties only gives one arm, or few, a share.

        Args:
            preference: For whom the choice would be, as in `ask`.
            draws: How many choices are made.
            allowed: The arms that may be chosen, as in `ask`.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0, 0.0])
        >>> learner.observe("A28", [7.0, 7.0, 20.0])
        >>> learner.chances()
        {'A21': 0.62, 'A28': 0.38}
        """
        engine = self._engine
        return among(engine, allowed, lambda: reading.shares_of(engine, engine.view_for(preference), draws))

    def propensity(self, choice: Choice | int) -> float | None:
        """The probability that the policy gave to a choice that is outstanding, for estimates from logged choices.

        Args:
            choice: What `ask` returned, or its id.

        Returns:
            What the arm was drawn by, exactly: 1 where a rule decides, and less where arms tie or all have a floor; for
            `NPTS` and `LinTS` the shares of their `draws`. None where it is not known: for policies that search, and
            for one draw without a floor.

        Raises:
            ValueError: The choice is not outstanding.

        >>> learner = UCB1(Bounded(0, 1)).start(["A21", "A28"], seed=1)
        >>> learner.propensity(learner.ask())
        1.0
        """
        engine, id_ = self._engine, choice.id if type(choice) is Choice else number_of(choice)
        if not engine.is_out(id_):
            raise ValueError(engine.why_unknown(id_))
        return engine.choice(id_).propensity

    @reading.without_context
    def why(self, arm: Hashable, preference: Preference | None = None, unit: str = "") -> str:
        """A sentence about an arm that was just chosen, by the value that it has for whom it was chosen.

        Args:
            arm: The name of the arm.
            preference: For whom it was chosen, as in `ask`.
            unit: The unit of outcomes, such as "minutes".

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A28", [7.0, 8.0])
        >>> learner.why("A28", unit="minutes"), learner.why("A21")
        ('A28 is worth most so far: its mean is 7.5 minutes, by 2 outcomes', 'A21 was never seen')
        """
        engine = self._engine
        if not engine.policy.keeps_outcomes:
            return f"{arm} is the best, or worth trying, by what all arms have shown"
        view = None if preference is None and not engine.cuts.any else engine.view_for(preference)
        values = engine.state.memory.value if view is None else view.values()
        return reading.why(engine, engine.arm_of(arm), values, preference, unit)

    @one_at_a_time
    def drift(self) -> dict[Hashable, Drift]:
        """Where the last outcomes of an arm no longer look like the earlier ones.

        Outcomes are compared with the first 128, in the order in which they were told, after every one. An arm whose
        outcomes are of one distribution ever raises an alarm with a probability of 1 in 1,000 at most; then it is
        watched anew.

        >>> learner = NPTS(expected_value(), Bounded(0, 1)).start(["A21", "A28"], seed=1)
        >>> rng = np.random.default_rng(1)
        >>> learner.observe("A21", 0.5 * rng.random(1_000))
        >>> before = learner.drift()["A21"].alarms
        >>> learner.observe("A21", 0.5 + 0.5 * rng.random(200))
        >>> before, learner.drift()["A21"].alarms
        (0, 1)
        """
        watch = self._engine.watch
        return {
            name: Drift(many, ago if many else None, float(evidence(watch, k)))
            for k, (name, (many, ago)) in enumerate(zip(self._engine.names, watch.alarms.tolist(), strict=True))
        }

    @one_at_a_time
    def snapshot(self) -> dict[str, Any]:
        """Everything that it knows, as JSON can say it; `Learner.from_snapshot` makes a learner of it.

        A learner that continues beside its snapshot calls `lay_out` first, so that both choose identically to the
        last bit; `save` does so.
        """
        return document_of(self._engine)

    @one_at_a_time
    def copy(self) -> Self:
        """An independent learner that knows the same and will choose the same."""
        twin = object.__new__(type(self))
        twin.__setstate__(self._engine.contents())
        return twin

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        return self._engine.contents()

    def __setstate__(self, contents: dict[str, Any]) -> None:
        self._guard = self._journal = Journal(type(self).__name__)
        self._engine = self._engine_type.of(contents, self._journal)

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._journal.require_in_memory()
        return super().__reduce_ex__(protocol)

    def close(self) -> None:
        """Let go of the folder, so that another process can open it; what lives in memory has none."""
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
