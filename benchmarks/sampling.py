"""Whom top-two samples, beside W-LUCB's choice under the same stop; and continuous rewards beside an older commit."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from allais import Bandit, Bernoulli, Bounded, Finite, TopTwo
from allais.extend import choose, issue
from allais.policies.core.steps import bounds_at, pick_highest, survey
from allais.policies.core.verbs import SETTLED
from allais.policies.toptwo import all_parted
from allais.samples.draws import stream_of, uniform
from allais.samples.memory import Worth
from benchmarks import against
from benchmarks.identify import BOTH, twenty_coins
from benchmarks.playing import played
from benchmarks.tables import Table, with_error

DELTA = 0.05
BEFORE = (
    "25b07a5"  # distributions were not yet judged as a whole, levels of the grid had equal shares, strides their loss
)
CONTINUOUS = f"""
import json
from scipy import stats
from allais import Bandit, Bounded, Continuous, Mixture, Preference, TopTwo, TverskyKahneman, Uniform, WLUCB, simulate
both = Preference(TverskyKahneman(0.61), TverskyKahneman(0.69))
smooth = [Continuous(stats.beta(4, 2)), Continuous(stats.beta(2, 2)), Continuous(stats.beta(1, 3))]
risky = Mixture([Uniform(0.6, 1), Uniform(-1, -0.5)], [0.99, 0.01])
cases = {{
    "three beta distributions": (Bandit(smooth), Bounded(0, 1)),
    "four arms, a rare disaster": (Bandit([risky, Uniform(0.3, 0.7), Uniform(0, 0.9), Uniform(0.2, 0.5)]), Bounded(-1, 1)),
    "four uniform distributions": (Bandit([Uniform(0.2, 1), Uniform(0.1, 0.9), Uniform(0, 0.8), Uniform(0, 0.7)]), Bounded(0, 1)),
}}
found = {{}}
for called, policy in {{"W-LUCB": WLUCB, "top-two": TopTwo}}.items():
    for name, (problem, rewards) in cases.items():
        made = policy(both, rewards, delta={DELTA})
        result = simulate(made, problem, 10**6, 100, seed=1, n_jobs=1, checkpoints=[10**6], progress=False)
        spread = result.samples.std(ddof=1) / 10.0
        found[f"{{name}}, {{called}}"] = [result.samples.mean(), spread, round(100 * result.error_rate[-1])]
print(json.dumps(found))
"""  # noqa: E501  # the interface of both commits


def run() -> str:
    return f"## Top-two, whom it samples\n\n{_rules()}\n\n{_continuous()}"


@dataclass(frozen=True)
class HighestEnd(TopTwo):
    """Top-two's stop with W-LUCB's choice: the leader or the arm of the highest upper end, half and half."""

    called: ClassVar[str] = "top-two, highest upper end"
    by_widths: bool = False  # or in proportion to the squares of the two widths

    def rule(self, n_arms: int) -> Any:
        """The settings as the kernels read them."""
        return HighestEndRule(*(*super().rule(n_arms), self.by_widths))


class HighestEndRule(NamedTuple):
    """The settings of top-two, and how the leader is sampled."""

    worth: Worth
    band: Any
    beta: float
    log_share: float
    tolerance: float
    first: int
    by_widths: bool


@choose.of(HighestEndRule)
def _(rule, state, u):  # type: ignore[no-untyped-def]  # a kernel
    arm, _ = survey(rule.first, state)
    if arm < 0:
        bounds_at(rule, state, 0.5 * rule.beta)
        leader = pick_highest(state, state.memory.value, u)
        state.eligible[leader] = False
        if all_parted(rule, state, leader):
            return SETTLED
        rival = pick_highest(state, state.high, u)
        down = state.memory.value[leader] - state.low[leader]
        up = state.high[rival] - state.memory.value[rival]
        share = down * down / (down * down + up * up) if rule.by_widths else 0.5
        coin, _ = uniform(stream_of(u))
        arm = leader if coin < share else rival
    return issue(state, arm)


def _rules() -> Table:
    fifty = Bandit([Bernoulli(0.9), *(Bernoulli(p) for p in np.linspace(0.1, 0.6, 49).tolist())])
    cases: list[tuple[str, Bandit, Any, int]] = [
        ("20 coins, values known", twenty_coins(), Finite([0, 1]), 100),
        ("20 coins, bounds known", twenty_coins(), Bounded(0, 1), 40),
        ("50 coins, values known", fifty, Finite([0, 1]), 40),
    ]
    table = Table("samples at delta = 0.05, challenger", "least Z + log N", "highest upper end, half and half",
                  "highest upper end, by widths", "runs")  # fmt: skip
    for name, problem, rewards, runs in cases:
        cells = []
        by_ratios: dict[str, Any] = {"delta": DELTA, "evidence": "ratios"}
        for policy in (TopTwo(BOTH, rewards, **by_ratios), HighestEnd(BOTH, rewards, **by_ratios),
                       HighestEnd(BOTH, rewards, **by_ratios, by_widths=True)):  # fmt: skip
            cells.append(with_error(played(policy, problem, 10**6, runs).samples))
        table.add(name, *cells, str(runs))
    return table


def _continuous() -> Table:
    with tempfile.TemporaryDirectory() as folder, against.older(BEFORE, folder) as other:
        before, now = against.run(other, CONTINUOUS), against.run(against.ROOT, CONTINUOUS)
    table = Table(f"samples at delta = {DELTA:g}, continuous rewards, bounds", BEFORE, "here", "ratio", "wrong of 100")
    for name in now:
        (mean, spread, wrong), (mean_now, spread_now, wrong_now) = before[name], now[name]
        table.add(name, f"{mean:,.0f} ± {spread:,.0f}", f"{mean_now:,.0f} ± {spread_now:,.0f}",
                  f"{mean_now / mean:.2f}", f"{wrong}, {wrong_now}")  # fmt: skip
    return table
