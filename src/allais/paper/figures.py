"""`python -m allais.paper.figures FOLDER`: the pictures of the documentation."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from allais.paper.lotteries import DELAYS, FAST_ROUTE, FIFTY, PEOPLE, SAFE_ROUTE
from allais.values.forest import CHILD, LEAF_OF, ROOT, SIZE, TOTAL, new_forest, sown
from allais.values.patches import distortion_of, patch_over
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


def streaming_tree(folder: Path) -> None:
    """The blocks of a tree that one value uses."""
    weight, samples = TverskyKahneman(0.61), 2000
    outcomes = np.random.default_rng(1).exponential(size=samples)
    forest = sown(new_forest(2), 0, outcomes, outcomes, np.ones(samples, dtype=np.int64))
    distortion = distortion_of(weight)
    figure, (above, below) = plt.subplots(2, 1, figsize=(11.0, 6.4), sharex=True, layout="constrained")
    p = np.linspace(0.0, 1.0, 2001)
    above.plot(p, weight(p), color="0.25", linewidth=1.5)
    stack = [(int(forest.trees[0, ROOT]), 0.0, 0)]
    while stack:
        node, counted, level = stack.pop()
        total, leaf = float(forest.numbers[node, TOTAL]), int(forest.links[node, LEAF_OF])
        left, width = counted / samples, total / samples
        used = patch_over(distortion, left + 0.5 * width, 0.5 * width) >= 0
        colour = "#2a5da8" if used else ("#b5452c" if leaf >= 0 else "none")
        edge = "#2a5da8" if used else ("#b5452c" if leaf >= 0 else "0.5")
        below.add_patch(Rectangle((left, -level - 0.8), width, 0.8, facecolor=colour, edgecolor=edge, alpha=0.7))
        if used:
            stretch = np.linspace(left, left + width, 50)
            above.fill_between(stretch, weight(stretch), color="#2a5da8", alpha=0.25)
            above.axvline(left, ymax=0.03, color="#2a5da8", linewidth=0.8)
        elif leaf < 0:
            for i in range(int(forest.links[node, SIZE]) - 1, -1, -1):
                child = int(forest.links[node, CHILD + i])
                stack.append((child, counted, level + 1))
                counted += float(forest.numbers[child, TOTAL])
    above.set(ylabel="w(p)", ylim=(0.0, 1.0))
    below.set(xlabel="share of samples at or above, c / l", ylabel="level", xlim=(0.0, 1.0), yticks=[])
    below.autoscale_view(scalex=False)
    for ax in (above, below):
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(folder / "streaming-tree.png", dpi=110)
    plt.close(figure)


def main() -> None:
    """Draw every picture into the folder that is named."""
    if len(sys.argv) != 2:
        raise SystemExit("one folder is needed for the pictures; usage: python -m allais.paper.figures FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    decision_weights(folder)
    weight_curves(folder)
    streaming_tree(folder)
    print(f"figures are in {folder}")


if __name__ == "__main__":
    main()
