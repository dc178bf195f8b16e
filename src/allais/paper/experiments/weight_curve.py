"""Figure 1: the weight function, as labelled and as plotted."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from allais.paper.findings import Done, ExperimentResult, Finding, ResultTable
from allais.paper.report import BLUE, GREY, ORANGE, drawing
from allais.weights import TverskyKahneman

LABELLED, PLOTTED = TverskyKahneman(0.61), TverskyKahneman(0.69)


def printed(p: np.ndarray) -> np.ndarray:
    """The curve of the figure, from the source of the paper: exponents 0.69 and 1.44."""
    return np.asarray(p**0.69 / (p**0.69 + (1.0 - p) ** 0.69) ** 1.44)


def run(size: None, seed: int, done: Done) -> ExperimentResult:
    """Exact values: nothing is drawn."""
    p = np.linspace(0.0, 1.0, 2001)
    crossings = [float(brentq(lambda q, w=w: w(q) - q, 0.05, 0.9)) for w in (LABELLED, PLOTTED)]
    to_label, to_plot = (float(np.abs(printed(p) - w(p)).max()) for w in (LABELLED, PLOTTED))
    rare, sure = p[(p > 0.0) & (p < crossings[0])], p[(p > crossings[0]) & (p < 1.0)]
    inverted = bool((LABELLED(rare) > rare).all() and (LABELLED(sure) < sure).all())
    with drawing("weight", "The weight function: what the label says (0.61) and what is plotted (0.69).") as picture:
        picture.axes.plot(p, p, "--", color=GREY, linewidth=1)
        picture.axes.plot(p, LABELLED(p), color=BLUE, label="eta = 0.61, the label")
        picture.axes.plot(p, printed(p), color=ORANGE, label="eta = 0.69, as the paper plots it")
        picture.axes.set(xlabel="probability p", ylabel="weight w(p)", xlim=(0, 1), ylim=(0, 1))
        picture.axes.legend(loc="upper left")
    return ExperimentResult(
        setting=(("weight", "p^eta / (p^eta + (1-p)^eta)^(1/eta)"), ("drawn", "nothing: exact")),
        findings=(
            Finding(
                "the weight inflates low and deflates high probabilities", "inverted S",
                f"above p up to {crossings[0]:.3f}, below from there on", inverted,
            ),
            Finding(
                "Figure 1 plots the weight with eta = 0.61", "0.61",
                f"off by up to {to_label:.3f} from 0.61, by {to_plot:.4f} from 0.69", to_label < 0.01, 28,
                "the curve in the source has the exponents 0.69 and 1.44", misprint=True,
            ),
        ),
        tables=(
            ResultTable(
                "Weights", ("p", "eta = 0.61", "eta = 0.69"),
                tuple(
                    (f"{q:g}", f"{LABELLED(q):.6f}", f"{PLOTTED(q):.6f}") for q in (0.001, 0.01, 0.1, 0.5, 0.9, 0.99)
                ),
            ),
        ),
        figures=(picture.figure,),
    )  # fmt: skip


SIZES = {"quick": None, "full": None}
