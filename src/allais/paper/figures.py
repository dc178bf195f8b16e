"""`python -m allais.paper.figures FOLDER`: the pictures of the documentation."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from allais.paper.lotteries import DELAYS, FAST_ROUTE, FIFTY, PEOPLE, SAFE_ROUTE
from allais.weights import GonzalezWu, Power, Prelec, SteepMiddle, TailAverage, TverskyKahneman, Wang


def decision_weights(folder: Path) -> None:
    """Why 50 with probability 0.1 is worth 9.3, and why the detour wins."""
    figure, axes = plt.subplots(1, 3, figsize=(15.0, 4.4), layout="constrained")
    titles = ("50 @ .1", "the fastest route (mean 69)", "the detour (mean 71)")
    cases = ((PEOPLE, FIFTY), (DELAYS, FAST_ROUTE), (DELAYS, SAFE_ROUTE))
    for ax, title, (preference, lottery) in zip(axes, titles, cases, strict=True):
        preference.explain(lottery).plot(ax)
        ax.set_title(f"{title}: {ax.get_title()}")
    figure.savefig(folder / "decision-weights.png", dpi=110)
    plt.close(figure)


def weight_curves(folder: Path) -> None:
    """The weight families, each against the diagonal."""
    weights = (
        (TverskyKahneman(0.61), "Tversky-Kahneman .61"),
        (TverskyKahneman(0.69), "Tversky-Kahneman .69"),
        (Prelec(0.65), "Prelec .65"),
        (GonzalezWu(0.44, 0.77), "Gonzalez-Wu .44, .77"),
        (Power(0.5), "square root"),
        (SteepMiddle(0.5), "steep middle"),
        (TailAverage(0.25), "tail average .25"),
        (Wang(0.5), "Wang .5"),
    )
    p = np.linspace(0.0, 1.0, 2001)
    figure, axes = plt.subplots(2, 4, figsize=(12.0, 6.2), sharex=True, sharey=True, layout="constrained")
    for ax, (weight, name) in zip(axes.flat, weights, strict=True):
        ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, linestyle="--")
        ax.plot(p, weight(p), color="#2a5da8", linewidth=2)
        ax.set_title(name, fontsize=10)
        ax.set_aspect("equal")
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("probability p")
    figure.supylabel("weight w(p)")
    figure.savefig(folder / "weights.png", dpi=110)
    plt.close(figure)


def main() -> None:
    """Draw every picture into the folder that is named."""
    if len(sys.argv) != 2:
        raise SystemExit("one folder is needed for the pictures; usage: python -m allais.paper.figures FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    decision_weights(folder)
    weight_curves(folder)
    print(f"figures are in {folder}")


if __name__ == "__main__":
    main()
