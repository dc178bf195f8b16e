"""The route table of Section VI, by arithmetic: no simulator is needed to see that it cannot be."""

from __future__ import annotations

import warnings

import numpy as np

from allais.errors import DominanceWarning
from allais.paper.findings import Done, ExperimentResult, Finding, ResultTable
from allais.paper.report import BLUE, RED, drawing
from allais.preferences import Preference
from allais.weights import TverskyKahneman

# Table II: mean and distorted excess delay of routes 1 to 10
PRINTED = (
    (-11.03, -0.20), (5.76, -0.13), (27.24, 0.07), (-15.61, -0.25), (21.62, -0.01),
    (-12.94, -0.27), (-21.67, -0.29), (58.88, -0.45), (15.59, -0.04), (5.89, -0.09),
)  # fmt: skip
HOPS = (6, 10)  # roads of the shortest and of the longest route that the figure can hold
DELTA = 0.99


def run(size: None, seed: int, done: Done) -> ExperimentResult:
    """Exact values: nothing is drawn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DominanceWarning)  # that it warns is one of the findings
        steep = TverskyKahneman(0.1)
        people = Preference(steep, costs=True)
        least = np.array([_excess(people, mean, HOPS[0]) for mean, _ in PRINTED])
        most = np.array([_excess(people, mean, HOPS[1]) for mean, _ in PRINTED])
    mean, distorted = np.array(PRINTED).T
    against = np.flatnonzero(mean * distorted < 0.0) + 1
    p = np.geomspace(1e-12, 0.5, 4001)
    top, bottom = float(p[np.argmax(steep(p))]), float(p[1000:][np.argmin(steep(p[1000:]))])
    rows = tuple(
        (str(k + 1), f"{mean[k]:.2f}", f"{distorted[k]:.2f}", f"{least[k]:.4f}", f"{most[k]:.4f}",
         "no" if k + 1 in against else "yes")
        for k in range(len(PRINTED))
    )  # fmt: skip
    with drawing("routing-weight", "The weight of the routing experiment, eta = 0.1, falls where it should rise; "
                 "0.61 for comparison.") as picture:  # fmt: skip
        q = np.geomspace(1e-12, 1.0, 2001)
        picture.axes.plot(q, steep(q), color=RED, label="eta = 0.1")
        picture.axes.plot(q, TverskyKahneman(0.61)(q), color=BLUE, label="eta = 0.61")
        picture.axes.set(xscale="log", yscale="log", xlabel="probability p", ylabel="weight w(p)", ylim=(1e-4, 1.2))
        picture.axes.legend()
    with drawing("route-signs", "The ten routes as printed, and where the stated model puts them: in the shaded "
                 "corners a value has the sign against its mean, which no weight allows.") as table:  # fmt: skip
        low, high, edge = 1.15 * mean.min(), 1.15 * mean.max(), 100.0
        table.axes.fill_between([low, 0.0], 0.0, edge, color=RED, alpha=0.12, lw=0)
        table.axes.fill_between([0.0, high], -edge, 0.0, color=RED, alpha=0.12, lw=0)
        table.axes.plot(mean, least, "s", color=BLUE, ms=5, label=f"model, {HOPS[0]} roads")
        table.axes.plot(mean, distorted, "D", color=RED, ms=6, label="printed")
        for k, (x, y) in enumerate(PRINTED):
            table.axes.annotate(str(k + 1), (x, y), (6, 4), textcoords="offset points", fontsize=10)
        table.axes.set(
            xlabel="mean excess delay", ylabel="distorted excess delay", xlim=(low, high), ylim=(-edge, edge)
        )
        table.axes.set_yscale("symlog", linthresh=0.1)
        table.axes.legend(loc="lower right")
    return ExperimentResult(
        setting=(
            ("model", "x.(theta + N): normal, with standard deviation |x| (6 to 10 roads)"),
            ("weight", "Tversky-Kahneman, eta = 0.1"),
        ),
        findings=(
            Finding(
                "under the stated model, normal delays, people prefer the detour (route 8) to the fastest (route 7)",
                "-0.45 against -0.29",
                f"routes {', '.join(map(str, against))} have the sign against their mean, which no weight allows",
                against.size == 0, 26,
                "a normal delay's value has the sign of its mean; where delays have a tail, a detour is preferred: "
                "see the section on vehicles",
            ),
            Finding(
                "the weight never violates stochastic dominance", "a merit of the model",
                f"at eta = 0.1 it falls from {float(steep(top)):.3f} at p = {top:.1g} to {float(steep(bottom)):.4f} "
                f"at {bottom:.2f}",
                steep.is_monotone, 27, "with eta of 0.2792 or more it does not",
            ),
            Finding(
                "delta = 0.99 is a confidence", "confidence 0.99",
                f"the ellipsoid holds with probability {1 - DELTA:.2f}",
                1 - DELTA >= 0.5, 4, "delta is the chance of failure: 0.01 is meant", misprint=True,
            ),
            Finding(
                "route 7 has the lowest mean, route 8 the lowest distorted delay of the table", "routes 7 and 8",
                f"routes {int(np.argmin(mean)) + 1} and {int(np.argmin(distorted)) + 1}",
                int(np.argmin(mean)) == 6 and int(np.argmin(distorted)) == 7,
            ),
        ),
        tables=(
            ResultTable(
                "Excess delays of the ten routes: printed, and what the stated model gives",
                ("route", "mean, printed", "distorted, printed", f"model, {HOPS[0]} roads", f"model, {HOPS[1]} roads",
                 "sign possible"),
                rows,
            ),
        ),
        figures=(picture.figure, table.figure),
        notes=(
            "That people may prefer a detour to the fastest route needs delays with a tail; the section on vehicles "
            "shows it on simulated traffic.",
        ),
    )  # fmt: skip


def _excess(people: Preference, mean: float, roads: int) -> float:
    return -float(people.value_of_normal(mean, np.sqrt(roads)))


SIZES = {"quick": None, "full": None}
