"""Which of some recorded routes people prefer, how surely, and which one is the fastest on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allais._system.extras import extra
from allais.preferences import Preference, expected_value
from allais.traffic.analysis import RouteTable, route_table
from allais.traffic.recording import Recording
from allais.traffic.tables import delays_of
from allais.weights import Weight

if TYPE_CHECKING:
    from rich.table import Table

MEAN, FELT = "mean", "felt"
SURE = 3.0  # standard errors that a lead needs


@dataclass(frozen=True, eq=False)
class Preferred:
    """The routes of a recording under a weight: delays as utility, in seconds around a reference."""

    recording: Recording
    table: RouteTable
    reference: float

    @property
    def route(self) -> str:
        """The route that people prefer."""
        return self.table.names[self.table.best(FELT)]

    @property
    def fastest(self) -> str:
        """The route with the lowest mean delay."""
        return self.table.names[self.table.best(MEAN)]

    @property
    def sentence(self) -> str:
        """The answer, and how sure it is."""
        kept = self.recording
        failed = kept.teleported + kept.lost
        words = self._lead(FELT, f"People prefer {self.route}")
        words += " " + self._lead(MEAN, f"{self.fastest} is the fastest on average")
        if failed:
            words += f" {failed} of {kept.delay.size + failed} probes did not arrive and are left out."
        return words

    def _lead(self, column: str, claim: str) -> str:
        row, best = self.table.columns.index(column), self.table.best(column)
        second = int(np.argsort(self.table.excess[row], kind="stable")[1])
        gap = self.table.gap(column, best, second)
        if gap.error == 0.0:
            return f"{claim}, {gap.difference:.1f} s before {self.table.names[second]}."
        doubt = "" if gap.errors > SURE else ": too few to be sure, record more blocks"
        return (
            f"{claim}, {gap.difference:.1f} s before {self.table.names[second]} "
            f"({gap.errors:.1f} standard errors{doubt})."
        )

    def view(self) -> Table:
        """A table for the terminal; the preferred route is bold."""
        with extra("cli", "a table on the terminal"):
            from rich.table import Table
            from rich.text import Text

        table = Table(title=f"felt: what a delay is worth under the weight, around {self.reference:.0f} s")
        for heading in ("route", "probes", "mean, s", "99 % below, s", "felt, s", "error"):
            table.add_column(heading, justify="left" if heading == "route" else "right")
        utility = self.table.columns.index(FELT)
        for k, name in enumerate(self.table.names):
            table.add_row(
                Text(name),
                f"{self.recording.samples(k).size:,}",
                *delays_of(self.recording, k),
                f"{self.reference + self.table.excess[utility, k]:.1f}",
                f"{self.table.errors[utility, k]:.1f}",
                style="bold" if name == self.route else "",
            )
        return table


def preferred(recording: Recording, weight: Weight, reference: float | None = None) -> Preferred:
    """Compare the routes of a recording; delays are costs around a reference, else around the mean over all routes."""
    if len(recording.routes) < 2:
        raise ValueError(f"there must be two routes to choose from; got {len(recording.routes)}. Record more routes.")
    reference = recording.baseline if reference is None else reference
    people = {
        MEAN: expected_value(reference=reference, costs=True),
        FELT: Preference(weight, reference=reference, costs=True),
    }
    return Preferred(recording, route_table(recording, people=people), reference)
