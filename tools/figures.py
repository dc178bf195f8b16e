"""`python -m tools.figures FOLDER`: the pictures of the documentation."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from allais.bands import DKW, KL, Holder
from allais.bands.base import anytime_rule, refresh, widen
from allais.numerics.table import distortion_of, piece_over
from allais.paper.problems import DELAYS, FAST_ROUTE, FIFTY, PEOPLE, SAFE_ROUTE, THREE
from allais.people import Choices, Family, posterior
from allais.policies import NPTS, UCB1, WUCB
from allais.policies.wlucb import PAPER_UNION
from allais.rewards import Bounded, Finite
from allais.samples.layout import remembered
from allais.samples.tree import with_outcomes
from allais.samples.trees import CHILD, LEAF_OF, ROOT, SIZE, TOTAL, new_trees
from allais.simulation import compare
from allais.theory.limits import regret_slope
from allais.weights import GonzalezWu, Power, Prelec, SteepMiddle, TailAverage, TverskyKahneman, Wang


def save(figure: Figure, path: Path) -> None:
    """Write a picture, without the frames on top and on the right."""
    for ax in figure.axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def decision_weights(folder: Path) -> None:
    """Why 50 with probability 0.1 is worth 9.3, and why the detour wins."""
    figure, axes = plt.subplots(1, 3, figsize=(15.0, 4.4), layout="constrained")
    titles = ("50 @ .1", "the fastest route (mean 69)", "the detour (mean 71)")
    cases = ((PEOPLE, FIFTY), (DELAYS, FAST_ROUTE), (DELAYS, SAFE_ROUTE))
    for ax, title, (preference, lottery) in zip(axes, titles, cases, strict=True):
        preference.explain(lottery).plot(ax)
        ax.set_title(f"{title}: {ax.get_title()}")
    save(figure, folder / "decision-weights.png")


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
    figure.supxlabel("probability p")
    figure.supylabel("weight w(p)")
    save(figure, folder / "weights.png")


def streaming_tree(folder: Path) -> None:
    """The blocks of a tree that one value uses."""
    weight, samples = TverskyKahneman(0.61), 2000
    outcomes = np.random.default_rng(1).exponential(size=samples)
    trees = with_outcomes(new_trees(2), 0, outcomes, outcomes, np.ones(samples, dtype=np.int64))
    distortion = distortion_of(weight)
    figure, (above, below) = plt.subplots(2, 1, figsize=(11.0, 6.4), sharex=True, layout="constrained")
    p = np.linspace(0.0, 1.0, 2001)
    above.plot(p, weight(p), color="0.25", linewidth=1.5)
    stack = [(int(trees.heads[0, ROOT]), 0.0, 0)]
    while stack:
        node, counted, level = stack.pop()
        total, leaf = float(trees.numbers[node, TOTAL]), int(trees.links[node, LEAF_OF])
        left, width = counted / samples, total / samples
        used = piece_over(distortion, left + 0.5 * width, 0.5 * width) >= 0
        colour = "#2a5da8" if used else ("#b5452c" if leaf >= 0 else "none")
        edge = "#2a5da8" if used else ("#b5452c" if leaf >= 0 else "0.5")
        below.add_patch(Rectangle((left, -level - 0.8), width, 0.8, facecolor=colour, edgecolor=edge, alpha=0.7))
        if used:
            stretch = np.linspace(left, left + width, 50)
            above.fill_between(stretch, weight(stretch), color="#2a5da8", alpha=0.25)
            above.axvline(left, ymax=0.03, color="#2a5da8", linewidth=0.8)
        elif leaf < 0:
            for i in range(int(trees.links[node, SIZE]) - 1, -1, -1):
                child = int(trees.links[node, CHILD + i])
                stack.append((child, counted, level + 1))
                counted += float(trees.numbers[child, TOTAL])
    above.set(ylabel="w(p)", ylim=(0.0, 1.0))
    below.set(xlabel="share of samples at or above, c / l", ylabel="level", xlim=(0.0, 1.0), yticks=[])
    below.autoscale_view(scalex=False)
    save(figure, folder / "streaming-tree.png")


def band_widths(folder: Path) -> None:
    """How wide every band is, from one sample to a million."""
    pulls = np.unique(np.geomspace(1, 1e6, 121).round().astype(np.int64))
    finite, bounded = Finite([0, 50]), Bounded(0, 50)
    shapes = (
        ("Hölder", Holder(), bounded),
        ("DKW", DKW(), bounded),
        ("KL, bounds known", KL(), bounded),
        ("KL, values known", KL(), finite),
    )
    figure, axes = plt.subplots(1, 2, figsize=(11.0, 4.4), sharey=True, layout="constrained")
    for ax, title, always in zip(axes, ("one look at the data", "all rounds at once"), (False, True), strict=True):
        for name, band, rewards in shapes:
            rule = anytime_rule(band, PEOPLE, [rewards]) if always else band.rule(PEOPLE, [rewards])
            if rule is None:  # Hölder: the paper's union over rounds
                rule, label = band.rule(PEOPLE, [rewards]), f"{name}, log(m^4 ...)"
            else:
                label = name
            widths = []
            for size in pulls:
                hits = round(0.1 * size)
                counts = np.array([size - hits, hits], dtype=np.int64)
                outcomes = np.array([0.0, 50.0])
                memory = remembered(
                    [(outcomes[counts > 0], outcomes[counts > 0], counts[counts > 0])], *np.zeros((2, 1))
                )
                memory.value[0] = 0.0  # only the width is wanted
                exponent = np.log((1 if always else 2) / 0.05)
                if always and name == "Hölder":
                    exponent += 4.0 * np.log(size) + np.log(PAPER_UNION)
                low, high = np.zeros(1), np.zeros(1)
                kept = rule.kept(1)
                refresh(rule, kept, memory, 0)
                widen(rule, kept, memory, exponent, low, high)
                widths.append(high[0] - low[0])
            ax.plot(pulls, widths, linewidth=2, label=label)
        ax.set(xscale="log", yscale="log", xlabel="samples", title=title)
        ax.legend(frameon=False)
    axes[0].set_ylabel("width of the interval at 95 %")
    save(figure, folder / "band-widths.png")


def regret(folder: Path) -> None:
    """UCB1, the paper's W-UCB, KL and NPTS on the three-armed problem, beside the limit."""
    rewards = Finite([0, 7, 30, 50])
    policies = {
        "UCB1 (of the mean)": UCB1(rewards),
        "W-UCB (the paper's)": WUCB.as_printed(PEOPLE, rewards),
        "W-UCB, KL band, log m": WUCB(PEOPLE, rewards, band=KL(), exploration=1.0),
        "NPTS": NPTS(PEOPLE, rewards),
    }
    comparison = compare(policies, THREE, n_rounds=100_000, n_runs=20, seed=1, judge=PEOPLE, progress=False)
    figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    comparison.plot(ax, lower_slope=regret_slope(PEOPLE, THREE.lotteries, rewards.values))
    ax.set(yscale="log", ylim=(10.0, None))
    save(figure, folder / "regret.png")


