"""No accepted reward is ever lost and none invented, whatever is called in whatever order."""

import json
import math

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from allais import LUCB, WUCB, Bounded, Learner, Preference, TverskyKahneman
from allais.learner import NotNow
from allais.policies import UCBV

FIFTY = Bounded(0, 50)
POLICIES = [
    WUCB.as_printed(Preference(TverskyKahneman(0.61)), FIFTY),
    WUCB.as_printed(Preference.tversky_kahneman(reference=20.0, costs=True), FIFTY),
    WUCB.as_printed(Preference.rank_dependent(TverskyKahneman(0.61), reference=7.0), [FIFTY, FIFTY]),
    UCBV(FIFTY),
    LUCB(FIFTY, delta=0.1, tolerance=20.0),
]
rewards = st.sampled_from([0.0, 7.0, 20.0, 50.0]) | st.floats(0.0, 50.0).map(lambda x: round(x, 3))
impossible = st.sampled_from([math.nan, math.inf, -math.inf, -0.001, 50.001, "seven", None, [7.0]])
anything = st.randoms(use_true_random=False)  # picks among what there is at that moment


class LearnerAndModel(RuleBasedStateMachine):
    """A learner beside a plain list of samples per arm."""

    @initialize(policy=st.sampled_from(POLICIES), seed=st.integers(0, 99))
    def start(self, policy, seed):
        self.learner = policy.start(["A", "B"], seed=seed)
        self.samples = {"A": [], "B": []}
        self.out = {}
        self.active = {"A", "B"}
        self.gone = []  # choices that were told or cancelled

    def refused(self, call):
        before = self.learner.snapshot()
        with pytest.raises(ValueError, match=r"must|only|once|fixes its arms"):
            call()
        assert self.learner.snapshot() == before

    def asked(self, batch):
        for choice in batch:
            assert choice.id not in self.out
            assert choice not in self.gone
            assert choice.arm in self.active
            self.out[choice.id] = choice

    # -- asking and telling

    @rule()
    def ask(self):
        try:
            self.asked([self.learner.ask()])
        except NotNow:
            assert self.learner.recommend().settled

    @rule(n=st.integers(1, 5))
    def ask_a_batch(self, n):
        try:
            batch = self.learner.ask(n)
        except NotNow:
            assert self.learner.recommend().settled
        else:
            assert len(batch) == n or self.learner.recommend().settled
            self.asked(batch)

    @precondition(lambda self: self.out)
    @rule(random=anything, reward=rewards)
    def tell_late(self, random, reward):
        choice = self.out.pop(random.choice(list(self.out)))
        self.learner.tell(choice, reward)
        self.samples[choice.arm].append(reward)
        self.gone.append(choice)

    @precondition(lambda self: self.gone)
    @rule(random=anything, reward=rewards)
    def tell_again(self, random, reward):
        choice = random.choice(self.gone)
        self.refused(lambda: self.learner.tell(choice, reward))
        self.refused(lambda: self.learner.cancel(choice.id))

    @precondition(lambda self: self.out)
    @rule(random=anything, reward=impossible)
    def tell_what_cannot_be(self, random, reward):
        choice = random.choice(list(self.out.values()))
        self.refused(lambda: self.learner.tell(choice, reward))

    @precondition(lambda self: self.out)
    @rule(random=anything)
    def cancel(self, random):
        choice = self.out.pop(random.choice(list(self.out)))
        self.learner.cancel(choice)
        self.gone.append(choice)

    # -- data from elsewhere

    @rule(random=anything, seen=st.lists(rewards, min_size=1, max_size=12))
    def observe(self, random, seen):
        arm = random.choice(list(self.samples))
        self.learner.observe(arm, seen)
        self.samples[arm] += seen

    @rule(random=anything, count=st.integers(1, 200), step=st.sampled_from([0.25, 0.05, 0.007]))
    def observe_many(self, random, count, step):
        self.observe(random, [round(step * (i % int(50 / step)), 3) for i in range(count)])

    @precondition(lambda self: any(self.samples.values()))
    @rule(random=anything, count=st.integers(1, 100))
    def forget_many(self, random, count):
        for _ in range(min(count, sum(map(len, self.samples.values())))):
            self.forget(random)

    @rule(random=anything, seen=st.lists(rewards, max_size=3), bad=impossible)
    def observe_what_cannot_be(self, random, seen, bad):
        arm = random.choice(list(self.samples))
        self.refused(lambda: self.learner.observe(arm, [*seen, bad]))
        self.refused(lambda: self.learner.observe("nowhere", [7.0]))

    @precondition(lambda self: any(self.samples.values()))
    @rule(random=anything)
    def forget(self, random):
        arm = random.choice([arm for arm, seen in self.samples.items() if seen])
        mistake = random.choice(self.samples[arm])
        self.learner.forget(arm, mistake)
        self.samples[arm].remove(mistake)

    @rule(random=anything, reward=rewards)
    def forget_what_was_not_seen(self, random, reward):
        arm = random.choice(list(self.samples))
        if reward not in self.samples[arm]:
            self.refused(lambda: self.learner.forget(arm, reward))

    # -- arms that come and go

    @rule()
    def add(self):
        name = f"new {len(self.samples)}"
        own = FIFTY if isinstance(self.learner.policy.rewards, list) else None
        if not self.learner.policy.open_to_arms:
            self.refused(lambda: self.learner.add(name))
        elif len(self.samples) < 6:
            self.learner.add(name, own)
            self.samples[name] = []
            self.active.add(name)

    @rule(random=anything)
    def retire(self, random):
        arm = random.choice(list(self.samples))
        if self.learner.policy.open_to_arms and arm in self.active and len(self.active) > 1:
            self.learner.retire(arm)
            self.active.remove(arm)
        else:
            self.refused(lambda: self.learner.retire(arm))

    # -- copies and files

    @rule()
    def save_and_load(self):
        text = json.dumps(self.learner.snapshot(), allow_nan=False)
        again = Learner.from_snapshot(json.loads(text))
        assert again.snapshot() == self.learner.snapshot()
        self.learner = again

    @rule(random=anything)
    def copy(self, random):
        old, self.learner = self.learner, self.learner.copy()
        old.observe(random.choice(list(self.samples)), [7.0, 50.0])  # which the copy must not see
        for choice in old.outstanding:
            old.tell(choice, 0.0)

    # -- what always holds

    @invariant()
    def nothing_is_lost_and_nothing_invented(self):
        learner = self.learner
        assert learner.pulls == {arm: len(seen) for arm, seen in self.samples.items()}
        assert learner.samples == sum(learner.pulls.values())
        for arm, seen in self.samples.items():
            outcomes, counts = learner.outcomes(arm)
            assert np.sort(np.repeat(outcomes, counts)).tolist() == sorted(seen)
            assert np.unique(outcomes).size == outcomes.size
        assert learner.outstanding == tuple(self.out.values())
        assert set(learner.arms) == self.active
        out = [choice.arm for choice in self.out.values()]
        expected = [len(seen) + out.count(arm) for arm, seen in self.samples.items()]
        assert learner.snapshot()["state"]["asked"] == expected

    @invariant()
    def values_are_those_of_the_samples(self):
        preference = self.learner.policy.preference
        values, intervals = self.learner.value(), self.learner.intervals()
        for arm, seen in self.samples.items():
            if seen:
                expected = pytest.approx(preference.estimate(seen), rel=1e-12, abs=1e-12)
                assert values[arm] == expected
                assert intervals[arm].value == expected
            else:
                assert math.isnan(values[arm])
                assert math.isinf(intervals[arm].high)
        assert self.learner.recommend().arm in self.active


LearnerAndModel.TestCase.settings = settings(
    max_examples=5, stateful_step_count=30, deadline=None, derandomize=True, database=None
)
TestLearner = LearnerAndModel.TestCase


class LearnerAndModelForLonger(LearnerAndModel):
    """The same with other examples, and more of them."""


LearnerAndModelForLonger.TestCase.settings = settings(
    max_examples=200, stateful_step_count=50, deadline=None, derandomize=True, database=None
)
TestLearnerForLonger = pytest.mark.slow(LearnerAndModelForLonger.TestCase)
