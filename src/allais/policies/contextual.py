"""ContextualNPTS: NPTS in each context, on the distributions that a forest of outcomes gives there."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from numpy.typing import ArrayLike

from allais._checks import Seed
from allais.bands.base import refuse_unbounded
from allais.policies.core.base import KArmed, Propensity, setting
from allais.policies.core.guardrails import Guardrail, guardrails_of
from allais.policies.core.knowledge import Fading, as_list, fading, least_probabilities
from allais.policies.npts import NPTSRule, draws_of_shares, rule_of_draws

if TYPE_CHECKING:
    from allais.learner import ContextualLearner


@dataclass(frozen=True)
class ContextualNPTS(KArmed):
    """NPTS in each context, low regret: play the arm that is best under a random reweighting of outcomes seen there.

    `learner.ask(context={"hour": 8, "weather": "rain"})` chooses for a context: numbers, text, true or false, or lists
    of text, by name; what is missing is missing, and nothing is declared. An online forest (`allais.forests`) learns
    which features matter to which arm, by Bayes factors, and gives the outcomes of each arm in a context, with the
    number of samples that each stands for. An outcome gets a mass from Gamma(that number), and the best outcome that
    could occur one from Gamma(the share of the arm's samples that count here): the mass of 1 that it has in `NPTS` is
    shared among contexts. The arm is worth what the distribution with these masses is worth. So whatever a preference
    looks at may depend on the context: the mean, a percentile, or the tail only. An arm with few outcomes may be
    another one in this context: a draw now and then takes a split that no tree has found yet, by its Bayes factor, and
    counts the outcomes on this side only. So an arm that is bad on average is still tried where it may be good.

    Arms share the splits of a tree, and each arm uses those that its own outcomes, and the other arms, speak for. A
    choice without a context is that of `NPTS`, by all outcomes.

    Its regret is measured (benchmarks/results.md), not proven.

    Args:
        preference: What is maximised.
        rewards: What is known about outcomes: one declaration for all arms, or a list with one per arm.
        name: What tables and legends call it.
        memory: `Fading(half_life)` where outcomes change; None for everything. Splits that were found stay.
        draws: How many draws give the probability of a choice, as in `NPTS`.
        floor: The least probability of every arm in play, or a list with that of each, as in `NPTS`.
        guardrails: Limits that the answer must keep, a list of `Guardrail`; each is judged by all outcomes of an arm,
            whatever their contexts.

    >>> rng = np.random.default_rng(2)
    >>> learner = ContextualNPTS(cvar(0.1), Bounded(0, 30)).start(["bus", "bike"], seed=2)
    >>> for _ in range(400):
    ...     rain = bool(rng.random() < 0.5)
    ...     choice = learner.ask(context={"weather": "rain" if rain else "dry"})
    ...     spread = 6.0 if choice.arm == "bike" and rain else 1.0
    ...     learner.tell(choice, float(np.clip(rng.normal(15.0 if choice.arm == "bike" else 14.0, spread), 0, 30)))
    >>> learner.recommend(context={"weather": "rain"}).arm, learner.recommend(context={"weather": "dry"}).arm
    ('bus', 'bike')
    """

    memory: Fading | None = setting(None, fading)
    draws: int = setting(1, draws_of_shares)
    floor: float | tuple[float, ...] = setting(0.0, least_probabilities)
    guardrails: Sequence[Guardrail] = setting((), guardrails_of)

    called: ClassVar[str] = "contextual NPTS"
    propensity: ClassVar[Propensity] = "ticket"
    goal: ClassVar[str] = "regret"
    open_to_people: ClassVar[bool] = True
    open_to_arms: ClassVar[bool] = True
    needs_rewards: ClassVar[bool] = True

    def check(self) -> None:
        """Refuse rewards without a best outcome that could occur."""
        assert self.rewards is not None
        refuse_unbounded("ContextualNPTS", as_list(self.rewards))

    def rule(self, n_arms: int) -> NPTSRule:
        """The settings as the kernels read them: those of NPTS."""
        return rule_of_draws(self, n_arms, 0, self.draws, self.floor)

    def start(
        self, arms: int | Sequence[Hashable], seed: Seed, features: ArrayLike | None = None, *, exact: bool = False
    ) -> ContextualLearner:
        """Start a learner that chooses in contexts.

        Args:
            arms: The names of the arms, or how many there are.
            seed: The seed of choices.
            features: Refused: what is known in a round comes with `ask(context=...)`.
            exact: Whether every outcome is kept, beside the forest, however many there are.
        """
        if features is not None:
            raise ValueError(
                "ContextualNPTS takes what is known in a round by ask(context={...}); got features of arms. "
                "Leave features out, or use allais.linear.LinTS."
            )
        from allais.learner import ContextualLearner

        return ContextualLearner(self, arms, seed, exact=exact)