def fitted_people(folder: Path) -> None:
    """The table of docs/people.md, fitted: what `Fitted.plot` draws."""
    rng = np.random.default_rng(1)
    n = 240
    table = {
        "person": np.repeat(["ann", "bob", "cem"], 80),
        "win": rng.choice([10, 20, 50, 100], n),
        "probability": rng.choice([0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99], n),
    }
    table["sure"] = (table["win"] * rng.uniform(0.02, 1.0, n)).round(1)
    truth = Prelec(0.6)(table["probability"]) * table["win"] ** 0.85 - table["sure"] ** 0.85
    table["took_lottery"] = (truth + 1.5 * rng.logistic(size=n) > 0).astype(int)
    choices = Choices.lottery_or_sure(table)
    people = posterior(choices, Family(Prelec, loss_aversion=1.0, stake=50), seed=1)
    people.plot(choices).savefig(folder / "people.png", dpi=100)


def main() -> None:
    """Draw every picture into the folder that is named."""
    if len(sys.argv) != 2:
        raise SystemExit("one folder is needed for the pictures; usage: python -m tools.figures FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (decision_weights, weight_curves, streaming_tree, band_widths, regret, fitted_people):
        draw(folder)
    print(f"figures are in {folder}")


if __name__ == "__main__":
    main()
