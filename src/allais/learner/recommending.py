"""What a learner recommends, to whom: by the policy's own preference, or by that of somebody who shares its memory."""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from allais._kernels import held
from allais._system.locks import one_at_a_time
from allais.learner.bounds import BoundsView, shared_bounds
from allais.learner.choices import NotNow, Recommendation
from allais.learner.view import View, intervals_of
from allais.learner.views import MOST, PreferenceView, SharedDraws, SharedTables, SharedView, verbs_for
from allais.policies.core.base import Policy
from allais.policies.core.verbs import recommend
from allais.policies.npts import BinsRule
from allais.preferences import Preference


class Recommending(View):
    """A learner that recommends, and knows the views of others."""

    _state_at: Any  # where compiled code finds the state
    _views: dict[Preference, PreferenceView]  # of people who asked, the one who asked last at the end
    _tables: SharedTables | None = None  # what people share where nothing is kept about them

    @one_at_a_time
    def recommend(self, preference: Preference | None = None) -> Recommendation:
        """The best arm so far, its value and interval, and whether the policy is done.

        With a `preference`, the best arm for somebody else, by the outcomes that all share, from the reference and in
        the direction of the policy's own preference (`Preference.in_frame_of`). She gets an interval from
        a policy that also chooses for her (`ask(preference=...)`), and a value from every other.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0] + [0.0] * 9)
        >>> learner.observe("A28", [7.0] * 10)
        >>> learner.recommend().arm, learner.recommend(Preference(TverskyKahneman(0.61))).arm
        ('A28', 'A21')
        """
        other = self._someone(preference)
        if other == self.policy.preference:
            return self._recommended(self.policy, self._rule, self._state)
        view = self._seen_by(other) if self.policy.open_to_people else None
        if isinstance(view, PreferenceView | BoundsView):
            view.complete()
            return self._recommended(view.policy, view.rule, view.state)
        values = self._values(other)
        known = {name: values[name] for name in self.arms if not math.isnan(values[name])}
        pulls = dict(zip(self._names, self._state.memory.pulls.tolist(), strict=True))
        best = max(known, key=lambda name: (known[name], pulls[name]), default=self.arms[0])
        return Recommendation(best, known.get(best, math.nan), None, False, None, "none")

    def _recommended(self, policy: Policy, rule: Any, state: Any) -> Recommendation:
        best = self._names[int(recommend(rule, state))]
        interval = intervals_of(policy, self._names, rule, state)[best]
        bounded = math.isfinite(interval.low) and math.isfinite(interval.high)
        shown = interval if bounded else None
        return Recommendation(best, interval.value, shown, self.is_settled(), policy.error_rate, policy.promise)

    @one_at_a_time
    def chances(self, preference: Preference | None = None, draws: int = 200) -> dict[Hashable, float]:
        """How likely each arm in play is to be the next choice: its share of `draws` choices that nobody is told.

        The learner stays as it was. A policy in which chance decides between ties only gives one arm, or few, a share.

        >>> learner = NPTS(expected_value(), Bounded(0, 50)).start(["A21", "A28"], seed=1)
        >>> learner.observe("A21", [50.0, 0.0, 0.0])
        >>> learner.observe("A28", [7.0, 7.0, 20.0])
        >>> learner.chances()
        {'A21': 0.62, 'A28': 0.38}
        """
        if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
            raise ValueError(f"draws must be a whole number, 1 or more; got {draws!r}. Give an int.")
        view = None if preference is None else self._view_for(preference)
        rule, state = (self._rule, self._state) if view is None else (view.rule, view.state)
        shared = ("memory", "kept", "lifetimes")  # which `choose` does not change, or only brings up to date
        parts = {name: copy.deepcopy(getattr(state, name)) for name in state._fields if name not in shared}
        state = state._replace(**parts)
        places = held(rule), held(state)
        choosing, _ = verbs_for(type(rule), *places)
        counts = dict.fromkeys(self.arms, 0)
        asked = state.asked.copy()
        for u in np.random.default_rng(0).random(int(draws)).tolist():
            if view is not None:
                view.prepare(u)
            arm = int(choosing(*places, u))
            if arm < 0:
                raise NotNow("nothing can be asked now; the policy has settled or waits. See recommend().")
            counts[self._names[arm]] += 1
            state.asked[:] = asked
        return {name: count / draws for name, count in counts.items()}

    def _view_for(self, preference: Preference) -> PreferenceView | SharedView | None:
        """The arms for somebody, or None where her preference is the policy's own."""
        other = self._someone(preference)
        return None if other == self.policy.preference else self._seen_by(other)

    def _seen_by(self, preference: Preference) -> PreferenceView | SharedView:
        """The arms for somebody else."""
        if not self.policy.open_to_people:
            raise ValueError(
                f"{type(self.policy).__name__} explores for one preference only; got another. Use NPTS, WUCB or LinTS, "
                "which choose for anybody."
            )
        if self._tables is None or self._tables.of is not self._rule:
            draws = isinstance(getattr(self._rule, "band", None), BinsRule)
            self._tables = SharedDraws(self.policy, self._rule) if draws else shared_bounds(self.policy, self._rule)
        if self._tables is not None:
            self._tables.look(self._state, self._state_at)
            return self._tables.view(preference)
        view = self._views.pop(preference, None) or self._new_view(preference)
        view.look(self._state)
        self._views[preference] = view
        if len(self._views) > MOST:
            del self._views[next(iter(self._views))]
        return view

    def _new_view(self, preference: Preference) -> PreferenceView:
        return PreferenceView(self.policy, preference, len(self._names))

    def _forget_views(self) -> None:
        """Let everybody look anew, after a change that is more than one outcome told."""
        self._views = {}
        if self._tables is not None:
            self._tables.forget()
