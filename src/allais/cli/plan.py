"""`allais simulate SPEC.toml`: lotteries, a preference and policies to compare, described in a TOML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from allais import policies
from allais.cli.reader import Reader
from allais.policies.base import Policy
from allais.preferences import Preference
from allais.problems import Bandit
from allais.simulation.suitability import fitted

# those that choose among lotteries; the linear ones need features
POLICIES = {
    name: getattr(policies, name)
    for name in policies.__all__
    if name not in ("Policy", "OFUL", "WOFUL", "WG", "GAllocation", "LinGapE", "LinTS")
}
TABLES = ("problem", "preference", "rewards")


@dataclass(frozen=True)
class Plan:
    """What a spec describes."""

    problem: Bandit
    policies: dict[str, Policy]
    judge: Preference | None  # whose loss regret is; None: each policy's own
    rounds: int
    runs: int
    seed: int


def read_plan(path: Path) -> Plan:
    """The comparison that a file describes, or a ValueError that says in which line it is wrong."""
    return _PlanReader(path).plan()


class _PlanReader(Reader):
    def plan(self) -> Plan:
        self.require_tables(("problem", "policies"), TABLES, ("seed", "rounds", "runs", "policies"))
        if "lotteries" not in self._whole["problem"]:
            self._refuse(
                ("problem",), 'simulate needs lotteries, such as bus = "50:0.1,0:0.9"; there are none. Add them.'
            )
        listed = self._whole["policies"]
        if not isinstance(listed, list) or not listed:
            self._refuse(("policies",), "policies are tables in a list; got none. Write [[policies]].")
        problem, found = self.bandit(), {}
        for number, table in enumerate(listed):
            place = ("policies", str(number))
            policy = self.policy(table, place, POLICIES)
            if Path(policy.name).name != policy.name:  # results are kept under it
                self._refuse(
                    (*place, "name"), f"a policy's name must do for a file; got {policy.name!r}. Choose another."
                )
            name = policy.name if policy.name not in found else f"{policy.name} ({number + 1})"
            try:
                fitted(policy, problem)  # refuses what does not fit, before anything runs
            except ValueError as error:
                self._refuse(place, str(error))
            found[name] = policy
        return Plan(
            problem,
            found,
            self._preference() if "preference" in self._whole else None,
            self.whole_number("rounds", default=10_000, least=1),
            self.whole_number("runs", default=100, least=1),
            self.whole_number("seed", default=0, least=0),
        )
