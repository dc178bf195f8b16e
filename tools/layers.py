"""`python tools/layers.py FOLDER`: the picture of the packages in docs/developer/design.md."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

# From the top down: who uses it, and the packages, side by side where neither imports the other.
FLOORS = [
    ("commands and studies", [["cli"], ["serve"], ["paper"], ["traffic"], ["people"]]),
    ("what you read, extend and check", [["report", "extend", "testing"]]),
    ("policies at work", [["searches"], ["simulation"], ["learner", "streams"]]),
    ("what to try next", [["linear"], ["policies", "problems"]]),
    ("what is known for certain", [["theory"], ["bands"]]),
    ("what was seen", [["samples"]]),
    ("what is maximised", [["preferences"], ["lotteries", "rewards"], ["numerics"], ["weights"]]),
    ("underneath", [["settings", "_kernels", "_random"], ["files", "_system"], ["_checks", "client", "errors"]]),
]
SHADES = ["#2a5da8", "#3f74b5", "#5489c0", "#6d9dca", "#86b1d4", "#a1c4de", "#bcd6e8", "#d8e6f1"]
ROW, GAP, LEFT, WIDTH = 0.62, 0.22, 3.3, 6.2


def draw(ax: Axes) -> None:
    """Boxes from the top down, a colour to each floor, and one arrow for the way of imports."""
    y = 0.0
    for (title, rows), shade in zip(FLOORS, SHADES, strict=True):
        height = ROW * len(rows)
        ax.text(LEFT - 0.25, y - height / 2, title, ha="right", va="center", fontsize=11, color="0.25")
        for names in rows:
            share = WIDTH / len(names)
            for k, name in enumerate(names):
                place = (LEFT + k * share + 0.05, y - ROW + 0.05)
                box = FancyBboxPatch(
                    place, share - 0.1, ROW - 0.1, boxstyle="round,pad=0,rounding_size=0.08", linewidth=0
                )
                box.set_facecolor(shade)
                ax.add_patch(box)
                dark = SHADES.index(shade) < 4
                where = (place[0] + share / 2 - 0.05, y - ROW / 2)
                ax.text(
                    *where,
                    name,
                    ha="center",
                    va="center",
                    fontsize=11,
                    color="white" if dark else "0.1",
                    family="monospace",
                )
            y -= ROW
        y -= GAP
    ax.annotate(
        "",
        (LEFT + WIDTH + 0.45, y + GAP),
        (LEFT + WIDTH + 0.45, 0.0),
        arrowprops={"arrowstyle": "->", "color": "0.4", "lw": 1.6},
    )
    ax.text(LEFT + WIDTH + 0.65, y / 2, "imports go down only", rotation=270, va="center", fontsize=11, color="0.25")
    ax.set(xlim=(0.0, LEFT + WIDTH + 1.1), ylim=(y, 0.1))
    ax.axis("off")


def main() -> None:
    """Draw the picture into the folder that is named."""
    if len(sys.argv) != 2:
        raise SystemExit("one folder is needed for the picture; usage: python tools/layers.py FOLDER")
    figure, ax = plt.subplots(figsize=(8.6, 9.4), layout="constrained")
    draw(ax)
    figure.savefig(Path(sys.argv[1]) / "layers.png", dpi=90)


if __name__ == "__main__":
    main()
