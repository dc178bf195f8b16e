"""The introduction: a sure sum against a rare large one, the paradox of Allais, and the weight of Figure 1."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from allais.lotteries import Discrete
from allais.paper.experiments import Done, ExperimentResult, Finding, ResultTable, Size
from allais.paper.problems import WEIGHT
from allais.paper.report import BLUE, GREY, ORANGE, drawing
from allais.preferences import PowerUtility, Preference
from allais.weights import Identity, TverskyKahneman, Weight

SURE, RARE = Discrete({10: 1.0}), Discrete({10_000: 0.001, 0: 0.999})
# Allais (1953), in millions: people take the first of the first pair and the second of the second
FIRST = Discrete({1: 1.0}), Discrete({1: 0.89, 5: 0.10, 0: 0.01})
SECOND = Discrete({1: 0.11, 0: 0.89}), Discrete({5: 0.10, 0: 0.90})
POWERS = np.linspace(0.05, 1.0, 191)


def run_introduction(size: Size, seed: int, done: Done) -> ExperimentResult:
    """Exact values: nothing is drawn."""
    gains, losses = Preference(WEIGHT), Preference(WEIGHT, costs=True)
    rows, found = [], {}
    for kind, preference in (("gains", gains), ("losses", losses)):
        sure, rare = preference.value(SURE), preference.value(RARE)
        found[kind] = rare > sure
        rows.append((kind, f"{sure:.4g}", f"{rare:.4g}", "the rare one" if rare > sure else "the sure one"))
    plain, bent = _leads(Identity()), _leads(WEIGHT)
    paradox = {name: (first > 0.0) & (second < 0.0) for name, (first, second) in (("eu", plain), ("tk", bent))}
    shown = {name: f"up to {POWERS[those].max():.3g}" if those.any() else "none" for name, those in paradox.items()}
    with drawing("allais", "By how much the cautious choice of each pair is worth more than the daring one: "
                 "only a bent weight has both signs that people have.") as picture:  # fmt: skip
        for (first, second), name, style in ((plain, "expected utility", "--"), (bent, "TK 0.61", "-")):
            picture.axes.plot(POWERS, first, style, label=f"{name}, 1 for sure")
            picture.axes.plot(POWERS, second, style, label=f"{name}, 1 with .11")
        picture.axes.axhline(0.0, color=GREY, linewidth=1)
        picture.axes.set(xlabel="exponent of the utility", ylabel="lead of the cautious choice", ylim=(-1.0, 0.6))
        picture.axes.legend()
    return ExperimentResult(
        setting=(("weight", "Tversky-Kahneman, eta = 0.61, for gains and for losses"), ("drawn", "nothing: exact")),
        findings=(
            Finding(
                "10,000 with probability 0.001 is preferred to 10 for sure", "preferred by most people",
                f"worth {gains.value(RARE):.4g} against 10", found["gains"],
            ),
            Finding(
                "as losses, the sure one is preferred", "preferred by most people",
                f"costs {-losses.value(RARE):.4g} against 10", not found["losses"],
            ),
            Finding(
                "both have the same mean", "same mean", f"{SURE.mean:g} and {RARE.mean:g}",
                abs(SURE.mean - RARE.mean) < 1e-9,
            ),
            Finding(
                "arm 1 (the sure one) is preferable for rewards and arm 2 for costs", "arm 1, arm 2",
                f"arm {2 if found['gains'] else 1} for rewards, arm {2 if found['losses'] else 1} for costs",
                not found["gains"] and found["losses"], 28,
                "the two are exchanged, and 10^-6 is printed for 10^-3", misprint=True,
            ),
            Finding(
                "the Allais paradox: no expected utility explains it, a weight on probabilities does",
                "cited", f"powers that show it: {shown['eu']} under expected utility, {shown['tk']} under TK 0.61",
                bool(not paradox["eu"].any() and paradox["tk"].any()),
            ),
        ),
        tables=(ResultTable("10 for sure against 10,000 with probability 0.001", ("", "sure", "rare", "preferred"),
                      tuple(rows)),),
        figures=(picture.figure,),
        notes=(
            "Allais's choices, in millions: 1 for sure against 1 with .89, 5 with .10, nothing with .01; and 1 with "
            ".11 against 5 with .10. Most people take the sure 1 and then the 5. Expected utility gives both leads the "
            "same sign, whatever the utility, since the pairs differ only by a common .89.",
        ),
    )  # fmt: skip


def _leads(weight: Weight) -> tuple[np.ndarray, np.ndarray]:
    """By how much the first choice of each pair is worth more than the second, for every utility."""
    rows = []
    for power in POWERS.tolist():
        preference = Preference(weight, utility=PowerUtility(power))
        rows.append([preference.value(one) - preference.value(other) for one, other in (FIRST, SECOND)])
    first, second = np.array(rows).T
    return first, second


LABELLED, PLOTTED = TverskyKahneman(0.61), TverskyKahneman(0.69)


def printed(p: np.ndarray) -> np.ndarray:
    """The curve of the figure, from the source of the paper: exponents 0.69 and 1.44."""
    return np.asarray(p**0.69 / (p**0.69 + (1.0 - p) ** 0.69) ** 1.44)


def run_weight(size: Size, seed: int, done: Done) -> ExperimentResult:
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
